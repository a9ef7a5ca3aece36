package filing

import (
	"testing"
)

func TestKeys(t *testing.T) {
	agent := func(change bool) *RegisteredAgentItem { return &RegisteredAgentItem{IsChangeOfAgent: change} }
	formation := func(name string) *FormationItem { return &FormationItem{Company: Company{LegalName: name}} }
	for _, c := range []struct {
		name    string
		order   Order
		product Product
		key     Key
	}{
		{"annual report: company, state, year",
			Order{
				UserID:       "user_1",
				CompanyID:    "comp_1",
				FilingState:  "DE",
				AnnualReport: &AnnualReportItem{FilingYear: "2026"},
			}, AnnualReport, "annual-report|comp_1|DE|2026"},
		{"annual report: not the agent supplied",
			Order{
				UserID:       "user_2",
				CompanyID:    "comp_1",
				FilingState:  "DE",
				AnnualReport: &AnnualReportItem{FilingYear: "2026", RegisteredAgent: &Agent{City: "Dover"}},
			}, AnnualReport, "annual-report|comp_1|DE|2026"},
		// An agent appointed and an agent changed are one purchase on purpose:
		// both buy the one service of a company in a state, for which it pays
		// once a year. Under two keys a file of changes after a file of
		// appointments would be taken for something new.
		{"agent: company, state", Order{CompanyID: "comp_1", FilingState: "DE", RegisteredAgent: agent(false)},
			RegisteredAgent, "registered-agent|comp_1|DE"},
		{"agent changed: the same", Order{CompanyID: "comp_1", FilingState: "DE", RegisteredAgent: agent(true)},
			AgentChange, "registered-agent|comp_1|DE"},
		{"EIN: company, whatever the state", Order{CompanyID: "comp_1", FilingState: "DE", EIN: &EINItem{}}, EIN,
			"ein|comp_1"},
		{"qualification: company, state",
			Order{CompanyID: "comp_1", FilingState: "CA", ForeignQualification: &QualificationItem{}},
			ForeignQualification, "foreign-qualification|comp_1|CA"},
		{"formation: name folded, state",
			Order{UserID: "user_1", FilingState: "DE", Formation: formation("Harbor  Light, L.L.C.")}, Formation,
			"formation|harbor light llc|DE"},
		{"EIN of a formation", Order{
			UserID:      "user_1",
			FilingState: "DE",
			Formation:   formation("A LLC"),
			EIN:         &EINItem{},
		}, EIN, "ein|formation|a llc|DE"},
		{"agent of a formation", Order{
			UserID:          "user_1",
			FilingState:     "DE",
			Formation:       formation("A LLC"),
			RegisteredAgent: agent(false),
		}, RegisteredAgent, "registered-agent|formation|a llc|DE|DE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			keys := c.order.Keys()
			if keys[c.product] != c.key {
				t.Errorf("%q", keys)
			}
			if len(keys) != len(c.order.Products()) {
				t.Errorf("%d keys for %d items", len(keys), len(c.order.Products()))
			}
		})
	}
}
