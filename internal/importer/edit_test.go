package importer

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// inMemory opens content that lies nowhere else.
func inMemory(t testing.TB, name, text string, o Options) (*Import, error) {
	t.Helper()
	o.Now = july
	im, err := OpenReader(name, strings.NewReader(text), int64(len(text)), o)
	if err == nil {
		t.Cleanup(func() { im.Close() })
	}
	return im, err
}

func recordedOf(im *Import) (string, error) {
	var k keeper
	if _, _, err := im.Record(context.Background(), &k, "ana"); err != nil {
		return "", err
	}
	b, err := im.batch()
	if err != nil {
		return "", err
	}
	var cells []string
	for _, r := range k.rows {
		cells = append(cells, string(r.Cells))
	}
	text, err := json.MarshalIndent(struct {
		Columns, Fields, Cells []string
		Rows                   []ledger.Row
	}{b.Columns, b.Fields, cells, k.rows}, "", " ")
	return string(text), err
}

const editedSheet = `Company ID,Legal Name,User Email,Filing State,Filing Year
comp_1,Acme LLC,a@example.com,DE,26

comp_2,Bolt LLC,a@example,ZZ,2026
comp_3,"Bay, Inc.",a@example.com,DE,2026,beyond
`

// An edit that has no place to lie is refused, at once or when the rows are
// gone through, and says where it was meant to go.
func TestEditsWithoutAPlace(t *testing.T) {
	book := workbook(t, tab{
		name: "June",
		rows: [][]sheet.OutCell{texts("Company ID", "User ID", "Filing State", "Filing Year"),
			texts("comp_1", "user_1", "DE", "2026")},
	})
	asBook, err := os.ReadFile(book)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		why   string
		text  string
		edit  Edit
		err   string
		later bool
	}{
		{"a blank row", editedSheet, Edit{Row: 3, Column: 0, Text: "comp_9"}, "row 3", true},
		{"a blank row, a column added", editedSheet, Edit{Row: 3, Column: -1, Header: "Agent City", Text: "Dover"},
			"row 3", true},
		{"beyond the last row", editedSheet, Edit{Row: 6, Column: 0, Text: "comp_9"}, "row 6", true},
		{"row 0", editedSheet, Edit{Row: 0, Column: 0, Text: "comp_9"}, "row 0", false},
		{"no column", editedSheet, Edit{Row: 2, Column: -1, Text: "x"}, "does not name a column", false},
		{"a column before the first", editedSheet, Edit{Row: 2, Column: -2, Header: "Filing Year", Text: "x"},
			"column -2", false},
		{"a column beyond the last there can be", editedSheet, Edit{Row: 2, Column: 1 << 14, Text: "x"},
			"column 16384", false},
		{"a column that is none of ours", editedSheet, Edit{Row: 2, Column: -1, Header: "Colour", Text: "x"},
			`"Colour"`, false},
		{"longer than a cell", editedSheet, Edit{Row: 2, Column: 0, Text: strings.Repeat("x", maxEdit+1)},
			"longer than a cell", false},
		{"another sheet", string(asBook), Edit{Sheet: "July", Row: 2, Column: 0, Text: "x"}, `sheet "July"`, false},
		{"a sheet of a CSV", editedSheet, Edit{Sheet: "June", Row: 2, Column: 0, Text: "x"}, `sheet "June"`, false},
		{"beyond the last row of a workbook", string(asBook), Edit{Sheet: "june", Row: 3, Column: 0, Text: "x"},
			"row 3", true},
	} {
		t.Run(c.why, func(t *testing.T) {
			im, err := inMemory(t, "in", c.text, Options{Product: filing.AnnualReport, Edits: []Edit{c.edit}})
			if c.later {
				if err != nil {
					t.Fatal(err)
				}
				_, err = im.Check(t.Context(), func(Problem) error { return nil })
			}
			var format *sheet.FormatError
			if !errors.As(err, &format) || !strings.Contains(err.Error(), c.err) ||
				!strings.Contains(err.Error(), "correction") {
				t.Errorf("%v", err)
			}
		})
	}
}

