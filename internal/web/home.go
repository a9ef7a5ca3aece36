package web

import (
	"slices"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/importer"
	"bulkfiling/internal/ledger"
	"bulkfiling/internal/money"
	"bulkfiling/internal/report"
)

var homeRoutes = []route{
	{pattern: "GET /{$}", may: self, serve: (*Site).home},
}

// homePage is where the way of a sheet begins.
type homePage struct {
	Templates []filing.Product
	Uploads   []ledger.Upload
	Batches   []listedBatch
	Pager     pager
	MaxUpload int64 // MiB
}

type listedBatch struct {
	ledger.Batch
	Counts ledger.Counts
	State  string
	Class  string
	Stack  stack
	Spent  money.Cents
}

// stack is a bar of the results of rows.
type stack struct {
	Label string
	Parts []stackPart
}

type stackPart struct {
	Class    string
	X, Width float64
}

func (s *Site) home(v *request) error {
	switch {
	case len(v.session.Lacks) > 0:
		return v.redirect("/security") // where they come by what their roles need
	case !v.session.Account.HasRole():
		return v.redirect("/sessions") // the page of those who see nothing else
	}
	p := homePage{Templates: importer.Templates(), MaxUpload: s.MaxUpload >> 20}
	var err error
	if p.Uploads, err = s.Ledger.Uploads().List(v.ctx()); err != nil {
		return err
	}
	batches, err := s.Ledger.Batches(v.ctx())
	batches = slices.DeleteFunc(batches, func(b ledger.Batch) bool { return b.Applied() })
	if err != nil {
		return err
	}
	// What is prepared stands among the sheets.
	var open []ledger.Batch
	for _, b := range batches {
		if b.Open {
			open = append(open, b)
		}
	}
	page := open
	p.Pager, page = paged(v, open, batchesOnPage)
	for _, b := range page {
		counts, err := s.summaries.loadCounts(v.ctx(), b.ID)
		if err != nil {
			return err
		}
		state, class := batchState(b, counts)
		p.Batches = append(p.Batches, listedBatch{
			Batch:  b,
			Counts: counts,
			State:  state,
			Class:  class,
			Stack:  stackOf(b, counts),
		})
	}
	return v.show("home.html", "Batches", p)
}

const batchesOnPage = 25

// batchState returns the state of a batch and its CSS class.
func batchState(b ledger.Batch, c ledger.Counts) (word, class string) {
	left := c[filing.Ready] + c[filing.Placing]
	switch {
	case !b.Open:
		return "not submitted", "prepared"
	case b.Canceled && left == 0:
		return "canceled", "canceled"
	case b.Approval.State == ledger.ApprovalWanted && left > 0:
		return "waiting for approval", "waiting"
	case b.Paused && left > 0:
		return "paused", "paused"
	case left > 0:
		return "placing", "running"
	case c[filing.Uncertain] > 0:
		return "uncertain", "uncertain"
	case c[filing.Invalid]+c[filing.Rejected] > 0:
		return "needs attention", "attention"
	}
	return "done", "finished"
}

// stackOf draws the results of a batch's rows.
func stackOf(b ledger.Batch, c ledger.Counts) stack {
	s := stack{Label: report.BatchState(b, c)}
	total := c.Total()
	if total == 0 {
		return s
	}
	x := 0.0
	for _, r := range []filing.Result{filing.Placed, filing.Exists, filing.Placing, filing.Ready, filing.Uncertain,
		filing.Rejected, filing.Invalid, filing.Skipped, filing.Canceled} {
		if n := c[r]; n > 0 {
			width := 100 * float64(n) / float64(total)
			s.Parts = append(s.Parts, stackPart{Class: string(r), X: x, Width: width})
			x += width
		}
	}
	return s
}
