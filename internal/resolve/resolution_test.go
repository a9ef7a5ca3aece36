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

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// uncertain is a row that ordered some of the products for a company.
func uncertain(o filing.Order) *UncertainOrder {
	return &UncertainOrder{
		Row:      ledger.Row{Number: 7, Company: "comp_1", Request: &filing.Request{Order: o}},
		Attempts: []ledger.Attempt{{StartedAt: noon, Outcome: filing.NoAnswer}},
	}
}

var (
	annual    = filing.Order{FilingState: "FL", AnnualReport: &filing.AnnualReportItem{FilingYear: "2026"}}
	formation = filing.Order{FilingState: "DE", Formation: &filing.FormationItem{}}
)

func TestWhatIsWrongWithAResolution(t *testing.T) {
	creating := uncertain(annual)
	creating.Row.Creating = true
	without := uncertain(annual) // its attempt left out what another row had bought
	without.Row.Request.Order.RegisteredAgent = &filing.RegisteredAgentItem{}
	without.Attempts[0].Products = []filing.Product{filing.AnnualReport}
	for name, c := range map[string]struct {
		s     Resolution
		field Field
		says  string
	}{
		"placed":     {Resolution{Order: uncertain(annual), OrderIDs: []string{"order_1"}}, "", ""},
		"never made": {Resolution{Order: uncertain(annual)}, "", ""},
		"formed": {Resolution{
			Order:     uncertain(formation),
			OrderIDs:  []string{"order_1"},
			CompanyID: "comp_9",
		}, "", ""},
		"created": {Resolution{Order: creating, CompanyID: "comp_9"}, "", ""},
		"no order id": {Resolution{Order: uncertain(annual), OrderIDs: []string{"doc_1"}},
			OrderIDsField, "is not an order ID"},
		"the same id twice": {Resolution{Order: uncertain(annual), OrderIDs: []string{"order_1", "order_1"}},
			OrderIDsField, "entered twice"},
		"more ids than items": {Resolution{Order: uncertain(annual), OrderIDs: []string{"order_1", "order_2"}},
			OrderIDsField, "2 order IDs are too many"},
		"an id of what was left out": {Resolution{Order: without, OrderIDs: []string{"order_1", "order_2"}},
			OrderIDsField, "2 order IDs are too many: the row ordered annual report, FL 2026"},
		"an order of a creation": {Resolution{Order: creating, OrderIDs: []string{"order_1"}}, OrderIDsField,
			"the creation of the company is uncertain"},
		"a company of a report": {Resolution{
			Order:     uncertain(annual),
			OrderIDs:  []string{"order_1"},
			CompanyID: "comp_9",
		}, CompanyIDField, "forms no company"},
		"no company id": {Resolution{
			Order:     uncertain(formation),
			OrderIDs:  []string{"order_1"},
			CompanyID: "acme",
		}, CompanyIDField, "is not a company ID"},
		"a formation without orders": {Resolution{Order: uncertain(formation), CompanyID: "comp_9"}, OrderIDsField,
			"enter the order ID"},
	} {
		err := c.s.fault()
		if c.says == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		fault, ok := err.(*Fault)
		if !ok || fault.Field != c.field || !strings.Contains(fault.Message, c.says) {
			t.Errorf("%s: %+v", name, err)
		}
	}
}