// Edits that name no sheet go to the one that is read; those of a sheet that is
// not read have no effect and are not part of the batch.
func TestEditsOfSheets(t *testing.T) {
	filings := func(id string) [][]sheet.OutCell {
		return [][]sheet.OutCell{texts("Company ID", "User ID", "Filing State", "Filing Year"),
			texts(id, "user_1", "DE", "26")}
	}
	path := workbook(t, tab{name: "Notes", rows: [][]sheet.OutCell{texts("made in June")}},
		tab{name: "June", rows: filings("comp_1")}, tab{name: "Old", rows: filings("comp_2"), hidden: true})
	first := func(o Options) (result, string) {
		im := opened(t, path, o)
		id, err := im.BatchID()
		if err != nil {
			t.Fatal(err)
		}
		return rowsOf(t, im)[0], id
	}
	year := Edit{Row: 2, Column: 3, Text: "2026"}
	unnamed, id1 := first(Options{Edits: []Edit{year}})
	year.Sheet = "JUNE"
	named, id2 := first(Options{Edits: []Edit{year}})
	if unnamed.result != filing.Ready || named.result != filing.Ready || id1 != id2 {
		t.Errorf("%s %s, %s %s", unnamed.result, id1, named.result, id2)
	}
	none, id3 := first(Options{})
	year.Sheet = "Old"
	elsewhere, id4 := first(Options{Edits: []Edit{year}})
	if elsewhere.result != none.result || id3 != id4 || id3 == id1 {
		t.Errorf("%s %s, %s %s", none.result, id3, elsewhere.result, id4)
	}
	if r, _ := first(Options{
		Sheet: "old",
		Edits: []Edit{{Row: 2, Column: 3, Text: "2026"}},
	}); r.result != filing.Ready || r.request.Company.Ref != "comp_2" {
		t.Errorf("%+v", r)
	}
}

// The batch is known by its edits too, in whatever order they were typed, and
// its identity does not give them away.
func TestBatchIDOfEdits(t *testing.T) {
	batch := func(o Options) ledger.Batch {
		t.Helper()
		o.Product = filing.AnnualReport
		im, err := inMemory(t, "in.csv", editedSheet, o)
		if err != nil {
			t.Fatal(err)
		}
		b, err := im.batch()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	year, state := Edit{Row: 2, Column: 4, Text: "2026"}, Edit{Row: 4, Column: 3, Text: "DE"}
	plain, first := batch(Options{}), batch(Options{Edits: []Edit{year, state}})
	for _, c := range []struct {
		why  string
		same bool
		o    Options
	}{
		{"another order", true, Options{Edits: []Edit{state, year}}},
		{"blanks that are not kept", true, Options{Edits: []Edit{{Row: 2, Column: 4, Text: " 2026\u00a0"}, state}}},
		{"a value that was typed over", true, Options{Edits: []Edit{{Row: 2, Column: 4, Text: "2027"}, year, state}}},
		{"the column by its name", true,
			Options{Edits: []Edit{{Row: 2, Column: -1, Header: "Filing Year", Text: "2026"}, state}}},
		{"one more", false, Options{Edits: []Edit{year, state, {Row: 5, Column: 5}}}},
		{"one less", false, Options{Edits: []Edit{year}}},
		{"another row", false, Options{Edits: []Edit{{Row: 5, Column: 4, Text: "2026"}, state}}},
		{"another text", false, Options{Edits: []Edit{{Row: 2, Column: 4, Text: "2025"}, state}}},
		{"an added column", false, Options{Edits: []Edit{year, state, {Row: 2, Column: -1, Header: "Agent City"}}}},
		{"another salt", false, Options{Edits: []Edit{year, state}, EditSalt: "x"}},
	} {
		if got := batch(c.o); (got.ID == first.ID) != c.same {
			t.Errorf("%s: %s and %s", c.why, first.Options, got.Options)
		}
	}
	if plain.ID == first.ID || strings.Contains(first.Options, "2026") ||
		!strings.Contains(first.Options, "--edits ") || strings.Contains(plain.Options, "--edits") {
		t.Errorf("%q and %q", plain.Options, first.Options)
	}
}

// drawEdits draws edits of rows that are not blank.
func drawEdits(rt *rapid.T, grid [][]string, width int, value *rapid.Generator[string]) (edits []Edit) {
	var filled []int
	for i, row := range grid {
		if slices.ContainsFunc(row, func(s string) bool { return sheet.TypedCell(s).Text != "" }) {
			filled = append(filled, i+1)
		}
	}
	for range rapid.IntRange(1, 20).Draw(rt, "edits") {
		e := Edit{Row: rapid.SampledFrom(filled).Draw(rt, "row"), Text: value.Draw(rt, "text")}
		if rapid.IntRange(0, 3).Draw(rt, "by name") == 0 {
			e.Column, e.Header = -1, rapid.SampledFrom([]string{"Agent City", "Agent ZIP", "Filing Year",
				"Agent Street"}).Draw(rt, "header")
		} else {
			e.Column = rapid.IntRange(0, width+1).Draw(rt, "column")
		}
		if e.Row > 1 || e.Column >= 3 { // the first headers make the row a header
			edits = append(edits, e)
		}
	}
	return edits
}

// A CSV with edits becomes, row for row and cell for cell, what the CSV becomes
// with these values typed into it.
func TestEditsAreAsIfTyped(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		all := []string{"Company ID", "Legal Name", "User Email", "Filing State", "Filing Year",
			"Order Registered Agent", "Notes", "Agent ZIP", "SSN"}
		width := rapid.IntRange(3, len(all)).Draw(rt, "columns")
		value := rapid.SampledFrom([]string{
			"", "", "comp_1", "comp_2", "Acme LLC", "Total", "a@example.com", "a@b", "DE", "Delaware", "ZZ", "2026",
			"26", "yes", "x", "N/A", "#N/A", "2134", "O’Neill", "\uFFFD",
			"'=1+1", " 2026 ", "\u00a0DE", "line\nbreak", "078-05-1120", "078051120", "Company ID",
		})
		grid := [][]string{slices.Clone(all[:width])}
		for range rapid.IntRange(1, 40).Draw(rt, "rows") {
			grid = append(grid, rapid.SliceOfN(value, width, width+rapid.IntRange(0, 1).Draw(rt, "beyond")).Draw(rt,
				"row"))
		}
		edits := drawEdits(rt, grid, width, value)
		o := Options{Product: filing.AnnualReport, Now: july}
		plain := csvText(grid)
		edited, err := OpenReader("in.csv", strings.NewReader(plain), int64(len(plain)),
			Options{Product: o.Product, Now: july, Edits: edits})
		written := csvText(typedInto(grid, edits))
		rewritten, err2 := OpenReader("in.csv", strings.NewReader(written), int64(len(written)), o)
		if err != nil || err2 != nil {
			if err == nil || err2 == nil || err.Error() != err2.Error() {
				rt.Fatalf("%v\nwritten: %v", err, err2)
			}
			return
		}
		if edited.layout.row != 1 {
			return // a row of values passes for the header
		}
		if slices.ContainsFunc(rewritten.layout.headings, func(h heading) bool { return h.outside }) {
			return // an added column is one of the table whatever is blank before it
		}
		got, err := recordedOf(edited)
		want, err2 := recordedOf(rewritten)
		if err := errors.Join(err, err2); err != nil || got != want {
			rt.Fatalf("%v\nedited:\n%s\nwritten:\n%s", err, got, want)
		}
		if a, b := problemsOf(rt, edited), problemsOf(rt, rewritten); a != b {
			rt.Fatalf("edited:\n%s\nwritten:\n%s", a, b)
		}
	})
}

