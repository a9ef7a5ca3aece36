package importer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/goldentest"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// columnNamed returns the column with a header of ours.
func columnNamed(t *testing.T, header string) columnID {
	t.Helper()
	w, ok := wordings[filing.FoldName(header)]
	if !ok || columns[w.column].header != header {
		t.Fatalf("no column %q", header)
	}
	return w.column
}

// kindNamed returns the kind of cells with a name.
func kindNamed(t *testing.T, name string) sheet.Kind {
	t.Helper()
	for kind := sheet.Blank; kind <= sheet.Formula; kind++ {
		if kind.String() == name {
			return kind
		}
	}
	t.Fatalf("no kind %q", name)
	return 0
}

// TestValues reads single cells as columns of an annual report.
func TestValues(t *testing.T) {
	goldentest.Lines(t, "testdata/values.txt", func(t *testing.T, fields []string) string {
		id := columnNamed(t, fields[1])
		header := columns[id].header
		cell := sheet.Cell{Kind: kindNamed(t, fields[2]), Text: fields[3]}
		im := &Import{mapping: &mapping{bindings: make([]*binding, len(columns))}, options: Options{Now: july}}
		c := im.newChecker()
		c.row = &Row{Number: 5, Cells: []sheet.Cell{cell}}
		b := &binding{column: &columns[id], id: id, header: header, mapName: header}
		read := fmt.Sprintf("%q", c.readCell(b, cell))
		for _, p := range c.row.Problems {
			read += fmt.Sprintf("; %s at %s: %s: %s", p.Severity, p.Cell, p.Rule, p.Message)
		}
		return read
	})
}

// TestSuggestions checks what the rules suggest for a cell, and that a cell with the suggested text
// does not have the problem. A state that is suggested may be another problem of its cell.
func TestSuggestions(t *testing.T) {
	report := cells{
		companyID: "comp_1", legalName: "Acme LLC", entityType: "LLC", userEmail: "a@example.com", userPhone: "",
		filingState: "NJ", filingYear: "2026", formationDate: "", orderAgent: "", agentCompanyName: "Agents Inc.",
		agentStreet: "1 Main St", agentCity: "Newark", agentState: "NJ", agentZIP: "07102",
	}
	goldentest.Lines(t, "testdata/suggestions.txt", func(t *testing.T, fields []string) string {
		column := columnNamed(t, fields[0])
		row, product := report, filing.AnnualReport
		if _, ok := report[column]; !ok {
			row, product = aFormation, filing.Formation
		} else if column == orderAgent {
			row = report.with(cells{agentCompanyName: "", agentStreet: "", agentCity: "", agentState: "", agentZIP: ""})
		}
		text, order := csvOf(row.with(cells{column: fields[1]}))
		d, err := OpenDraft("a.csv", []byte(text), Options{Product: product, Now: july})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		at := slices.Index(order, column)
		problem := func() Problem {
			for _, p := range d.At(0).Problems {
				if p.ColumnIndex == at {
					return p
				}
			}
			return Problem{}
		}
		p := problem()
		if p.Rule == "" {
			return "no problem"
		}
		if len(p.Suggest) == 0 {
			return "none"
		}
		if err := d.Set([]Edit{{Row: 2, Column: at, Text: p.Suggest[0]}}, nil); err != nil {
			t.Fatal(err)
		}
		if left := problem(); left.Rule == p.Rule && column != filingState {
			t.Errorf("%q has the problem too: %+v", p.Suggest[0], left)
		}
		return strings.Join(p.Suggest, " or ")
	})
}
