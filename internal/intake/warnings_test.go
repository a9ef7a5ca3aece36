package intake_test

import (
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/intake"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// The warnings of the rows to be sent are counted and named at their cells, and their hash
// changes with each of them.
func TestListWarnings(t *testing.T) {
	l, err := ledger.Open(t.Context(), ledger.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	report := &filing.Request{
		Product: filing.AnnualReport,
		Order: filing.Order{
			UserID:       "user_1",
			FilingState:  "NV",
			AnnualReport: &filing.AnnualReportItem{FilingYear: "2026"},
		},
		User:    filing.UserRef{ID: "user_1"},
		Company: filing.CompanyRef{Ref: "comp_1"},
	}
	b := ledger.Batch{Sheet: "Reports", Columns: []string{"Company ID", "State"}, Product: filing.AnnualReport}
	list := func(id string, first int, faults ...[]ledger.Fault) intake.Warnings {
		t.Helper()
		b.ID = id
		_, err := l.CreateBatch(t.Context(), b)
		must(err)
		var rows []ledger.Row
		for i, row := range faults {
			r := ledger.Row{Number: i + 2, Cells: []byte("[]"), Result: filing.Ready, Request: report, Faults: row}
			for _, fault := range row {
				if !fault.Warning {
					r.Result = filing.Invalid
				}
			}
			rows = append(rows, r)
		}
		must(l.AddRows(t.Context(), id, rows))
		w, err := intake.ListWarnings(t.Context(), l, b, first)
		must(err)
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
