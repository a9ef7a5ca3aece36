package ledger_test

import (
	"context"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

func rev2Two(company string) ledger.Row {
	return ordering(company, filing.Order{AnnualReport: &filing.AnnualReportItem{FilingYear: "2026"}, EIN: &filing.EINItem{}})
}

// The rest costs more than was approved: the message compares like with like.
func TestRev2DearerRest(t *testing.T) {
	onLedger(t, func(s *store, ctx context.Context, l *ledger.Ledger) {
		row := rev2Two("comp_1")
		row.Cost = money.Cost{Amount: 85_00}
		_, err := l.CreateBatch(ctx, ledger.Batch{ID: "a", File: "a.csv", Product: filing.AnnualReport, Columns: []string{"Company ID"}})
		s.must(err)
		row.Number = 2
		s.must(l.AddRows(ctx, "a", []ledger.Row{row}))
		r := s.rows(l, "a")[0]
		s.must(l.KeepQuotes(ctx, []ledger.RowQuote{{Row: r.ID, Cost: money.Cost{Amount: 85_00}}}))
		s.must(l.OpenBatch(ctx, "a"))
		r = s.rows(l, "a")[0]
		in := intent(r)
		in.Cost, in.RestCost = money.Cost{Amount: 75_00}, money.Cost{Amount: 10_00}
		b := s.begin(l, in)
		s.Log(b, r.Approved)
		out := outcome(s.row(l, r.ID), 1, filing.Accepted)
		out.Items[0].Cost = money.Cost{Amount: 75_00}
		out.Items = out.Items[:1]
		out.Claims = in.Claims
		s.must(l.RecordOutcome(ctx, out))
		r = s.row(l, r.ID)
		s.Log(r.Result, r.Message, r.Spent, r.Cost)
		in = intent(r)
		in.Cost = money.Cost{Amount: 20_00}
		b = s.begin(l, in)
		r = s.row(l, r.ID)
		s.Log(b, r.Message)
		if b.Dearer && strings.Contains(r.Message, "costs $20.00 now, and $85.00 was approved") {
			s.Errorf("a person reads that less is needed than was approved: %s", r.Message)
		}
	})
}