func problemsOf(t rapid.TB, im *Import) string {
	var all []Problem
	tally, err := im.Check(context.Background(), func(p Problem) error {
		all = append(all, p)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	notes := slices.DeleteFunc(im.Notes(),
		func(n string) bool { return strings.Contains(n, "\uFFFD") }) // of what the file holds
	text, err := json.MarshalIndent(struct {
		Tally Tally
		All   []Problem
		Notes string
	}{tally, all, strings.Join(notes, "\n")}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// typedInto returns the grid with the edits typed into it.
func typedInto(grid [][]string, edits []Edit) [][]string {
	var out [][]string
	for _, row := range grid {
		out = append(out, slices.Clone(row))
	}
	set := func(row, column int, text string) {
		for len(out[row-1]) <= column {
			out[row-1] = append(out[row-1], "")
		}
		out[row-1][column] = text
	}
	for _, e := range edits { // the header decides where columns are added
		if e.Row == 1 && e.Column >= 0 {
			set(1, e.Column, e.Text)
		}
	}
	header := out[0]
	for len(header) > 0 && sheet.TypedCell(header[len(header)-1]).Text == "" {
		header = header[:len(header)-1]
	}
	width := len(header)
	var added []string
	place := make([]int, len(edits))
	for i, e := range edits {
		place[i] = e.Column
		if e.Column >= 0 {
			continue
		}
		if place[i] = slices.Index(header, e.Header); place[i] < 0 {
			at := slices.Index(added, e.Header)
			if at < 0 {
				at, added = len(added), append(added, e.Header)
			}
			place[i] = width + at
		}
	}
	for i := range out {
		if len(out[i]) > width {
			out[i] = slices.Insert(out[i], width, make([]string, len(added))...)
		}
	}
	for i, e := range edits {
		set(e.Row, place[i], e.Text)
	}
	for i, name := range added {
		set(1, width+i, name)
	}
	return out
}

func csvText(grid [][]string) string {
	var b strings.Builder
	for _, row := range grid {
		for i, c := range row {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(`"` + strings.ReplaceAll(c, `"`, `""`) + `"`)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
