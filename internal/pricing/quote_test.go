package pricing_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
)

const fees = `product,state,entityType,amount
annual-report,DE,LLC,300
annual-report,AZ,CORP,45.25
annual-report,TX,,0
formation,DE,LLC,110
formation,DE,CORP,109
formation,WY,,100
foreign-qualification,CA,LLC,70
foreign-qualification,CA,CORP,100
expedited-service,,,50
`

func quoter(t *testing.T, fees string) *pricing.Rates {
	t.Helper()
	book, err := pricing.NewPriceBook(list("formation_tier_1", "formation_tier_2", "ein", "registered_agent",
		"annual_report", "foreign_qualification"), "")
	must(t, err)
	table, err := load(t, fees)
	must(t, err)
	return pricing.NewRates(book, table)
}

func formation(t filing.EntityType, expedited bool) *filing.FormationItem {
	return &filing.FormationItem{Expedited: expedited, Company: filing.Company{EntityType: t}}
}

// A row per billing rule. Prices: tier 1 75, tier 2 105, EIN 40, agent 50,
// annual report 25.50, foreign qualification 60.
func TestBillingRules(t *testing.T) {
	var (
		agent  = &filing.RegisteredAgentItem{}
		change = &filing.RegisteredAgentItem{IsChangeOfAgent: true}
		report = &filing.AnnualReportItem{FilingYear: "2026"}
		llc    = pricing.Facts{EntityType: "LLC", FormationState: "DE"}
		corp   = pricing.Facts{EntityType: "CORP", FormationState: "DE"}
	)
	for _, tc := range []struct {
		name    string
		fees    string
		order   filing.Order
		company pricing.Facts
		want    string // lines as wholesale + state fee, then the total
	}{
		{name: "formation alone is tier 1 and the state's fee",
			order: filing.Order{FilingState: "DE", Formation: formation("LLC", false)},
			want:  "formation $75.00 + $110.00 = $185.00"},
		{name: "the fee is that of the type being formed",
			order: filing.Order{FilingState: "DE", Formation: formation("CORP", false)}, company: llc,
			want: "formation $75.00 + $109.00 = $184.00"},
		{name: "formation and EIN are tier 2, the EIN line owes nothing",
			order: filing.Order{FilingState: "DE", Formation: formation("LLC", false), EIN: &filing.EINItem{}},
			want:  "formation $105.00 + $110.00, ein $0.00 + $0.00 = $215.00"},
		{name: "formation, EIN and agent",
			order: filing.Order{
				FilingState:     "DE",
				Formation:       formation("LLC", false),
				EIN:             &filing.EINItem{},
				RegisteredAgent: agent,
			},
			want: "formation $105.00 + $110.00, ein $0.00 + $0.00, registered-agent $50.00 + $0.00 = $265.00"},
		{name: "formation and annual report, at home",
			order: filing.Order{FilingState: "DE", Formation: formation("LLC", false), AnnualReport: report},
			want:  "formation $75.00 + $110.00, annual-report $25.50 + $300.00 = $510.50"},
		{name: "an expedited fee replaces the standard one, and the service charge is added",
			order: filing.Order{FilingState: "DE", Formation: formation("LLC", true)},
			want:  "formation $125.00 + $185.00 = $310.00"},
		{name: "expedited with an EIN",
			order: filing.Order{FilingState: "WY", Formation: formation("LLC", true), EIN: &filing.EINItem{}},
			want:  "formation $155.00 + $103.75, ein $0.00 + $0.00 = $258.75"},
		{name: "expedited where it is not offered",
			order: filing.Order{FilingState: "TX", Formation: formation("LLC", true)},
			want:  "formation $125.00 + at least $0.00 = at least $125.00"},
		{name: "an EIN by itself has no state fee",
			order: filing.Order{FilingState: "DE", CompanyID: "comp_1", EIN: &filing.EINItem{}}, company: llc,
			want: "ein $40.00 + $0.00 = $40.00"},
		{name: "an agent has no state fee, and is not charged if there is one",
			order: filing.Order{FilingState: "DE", CompanyID: "comp_1", RegisteredAgent: agent}, company: llc,
			want: "registered-agent about $50.00 + $0.00 = about $50.00"},
		{name: "a change of agent is an agent",
			order: filing.Order{FilingState: "DE", CompanyID: "comp_1", RegisteredAgent: change},
			want:  "agent-change about $50.00 + $0.00 = about $50.00"},
		{name: "a qualification and the qualifying state's fee",
			order: filing.Order{
				FilingState:          "CA",
				CompanyID:            "comp_1",
				ForeignQualification: &filing.QualificationItem{},
				RegisteredAgent:      agent,
			}, company: corp,
			want: "foreign-qualification $60.00 + $100.00, registered-agent about $50.00 + $0.00 = about $210.00"},
		{name: "a qualification of a type that is not known",
			order: filing.Order{
				FilingState:          "CA",
				CompanyID:            "comp_1",
				ForeignQualification: &filing.QualificationItem{},
			},
			want: "foreign-qualification $60.00 + about $100.00 = about $160.00"},
		{name: "an annual report and the state's fee",
			order: filing.Order{FilingState: "DE", CompanyID: "comp_1", AnnualReport: report}, company: llc,
			want: "annual-report $25.50 + $300.00 = $325.50"},
		{name: "cents are exact",
			order:   filing.Order{FilingState: "AZ", CompanyID: "comp_1", AnnualReport: report, RegisteredAgent: agent},
			company: corp,
			want:    "annual-report $25.50 + $45.25, registered-agent about $50.00 + $0.00 = about $120.75"},
		{name: "a state that charges nothing, for certain",
			order: filing.Order{FilingState: "TX", CompanyID: "comp_1", AnnualReport: report}, company: llc,
			want: "annual-report $25.50 + $0.00 = $25.50"},
		{name: "a fee of the built-in table is an estimate",
			order: filing.Order{FilingState: "DE", CompanyID: "comp_1", AnnualReport: report}, company: corp,
			want: "annual-report $25.50 + about $225.00 = about $250.50"},
		{name: "a fee that is not known is not zero",
			order: filing.Order{FilingState: "PR", CompanyID: "comp_1", AnnualReport: report}, company: corp,
			want: "annual-report $25.50 + at least $0.00 = at least $25.50"},
		{name: "nothing", order: filing.Order{}, want: " = $0.00"},
		{name: "an expedited charge that is not known is not zero", fees: "product,state,entityType,amount\n",
			order: filing.Order{FilingState: "NV", Formation: formation("LLC", true)},
			want:  "formation at least $75.00 + $550.00 = at least $625.00"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := written(quoter(t, cmp.Or(tc.fees, fees)).Quote(&tc.order, tc.company)); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func written(q pricing.Quote) string {
	lines := make([]string, len(q.Lines))
	for i, l := range q.Lines {
		lines[i] = fmt.Sprintf("%s %s + %s", l.Product, l.Wholesale, l.StateFee)
	}
	return strings.Join(lines, ", ") + " = " + q.Total.String()
}

func TestQualificationIsForeignAndFormationIsAtHome(t *testing.T) {
	q := quoter(t, "product,state,entityType,amount,company\n"+
		"foreign-qualification,CA,,1,domestic\nforeign-qualification,CA,,2,foreign\n"+
		"formation,CA,,3,domestic\nformation,CA,,4,foreign\n"+
		"annual-report,CA,,5,domestic\nannual-report,CA,,6,foreign\n")
	for want, o := range map[string]*filing.Order{
		"foreign-qualification $60.00 + $2.00 = $62.00": {
			FilingState:          "CA",
			ForeignQualification: &filing.QualificationItem{},
		},
		"formation $75.00 + $3.00, annual-report $25.50 + $5.00 = $108.50": {
			FilingState:  "CA",
			Formation:    formation("LLC", false),
			AnnualReport: &filing.AnnualReportItem{},
		},
		"annual-report $25.50 + $6.00 = $31.50": {FilingState: "CA", AnnualReport: &filing.AnnualReportItem{}},
	} {
		if got := written(q.Quote(o, pricing.Facts{FormationState: "DE"})); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

var anyEntityType = rapid.SampledFrom([]filing.EntityType{"", filing.LLC, filing.Corp})

// anyOrder draws an order of any items.
func anyOrder(t *rapid.T) *filing.Order {
	o := &filing.Order{FilingState: rapid.SampledFrom(filing.States()).Draw(t, "state")}
	if rapid.Bool().Draw(t, "formation") {
		o.Formation = formation(anyEntityType.Draw(t, "formed"), rapid.Bool().Draw(t, "expedited"))
	}
	if rapid.Bool().Draw(t, "ein") {
		o.EIN = &filing.EINItem{}
	}
	if rapid.Bool().Draw(t, "agent") {
		o.RegisteredAgent = &filing.RegisteredAgentItem{IsChangeOfAgent: rapid.Bool().Draw(t, "change")}
	}
	if rapid.Bool().Draw(t, "report") {
		o.AnnualReport = &filing.AnnualReportItem{}
	}
	if rapid.Bool().Draw(t, "qualification") {
		o.ForeignQualification = &filing.QualificationItem{}
	}
	return o
}

// Whatever the order, the total is the sum of its lines, there is a line per
// item, and the total is exact only where every part is.
func TestTheTotalIsTheSumOfTheLines(t *testing.T) {
	q := quoter(t, fees)
	rapid.Check(t, func(t *rapid.T) {
		o := anyOrder(t)
		company := pricing.Facts{
			EntityType:     anyEntityType.Draw(t, "type"),
			FormationState: rapid.SampledFrom(append(filing.States(), "")).Draw(t, "home"),
		}
		quote := q.Quote(o, company)

		var want money.Cost
		for i, l := range quote.Lines {
			if l.Product != o.Products()[i] {
				t.Fatalf("line %d is %s", i, l.Product)
			}
			if l.Wholesale.Amount < 0 || l.StateFee.Amount < 0 {
				t.Fatalf("%+v", l)
			}
			var err error
			if want, err = want.Plus(l.Cost()); err != nil {
				t.Fatal(err)
			}
		}
		if len(quote.Lines) != len(o.Products()) || quote.Total != want {
			t.Fatalf("%s: got %s, want %s", written(quote), quote.Total, want)
		}

		// Knowing more never makes an order dearer than was said.
		if company.EntityType == "" {
			for _, known := range []filing.EntityType{filing.LLC, filing.Corp} {
				company.EntityType = known
				if more := q.Quote(o, company); more.Total.Amount > quote.Total.Amount {
					t.Fatalf("%s, and %s for a %s", quote.Total, more.Total, known)
				}
			}
		}
	})
}
