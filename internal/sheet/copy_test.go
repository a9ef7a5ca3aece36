package sheet

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"
)

// parts returns the unpacked parts of a workbook.
func parts(t *testing.T, data []byte) map[string]string {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, part := range archive.File {
		r, err := part.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all[part.Name] = string(content)
	}
	return all
}

// bookOf writes a workbook with one sheet into memory.
func bookOf(t *testing.T, fill func(f *excelize.File)) []byte {
	t.Helper()
	f := excelize.NewFile()
	defer f.Close()
	fill(f)
	var out bytes.Buffer
	if err := f.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// maskB masks the cells of column B below the first row.
func maskB(sheet string, row *Row) ([]Cell, error) {
	cells := slices.Clone(row.Cells)
	if row.Number > 1 && len(cells) > 1 && cells[1].Kind != Blank && sheet == "Sheet1" {
		cells[1] = Cell{Text: "***", Kind: Text}
	}
	return cells, nil
}

func find(text string, _ bool) (spans [][2]int) {
	if at := strings.Index(text, "519-47-3862"); at >= 0 {
		spans = append(spans, [2]int{at, at + 11})
	}
	return spans
}

func copyOf(t *testing.T, data []byte) ([]byte, error) {
	t.Helper()
	f, err := OpenReader("clients.xlsx", bytes.NewReader(data), int64(len(data)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return f.Copy(Masking{Sheet: "Sheet1", Row: maskB, Find: find})
}

// What is masked in a cell is in no other part, however it is written.
func TestCopyHides(t *testing.T) {
	data := bookOf(t, func(f *excelize.File) {
		tip := "{owner} 519-47-3862"
		for i, row := range [][]any{
			{"Name", "SSN", "EIN", "Note"},
			{"Ana", "519-47-3862", "12-3456789", `says "519-47-3862"`},
			{"Ben", 519473863, 123456789, "519 47 3863"},
			{"Cid", "5194738640", 40, "0519473865 is a phone number"},
			{"Dan", " ５１９473866 ", 1, 519473866},
		} {
			if err := f.SetSheetRow("Sheet1", CellName(0, i+1), &row); err != nil {
				t.Fatal(err)
			}
		}
		err := errors.Join(
			f.SetCellRichText("Sheet1", "D6", []excelize.RichTextRun{{Text: "of 519-"},
				{Text: "47-", Font: &excelize.Font{Bold: true}}, {Text: "3863"}}),
			f.AddComment("Sheet1", excelize.Comment{Cell: "A2", Author: "Ana", Text: "his is 519473863"}),
			f.SetCellHyperLink("Sheet1", "A3", "Sheet1!A1", "Location", excelize.HyperlinkOpts{Tooltip: &tip}),
			f.SetCellFormula("Sheet1", "E6", `"519-47-3863"&A1`),
			f.SetSheetProps("Sheet1", &excelize.SheetPropsOptions{}),
			f.SetHeaderFooter("Sheet1", &excelize.HeaderFooterOptions{OddHeader: "519-47-3862"}),
		)
		if err != nil {
			t.Fatal(err)
		}
	})
	copied, err := copyOf(t, data)
	if err != nil {
		t.Fatal(err)
	}
	for name, part := range parts(t, copied) {
		for _, digits := range []string{"519-47-3862", "519473863", "519 47 3863", "5194738640", "519473866",
			"47-</t>", "５１９"} {
			if strings.Contains(part, digits) {
				t.Errorf("%s holds %s", name, digits)
			}
		}
	}
	f, err := excelize.OpenReader(bytes.NewReader(copied))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for cell, want := range map[string]string{"B2": "***", "B3": "***", "B4": "***", "B5": "***", "C2": "12-3456789",
		"C3": "123456789", "D2": `says "***-**-3862"`, "D3": "*** ** 3863", "D6": "of ***-**-3863"} {
		if got, _ := f.GetCellValue("Sheet1", cell); got != want {
			t.Errorf("%s is %q, want %q", cell, got, want)
		}
	}
}

func TestCopyRefuses(t *testing.T) {
	embedded := bookOf(t, func(f *excelize.File) { f.Pkg.Store("xl/embeddings/oleObject1.bin", []byte("?")) })
	far := bookOf(t, func(f *excelize.File) {
		if err := f.SetCellStr("Sheet1", "A900000", "stray"); err != nil {
			t.Fatal(err)
		}
	})
	wide := bookOf(t, func(f *excelize.File) {
		for row := range 2100 {
			values := make([]any, 100)
			for i := range values {
				values[i] = i
			}
			if err := f.SetSheetRow("Sheet1", CellName(0, row+1), &values); err != nil {
				t.Fatal(err)
			}
		}
	})
	for name, data := range map[string][]byte{"embedded": embedded, "far": far, "wide": wide} {
		if _, err := copyOf(t, data); !errors.Is(err, ErrNoCopy) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// repacked replaces a text in all parts of a workbook.
func repacked(t *testing.T, data []byte, old, text string) []byte {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]string{}
	for _, f := range archive.File {
		part, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(part)
		if err != nil {
			t.Fatal(err)
		}
		parts[f.Name] = strings.ReplaceAll(string(content), old, text)
	}
	return packageOf(parts)
}

func TestAddColumns(t *testing.T) {
	data := bookOf(t, func(f *excelize.File) {
		for i, row := range [][]any{
			{"Clients"}, {"Name", "Other", "Fee"}, {"Ana", "x", 1}, {"Ben", "y", 2}, {"Cid", "z", 3},
		} {
			if err := f.SetSheetRow("Sheet1", CellName(0, i+1), &row); err != nil {
				t.Fatal(err)
			}
		}
		hidden := false
		if err := errors.Join(
			f.AddTable("Sheet1", &excelize.Table{Range: "A2:C5", Name: "List", StyleName: "TableStyleMedium2"}),
			f.MergeCell("Sheet1", "A1", "F1"), f.MergeCell("Sheet1", "B3", "B4"), f.MergeCell("Sheet1", "C5", "E5"),
			f.SetRowVisible("Sheet1", 4, hidden),
		); err != nil {
			t.Fatal(err)
		}
	})
	// Some programs refer to a table by its full name.
	copied, err := copyOf(t, repacked(t, data, `"../tables/`, `"/xl/tables/`))
	if err != nil {
		t.Fatal(err)
	}
	from, err := OpenReader("copy.xlsx", bytes.NewReader(copied), int64(len(copied)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "out.xlsx")
	w, err := CreateFrom(path, from)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if _, err := w.Sheet("Summary", SheetOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(
		w.AddColumns(AddedColumns{
			Sheet:  "Sheet1",
			Header: 2,
			Names:  []string{"Result", "Message"},
			Widths: []float64{10, 40},
			First:  3,
			Last:   2,
		}),
		w.SetCells("Sheet1", 5, 3, Str("ready"), Str("=1+1").WithStyle(StyleWrap)),
		w.Correct("Sheet1", 4, 1, Cell{Text: "corrected", Kind: Text}),
		w.Save(),
	); err != nil {
		t.Fatal(err)
	}
	f, err := excelize.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, _ := f.Pkg.Load("xl/tables/table1.xml")
	if ref := submatch(tableRef, table.([]byte)); ref != "A2:E5" {
		t.Errorf("the table has the range %s", ref)
	}
	for _, want := range []string{`<tableColumns count="5">`, `name="Result"`, `<tableColumn id="5" name="Message"/>`,
		`<autoFilter ref="A2:E5"`} {
		if !strings.Contains(string(table.([]byte)), want) {
			t.Errorf("the table has no %s: %s", want, table)
		}
	}
	for cell, want := range map[string]string{"A1": "Clients", "B3": "***", "B4": "corrected", "C5": "3",
		"D2": "Result", "D5": "ready", "E5": "=1+1"} {
		if got, _ := f.GetCellValue("Sheet1", cell); got != want {
			t.Errorf("%s is %q, want %q", cell, got, want)
		}
	}
	merged, err := f.GetMergeCells("Sheet1", true)
	if err != nil || len(merged) != 1 || merged[0][0] != "A1:F1" {
		t.Errorf("merged %v (%v)", merged, err)
	}
	if visible, _ := f.GetRowVisible("Sheet1", 4); visible {
		t.Error("a hidden row is shown")
	}
	if got, _ := f.GetSheetDimension("Sheet1"); got != "" {
		t.Errorf("dimension %s", got)
	}
}

// The columns of a table have different names. A table with a column of a fixed name
// keeps its columns.
func TestAddColumns_TableHasOurName(t *testing.T) {
	part := []byte(`<table ref="A1:B3" id="1" name="T"><autoFilter ref="A1:B3"/><tableColumns count="2">` +
		`<tableColumn id="1" name="A"/><tableColumn id="7" name="result"><x/></tableColumn></tableColumns></table>`)
	c := AddedColumns{Header: 1, First: 2, Last: 1, Names: []string{"Result"}, Fixed: []string{"Result"}}
	if got := c.widenTablePart(part); got != nil {
		t.Errorf("widened: %s", got)
	}
	c.Fixed = nil
	if c.widenTablePart(part); c.Names[0] != "Result 2" {
		t.Errorf("the column is named %q", c.Names[0])
	}
	c.Names = []string{"A & B"}
	want := `<table ref="A1:C3" id="1" name="T"><autoFilter ref="A1:C3"/><tableColumns count="3">` +
		`<tableColumn id="1" name="A"/><tableColumn id="7" name="result"><x/></tableColumn>` +
		`<tableColumn id="8" name="A &amp; B"/></tableColumns></table>`
	if got := string(c.widenTablePart(part)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
