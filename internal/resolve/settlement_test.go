package resolve

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/ledger"
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
		"placed":                     {Settlement{Doubt: inDoubt(annual), Orders: []string{"order_1"}}, "", ""},
		"never made":                 {Settlement{Doubt: inDoubt(annual)}, "", ""},
		"formed":                     {Settlement{Doubt: inDoubt(formation), Orders: []string{"order_1"}, Company: "comp_9"}, "", ""},
		"created":                    {Settlement{Doubt: creating, Company: "comp_9"}, "", ""},
		"no order id":                {Settlement{Doubt: inDoubt(annual), Orders: []string{"doc_1"}}, report.OrderIDsColumn, "is not an order id"},
		"the same id twice":          {Settlement{Doubt: inDoubt(annual), Orders: []string{"order_1", "order_1"}}, report.OrderIDsColumn, "given twice"},
		"more ids than items":        {Settlement{Doubt: inDoubt(annual), Orders: []string{"order_1", "order_2"}}, report.OrderIDsColumn, "2 order ids are too many"},
		"an order of a creation":     {Settlement{Doubt: creating, Orders: []string{"order_1"}}, report.OrderIDsColumn, "give the company's id"},
		"a company of a report":      {Settlement{Doubt: inDoubt(annual), Orders: []string{"order_1"}, Company: "comp_9"}, report.CompanyIDColumn, "forms no company"},
		"no company id":              {Settlement{Doubt: inDoubt(formation), Orders: []string{"order_1"}, Company: "acme"}, report.CompanyIDColumn, "is not a company id"},
		"a formation without orders": {Settlement{Doubt: inDoubt(formation), Company: "comp_9"}, report.OrderIDsColumn, "is missing"},
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
		return Told{"order_1": {{Event: filing.Event{ID: "evt_1", OrderID: "order_1", OrderType: orderType, CompanyID: company, CreatedAt: at}}}}
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
		"nothing was told":               {placed, nil, ""},
		"it fits":                        {placed, told("annual_report", "comp_1", noon.Add(time.Second)), ""},
		"a clock that is a little slow":  {placed, told("annual_report", "", noon.Add(-clockSkew)), ""},
		"a type that nobody knows":       {placed, told("something", "", noon), ""},
		"another product":                {placed, told("ein", "", noon), "is of another product"},
		"another company":                {placed, told("annual_report", "comp_2", noon), "is of another company: comp_2"},
		"another state":                  {placed, ofAnother("DE", "2026"), "is of another state: DE"},
		"another year":                   {placed, ofAnother("FL", "2025"), "is of another year: 2025"},
		"there before the row was sent":  {placed, told("annual_report", "", noon.Add(-2*clockSkew)), "was there before this row was sent"},
		"an order that may be the row's": {never, nil, "it would be bought twice"},
		"many that may be":               {many, nil, "as order_0 or order_1 or order_2 or one of 297 others: sent again"},
		"an item without an id":          {half, nil, "no order id is given for the registered agent"},
		"another item without an id":     {half, told("registered_agent", "comp_1", noon), "no order id is given for the annual report"},
		"a company, and perhaps more":    {supposed, nil, "may have sent its order as well"},
	} {
		against := strings.Join(c.told.Against(&c.s), "\n")
		if c.says == "" && against != "" || !strings.Contains(against, c.says) {
			t.Errorf("%s: %q", name, against)
		}
	}
}
