package report_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/report"
)

// book is a ledger of one batch.
type book struct {
	batch ledger.Batch
	rows  iter.Seq2[ledger.Row, error]
	funds ledger.Balance
}

func (b book) Batch(context.Context, string) (ledger.Batch, error) { return b.batch, nil }
func (b book) Balance(context.Context) (ledger.Balance, error)     { return b.funds, nil }

func (b book) ResultFigures(context.Context, string) (ledger.Figures, error) {
	f := ledger.Figures{Counts: make(ledger.Counts)}
	for r, err := range b.rows {
		if err != nil {
			return f, err
		}
		f.Counts[r.Result]++
		f.Spent, _ = f.Spent.Plus(r.Spent)
		f.Reserved.Amount += r.Reserved
		if r.Result == filing.Ready {
			f.Needed, _ = f.Needed.Plus(r.Cost)
		}
	}
	return f, nil
}

func (b book) Filings(context.Context, string) (ledger.Filings, error) {
	f := ledger.Filings{Statuses: make(map[string]int)}
	for r, err := range b.rows {
		if err != nil {
			return f, err
		}
		for _, i := range r.Items {
			if i.Exception != 0 {
				f.Exceptions++
			}
			if r.Result == filing.Placed && i.Product != filing.RegisteredAgent {
				f.Statuses[i.FilingStatus]++
			}
		}
	}
	return f, nil
}

func (b book) Results(context.Context, string) iter.Seq2[ledger.Row, error] {
	return b.rows
}

// rows are the rows of a batch. The cost of one that is placed is charged, and that of one
// that was sent is reserved.
func rows(all ...ledger.Row) iter.Seq2[ledger.Row, error] {
	for i := range all {
		switch r := &all[i]; r.Result {
		case filing.Placed:
			r.Spent = r.Cost
		case filing.Placing, filing.Uncertain:
			r.Reserved = r.Cost.Amount
		}
	}
	return func(yield func(ledger.Row, error) bool) {
		for _, row := range all {
			if !yield(row, nil) {
				return
			}
		}
	}
}

func TestExitCode(t *testing.T) {
	const (
		pl, ex, sk = filing.Placed, filing.Exists, filing.Skipped
		in, rj, ca = filing.Invalid, filing.Rejected, filing.Canceled
		rd, pg, un = filing.Ready, filing.Placing, filing.Uncertain
	)
	for _, c := range []struct {
		name string
		have []filing.Result
		want int
	}{
		{"nothing at all", nil, 0},
		{"all answered", []filing.Result{pl, ex, sk}, 0},
		{"an invalid row", []filing.Result{pl, in}, 2},
		{"a rejected row", []filing.Result{pl, rj}, 2},
		{"a canceled row", []filing.Result{pl, ca}, 2},
		{"a ready row", []filing.Result{pl, rd}, 3},
		{"a row under way elsewhere", []filing.Result{pl, pg}, 3},
		{"ready wins over correction", []filing.Result{in, rj, ca, rd}, 3},
		{"under way wins over correction", []filing.Result{in, pg}, 3},
		{"an uncertain row", []filing.Result{pl, un}, 4},
		{"uncertain wins over everything", []filing.Result{pl, ex, sk, in, rj, ca, rd, pg, un}, 4},
	} {
		s := report.Summary{Figures: ledger.Figures{Counts: ledger.Counts{}}}
		for _, r := range c.have {
			s.Counts[r]++
		}
		if got := s.ExitCode(); got != c.want {
			t.Errorf("%s: exit %d, want %d", c.name, got, c.want)
		}
	}
}

func TestSummaryIsTheLastLineOfJSON(t *testing.T) {
	s := report.Summary{
		Batch:  "b1",
		Output: "/tmp/out.xlsx",
		Figures: ledger.Figures{
			Counts: ledger.Counts{
				filing.Placed: 1, filing.Exists: 2, filing.Invalid: 3, filing.Rejected: 4, filing.Uncertain: 5,
				filing.Ready: 6, filing.Placing: 7, filing.Skipped: 8, filing.Canceled: 9,
			},
			Spent:    money.Cost{Amount: 123450, Certainty: money.Unknown},
			Reserved: money.Cost{Amount: 1},
		},
	}
	const want = `{"batch":"b1","rows":45,"placed":1,"exists":2,"invalid":3,"rejected":4,"uncertain":5,` +
		`"ready":13,"skipped":8,"canceled":9,"spent":"1234.50","output":"/tmp/out.xlsx"}`
	got, err := json.Marshal(s)
	if err != nil || string(got) != want {
		t.Errorf("got  %s (%v)\nwant %s", got, err, want)
	}
	const empty = `{"batch":"","rows":0,"placed":0,"exists":0,"invalid":0,"rejected":0,"uncertain":0,` +
		`"ready":0,"skipped":0,"canceled":0,"spent":"0.00","output":""}`
	if got, err := json.Marshal(report.Summary{}); err != nil || string(got) != empty {
		t.Errorf("got  %s (%v)\nwant %s", got, err, empty)
	}
}

// The sheet Needs Attention is named only in a workbook.
func TestLinesSayWhereToCorrect(t *testing.T) {
	for _, c := range []struct{ output, invalid, rejected string }{
		{"out.xlsx", "invalid: not sent; correct them on the sheet Needs Attention",
			"rejected: nothing was ordered; correct them on the sheet Needs Attention"},
		{"", "invalid: not sent", "rejected: nothing was ordered"},
		{"/tmp/OUT.CSV", "invalid: not sent; correct them and run the file again",
			"rejected: nothing was ordered; correct them and run the file again"},
	} {
		s := report.Summary{
			Figures: ledger.Figures{Counts: ledger.Counts{filing.Placed: 3, filing.Invalid: 1, filing.Rejected: 2}},
			Output:  c.output,
		}
		lines := s.Lines()
		if len(lines) != 3 || lines[0].Text != "placed" || lines[1].Text != c.invalid || lines[1].Rows != 1 ||
			lines[2].Text != c.rejected || lines[2].Rows != 2 {
			t.Errorf("%q: %+v", c.output, lines)
		}
	}
}

func TestSummarizeReportsAReadError(t *testing.T) {
	broken := errors.New("disk on fire")
	l := book{rows: func(yield func(ledger.Row, error) bool) {
		_ = yield(ledger.Row{Result: filing.Placed}, nil) && yield(ledger.Row{}, broken)
	}}
	if _, err := report.Summarize(t.Context(), l, "b1"); !errors.Is(err, broken) {
		t.Errorf("error %v, want it to wrap %v", err, broken)
	}
}
