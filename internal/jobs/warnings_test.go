package jobs_test

import (
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// The warnings of the rows to be sent are counted and named at their cells, and their hash
// changes with each of them.
func TestListWarnings(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{})
	b := ledger.Batch{Sheet: "Reports", Columns: []string{"Company ID", "State"}, Product: filing.AnnualReport}
	list := func(id string, first int, faults ...[]ledger.Fault) jobs.Warnings {
		t.Helper()
		b.ID = id
		_, err := f.CreateBatch(t.Context(), b)
		f.must(err)
		var rows []ledger.Row
		for i, row := range faults {
			r := ledger.Row{Number: i + 2, Cells: []byte("[]"), Result: filing.Ready, Request: report(i), Faults: row}
			for _, fault := range row {
				if !fault.Warning {
					r.Result = filing.Invalid
				}
			}
			rows = append(rows, r)
		}
		f.must(f.AddRows(t.Context(), id, rows))
		w, err := jobs.ListWarnings(t.Context(), f.Ledger, b, first)
		f.must(err)
		return w
	}
	warning := ledger.Fault{Column: 1, Rule: "x", Message: `it says "w":true`, Warning: true}
	missing := ledger.Fault{Column: -1, Header: "Filing Year", Rule: "y", Message: "long ago", Warning: true}
	plain := ledger.Fault{Column: 1, Rule: "x", Message: `it says "w":true`}
	w := list("b1", 10, []ledger.Fault{warning}, nil, []ledger.Fault{plain, warning}, []ledger.Fault{warning, missing})
	if w.Count != 3 || w.Rows != 2 || len(w.First) != 3 ||
		w.First[0].Text() != `Reports!B2  State: it says "w":true` ||
		w.First[2].Text() != "row 5  Filing Year: long ago" {
		t.Errorf("%+v", w)
	}
	seen := map[string]bool{w.Hash: true, "": true}
	for id, other := range map[string]ledger.Fault{
		"text":   {Column: 1, Rule: "x", Message: "other text", Warning: true},
		"rule":   {Column: 1, Rule: "z", Message: warning.Message, Warning: true},
		"column": {Column: 0, Rule: "x", Message: warning.Message, Warning: true},
	} {
		w := list(id, 1, []ledger.Fault{other}, nil, []ledger.Fault{plain, warning}, []ledger.Fault{warning, missing})
		if w.Count != 3 || w.Rows != 2 || len(w.First) != 1 || seen[w.Hash] {
			t.Errorf("%s is not told from others: %+v", id, w)
		}
		seen[w.Hash] = true
	}
	if w := list("none", 0, nil); w.Hash != "" {
		t.Errorf("%+v", w)
	}
}