func TestWhatSpeaksAgainstAResolution(t *testing.T) {
	told := func(orderType, company string, at time.Time) Events {
		return Events{"order_1": {{Event: filing.Event{
			ID:        "evt_1",
			OrderID:   "order_1",
			OrderType: orderType,
			CompanyID: company,
			CreatedAt: at,
		}}}}
	}
	ofAnother := func(state filing.State, year string) Events {
		t := told("annual_report", "comp_1", noon)
		t["order_1"][0].FilingState, t["order_1"][0].FilingYear = state, year
		return t
	}
	placed := Resolution{Order: uncertain(annual), OrderIDs: []string{"order_1"}}
	both := annual
	both.RegisteredAgent = &filing.RegisteredAgentItem{}
	half := Resolution{Order: uncertain(both), OrderIDs: []string{"order_1"}}
	supposed := Resolution{Order: uncertain(annual), CompanyID: "comp_1"}
	supposed.Order.Row.Creating, supposed.Order.Attempts[0].Supposed = true, true
	many := Resolution{Order: uncertain(annual)}
	for i := range 300 {
		many.Order.Candidates = append(many.Order.Candidates, Candidate{Order: fmt.Sprint("order_", i)})
	}
	never := Resolution{Order: uncertain(annual)}
	never.Order.Candidates = []Candidate{{Order: "order_1"}}
	for name, c := range map[string]struct {
		s    Resolution
		told Events
		says string
	}{
		"nothing was told":              {placed, nil, ""},
		"it fits":                       {placed, told("annual_report", "comp_1", noon.Add(time.Second)), ""},
		"a clock that is a little slow": {placed, told("annual_report", "", noon.Add(-clockSkew)), ""},
		"a type that nobody knows":      {placed, told("something", "", noon), ""},
		"another product":               {placed, told("ein", "", noon), "is for another product"},
		"another company": {placed, told("annual_report", "comp_2", noon),
			"is for another company: comp_2"},
		"another state": {placed, ofAnother("DE", "2026"), "is for another state: DE"},
		"another year":  {placed, ofAnother("FL", "2025"), "is for another year: 2025"},
		"there before the row was sent": {placed, told("annual_report", "", noon.Add(-2*clockSkew)),
			"existed before this row was sent"},
		"an order that may be the row's": {never, nil, "it could be bought twice"},
		"many that may be": {many, nil,
			"as order_0 or order_1 or order_2 or one of 297 other orders. If you mark"},
		"an item without an id": {half, nil, "you entered no order ID for the registered agent"},
		"another item without an id": {half, told("registered_agent", "comp_1", noon),
			"you entered no order ID for the annual report"},
		"a company, and perhaps more": {supposed, nil, "may have sent its order after"},
	} {
		against := strings.Join(c.s.objections(c.told), "\n")
		if c.says == "" && against != "" || !strings.Contains(against, c.says) {
			t.Errorf("%s: %q", name, against)
		}
	}
}

// The filing service may work on a request for the timeout of a request.
func TestWorkedOn(t *testing.T) {
	for _, c := range []struct {
		r     Resolution
		since time.Duration
		says  string
	}{
		{Resolution{Order: uncertain(annual)}, 29 * time.Second, "may still work on row 7 until 12:00:30 UTC"},
		{Resolution{Order: uncertain(annual)}, 30 * time.Second, ""},
		{Resolution{Order: uncertain(annual), OrderIDs: []string{"order_1"}}, time.Second, ""},
	} {
		got := c.r.workedOn(noon.Add(c.since), 30*time.Second)
		if (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("after %s: %q", c.since, got)
		}
	}
}

