package web

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

var homeRoutes = []route{
	{pattern: "GET /{$}", may: self, serve: (*Site).home},
}

// homePage is the first page: what needs action, and the batches.
type homePage struct {
	Templates []filing.Product
	Uploads   []ledger.Upload
	Actions   []action
	Batches   []listedBatch
	Filter    batchFilter
	Tabs      tabs
	Clients   []string // that there are to choose from
	Any       bool     // there is a batch at all
	Starred   bool     // a cost of the table is an estimate
	Partial   bool     // a cost of the table lacks a state fee
	Pager     pager
	MaxUpload int64 // MiB
}

// listedBatch is a batch in the table of home.
type listedBatch struct {
	ledger.Batch
	batchStatus
	Stack   stack
	Charged money.Cost
	Cost    money.Cost // charged, reserved and still needed
	Changed time.Time
}

// batchFilter is the filter of the batches.
type batchFilter struct {
	Show   string // "", "mine" or "action"
	Client string
	Search string // in the file's name and the batch's ID
}

// batchShows are the tabs of the table of batches.
var batchShows = []struct{ name, title string }{{"mine", "Mine"}, {"", "All"}, {"action", "Needs action"}}

func (v *request) batchFilter() batchFilter {
	ask := v.r.URL.Query()
	return batchFilter{
		Show:   ask.Get("show"),
		Client: shortened(ask.Get("client"), 200),
		Search: strings.TrimSpace(shortened(ask.Get("q"), 200)),
	}
}

// path is the address of the table with the filter and another tab.
func (f batchFilter) path(show string) string {
	return address("/", "show", show, "client", f.Client, "q", f.Search) + "#batches"
}

// Filtered reports whether the filter leaves batches out.
func (f batchFilter) Filtered() bool { return f != batchFilter{} }

// matches reports whether a batch passes all but the tab.
func (f batchFilter) matches(b ledger.Batch) bool {
	return f.Search == "" || strings.HasPrefix(b.ID, f.Search) ||
		strings.Contains(strings.ToLower(b.File), strings.ToLower(f.Search))
}

func (s *Site) home(v *request) error {
	if !v.session.Account.HasRole() {
		return v.redirect("/sessions") // the page of those who see nothing else
	}
	p := homePage{Templates: importer.Templates(), MaxUpload: s.MaxUpload >> 20, Filter: v.batchFilter()}
	var batches []ledger.Batch
	err := errors.Join(
		load(&p.Uploads)(s.Ledger.Uploads().List(v.ctx())),
		load(&p.Actions)(s.listActions(v)),
		load(&batches)(s.Ledger.Batches(v.ctx())),
		load(&p.Clients)(s.Ledger.Companies().Clients(v.ctx(), "", listedClients)))
	// A batch that is not open stands among the uploads, and one of corrections in
	// the batch that it corrected.
	batches = slices.DeleteFunc(batches, func(b ledger.Batch) bool { return !b.Open })
	p.Any = len(batches) > 0
	if err == nil && s.asksForSetup(v, len(p.Uploads), len(batches)) {
		return v.redirect("/setup")
	}
	if err := errors.Join(err, s.listBatches(v, &p, batches)); err != nil {
		return err
	}
	return v.show("home.html", "Home", p)
}

// listBatches adds the batches that the filter asks for.
func (s *Site) listBatches(v *request, p *homePage, batches []ledger.Batch) error {
	batches = slices.DeleteFunc(batches, func(b ledger.Batch) bool { return !p.Filter.matches(b) })
	if p.Filter.Client != "" {
		of, err := s.Ledger.Companies().BatchesOfClient(v.ctx(), p.Filter.Client)
		if err != nil {
			return err
		}
		batches = slices.DeleteFunc(batches, func(b ledger.Batch) bool { return !of[b.ID] })
	}
	facts, err := s.actionFacts.Get(v.ctx(), "", s.loadActionFacts)
	if err != nil {
		return err
	}
	waits := make(map[string]bool)
	for _, b := range facts.batches {
		at := facts.at[b.ID]
		waits[b.ID] = !b.Canceled || at.Uncertain+at.Exceptions > 0
	}
	shown := make(map[string][]ledger.Batch)
	for _, b := range batches {
		shown[""] = append(shown[""], b)
		if b.CreatedBy == v.who() {
			shown["mine"] = append(shown["mine"], b)
		}
		if waits[b.ID] {
			shown["action"] = append(shown["action"], b)
		}
	}
	p.Tabs.Label = "Batches"
	known := false
	for _, one := range batchShows {
		p.Tabs.Tabs = append(p.Tabs.Tabs, tab{
			Path:    p.Filter.path(one.name),
			Name:    one.title,
			Count:   len(shown[one.name]),
			Current: one.name == p.Filter.Show,
		})
		known = known || one.name == p.Filter.Show
	}
	if !known {
		return errNoPage
	}
	page := shown[p.Filter.Show]
	p.Pager, page = paged(v, page, batchesOnPage)
	for _, b := range page {
		one, err := s.listedBatch(v, b, facts)
		if err != nil {
			return err
		}
		p.Starred = p.Starred || one.Cost.Certainty == money.Estimated
		p.Partial = p.Partial || one.Cost.IsUnknown() || one.Charged.IsUnknown()
		p.Batches = append(p.Batches, one)
	}
	return nil
}

func (s *Site) listedBatch(v *request, b ledger.Batch, facts actionFacts) (listedBatch, error) {
	f, err := s.loadFigures(v.ctx(), b.ID)
	if err != nil {
		return listedBatch{}, err
	}
	st, _, err := s.statusOf(v.ctx(), b, f, facts.at[b.ID].Exceptions, facts.fleet)
	if err != nil {
		return listedBatch{}, err
	}
	one := listedBatch{
		Batch:       b,
		batchStatus: st,
		Stack:       stackOf(st.Headline.String(), f.Counts),
		Charged:     f.Spent,
		Changed:     f.Changed,
	}
	one.Cost, err = f.Cost()
	return one, err
}

const batchesOnPage = 25

// listedClients is how many clients the filter lists; the search finds all.
const listedClients = 200

// stack is a bar of the results of rows.
type stack struct {
	Label string
	Parts []stackPart
}

type stackPart struct {
	Class    string
	X, Width float64
}

// stackOf draws the results of a batch's rows.
func stackOf(label string, c ledger.Counts) stack {
	s := stack{Label: label}
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

// shortCost prints a cost for a column of a table: "$325.00*" for an estimate,
// "$25.00+" where a state fee is not known. The page explains the marks.
func shortCost(c money.Cost) string {
	switch {
	case c.IsUnknown():
		return c.Amount.Dollars() + "+"
	case c.Certainty == money.Estimated:
		return c.Amount.Dollars() + "*"
	}
	return c.Amount.Dollars()
}
