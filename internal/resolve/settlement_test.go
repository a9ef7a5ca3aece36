package resolve

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/filingapi"
	"bulkfiling/internal/ledger"
	"bulkfiling/internal/ledgertest"
	"bulkfiling/internal/report"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// inDoubt is a row that ordered some of the products for a company.
func inDoubt(o filing.Order) report.Doubt {
	return report.Doubt{
		Row:      ledger.Row{Number: 7, Company: "comp_1", Request: &filing.Request{Order: o}},
		Attempts: []ledger.Attempt{{StartedAt: noon, Class: filing.NoAnswer}},
	}
}

var (
	annual    = filing.Order{FilingState: "FL", AnnualReport: &filing.AnnualReportItem{FilingYear: "2026"}}
	formation = filing.Order{FilingState: "DE", Formation: &filing.FormationItem{}}
)

func TestWhatIsWrongWithASettlement(t *testing.T) {
	creating := inDoubt(annual)
	creating.Row.Creating = true
	for name, c := range map[string]struct {
		s            Settlement
		column, says string
	}{
		"placed":     {Settlement{Doubt: inDoubt(annual), Orders: []string{"order_1"}}, "", ""},
		"never made": {Settlement{Doubt: inDoubt(annual)}, "", ""},
		"formed": {Settlement{
			Doubt:   inDoubt(formation),
			Orders:  []string{"order_1"},
			Company: "comp_9",
		}, "", ""},
		"created": {Settlement{Doubt: creating, Company: "comp_9"}, "", ""},
		"no order id": {Settlement{Doubt: inDoubt(annual), Orders: []string{"doc_1"}},
			report.OrderIDsColumn, "is not an order id"},
		"the same id twice": {Settlement{Doubt: inDoubt(annual), Orders: []string{"order_1", "order_1"}},
			report.OrderIDsColumn, "given twice"},
		"more ids than items": {Settlement{Doubt: inDoubt(annual), Orders: []string{"order_1", "order_2"}},
			report.OrderIDsColumn, "2 order ids are too many"},
		"an order of a creation": {Settlement{Doubt: creating, Orders: []string{"order_1"}}, report.OrderIDsColumn,
			"give the company's id"},
		"a company of a report": {Settlement{
			Doubt:   inDoubt(annual),
			Orders:  []string{"order_1"},
			Company: "comp_9",
		}, report.CompanyIDColumn, "forms no company"},
		"no company id": {Settlement{
			Doubt:   inDoubt(formation),
			Orders:  []string{"order_1"},
			Company: "acme",
		}, report.CompanyIDColumn, "is not a company id"},
		"a formation without orders": {Settlement{Doubt: inDoubt(formation), Company: "comp_9"}, report.OrderIDsColumn,
			"is missing"},
	} {
		err := c.s.fault()
		if c.says == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		fault, ok := err.(*Fault)
		if !ok || fault.Column != c.column || !strings.Contains(fault.Message, c.says) {
			t.Errorf("%s: %+v", name, err)
		}
	}
}

func TestWhatSpeaksAgainstASettlement(t *testing.T) {
	told := func(orderType, company string, at time.Time) Told {
		return Told{"order_1": {{Event: filing.Event{
			ID:        "evt_1",
			OrderID:   "order_1",
			OrderType: orderType,
			CompanyID: company,
			CreatedAt: at,
		}}}}
	}
	ofAnother := func(state filing.State, year string) Told {
		t := told("annual_report", "comp_1", noon)
		t["order_1"][0].FilingState, t["order_1"][0].FilingYear = state, year
		return t
	}
	placed := Settlement{Doubt: inDoubt(annual), Orders: []string{"order_1"}}
	both := annual
	both.RegisteredAgent = &filing.RegisteredAgentItem{}
	half := Settlement{Doubt: inDoubt(both), Orders: []string{"order_1"}}
	supposed := Settlement{Doubt: inDoubt(annual), Company: "comp_1"}
	supposed.Doubt.Row.Creating, supposed.Doubt.Attempts[0].Supposed = true, true
	many := Settlement{Doubt: inDoubt(annual)}
	for i := range 300 {
		many.Doubt.Evidence = append(many.Doubt.Evidence, report.Evidence{Order: fmt.Sprint("order_", i)})
	}
	never := Settlement{Doubt: inDoubt(annual)}
	never.Doubt.Evidence = []report.Evidence{{Order: "order_1"}}
	for name, c := range map[string]struct {
		s    Settlement
		told Told
		says string
	}{
		"nothing was told":              {placed, nil, ""},
		"it fits":                       {placed, told("annual_report", "comp_1", noon.Add(time.Second)), ""},
		"a clock that is a little slow": {placed, told("annual_report", "", noon.Add(-clockSkew)), ""},
		"a type that nobody knows":      {placed, told("something", "", noon), ""},
		"another product":               {placed, told("ein", "", noon), "is of another product"},
		"another company": {placed, told("annual_report", "comp_2", noon),
			"is of another company: comp_2"},
		"another state": {placed, ofAnother("DE", "2026"), "is of another state: DE"},
		"another year":  {placed, ofAnother("FL", "2025"), "is of another year: 2025"},
		"there before the row was sent": {placed, told("annual_report", "", noon.Add(-2*clockSkew)),
			"was there before this row was sent"},
		"an order that may be the row's": {never, nil, "it would be bought twice"},
		"many that may be": {many, nil,
			"as order_0 or order_1 or order_2 or one of 297 others: sent again"},
		"an item without an id": {half, nil, "no order id is given for the registered agent"},
		"another item without an id": {half, told("registered_agent", "comp_1", noon),
			"no order id is given for the annual report"},
		"a company, and perhaps more": {supposed, nil, "may have sent its order as well"},
	} {
		against := strings.Join(c.told.Against(&c.s), "\n")
		if c.says == "" && against != "" || !strings.Contains(against, c.says) {
			t.Errorf("%s: %q", name, against)
		}
	}
}

