package report_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/goldentest"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// TestResults compares the results of batches with testdata/results.txtar: each sheet of the
// workbook, cell by cell, and the CSV.
func TestResults(t *testing.T) {
	undeclared, partly, finished, nothing := season(), season(), season(), season()
	undeclared.funds = ledger.Balance{Posted: 27500}
	partly.funds.Certainty = money.Unknown
	finished.rows = rows(ledger.Row{Number: 2, Result: filing.Placed})
	nothing.rows = rows(ledger.Row{Number: 2, Result: filing.Uncertain, Cells: cells(text("comp_1"))})
	batches := map[string]book{
		"every result":                season(),
		"no deposit is recorded":      undeclared,
		"a part of the money unknown": partly,
		"every row is finished":       finished,
		"no row needs attention":      nothing,
		"filing statuses":             statuses(),
		"exceptions":                  exceptions(),
	}
	goldentest.Archive(t, "testdata/results.txtar", func(t *testing.T, name, sheets string) string {
		batch, ok := batches[name]
		if !ok {
			t.Fatalf("there is no batch %q", name)
		}
		delete(batches, name)
		var b strings.Builder
		path, s := write(t, batch, "out.xlsx")
		fmt.Fprintf(&b, "%v, exit code %d, %d exceptions, statuses %v\n", s.Counts, s.ExitCode(), s.Filings.Exceptions,
			s.Filings.Statuses)
		fmt.Fprintf(&b, "spent %s, reserved %s, needed %s\n", s.Spent, s.Reserved, s.Needed)
		f := open(t, path)
		fmt.Fprintf(&b, "sheets %q\n", f.GetSheetList())
		for sheet := range strings.Lines(sheets) {
			if sheet = strings.TrimSpace(sheet); sheet == "CSV" {
				path, _ := write(t, batch, "OUT.CSV")
				content, err := os.ReadFile(path)
				must(t, err)
				fmt.Fprintf(&b, "CSV:\n%s", content)
				continue
			}
			writeSheet(t, &b, f, path, sheet)
		}
		return b.String()
	})
	for name := range batches {
		t.Errorf("testdata has no results of %q", name)
	}
}

// writeSheet writes the cells of a sheet as a reader has them, and as a spreadsheet program shows
// them if that differs. A cell below the header that is marked has the color of its background.
func writeSheet(t *testing.T, b *strings.Builder, f *excelize.File, path, name string) {
	t.Helper()
	panes, err := f.GetPanes(name)
	must(t, err)
	fmt.Fprintf(b, "%s: %d frozen rows\n", name, panes.YSplit)
	book, err := sheet.Open(path, sheet.Limits{})
	must(t, err)
	defer book.Close()
	must(t, book.EachRow(name, func(row *sheet.Row) error {
		for column, cell := range row.Cells {
			at := sheet.CellName(column, row.Number)
			shown, err := f.GetCellValue(name, at)
			must(t, err)
			id, err := f.GetCellStyle(name, at)
			must(t, err)
			style, err := f.GetStyle(id)
			must(t, err)
			marked := row.Number > 1 && len(style.Fill.Color) > 0
			if cell.Text == "" && !marked {
				continue
			}
			fmt.Fprintf(b, "  %s %s %q", at, cell.Kind, cell.Text)
			if shown != cell.Text {
				fmt.Fprintf(b, " shown as %q", shown)
			}
			if marked {
				fmt.Fprintf(b, " %s", style.Fill.Color)
			}
		}
		b.WriteByte('\n')
		return nil
	}))
	comments, err := f.GetComments(name)
	must(t, err)
	for _, c := range comments {
		said := c.Text
		for _, run := range c.Paragraph {
			said += run.Text
		}
		fmt.Fprintf(b, "  comment at %s: %q\n", c.Cell, said)
	}
}

// statuses is a batch whose rows have filings that agree about their status, and that do not. An
// appointment is no filing unless it stands alone.
func statuses() book {
	item := func(p filing.Product, status, day string) ledger.Item {
		return ledger.Item{Product: p, FilingStatus: status, FilingDate: day}
	}
	report := item(filing.AnnualReport, "filed", "2026-03-01")
	b := season()
	var all []ledger.Row
	for i, items := range [][]ledger.Item{
		nil,
		{report, item(filing.RegisteredAgent, "submitted", "")},
		{item(filing.RegisteredAgent, "submitted", "")},
		{item(filing.AgentChange, "pending", "")},
		{report, item(filing.ForeignQualification, "filed", "2026-03-01")},
		{report, item(filing.ForeignQualification, "pending", "2026-04-01")},
		{{OrderType: "boi", FilingStatus: "queued"}, item(filing.EIN, "filed", "soon")},
	} {
		all = append(all, ledger.Row{Number: i + 2, Result: filing.Placed, Items: items})
	}
	b.rows = rows(all...)
	return b
}

// exceptions is a batch with filings that stand still, and one that is filed.
func exceptions() book {
	ein := func(n, code int, note string) ledger.Row {
		return ledger.Row{
			Number:    n,
			Result:    filing.Placed,
			Message:   "placed: EIN",
			Cost:      dollars(40),
			UpdatedAt: noon,
			Cells:     cells(text(fmt.Sprintf("comp_%d", n)), text("Bay LLC"), text("•••"), text("Grace")),
			Items: []ledger.Item{{
				Product:       filing.EIN,
				OrderID:       fmt.Sprintf("order_%d", n),
				FilingStatus:  "pending",
				Exception:     code,
				ExceptionNote: note,
			}},
		}
	}
	filed := ein(5, 0, "")
	filed.Items[0].FilingStatus, filed.Items[0].FilingDate = "filed", "2026-03-15"
	return book{
		batch: ledger.Batch{
			ID:        "b7k2",
			File:      "eins.xlsx",
			Product:   filing.EIN,
			Open:      true,
			CreatedAt: noon,
			Columns:   []string{"Company ID", "Legal Name", "SSN", "First"},
			Fields: []string{"companyId", "company.legalName", "ein.responsiblePartySsn",
				"ein.responsiblePartyFirstName"},
		},
		rows: rows(ein(2, 483, "123-45-6789 is an ITIN"), ein(3, 484, ""), ein(4, 999, ""), filed),
	}
}

// The costs of the results add up to the money that moved or may have moved.
func TestCostsAddUp(t *testing.T) {
	path, s := write(t, season(), "out.xlsx")
	var sum money.Cents
	for _, line := range read(t, path, "Results")[1:] {
		if text, _, _ := strings.Cut(line[10].Text, " + state fee"); text != "" {
			cents, err := money.Parse(text)
			must(t, err)
			sum += cents
		}
	}
	if moved := s.Spent.Amount + s.Reserved.Amount; sum != moved {
		t.Errorf("the column adds up to %v, want spent and reserved, %v", sum, moved)
	}
}

// The results can be filtered, and a ZIP code that is typed into its column keeps its zero.
func TestResults_FilterAndFormats(t *testing.T) {
	path, _ := write(t, season(), "out.xlsx")
	if content := allParts(t, path)["xl/worksheets/sheet1.xml"]; !strings.Contains(
		strings.ReplaceAll(content, "$", ""), `<autoFilter ref="A1:N11"`) {
		t.Error("the results cannot be filtered")
	}
	f := open(t, path)
	id, err := f.GetColStyle("Needs Attention", "C")
	must(t, err)
	if style, err := f.GetStyle(id); err != nil || style.NumFmt != 49 {
		t.Errorf("the ZIP codes are no text: %+v (%v)", style, err)
	}
}
