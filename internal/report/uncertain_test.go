package report_test

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/ledger"
	"bulkfiling/internal/report"
)

// doubts are uncertain rows in memory. Rows 2 and 3 are of annual reports, row
// 4 creates its company, row 5 forms one.
type doubts struct {
	rows     []ledger.Row
	attempts map[int64][]ledger.Attempt
	evidence map[int64][]ledger.Event
}

func (d doubts) UncertainRows(_ context.Context, batch string) ([]ledger.Row, error) {
	return slices.DeleteFunc(slices.Clone(d.rows), func(r ledger.Row) bool { return batch != "" && r.Batch != batch }),
		nil
}

func (d doubts) UncertainPage(ctx context.Context, batch string, after int64, limit int) ([]ledger.Row, int, error) {
	all, err := d.UncertainRows(ctx, batch)
	page := slices.DeleteFunc(slices.Clone(all), func(r ledger.Row) bool { return r.ID <= after })
	return page[:min(limit, len(page))], len(all), err
}

func (d doubts) AttemptsOf(context.Context, []int64) (map[int64][]ledger.Attempt, error) {
	return d.attempts, nil
}

func (d doubts) Evidence(_ context.Context, rows []int64) (map[int64][]*ledger.Evidence, map[int64]int, error) {
	told, of := make(map[string]*ledger.Evidence), make(map[int64][]*ledger.Evidence)
	for _, r := range d.rows {
		for _, e := range d.evidence[r.ID] {
			order := told[e.OrderID]
			if order == nil {
				order = new(ledger.Evidence)
				told[e.OrderID] = order
			}
			if !slices.Contains(order.Fits, r.ID) {
				order.Fits, order.Rows = append(order.Fits, r.ID), order.Rows+1
			}
			if !slices.ContainsFunc(order.Events, func(known ledger.Event) bool { return known.ID == e.ID }) {
				order.Events = append(order.Events, e)
			}
			if slices.Contains(rows, r.ID) && !slices.Contains(of[r.ID], order) {
				of[r.ID] = append(of[r.ID], order)
			}
		}
	}
	return of, map[int64]int{3: 7}, nil
}

func (d doubts) RowsByID(_ context.Context, ids []int64) (map[int64]ledger.Row, error) {
	rows := make(map[int64]ledger.Row)
	for _, r := range d.rows {
		if slices.Contains(ids, r.ID) {
			rows[r.ID] = r
		}
	}
	return rows, nil
}

// A page of uncertain rows says of an order that it fits rows of other pages.
func TestUncertainPage(t *testing.T) {
	_, d := inDoubt()
	var numbers []int
	for after := int64(0); ; {
		page, total, err := report.UncertainPage(t.Context(), d, "b7k2", after, 3)
		if err != nil || total != 4 {
			t.Fatal(total, err)
		}
		if len(page) == 0 {
			break
		}
		for _, doubt := range page {
			numbers, after = append(numbers, doubt.Row.Number), doubt.Row.ID
		}
	}
	if !slices.Equal(numbers, []int{2, 3, 4, 5}) {
		t.Error(numbers)
	}
	page, _, err := report.UncertainPage(t.Context(), d, "b7k2", 0, 1)
	if err != nil || len(page) != 1 || len(page[0].Evidence) == 0 || len(page[0].Evidence[0].Also) != 1 ||
		page[0].Evidence[0].Also[0].Number != 3 {
		t.Errorf("%+v, %v", page, err)
	}
}

func (d doubts) CompanyNames(_ context.Context, rows []ledger.Row) (map[int64]string, error) {
	names := make(map[int64]string)
	for _, r := range rows {
		names[r.ID] = cmp.Or(r.Request.LegalName(), "Larkspur Books LLC")
	}
	return names, nil
}

func inDoubt() (ledger.Batch, doubts) {
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
			Held:      16375,
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
	d := doubts{rows: []ledger.Row{
		row(2, named("comp_2", "=Harbor & Light LLC", report)), row(3, named("comp_3", "", report)),
		row(4, named("", "Granite Bay LLC", report)), row(5, named("", "", tern)),
	}}
	d.rows[2].Creating, d.rows[2].Held = true, 0
	d.rows[1].Dropped = []filing.Product{filing.RegisteredAgent}
	failed := ledger.Attempt{
		Try:       2,
		StartedAt: noon.Add(time.Minute),
		EndedAt:   noon.Add(2 * time.Minute),
		Class:     filing.ServerError,
		Status:    502,
		Message:   "bad gateway",
	}
	d.attempts = map[int64][]ledger.Attempt{
		2: {{Try: 1, StartedAt: noon, Class: filing.NotSent, Message: "refused"}, failed},
		3: {{
			Try:       1,
			StartedAt: noon,
			EndedAt:   noon,
			Class:     filing.NoAnswer,
			Message:   "sent, and no answer came: connection reset",
		}},
	}
	event := func(id, order, status string, at time.Time) ledger.Event {
		return ledger.Event{Event: filing.Event{
			ID:           id,
			OrderID:      order,
			OrderType:    "annual_report",
			FilingStatus: status,
			CreatedAt:    at,
		}}
	}
	both := []ledger.Event{
		event("evt_2", "order_81", "pending", noon.Add(time.Hour)),
		event("evt_1", "order_81", "submitted", noon.Add(time.Minute)),
	}
	d.evidence = map[int64][]ledger.Event{2: append(both, event("evt_3", "order_82", "submitted", noon)), 3: both}
	return batch, d
}