// The company beside a formation's order is looked at, once, before what came
// with it counts as that company's for ever: by itself, and in a sheet.
func TestTheCompanyThatWasFormedIsLookedAt(t *testing.T) {
	names := map[string]string{"comp_right": "Blue Heron, L.L.C.", "comp_second": "Red Heron LLC",
		"comp_wrong": "Harbor Light LLC"}
	var asked atomic.Int64
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		id := strings.TrimPrefix(r.URL.Path, "/v1/companies/")
		name, known := names[id]
		if !known {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, `{"id":%q,"legalName":%q}`, id, name)
	}))
	t.Cleanup(service.Close)
	client, err := filingapi.New(filingapi.Config{BaseURL: service.URL + "/v1", Key: "sk_test_1"})
	if err != nil {
		t.Fatal(err)
	}
	ledgertest.OnBoth(t, func(t *testing.T, database string) {
		l, err := ledger.Open(t.Context(), ledger.Config{Dir: ledgertest.Dir(t), DatabaseURL: database})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		desk := &Desk{Ledger: l, Service: func() (*filingapi.Client, error) { return client, nil }, By: "Ana"}
		for i, c := range []struct{ company, says string }{
			{"comp_right", ""},
			{"comp_second", ""},
			{"comp_wrong", `comp_wrong is "Harbor Light LLC", and the row's company is "Blue Heron LLC"`},
			{"comp_nobody", "comp_nobody"},
		} {
			batch, order := fmt.Sprint("b", i), fmt.Sprint("order_", i)
			doubt := formationInDoubt(t, l, batch)
			sheet := &report.Decisions{All: []report.Decision{{
				Line:      2,
				Batch:     batch,
				Row:       2,
				Attempt:   1,
				Word:      "placed",
				OrderIDs:  []string{order},
				CompanyID: c.company,
			}}}
			asked.Store(0)
			p, err := desk.Plan(t.Context(), batch, sheet)
			if err != nil || asked.Load() != 1 {
				t.Fatalf("%s: %v, asked %d times", c.company, err, asked.Load())
			}
			if said := strings.Join(p.Problems, "\n"); (c.says == "") != (said == "") ||
				!strings.Contains(said, c.says) || (len(p.Settlements) == 1) != (c.says == "") {
				t.Errorf("%s in a sheet: %q, %d settlements", c.company, said, len(p.Settlements))
			}
			s := &Settlement{Doubt: doubt, Orders: []string{order}, Company: c.company}
			asked.Store(0)
			err = desk.Check(t.Context(), s)
			if asked.Load() != 1 {
				t.Errorf("%s: the service was asked %d times", c.company, asked.Load())
			}
			if c.says != "" {
				var fault *Fault
				if !errors.As(err, &fault) || fault.Column != report.CompanyIDColumn ||
					!strings.Contains(fault.Message, c.says) {
					t.Errorf("%s: %v", c.company, err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", c.company, err)
			}
			said, err := desk.Settle(t.Context(), s)
			if err != nil || !strings.Contains(said, "its company is "+c.company) || asked.Load() != 1 {
				t.Errorf("%q, %v, asked %d times", said, err, asked.Load())
			}
			if row, err := l.Row(t.Context(), doubt.Row.ID); err != nil || row.Result != filing.Placed ||
				row.Company != c.company {
				t.Errorf("%+v, %v", row, err)
			}
		}
		if err := l.Audit(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// formationInDoubt is a formation in the ledger that was sent, and not answered.
func formationInDoubt(t *testing.T, l *ledger.Ledger, batch string) report.Doubt {
	t.Helper()
	ctx := t.Context()
	order := filing.Order{UserID: "user_" + batch, FilingState: "DE", Formation: &filing.FormationItem{
		Company:          filing.Company{LegalName: "Blue Heron LLC", EntityType: "LLC", FormationState: "DE"},
		AlternativeNames: []string{"Red Heron LLC"},
	}}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := l.CreateBatch(ctx, ledger.Batch{ID: batch, Product: filing.Formation, Columns: []string{"Legal Name"}})
	must(err)
	must(l.AddRows(ctx, batch, []ledger.Row{
		{
			Number:  2,
			Cells:   []byte(`["x"]`),
			Result:  filing.Ready,
			Request: &filing.Request{Product: filing.Formation, Order: order},
		},
	}))
	must(l.OpenBatch(ctx, batch))
	row, err := l.RowNumbered(ctx, batch, 2)
	must(err)
	begun, err := l.Begin(ctx, ledger.Intent{Row: row.ID, Claims: ledger.ClaimsOf(&order, "")})
	must(err)
	lost := filing.Answer{Kind: filing.NoAnswer}
	must(l.Settle(ctx, ledger.Outcome{Row: row.ID, Try: begun.Try, Answer: lost}))
	doubts, err := report.Uncertain(ctx, l, batch)
	must(err)
	if len(doubts) != 1 {
		t.Fatalf("%d rows in doubt", len(doubts))
	}
	return doubts[0]
}
