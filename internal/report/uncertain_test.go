package report_test

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/resolve"
)

// uncertain returns uncertain orders. Rows 2 and 3 are of annual reports, row 4
// creates its company, row 5 forms one.
func uncertain() (ledger.Batch, []*resolve.UncertainOrder) {
	batch := ledger.Batch{
		ID: "b7k2", File: "roster.xlsx",
		Columns: []string{"Client No", "Company ID", "Entity Name", "Principal City", "Filing State", "SSN"},
		Fields: []string{"", "companyId", "company.legalName", "company.principalAddress.city", "filingState",
			"ein.responsiblePartySsn"},
	}
	row := func(n int64, r filing.Request) ledger.Row {
		return ledger.Row{
			ID:        n,
			Batch:     "b7k2",
			Number:    int(n),
			Request:   &r,
			Result:    filing.Uncertain,
			Reserved:  16375,
			Tries:     1,
			UpdatedAt: noon,
			Company:   r.Company.Ref,
			Message:   "sent, but no answer came",
			Cells: cells(text("007"), text(r.Company.Ref), text(r.Company.Sheet.LegalName), text("Dover"),
				text("FL"), text("078-05-1120")),
		}
	}
	report := filing.Order{
		FilingState:     "FL",
		AnnualReport:    &filing.AnnualReportItem{FilingYear: "2026"},
		RegisteredAgent: &filing.RegisteredAgentItem{},
	}
	named := func(ref, name string, o filing.Order) filing.Request {
		return filing.Request{
			Product: o.Products()[0],
			Company: filing.CompanyRef{Ref: ref, Sheet: filing.Company{LegalName: name}},
			Order:   o,
		}
	}
	tern := filing.Order{
		FilingState: "DE",
		Formation:   &filing.FormationItem{Company: filing.Company{LegalName: "Tern Tide LLC"}},
	}
	all := make([]*resolve.UncertainOrder, 4)
	for i, r := range []ledger.Row{
		row(2, named("comp_2", "=Harbor & Light LLC", report)), row(3, named("comp_3", "", report)),
		row(4, named("", "Granite Bay LLC", report)), row(5, named("", "", tern)),
	} {
		all[i] = &resolve.UncertainOrder{Row: r, Company: cmp.Or(r.Request.LegalName(), "Larkspur Books LLC")}
	}
	all[2].Row.Creating, all[2].Row.Reserved = true, 0
	all[1].Row.Dropped = []filing.Product{filing.RegisteredAgent}
	all[0].Attempts = []ledger.Attempt{
		{Try: 1, StartedAt: noon, Class: filing.NotSent, Message: "refused"},
		{
			Try:       2,
			StartedAt: noon.Add(time.Minute),
			EndedAt:   noon.Add(2 * time.Minute),
			Class:     filing.ServerError,
			Status:    502,
			Message:   "bad gateway",
		},
	}
	all[0].Candidates = []resolve.Candidate{{Order: "order_81", Product: filing.AnnualReport, At: noon}}
	all[0].MoreCandidates = 7
	return batch, all
}

func TestAnswerText(t *testing.T) {
	for want, attempt := range map[string]ledger.Attempt{
		"the filing service failed (HTTP 502): bad gateway": {
			Class:   filing.ServerError,
			Status:  502,
			Message: "bad gateway",
		},
		"not sent: the filing service refused the connection": {
			Class:   filing.NotSent,
			Message: "the filing service refused the connection",
			Detail:  "dial tcp",
		},
		// as an earlier version recorded it
		"no answer: connection reset": {
			Class:   filing.NoAnswer,
			Message: "sent, and no answer came: connection reset",
		},
	} {
		if got := report.AnswerText(attempt); got != want {
			t.Errorf("answer %q, want %q", got, want)
		}
	}
}

