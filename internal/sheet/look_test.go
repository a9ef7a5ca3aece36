package sheet

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestCellsAreShownAsTheySay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.xlsx")
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := w.Sheet("Sheet", SheetOptions{Widths: []float64{10, 20, 20}, HeaderRows: 1, NoGrid: true})
	if err != nil {
		t.Fatal(err)
	}
	stamp := Time(time.Date(2026, 3, 1, 14, 30, 5, 0, time.UTC))
	stamp.Format = `yyyy-mm-dd hh:mm "UTC"`
	least := Money(123450)
	least.Format = `"at least $"#,##0.00`
	text := Str("=1+1")
	text.Format = "0.00"
	for _, row := range [][]OutCell{
		{Str("one line").WithStyle(StyleWrap), stamp, least},
		{Str(strings.Repeat("word ", 8)).WithStyle(StyleWrap), stamp, text},
		{Str(strings.Repeat("word ", 8)), stamp, Time(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))},
	} {
		if err := s.Row(row...); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Save(); err != nil {
		t.Fatal(err)
	}
	f := excelFile(t, path)
	for cell, want := range map[string]string{
		"B1": "2026-03-01 14:30 UTC", "C1": "at least $1,234.50", "C2": "=1+1", "C3": "2026-03-01",
	} {
		if got, err := f.GetCellValue("Sheet", cell); err != nil || got != want {
			t.Errorf("cell %s shows %q (%v), want %q", cell, got, err, want)
		}
	}
	if view, err := f.GetSheetView("Sheet", 0); err != nil || view.ShowGridLines == nil || *view.ShowGridLines {
		t.Errorf("grid lines are shown (%v)", err)
	}
	rows, err := tryReadAll(path, "Sheet")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Cell{{Text: "one line", Kind: Text}, {Text: "2026-03-01T14:30:05", Kind: Date},
		{Text: "1234.5", Kind: Number}} {
		if got := rows[0].Cells[i]; got != want {
			t.Errorf("read back %+v, want %+v", got, want)
		}
	}
}
