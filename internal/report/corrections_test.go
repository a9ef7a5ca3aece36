package report_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// The sheet alone is the one within the results, to the cell and the comment.
func TestTheSheetAloneIsThatOfTheResults(t *testing.T) {
	b := season()
	whole, _ := write(t, b, "out.xlsx")
	alone := filepath.Join(t.TempDir(), "alone.xlsx")
	must(t, report.WriteAttention(t.Context(), b, b.batch.ID, alone))
	if got := open(t, alone).GetSheetList(); !slices.Equal(got, []string{"Needs Attention", "Bulkfiling"}) {
		t.Errorf("sheets %q", got)
	}
	want, got := read(t, whole, "Needs Attention"), read(t, alone, "Needs Attention")
	if !slices.EqualFunc(want, got, slices.Equal[[]sheet.Cell]) {
		t.Errorf("cells %v\nwant  %v", got, want)
	}
	wantSaid, err1 := open(t, whole).GetComments("Needs Attention")
	gotSaid, err2 := open(t, alone).GetComments("Needs Attention")
	if err := errors.Join(err1, err2); err != nil || len(gotSaid) != len(wantSaid) || len(gotSaid) == 0 {
		t.Errorf("%d comments, want %d (%v)", len(gotSaid), len(wantSaid), err)
	}
}

// A year that is typed into the marked cell stays a year, also where a date stood.
func TestTheMarkedCellTakesAYear(t *testing.T) {
	b := season()
	b.batch.Fields = slices.Clone(b.batch.Fields)
	for len(b.batch.Fields) < len(b.batch.Columns) {
		b.batch.Fields = append(b.batch.Fields, "")
	}
	b.batch.Fields[1] = "annualReport.filingYear"
	fault := ledger.Fault{Column: 1, Rule: "annual-report.year", Message: "not a year"}
	b.rows = rows(ledger.Row{
		Number: 2,
		Result: filing.Invalid,
		Cells:  cells(text("comp_1"), date("2026-12-31")),
		Faults: []ledger.Fault{fault},
	})
	path := filepath.Join(t.TempDir(), "out.xlsx")
	must(t, report.WriteAttention(t.Context(), b, b.batch.ID, path))
	f := open(t, path)
	must(t, f.SetCellValue("Needs Attention", "B2", 2026))
	if shown, err := f.GetCellValue("Needs Attention", "B2"); err != nil || shown != "2026" {
		t.Errorf("%q %v", shown, err)
	}
}

func TestNothingToCorrectWritesNothing(t *testing.T) {
	b := season()
	b.rows = rows(ledger.Row{Number: 2, Result: filing.Uncertain, Cells: cells(text("comp_1"))})
	path := filepath.Join(t.TempDir(), "out.xlsx")
	if err := report.WriteAttention(t.Context(), b, b.batch.ID, path); !errors.Is(err, report.ErrNothingToCorrect) {
		t.Errorf("error %v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) > 0 {
		t.Errorf("it left %v (%v)", left, err)
	}
}

// A sheet goes in, its rows at fault come out, are corrected and go in again.
func TestWhatNeedsAttentionIsCorrectedAndFedBack(t *testing.T) {
	const header = "Company ID,Legal Name,User Email,Filing State,Filing Year,Agent Company Name,Agent Street,Agent " +
		"City,Agent State,Agent ZIP\n"
	const asCSV = header +
		"comp_1,Acme LLC,a@example.com,DE,2026,,,,,\n" +
		"comp_2,+1 Fitness LLC,a@example.com,MA,26,Bay Agents,1 Main St,Boston,MA,02134\n" +
		"comp_3,\"Bay, Inc.\",,DE,2026,,,,,\n"
	for _, source := range []string{"in.csv", "in.xlsx"} {
		t.Run(source, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), source)
			must(t, os.WriteFile(path, []byte(asCSV), 0o600))
			if filepath.Ext(source) == ".xlsx" {
				asWorkbook(t, path, asCSV)
			}
			alone := writeAttention(t, path, importer.Options{})
			if tally := check(t, alone, importer.Options{}); tally != (importer.Tally{Rows: 2, Invalid: 2}) {
				t.Errorf("fed back as it is: %+v", tally)
			}
			f, err := excelize.OpenFile(alone)
			must(t, err)
			defer f.Close()
			must(t, errors.Join(f.SetCellValue("Needs Attention", "E2", 2026),
				f.SetCellStr("Needs Attention", "C3", "b@example.com"), f.Save()))
			if tally := check(t, alone, importer.Options{}); tally != (importer.Tally{Rows: 2, Ready: 2}) {
				t.Errorf("corrected: %+v", tally)
			}
		})
	}
}

// A correction that was typed on the page is in the sheet that comes out, the
// column that it added included.
func TestCorrectionsThatWereTypedComeOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.csv")
	must(t, os.WriteFile(
		path, []byte("Company ID,User Email,Filing State\ncomp_1,a@example.com,DE\ncomp_2,a@example,DE\n"),
		0o600))
	o := importer.Options{Edits: []importer.Edit{
		{Row: 2, Column: -1, Header: "Filing Year", Text: "2026"},
		{Row: 3, Column: -1, Header: "Filing Year", Text: "26"}, {Row: 3, Column: 2, Text: "MA"},
	}}
	alone := writeAttention(t, path, o)
	got := read(t, alone, "Needs Attention")
	if len(got) != 2 || !slices.Equal(words(got[0]),
		[]string{"Company ID", "User Email", "Filing State", "Filing Year", "Message", "Row"}) ||
		!slices.Equal(words(got[1])[:4], []string{"comp_2", "a@example", "MA", "26"}) {
		t.Errorf("%v", got)
	}
}

// writeAttention records a file and writes its rows that need attention.
func writeAttention(t testing.TB, path string, o importer.Options) string {
	t.Helper()
	l, id := recordFile(t, path, o)
	alone := filepath.Join(t.TempDir(), "attention.xlsx")
	must(t, report.WriteAttention(t.Context(), l, id, alone))
	return alone
}

// check reads a file and counts its rows by result.
func check(t testing.TB, path string, o importer.Options) importer.Tally {
	t.Helper()
	im, err := importer.Open(path, o)
	must(t, err)
	defer im.Close()
	tally, err := im.Check(context.Background(), func(importer.Problem) error { return nil })
	must(t, err)
	return tally
}

// asWorkbook writes the cells of a CSV to a workbook, numbers as numbers.
func asWorkbook(t testing.TB, path, content string) {
	t.Helper()
	f, err := sheet.OpenReader("in.csv", strings.NewReader(content), int64(len(content)), sheet.Limits{})
	must(t, err)
	book, err := sheet.Create(path)
	must(t, err)
	defer book.Abort()
	w, err := book.Sheet("Companies", sheet.SheetOptions{})
	must(t, err)
	err = f.EachRow("", func(row *sheet.Row) error {
		var out []sheet.OutCell
		for i, c := range row.Cells {
			if row.Number > 1 && i == 4 {
				c.Kind = sheet.Number
			}
			out = append(out, sheet.CopyOf(c))
		}
		return w.Row(out...)
	})
	must(t, err)
	must(t, book.Save())
}
