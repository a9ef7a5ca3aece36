package jobs

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
)

// The warnings of the rows to be sent are counted and named at their cells.
func TestListWarnings(t *testing.T) {
	ctx := context.Background()
	l, err := ledger.Open(ctx, ledger.Config{Dir: ledgertest.Dir(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	b := ledger.Batch{Sheet: "Reports", Columns: []string{"Company ID", "State"}, Product: filing.AnnualReport}
	add := func(id string, rows ...ledger.Row) {
		t.Helper()
		b.ID = id
		if _, err := l.CreateBatch(ctx, b); err != nil {
			t.Fatal(err)
		}
		if err := l.AddRows(ctx, id, rows); err != nil {
			t.Fatal(err)
		}
	}
	warning := ledger.Fault{Column: 1, Rule: "x", Message: `it says "w":true`, Warning: true}
	request := &filing.Request{
		Order: filing.Order{FilingState: "OH", AnnualReport: &filing.AnnualReportItem{FilingYear: "2026"}},
	}
	request.Company.Sheet = filing.Company{EntityType: filing.LLC, FormationState: "OH"}
	row := func(n int, result filing.Result, faults ...ledger.Fault) ledger.Row {
		return ledger.Row{
			Number:  n,
			Cells:   []byte(`["comp_1","OH"]`),
			Result:  result,
			Request: request,
			Faults:  faults,
		}
	}
	plain := ledger.Fault{Column: 1, Rule: "x", Message: `it says "w":true`}
	rows := []ledger.Row{
		row(2, filing.Ready, warning), row(3, filing.Ready), row(4, filing.Invalid, plain, warning),
		row(5, filing.Ready, warning, ledger.Fault{
			Column:  -1,
			Header:  "Filing Year",
			Rule:    "y",
			Message: "long ago",
			Warning: true,
		}), row(6, filing.Invalid, plain),
	}
	add("b1", rows...)
	w, err := ListWarnings(ctx, l, b, 2)
	if err != nil || w.Count != 3 || w.Rows != 2 || len(w.First) != 2 {
		t.Fatalf("%+v, %v", w, err)
	}
	if got, want := w.First[0].Text(), `Reports!B2  State: it says "w":true`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if marked, _, err := l.ListRows(ctx, ledger.RowQuery{Batch: b.ID, Warned: true, Limit: 10}); err != nil ||
		len(marked) != 3 {
		t.Errorf("%d rows with a warning, %v", len(marked), err)
	}
	w, err = ListWarnings(ctx, l, b, 10)
	if err != nil || w.First[2].Text() != "row 5  Filing Year: long ago" {
		t.Errorf("%+v, %v", w, err)
	}
	seen := map[string]bool{w.Hash: true, "": true}
	for i, other := range []ledger.Fault{
		{Column: 1, Rule: "x", Message: "other text", Warning: true},
		{Column: 1, Rule: "z", Message: warning.Message, Warning: true},
		{Column: 0, Rule: "x", Message: warning.Message, Warning: true},
	} {
		changed := slices.Clone(rows)
		changed[0] = row(2, filing.Ready, other)
		add(fmt.Sprint("other", i), changed...)
		w, err := ListWarnings(ctx, l, b, 0)
		if err != nil || w.Count != 3 || w.Rows != 2 || seen[w.Hash] {
			t.Errorf("%+v is not told from others: %+v, %v", other, w, err)
		}
		seen[w.Hash] = true
	}
	b.ID = "none"
	if w, err := ListWarnings(ctx, l, b, 0); err != nil || w.Hash != "" {
		t.Errorf("%+v, %v", w, err)
	}
}
