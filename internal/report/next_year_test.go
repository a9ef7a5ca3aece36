package report_test

import (
	"path/filepath"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
	"github.com/bulkfiling/bulkfiling/internal/report"
	rules "github.com/bulkfiling/bulkfiling/internal/season"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// reportOf is an order of the report of a company in Florida.
func reportOf(company, year string) *filing.Request {
	return &filing.Request{
		Product: filing.AnnualReport,
		Company: filing.CompanyRef{Ref: company},
		User:    filing.UserRef{ID: "user_1"},
		Order:   filing.Order{FilingState: "FL", AnnualReport: &filing.AnnualReportItem{FilingYear: year}},
	}
}

// TestNotOrdered covers the results of rows. A row whose report may have been ordered is copied.
func TestNotOrdered(t *testing.T) {
	request := reportOf("comp_1", "2026")
	item := func(status string) []ledger.Item {
		return []ledger.Item{{Product: filing.AnnualReport, OrderID: "order_1", FilingStatus: status}}
	}
	held := `Status: the cell says "Sold": the row is not filed until you choose to file it anyway or leave it out`
	for _, c := range []struct {
		row  ledger.Row
		want string
	}{
		{ledger.Row{Result: filing.Placed, Request: request, Items: item("filed")}, ""},
		{ledger.Row{Result: filing.Exists, Request: request}, ""},
		{ledger.Row{Result: filing.Uncertain, Request: request}, ""},
		{ledger.Row{Result: filing.Skipped, Request: request, CoveredBy: &ledger.Subscription{}}, ""},
		{ledger.Row{Result: filing.Placed, Request: request, Items: item("canceled")},
			"The filing service canceled this year's report (order order_1)."},
		{ledger.Row{Result: filing.Placed, Request: &filing.Request{}}, "The row orders no annual report."},
		{ledger.Row{Result: filing.Skipped, Message: "Excluded by Paula"}, "Excluded by Paula."},
		{ledger.Row{Result: filing.Skipped, Message: "dismissed by Paula", Faults: []ledger.Fault{{Message: held}}},
			`Dismissed by Paula: Status: the cell says "Sold".`},
		{ledger.Row{Result: filing.Invalid, Message: held}, `Invalid: Status: the cell says "Sold".`},
		{ledger.Row{Result: filing.Rejected, Request: request, Message: "the company is dissolved"},
			"Rejected: the company is dissolved."},
		{ledger.Row{Result: filing.Canceled, Request: request}, "Canceled before it was sent."},
	} {
		if got := report.NotOrdered(&c.row); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.row.Result, c.row.Message, got, c.want)
		}
	}
}

func TestNotDue(t *testing.T) {
	facts := func(state filing.State, kind filing.EntityType, formed string, from filing.State) rules.Facts {
		return rules.FactsOf(state, filing.Company{EntityType: kind, FormationState: from, FormationDate: formed})
	}
	in := func(year string) string {
		return "Its next report is due in " + year + ": add it to the spreadsheet of that year."
	}
	for _, c := range []struct {
		facts rules.Facts
		year  int
		want  string
	}{
		{facts("FL", filing.LLC, "", "FL"), 2026, ""},
		{facts("IA", filing.LLC, "", "IA"), 2026, ""},
		{facts("IA", filing.LLC, "", "IA"), 2027, in("2029")},
		{facts("CA", filing.LLC, "2021-05-01", "CA"), 2026, ""},
		{facts("CA", filing.LLC, "2021-05-01", "CA"), 2027, in("2029")},
		// The years follow from the date, which is unknown: the year that was ordered shows them.
		{facts("CA", filing.LLC, "", "CA"), 2026, in("2028")},
		// A corporation's report would be due every year.
		{facts("CA", "", "", "CA"), 2026, ""},
		{facts("OH", filing.LLC, "", "OH"), 2026, "Ohio asks no annual report of an LLC."},
		{facts("PA", filing.LLC, "", "PA"), 2026, ""},
	} {
		if got := report.NotDue(c.facts, c.year); got != c.want {
			t.Errorf("%v after %d: %q, want %q", c.facts, c.year, got, c.want)
		}
	}
}

// TestWriteNextYear covers the cells: a year keeps its kind, no Social Security number is written, and of
// two years of a company in a state the later counts.
func TestWriteNextYear(t *testing.T) {
	l := ledgertest.Open(t, ledger.Config{})
	b := ledger.Batch{
		ID:      "b7k2",
		File:    "list.xlsx",
		Product: filing.AnnualReport,
		Columns: []string{"Company ID", "Owner SSN", "ZIP", "Year", "", "Result", "Message", "Order IDs"},
		Fields:  []string{"companyId", "", "", "annualReport.filingYear", "", "", "", ""},
	}
	row := func(n int, company, year string, kind sheet.Cell) ledger.Row {
		return ledger.Row{
			Number:  n,
			Result:  filing.Exists,
			Request: reportOf(company, year),
			Cells: cells(text(company), text("***-**-1120"), text("02134"), kind, sheet.Cell{}, text("placed"),
				text("Placed."), text("order_1")),
		}
	}
	ledgertest.Submit(t, l, b, row(2, "comp_1", "2025", number("2025")), row(3, "comp_1", "2026", number("2026")),
		row(4, "comp_2", "2026", text("FY 2026")), row(5, "comp_3", "2026", date("2026-01-01")))
	path := filepath.Join(t.TempDir(), "next.xlsx")
	n, err := report.WriteNextYear(t.Context(), l, b.ID, b.Columns, path)
	must(t, err)
	if n != (report.NextYear{Copied: 3, Listed: 1}) {
		t.Errorf("%+v", n)
	}
	want := [][]sheet.Cell{
		{text("Company ID"), text("Owner SSN"), text("ZIP"), text("Year"), text("User ID"), text("Filing State"), {}},
		{text("comp_1"), {}, text("02134"), number("2027"), text("user_1"), text("FL"), {}},
		{text("comp_2"), {}, text("02134"), text("2027"), text("user_1"), text("FL"), {}},
		{text("comp_3"), {}, text("02134"), number("2027"), text("user_1"), text("FL"), {}},
	}
	wantCells(t, read(t, path, "Annual Reports"), want)
	wantCells(t, read(t, path, "Not Copied"), [][]sheet.Cell{
		{text("Row"), text("Company and state"), text("Reason")},
		{number("2"), text("comp_1"), text("Row 3 is for the same company and state.")},
	})
}

func wantCells(t *testing.T, got, want [][]sheet.Cell) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d: %v", len(got), len(want), got)
	}
	for i := range want {
		for j := range want[i] {
			if j < len(got[i]) && got[i][j] != want[i][j] || j >= len(got[i]) && want[i][j].Kind != sheet.Blank {
				t.Errorf("row %d: %v\nwant %v", i, got[i], want[i])
				break
			}
		}
	}
}