func TestDoubtSaysWhatIsKnown(t *testing.T) {
	_, d := inDoubt()
	all, err := report.Uncertain(t.Context(), d, "b7k2")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ company, ordered string }{
		{"comp_2  =Harbor & Light LLC", "annual report and registered agent, FL 2026"},
		{"comp_3  Larkspur Books LLC", "annual report, FL 2026"},
		{"Granite Bay LLC (new)", "creation of Granite Bay LLC"},
		{"Tern Tide LLC (new)", "formation, DE"},
	} {
		if got := all[i].CompanyText(); got != want.company {
			t.Errorf("company %q, want %q", got, want.company)
		}
		if got := all[i].Ordered(); got != want.ordered {
			t.Errorf("ordered %q, want %q", got, want.ordered)
		}
	}
	var told []string
	for _, e := range all[0].Evidence {
		told = append(told, e.Event+": "+e.String())
	}
	want := []string{
		"evt_2: order_81, annual report, pending, first heard of 2026-03-01 12:31:15 UTC; it fits row 3 of batch " +
			"b7k2, too",
		"evt_3: order_82, annual report, submitted, first heard of 2026-03-01 12:30:15 UTC",
	}
	if !slices.Equal(told, want) {
		t.Errorf("evidence %q, want %q", told, want)
	}
	if sent := all[0].Sent(); len(sent) != 1 ||
		report.AnswerText(sent[0]) != "the service failed (HTTP 502): bad gateway" {
		t.Errorf("sent %+v", sent)
	}
	if got := report.AnswerText(ledger.Attempt{
		Class:   filing.NotSent,
		Message: "the address of the service takes no connections",
		Detail:  "dial tcp",
	}); got != "not sent: the address of the service takes no connections" {
		t.Errorf("%q", got)
	}
	// As an earlier version recorded it.
	if got := report.AnswerText(all[1].Attempts[0]); got != "no answer: connection reset" {
		t.Errorf("answer %q", got)
	}
	if none, err := report.Uncertain(t.Context(), d, "other"); err != nil || len(none) != 0 {
		t.Errorf("of another batch: %v, %v", none, err)
	}
}

// filled writes the uncertain rows and lets a person fill them in, cell by cell.
func filled(t *testing.T, values map[string]any) string {
	t.Helper()
	batch, d := inDoubt()
	all, err := report.Uncertain(t.Context(), d, batch.ID)
	if err != nil {
		t.Fatal(err)
	}
	all[0].Dashboard, all[1].NoLink = "https://dash.example/link_1", "no link: the user or the company is not "+
		"known by id"
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
	header := "Row,Company,Ordered,Dashboard,Evidence,Decision,Order IDs,Company ID,Sent,Answer,Money " +
		"Held,Attempt,Batch,Client No,Company ID,Entity Name,Filing State"
	if got := strings.Join(rows[0], ","); got != header {
		t.Errorf("header %s, want %s", got, header)
	}
	for cell, want := range map[string]string{
		"A2": "2", "B2": "comp_2  =Harbor & Light LLC", "D2": "open the dashboard", "F2": "",
		"I2": "2026-03-01 12:31 UTC",
		"J2": "the service failed (HTTP 502): bad gateway", "K2": "$163.75", "L2": "1", "M2": "b7k2", "N2": "007",
		"P2": "=Harbor & Light LLC", "Q2": "FL",
		"D3": "no link: the user or the company is not known by id", "K4": "$0.00",
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
	if len(d.All) != 4 || d.File != "uncertain.xlsx" || d.Sheet != report.UncertainSheet {
		t.Fatalf("%+v", d)
	}
	for i, want := range []string{report.DecidedPlaced, report.DecidedNotPlaced, report.DecidedLeave, ""} {
		got := d.All[i]
		if got.Verdict() != want || got.Row != i+2 || got.Line != i+2 || got.Attempt != 1 || got.Batch != "b7k2" {
			t.Errorf("line %d: %+v, verdict %q, want %q", i+2, got, got.Verdict(), want)
		}
	}
	if got := d.All[0].OrderIDs; !slices.Equal(got, []string{"order_81", "order_82", "order_83", "order_84"}) {
		t.Errorf("order ids %q", got)
	}
	if d.All[3].CompanyID != "comp_9" || d.Cell(d.All[3], report.CompanyIDColumn) != "I5" {
		t.Errorf("company id %q in %s", d.All[3].CompanyID, d.Cell(d.All[3], report.CompanyIDColumn))
	}
}

func TestUncertainCSVHoldsWhatTheWorkbookDoes(t *testing.T) {
	batch, d := inDoubt()
	all, err := report.Uncertain(t.Context(), d, batch.ID)
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil || len(back.All) != 4 || back.All[2].Row != 4 || back.All[2].Verdict() != report.DecidedLeave {
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

var _ report.Doubts = (*ledger.Ledger)(nil)