// filled writes the uncertain rows and lets a person fill them in, cell by cell.
func filled(t *testing.T, values map[string]any) string {
	t.Helper()
	batch, all := uncertain()
	all[0].Dashboard, all[1].NoDashboard = "https://dash.example/link_1", "the ID of the user or the company is "+
		"not known"
	path := filepath.Join(t.TempDir(), "uncertain.xlsx")
	if err := report.WriteUncertain(batch, all, path); err != nil {
		t.Fatal(err)
	}
	book := open(t, path)
	for cell, value := range values {
		if err := book.SetCellValue(report.UncertainSheet, cell, value); err != nil {
			t.Fatal(err)
		}
	}
	if err := book.Save(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestUncertainWorkbookIsFitToBeFilledIn(t *testing.T) {
	path := filled(t, nil)
	book := open(t, path)
	rows, err := book.GetRows(report.UncertainSheet)
	if err != nil {
		t.Fatal(err)
	}
	header := "Row,Company,Ordered,Dashboard,Evidence,Decision,Order IDs,Company ID,Sent,Answer,Reserved," +
		"Attempt,Batch,Client No,Company ID,Entity Name,Filing State"
	if got := strings.Join(rows[0], ","); got != header {
		t.Errorf("header %s, want %s", got, header)
	}
	for cell, want := range map[string]string{
		"A2": "2", "B2": "comp_2  =Harbor & Light LLC", "D2": "Open the dashboard", "F2": "",
		"I2": "2026-03-01 12:31 UTC",
		"J2": "the filing service failed (HTTP 502): bad gateway", "K2": "$163.75", "L2": "1", "M2": "b7k2",
		"N2": "007",
		"P2": "=Harbor & Light LLC", "Q2": "FL",
		"E2": "order_81, annual report, first reported 2026-03-01 12:30:15 UTC\nand 7 orders more",
		"D3": "no link: the ID of the user or the company is not known", "K4": "$0.00",
	} {
		if got, err := book.GetCellValue(report.UncertainSheet, cell); err != nil || got != want {
			t.Errorf("%s is %q, want %q (%v)", cell, got, want, err)
		}
	}
	if linked, url, err := book.GetCellHyperLink(report.UncertainSheet, "D2"); err != nil || !linked ||
		url != "https://dash.example/link_1" {
		t.Errorf("the dashboard's link: %v %q %v", linked, url, err)
	}
	lists, err := book.GetDataValidations(report.UncertainSheet)
	if err != nil || len(lists) != 1 || lists[0].Sqref != "F2:F5" ||
		lists[0].Formula1 != `"placed,not placed,leave"` || !lists[0].ShowErrorMessage {
		t.Errorf("drop lists %+v, %v", lists, err)
	}
	content, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(content), "078") {
		t.Error("a Social Security number is in the file")
	}
}

func TestDecisionsAreReadFromWhereverTheyStand(t *testing.T) {
	path := filled(t, map[string]any{
		"F2": "Placed", "G2": "order_81, order_82;order_83\norder_84", "F3": "NOT-PLACED", "F4": "leave",
		"F5": "perhaps", "H5": " comp_9 ",
		"A9": "", "B9": "12 of 14 done", // a note below
	})
	book := open(t, path)
	if err := book.InsertCols(report.UncertainSheet, "A", 1); err != nil { // columns may be moved
		t.Fatal(err)
	}
	if err := book.SaveAs(path); err != nil {
		t.Fatal(err)
	}
	d, err := report.ReadDecisions(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Decisions) != 4 || d.File != "uncertain.xlsx" || d.Sheet != report.UncertainSheet {
		t.Fatalf("%+v", d)
	}
	for i, want := range []resolve.Verdict{resolve.Placed, resolve.NotPlaced, resolve.Leave, ""} {
		got := d.Decisions[i]
		if got.Verdict() != want || got.Row != i+2 || got.Line != i+2 || got.Attempt != 1 || got.Batch != "b7k2" {
			t.Errorf("line %d: %+v, verdict %q, want %q", i+2, got, got.Verdict(), want)
		}
	}
	if got := d.Decisions[0].OrderIDs; !slices.Equal(got, []string{"order_81", "order_82", "order_83", "order_84"}) {
		t.Errorf("order ids %q", got)
	}
	if d.Decisions[3].CompanyID != "comp_9" || d.Cell(d.Decisions[3], resolve.CompanyIDField) != "I5" {
		t.Errorf("company id %q in %s", d.Decisions[3].CompanyID, d.Cell(d.Decisions[3], resolve.CompanyIDField))
	}
}

func TestUncertainCSVHoldsWhatTheWorkbookDoes(t *testing.T) {
	batch, all := uncertain()
	all[0].Dashboard = "https://dash.example/link_1"
	path := filepath.Join(t.TempDir(), "uncertain.csv")
	if err := report.WriteUncertain(batch, all, path); err != nil {
		t.Fatal(err)
	}
	lines := read(t, path, "")
	if got := words(lines[1]); got[3] != "https://dash.example/link_1" || got[8] != "2026-03-01T12:31:15Z" ||
		got[10] != "163.75" || got[13] != "007" {
		t.Errorf("%q", got)
	}
	back, err := report.ReadDecisions(path)
	if err != nil || len(back.Decisions) != 4 || back.Decisions[2].Row != 4 ||
		back.Decisions[2].Verdict() != resolve.Leave {
		t.Errorf("%+v, %v", back, err)
	}
}

func TestWhatIsNoSheetOfDecisionsIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.xlsx")
	book := excelize.NewFile()
	defer book.Close()
	if err := book.SetCellValue("Sheet1", "A1", "Row"); err != nil {
		t.Fatal(err)
	}
	if err := book.SaveAs(path); err != nil {
		t.Fatal(err)
	}
	if _, err := report.ReadDecisions(path); !errors.Is(err, report.ErrNoDecisions) ||
		!strings.Contains(err.Error(), `no column "Decision"`) {
		t.Errorf("error %v", err)
	}
}