// The company of a formation is looked up once, before the row is resolved: for
// one row, and for the rows of a sheet.
func TestTheCompanyThatWasFormedIsLookedAt(t *testing.T) {
	names := map[string]string{"comp_right": "Blue Heron, L.L.C.", "comp_second": "Red Heron LLC",
		"comp_wrong": "Harbor Light LLC"}
	var asked atomic.Int64
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		id := strings.TrimPrefix(r.URL.Path, "/v1/companies/")
		name, known := names[id]
		if !known {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, `{"id":%q,"legalName":%q}`, id, name)
	}))
	t.Cleanup(api.Close)
	client, err := filingapi.New(filingapi.Config{BaseURL: api.URL + "/v1", Key: "sk_test_1"})
	must(t, err)
	wantAsked := func(t *testing.T, company string) {
		t.Helper()
		if n := asked.Swap(0); n != 1 {
			t.Errorf("%s: the filing service was asked %d times", company, n)
		}
	}
	ledgertest.OnBoth(t, func(t *testing.T, database string) {
		l := ledgertest.Open(t, ledger.Config{DatabaseURL: database})
		service := &Service{Ledger: l, Client: func() (*filingapi.Client, error) { return client, nil }, By: "Ana"}
		for i, c := range []struct{ company, says string }{
			{"comp_right", ""},
			{"comp_second", ""},
			{"comp_wrong", `comp_wrong is "Harbor Light LLC", but the row names "Blue Heron LLC"`},
			{"comp_nobody", "comp_nobody"},
		} {
			batch, id := fmt.Sprint("b", i), fmt.Sprint("order_", i)
			order := uncertainFormation(t, l, batch)
			wantPlan(t, service, batch, c.says, Decision{
				Row:       2,
				Attempt:   1,
				Verdict:   Placed,
				OrderIDs:  []string{id},
				CompanyID: c.company,
			})
			wantAsked(t, c.company)
			s := &Resolution{Order: order, OrderIDs: []string{id}, CompanyID: c.company}
			err = service.Check(t.Context(), s)
			wantAsked(t, c.company)
			if c.says != "" {
				wantCompanyFault(t, err, c.says)
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", c.company, err)
			}
			said, err := service.Resolve(t.Context(), s)
			if err != nil || !strings.Contains(said, "its company is "+c.company) || asked.Load() != 0 {
				t.Errorf("%q, %v, asked %d times more", said, err, asked.Load())
			}
			if row, err := l.Row(t.Context(), order.Row.ID); err != nil || row.Result != filing.Placed ||
				row.Company != c.company {
				t.Errorf("%+v, %v", row, err)
			}
		}
		if err := l.Audit(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// An order that the row has already may be its order: the answer named another product.
func TestCheck_OrderOfTheRow(t *testing.T) {
	l := ledgertest.Open(t, ledger.Config{})
	service := &Service{Ledger: l, By: "Ana"}
	order, other := uncertainFormation(t, l, "b1"), uncertainFormation(t, l, "b2")
	must(t, l.RecordOutcome(t.Context(), ledger.Outcome{
		Row:     order.Row.ID,
		Attempt: 1,
		Answer:  filing.Answer{Kind: filing.Accepted, Items: []filing.Item{{OrderType: "ein", OrderID: "order_1"}}},
		Items:   []ledger.Item{{OrderType: "ein", OrderID: "order_1"}},
	}))
	if err := service.Check(t.Context(), &Resolution{Order: order, OrderIDs: []string{"order_1"}}); err != nil {
		t.Error(err)
	}
	err := service.Check(t.Context(), &Resolution{Order: other, OrderIDs: []string{"order_1"}})
	if err == nil || !strings.Contains(err.Error(), "order_1 is the order of row 2 of batch b1") {
		t.Errorf("got %v", err)
	}
	// An order that the row has for another of its items is not the uncertain one.
	placed := UncertainOrder{Row: ledger.Row{
		Request: &filing.Request{Order: filing.Order{AnnualReport: &filing.AnnualReportItem{}, EIN: &filing.EINItem{}}},
		Items: []ledger.Item{
			{Product: filing.EIN, OrderID: "order_2"},
			{Product: filing.Formation, OrderID: "order_3"},
		},
	}}
	if placedAs(&placed.Row, "order_2") != filing.EIN || placedAs(&placed.Row, "order_3") != "" {
		t.Error(placedAs(&placed.Row, "order_2"), placedAs(&placed.Row, "order_3"))
	}
}

// wantPlan plans a decision. Its problem has the given text; without a text there
// is none, and a resolution.
func wantPlan(t *testing.T, service *Service, batch, says string, d Decision) {
	t.Helper()
	p, err := service.Plan(t.Context(), batch, []Decision{d})
	if err != nil {
		t.Fatalf("%s: %v", d.CompanyID, err)
	}
	if said := fmt.Sprint(p.Problems); (says == "") != (len(p.Problems) == 0) || !strings.Contains(said, says) ||
		(len(p.Resolutions) == 1) != (says == "") {
		t.Errorf("%s: %q, %d resolutions", d.CompanyID, said, len(p.Resolutions))
	}
}

func wantCompanyFault(t *testing.T, err error, says string) {
	t.Helper()
	var fault *Fault
	if !errors.As(err, &fault) || fault.Field != CompanyIDField || !strings.Contains(fault.Message, says) {
		t.Errorf("%v, want %q at the company ID", err, says)
	}
}

// uncertainFormation is a formation in the ledger that was sent, and not answered.
func uncertainFormation(t *testing.T, l *ledger.Ledger, batch string) *UncertainOrder {
	t.Helper()
	ctx := t.Context()
	state := filing.States()[int(batch[len(batch)-1])%50] // another key for each
	order := filing.Order{UserID: "user_" + batch, FilingState: state, Formation: &filing.FormationItem{
		Company:          filing.Company{LegalName: "Blue Heron LLC", EntityType: "LLC", FormationState: "DE"},
		AlternativeNames: []string{"Red Heron LLC"},
	}}
	row := ledgertest.Submit(t, l,
		ledger.Batch{ID: batch, Product: filing.Formation, Columns: []string{"Legal Name"}}, ledger.Row{
			Number:  2,
			Cells:   []byte(`["x"]`),
			Result:  filing.Ready,
			Request: &filing.Request{Product: filing.Formation, Order: order},
		})[0]
	begun, err := l.Begin(ctx, ledger.Intent{Row: row.ID, Claims: ledger.ClaimsOf(&order, "")})
	must(t, err)
	lost := filing.Answer{Kind: filing.NoAnswer}
	must(t, l.RecordOutcome(ctx, ledger.Outcome{Row: row.ID, Attempt: begun.Attempt, Answer: lost}))
	orders, err := ListUncertain(ctx, l, batch)
	must(t, err)
	if len(orders) != 1 {
		t.Fatalf("%d rows in doubt", len(orders))
	}
	return orders[0]
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
