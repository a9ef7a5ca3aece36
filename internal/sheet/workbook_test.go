package sheet

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"
)

// readAll reads a sheet into rows that stay.
func readAll(t testing.TB, path, sheet string) []Row {
	t.Helper()
	rows, err := tryReadAll(path, sheet)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func tryReadAll(path, sheet string) ([]Row, error) {
	f, err := Open(path, Limits{})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readSheet(f, sheet)
}

func readSheet(f *File, sheet string) (all []Row, err error) {
	err = f.EachRow(sheet, func(row *Row) error {
		all = append(all, *row)
		return nil
	})
	return all, err
}

func texts(rows []Row) [][]string {
	var all [][]string
	for _, row := range rows {
		var line []string
		for _, c := range row.Cells {
			line = append(line, c.Text)
		}
		all = append(all, line)
	}
	return all
}

// sample writes a workbook that uses everything there is.
func sample(t testing.TB, path string) *Workbook {
	t.Helper()
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	results, err := w.Sheet("Results", SheetOptions{
		Widths:        []float64{30, 12, 14, 14, 20},
		HeaderRows:    1,
		HeaderColumns: 1,
		AutoFilter:    true,
		TabColor:      "2E7D32",
		TextColumns:   []int{1},
		Choices: []Choice{
			{
				Column:   1,
				FirstRow: 2,
				LastRow:  100,
				Values:   []string{"yes", "no"},
				Prompt:   "Yes or no",
			},
			{Column: 4, FirstRow: 2, LastRow: 100, Values: longList(60)},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(results.Row(Str("Company").WithStyle(StyleHeader), Str("ZIP").WithStyle(StyleHeader),
		Str("Cost").WithStyle(StyleHeader),
		Str("Date").WithStyle(StyleHeader), Str("Result").WithStyle(StyleHeader)))
	must(results.Row(Str("+1 Fitness LLC"), CopyOf(Cell{Text: "02134", Kind: Number}), Money(123450),
		Time(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)), Str("placed").WithStyle(StyleOK)))
	must(results.Row(Str("=1+1"), Int(2026).WithStyle(StyleFault).WithComment("Filing Year must be four digits."),
		Money(-5),
		Time(time.Date(2026, 3, 1, 14, 30, 5, 0, time.UTC)), Str("invalid").WithStyle(StyleBad)))
	must(results.Row())
	must(results.Row(CopyOf(Cell{}), CopyOf(Cell{Text: "TRUE", Kind: Bool}),
		CopyOf(Cell{Text: "12345678901234567", Kind: Number}),
		CopyOf(Cell{Text: "1899-01-01", Kind: Date}),
		Str("open")))
	must(results.Row(Str("a _x000D_ b"), Str("<&>\"'"), Str("two\nlines").WithStyle(StyleWrap),
		CopyOf(Cell{Text: "#N/A", Kind: Error}), Str("uncertain").WithStyle(StyleWarn)))
	summary, err := w.Sheet("Summary", SheetOptions{Widths: []float64{24, 12}})
	must(err)
	must(summary.Row(Str("Summary").WithStyle(StyleTitle)))
	must(summary.Row(Str("placed"), Int(40)))
	must(summary.Row(Str("invalid"), Int(7)))
	must(summary.Row(Str("ready"), Int(3)))
	must(summary.Row(Str("all").WithStyle(StyleBold),
		Int(50).WithStyle(StyleBold)))
	return w
}

// excelFile opens a workbook with the library, until the test ends.
func excelFile(t *testing.T, path string) *excelize.File {
	t.Helper()
	f, err := excelize.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func longList(n int) []string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("State number %d", i))
	}
	return list
}

func TestWorkbookRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.xlsx")
	if err := sample(t, path).Save(); err != nil {
		t.Fatal(err)
	}
	rows := readAll(t, path, "Results")
	want := [][]string{
		{"Company", "ZIP", "Cost", "Date", "Result"},
		{"+1 Fitness LLC", "02134", "1234.5", "2026-03-01", "placed"},
		{"=1+1", "2026", "-0.05", "2026-03-01T14:30:05", "invalid"},
		{"", "TRUE", "12345678901234567", "1899-01-01", "open"},
		{"a _x000D_ b", "<&>\"'", "two lines", "#N/A", "uncertain"},
	}
	if got := texts(rows); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if rows[3].Number != 5 {
		t.Errorf("the row after the empty one has number %d, want 5", rows[3].Number)
	}
	for at, kind := range map[[2]int]Kind{{1, 0}: Text, {1, 1}: Text, {1, 2}: Number, {1, 3}: Date, {2, 0}: Text,
		{2, 1}: Number, {3, 1}: Bool} {
		if got := rows[at[0]].Cells[at[1]].Kind; got != kind {
			t.Errorf("cell %v is %v, want %v", at, got, kind)
		}
	}
}

