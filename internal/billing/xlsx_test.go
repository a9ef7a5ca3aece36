package billing_test

import (
	"bytes"
	"encoding/csv"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/xuri/excelize/v2"

	"github.com/bulkfiling/bulkfiling/internal/billing"
)

// A workbook of bills is the same to the byte each time, and no name in it is a formula.
func TestXLSX(t *testing.T) {
	first, second := filepath.Join(t.TempDir(), "bills.xlsx"), filepath.Join(t.TempDir(), "again.xlsx")
	for _, path := range []string{first, second} {
		if err := billing.WriteXLSX(path, exampleBills()); err != nil {
			t.Fatal(err)
		}
	}
	one, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	two, err := os.ReadFile(second)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one, two) {
		t.Error("the second workbook is another file")
	}
	book, err := excelize.OpenFile(first)
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	for cell, want := range map[string]string{"A2": "INV-00001", "B2": "Invoice", "F2": "=cmd|' /C calc'!A0",
		"J2": "28.75", "K2": "300", "L2": "328.75", "A3": "INV-00002", "B3": "Credit", "L3": "-10.5"} {
		got, err := book.GetCellValue("Bills", cell, excelize.Options{RawCellValue: true})
		if err != nil || got != want {
			t.Errorf("%s is %q, want %q (%v)", cell, got, want, err)
		}
		if formula, err := book.GetCellFormula("Bills", cell); err != nil || formula != "" {
			t.Errorf("%s has the formula %q (%v)", cell, formula, err)
		}
	}
	rows, err := book.GetRows("Lines", excelize.Options{RawCellValue: true})
	if err != nil || len(rows) != 4 {
		t.Fatalf("%d lines (%v)", len(rows), err)
	}
}

// LibreOffice reads the workbook as it is meant.
func TestXLSXInLibreOffice(t *testing.T) {
	if testing.Short() {
		t.Skip("skipping a test in LibreOffice in short mode")
	}
	office, err := exec.LookPath("soffice")
	switch {
	case err != nil && os.Getenv("CI") != "":
		t.Fatal("LibreOffice is not installed")
	case err != nil:
		t.Skip("LibreOffice is not installed")
	}
	dir := t.TempDir()
	if err := billing.WriteXLSX(filepath.Join(dir, "bills.xlsx"), exampleBills()); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), office, "-env:UserInstallation=file://"+filepath.Join(dir, "profile"),
		"--headless", "--convert-to", "csv", "--outdir", dir, filepath.Join(dir, "bills.xlsx")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	content, err := os.ReadFile(filepath.Join(dir, "bills.csv"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(content)).ReadAll()
	if err != nil || len(rows) != 3 {
		t.Fatalf("%v (%v)", rows, err)
	}
	want := []string{"INV-00001", "Invoice", "2026-04-01", "2026-05-01", "2026-03", "=cmd|' /C calc'!A0", "",
		"M-1", "2",
		"28.75", "300", "328.75"}
	if !slices.Equal(rows[1], want) {
		t.Errorf("got  %q\nwant %q", rows[1], want)
	}
}
