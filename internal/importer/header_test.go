package importer

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/goldentest"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// TestHeaderWordings reads headers that stand alone.
func TestHeaderWordings(t *testing.T) {
	m, err := newMatcher(&Options{})
	if err != nil {
		t.Fatal(err)
	}
	goldentest.Lines(t, "testdata/wordings.txt", func(t *testing.T, fields []string) string {
		column := m.means(fields[0]).column
		if column == none {
			return "-"
		}
		return columns[column].header
	})
}

// Every header of the table means its own column, and no wording means two.
func TestColumnsComplete(t *testing.T) {
	for id := range columnID(len(columns)) {
		c := &columns[id]
		if w := wordings[filing.FoldName(c.header)]; w.column != id || w.strength != exact {
			t.Errorf("%s: %+v", c.header, w)
		}
		if c.about == "" || c.rule == "" || c.field == "" {
			t.Errorf("%s is not explained", c.header)
		}
		if !strings.Contains(c.header, "Officer") && !strings.Contains(columnTable(), "| `"+c.header+"` |") {
			t.Errorf("%s is not in the table of the README", c.header)
		}
		if got := columnOfField(c.field); got != id {
			t.Errorf("%s: field %s is column %d", c.header, c.field, got)
		}
		for _, a := range c.aliases {
			if w := wordings[filing.FoldName(a)]; w.column != id && w.strength == alias {
				t.Errorf("%q is a wording of %s and of %s", a, c.header, columns[w.column].header)
			}
		}
	}
}

// Of several sheets, none is read silently in place of the others.
func TestSheets(t *testing.T) {
	header := texts("Company ID", "User Email", "Filing State", "Filing Year", "Legal Name")
	row := texts("comp_1", "a@example.com", "DE", "2026", "Acme LLC")
	filings := [][]sheet.OutCell{header, row}
	empty := [][]sheet.OutCell{header}
	prose := [][]sheet.OutCell{texts("Read me"), texts("This workbook was made in June.")}
	results := &ledger.Origin{Batch: "b", Sheet: "Needs Attention", Rows: 1, Results: "Results"}
	for _, c := range []struct {
		why   string
		tabs  []tab
		o     Options
		sheet string // "" if the workbook is refused
		says  string // part of the error, or of a note
	}{
		{"one", []tab{{name: "June", rows: filings}}, Options{}, "June", ""},
		{"with a sheet of prose", []tab{{name: "Read me", rows: prose}, {name: "June", rows: filings}}, Options{},
			"June", ""},
		{"with an empty copy", []tab{{name: "Blank", rows: empty}, {name: "June", rows: filings}}, Options{},
			"June", ""},
		{"two", []tab{{name: "June", rows: filings}, {name: "July", rows: filings}}, Options{}, "",
			`"June", "July"`},
		{"two, one named", []tab{{name: "June", rows: filings}, {name: "July", rows: filings}},
			Options{Sheet: "july"}, "July", ""},
		{"none of that name", []tab{{name: "June", rows: filings}}, Options{Sheet: "May"}, "", `It has "June"`},
		{"hidden beside visible", []tab{{name: "June", rows: filings}, {name: "Old", rows: filings, hidden: true}},
			Options{}, "June", `"Old"`},
		{"hidden, named", []tab{{name: "June", rows: filings}, {name: "Old", rows: filings, hidden: true}},
			Options{Sheet: "Old"}, "Old", ""},
		{"hidden alone", []tab{{name: "Read me", rows: prose}, {name: "Old", rows: filings, hidden: true}},
			Options{}, "", `--sheet "Old"`},
		{"a legend that has two of our words",
			[]tab{{name: "June", rows: filings}, {name: "Legend", rows: [][]sheet.OutCell{texts("State",
				"Email"), texts("DE", "Delaware")}}}, Options{}, "June", `"Legend"`},
		{"results fed back", []tab{{name: "Results", rows: filings},
			{name: "Needs Attention", rows: filings, origin: results}},
			Options{}, "Needs Attention", "results workbook"},
		{"results without rows that need attention",
			[]tab{{name: "Results", rows: filings}, {name: "Needs Attention", origin: results,
				rows: [][]sheet.OutCell{texts("No rows need attention.")}}},
			Options{}, "", "in which no rows need attention"},
		{"results of a file whose header row was said",
			[]tab{{name: "Results", rows: filings},
				{name: "Needs Attention", rows: filings, origin: results}},
			Options{HeaderRow: 3}, "Needs Attention", ""},
		{"results of a list without headers", []tab{{name: "Needs Attention", rows: filings, origin: results}},
			Options{HeaderRow: NoHeader}, "Needs Attention", ""},
		{"results by name", []tab{{name: "Results", rows: filings},
			{name: "Needs Attention", rows: filings, origin: results}},
			Options{Sheet: "Results"}, "Results", ""},
		{"prose alone", []tab{{name: "Read me", rows: prose}}, Options{}, "",
			`row 1 with "Read me" in sheet "Read me"`},
	} {
		t.Run(c.why, func(t *testing.T) {
			c.o.Now = july
			im, err := Open(workbook(t, c.tabs...), c.o)
			if c.sheet == "" {
				var format *sheet.FormatError
				if !errors.As(err, &format) || !strings.Contains(err.Error(), c.says) {
					t.Fatalf("%v\nwant %s", err, c.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer im.Close()
			if im.Sheet() != c.sheet || !strings.Contains(strings.Join(im.Notes(), "\n"), c.says) {
				t.Errorf("sheet %q, notes %q", im.Sheet(), im.Notes())
			}
		})
	}
}

// The header may stand as deep as the rows that are looked at, and no deeper.
func TestHeaderDepth(t *testing.T) {
	text := func(above int) string {
		var b strings.Builder
		for i := range above {
			fmt.Fprintf(&b, "line %d of a long preface\n", i+1)
		}
		return b.String() + "Company ID,Filing State,Filing Year\ncomp_1,DE,2026\n"
	}
	if im := opened(t, saved(t, "in.csv", text(headRows-1)), Options{}); im.layout.row != headRows {
		t.Errorf("row %d", im.layout.row)
	}
	if _, err := Open(saved(t, "in.csv", text(headRows)), Options{}); err == nil {
		t.Error("found below the rows that are looked at")
	}
	if _, err := Open(saved(t, "in.csv", text(0)), Options{HeaderRow: headRows + 1}); err == nil ||
		!strings.Contains(err.Error(), "1 to 30") {
		t.Error(err)
	}
}

// The rows that are read to understand a sheet are few if their texts are long.
func TestHeadOfLongTexts(t *testing.T) {
	const rows = 100
	long := strings.Repeat("x", 100_000)
	im := opened(t, saved(t, "in.csv", "Company ID,Filing State,Filing Year,Notes\n"+
		strings.Repeat("comp_1,DE,2026,"+long+"\n", rows)), Options{})
	head, err := im.file.head(im.sheet)
	if err != nil || len(head) <= headRows || len(head) >= rows {
		t.Errorf("%d rows, %v", len(head), err)
	}
}