// Some readers believe the dimension and show no more than it says, so there is none.
func TestWorkbook_NoDimension(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.xlsx")
	if err := sample(t, path).Save(); err != nil {
		t.Fatal(err)
	}
	f := excelFile(t, path)
	for _, sheet := range []string{"Results", "Summary", listSheet} {
		if got, err := f.GetSheetDimension(sheet); got != "" || err != nil {
			t.Errorf("dimension of %s is %s (%v)", sheet, got, err)
		}
	}
	rules, err := f.GetDataValidations("Results")
	if err != nil || len(rules) != 2 || rules[1].Formula1 != "'Lists'!$A$1:$A$60" {
		t.Errorf("drop-downs are %v, %v", rules, err)
	}
	comments, err := f.GetComments("Results")
	if err != nil || len(comments) != 1 || comments[0].Cell != "B3" {
		t.Errorf("comments are %v, %v", comments, err)
	}
}

func TestWorkbookLeavesNothingBehind(t *testing.T) {
	for name, end := range map[string]func(*Workbook) error{
		"abort":          func(w *Workbook) error { w.Abort(); return nil },
		"save and abort": func(w *Workbook) error { defer w.Abort(); return w.Save() },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "out.xlsx")
			if err := end(sample(t, path)); err != nil {
				t.Fatal(err)
			}
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			want := 0
			if strings.HasPrefix(name, "save") {
				want = 1
			}
			if len(entries) != want {
				t.Errorf("left in the folder: %v", entries)
			}
		})
	}
	if _, err := Create(filepath.Join(t.TempDir(), "no such folder", "out.xlsx")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("creating in a missing folder gives %v", err)
	}
}

func TestWorkbookKeepsTheOldFileUntilSave(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.xlsx")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := sample(t, path)
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Fatal("the old file is gone before Save")
	}
	if err := w.Save(); err != nil {
		t.Fatal(err)
	}
	if stat, err := os.Stat(path); err != nil || stat.Mode().Perm() != 0o600 || stat.Size() < 1000 {
		t.Errorf("after Save the file is %v, %v", stat, err)
	}
}

func TestCommentsAreCapped(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "out.xlsx"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	s, err := w.Sheet("Results", SheetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for range maxComments + 7 {
		if err := s.Row(Str("x").WithComment("wrong")); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.comments) != maxComments {
		t.Errorf("%d comments", len(s.comments))
	}
}

// A table of thousands of columns is written in the time of one with hundreds.
func TestWidthsAreCapped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.xlsx")
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Sheet("Results", SheetOptions{Widths: slices.Repeat([]float64{31}, maxWidths+9)})
	if err := errors.Join(err, w.Save()); err != nil {
		t.Fatal(err)
	}
	f := excelFile(t, path)
	for column, want := range map[int]float64{maxWidths: 31, maxWidths + 1: 9.140625} {
		name, _ := excelize.ColumnNumberToName(column)
		if got, err := f.GetColWidth("Results", name); got != want || err != nil {
			t.Errorf("column %s is %g wide, %v", name, got, err)
		}
	}
}

func TestLongTextIsCutVisibly(t *testing.T) {
	for _, tt := range []struct {
		text string
		same bool
	}{
		{strings.Repeat("x", maxCellChars), true},
		{strings.Repeat("x", maxCellChars+1), false},
		{strings.Repeat("é", maxCellChars), true},
		{"x" + strings.Repeat("😀", maxCellChars/2), true},
		{strings.Repeat("😀", maxCellChars/2+1), false},
	} {
		got := cut(tt.text, maxCellChars)
		if (got == tt.text) != tt.same ||
			!tt.same && (!strings.HasSuffix(got, "…") || strings.Contains(got, "\uFFFD")) {
			t.Errorf("%d bytes become %d, ending in %q", len(tt.text), len(got), got[len(got)-8:])
		}
	}
}
