package filing

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// whole is an order with every item.
func whole() Order {
	return Order{
		UserID:               "user_1",
		CompanyID:            "comp_1",
		FilingState:          "DE",
		Formation:            &FormationItem{},
		EIN:                  &EINItem{},
		RegisteredAgent:      &RegisteredAgentItem{},
		AnnualReport:         &AnnualReportItem{FilingYear: "2026"},
		ForeignQualification: &QualificationItem{},
	}
}

func TestProductsAndDrop(t *testing.T) {
	o := whole()
	all := []Product{Formation, AnnualReport, ForeignQualification, EIN, RegisteredAgent}
	if got := o.Products(); !slices.Equal(got, all) {
		t.Fatal(got)
	}
	for i, p := range all {
		want := slices.Delete(slices.Clone(all), i, i+1)
		dropped := o.Drop(p)
		if got := dropped.Products(); !slices.Equal(got, want) {
			t.Errorf("without %s: %v", p, got)
		}
	}
	if got := o.Products(); !slices.Equal(got, all) {
		t.Errorf("Drop changed the order itself: %v", got)
	}
	o.RegisteredAgent.IsChangeOfAgent = true
	if got := o.Products(); got[4] != AgentChange {
		t.Error(got)
	}
	if got := o.Drop(AgentChange); got.RegisteredAgent != nil {
		t.Error("an agent is one item, appointed or changed")
	}
	if got := (&Order{}).Products(); got != nil {
		t.Error(got)
	}
}

// An order may be sent twice exactly when each of its items may.
func TestRepeatable(t *testing.T) {
	harmless, agents := []Product{EIN, ForeignQualification}, []Product{RegisteredAgent, AgentChange}
	for _, p := range Products {
		for _, repeatAgents := range []bool{false, true} {
			want := slices.Contains(harmless, p) || repeatAgents && slices.Contains(agents, p)
			if p.Repeatable(repeatAgents) != want {
				t.Errorf("%s with FILING_REPEAT_AGENT %v: %v", p, repeatAgents, !want)
			}
		}
		if !p.Valid() || p.Title() == "" {
			t.Errorf("%s has no title", p)
		}
	}
	if Product("dba").Valid() {
		t.Error("dba cannot be ordered")
	}
}

func TestFirst(t *testing.T) {
	order := whole()
	for _, c := range []struct {
		without  []Product
		requests []string
	}{
		{nil, []string{"formation,annual-report,foreign-qualification,ein,registered-agent"}},
		{[]Product{Formation}, []string{"annual-report,registered-agent", "foreign-qualification", "ein"}},
		{[]Product{Formation, AnnualReport}, []string{"foreign-qualification,registered-agent", "ein"}},
		{[]Product{Formation, AnnualReport, ForeignQualification}, []string{"ein", "registered-agent"}},
	} {
		left := order
		for _, p := range c.without {
			left = left.Drop(p)
		}
		var got []string
		for len(left.Products()) > 0 {
			var first Order
			first, left = left.First()
			got = append(got, JoinProducts(first.Products(), ","))
		}
		if !slices.Equal(got, c.requests) {
			t.Errorf("without %v: %q, want %q", c.without, got, c.requests)
		}
	}
}

func TestQualificationTravelsInBothForms(t *testing.T) {
	for _, c := range []struct {
		item QualificationItem
		json string
	}{
		{QualificationItem{}, `true`},
		{QualificationItem{RegisteredAgent: &Agent{Type: Person, FirstName: "Grace", LastName: "Okafor", State: "CA"}},
			`{"registeredAgent":{"type":"PERSON","firstName":"Grace","lastName":"Okafor","addressStreet":"",` +
				`"addressCity":"","addressState":"CA","addressZip":""}}`},
	} {
		body, err := json.Marshal(Order{ForeignQualification: &c.item})
		if err != nil || !strings.Contains(string(body), `"foreignQualification":`+c.json) {
			t.Errorf("%s, %v", body, err)
		}
		var back Order
		if err := json.Unmarshal(body, &back); err != nil || !reflect.DeepEqual(back.ForeignQualification, &c.item) {
			t.Errorf("%+v, %v", back.ForeignQualification, err)
		}
	}
	var o Order
	if body, err := json.Marshal(o); err != nil || strings.Contains(string(body), "foreignQualification") {
		t.Errorf("%s, %v", body, err)
	}
	if err := json.Unmarshal([]byte(`{"foreignQualification":false}`), &o); err == nil {
		t.Errorf("false is no order: %+v", o.ForeignQualification)
	}
}

func TestRequestRefs(t *testing.T) {
	if (UserRef{ID: "user_1", Email: "a@b.c"}).Ref() != "user_1" || (UserRef{Email: "a@b.c"}).Ref() != "a@b.c" {
		t.Error("an id wins over an e-mail")
	}
	for _, c := range []struct {
		order Order
		needs bool
	}{
		{Order{AnnualReport: &AnnualReportItem{}}, true},
		{Order{ForeignQualification: &QualificationItem{}}, true},
		{Order{RegisteredAgent: &RegisteredAgentItem{}}, false},
		{Order{EIN: &EINItem{}}, false},
	} {
		if (&Request{Order: c.order}).NeedsCompanyFacts() != c.needs {
			t.Errorf("%v", c.order.Products())
		}
	}
}
