package pricing_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/goldentest"
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

func TestBillingRules(t *testing.T) {
	goldentest.Lines(t, "testdata/billing.txt", func(t *testing.T, fields []string) string {
		table := map[string]string{"fees": fees, "none": "product,state,entityType,amount\n"}[fields[1]]
		var order filing.Order
		must(t, json.Unmarshal([]byte(fields[2]), &order))
		var company pricing.Facts
		if kind, state, known := strings.Cut(fields[3], " "); known {
			company.EntityType, company.FormationState = filing.EntityType(kind), filing.State(state)
		}
		return written(quoter(t, table).Quote(&order, company))
	})
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
