package pricing_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
)

// list is a price list in the style that the types are written in.
func list(types ...string) []filing.Price {
	amounts := []string{"75", "105.0", "40.00", "50", "25.5", "60"}
	prices := make([]filing.Price, len(types))
	for i, name := range types {
		prices[i] = filing.Price{Type: name, WholesaleAmount: amounts[i]}
	}
	return prices
}

func TestPriceTypesAreMatchedInAnyStyle(t *testing.T) {
	for _, types := range [][]string{
		{"formation_tier_1", "formation_tier_2", "ein", "registered_agent", "annual_report", "foreign_qualification"},
		{"formationTier1", "formationTier2", "EIN", "registeredAgent", "annualReport", "foreignQualification"},
		{"Formation - Tier 1", "Formation - Tier 2", "Ein", "Registered Agent", "Annual Report",
			"Foreign Qualification"},
		{"TIER1", "TIER2", "ein", "REGISTERED_AGENT_SERVICE", "ANNUAL_REPORTS", "FQ"},
		{"formation", "formation_with_ein", "federal_ein", "agent", "annual-report-filing", "foreign-qual"},
	} {
		book, err := pricing.NewPriceBook(append(list(types...),
			filing.Price{Type: "formation_tier_3", WholesaleAmount: "999"}), "")
		if err != nil {
			t.Errorf("%v: %v", types, err)
			continue
		}
		formation := &filing.FormationItem{Company: filing.Company{EntityType: filing.LLC}}
		for want, o := range map[string]*filing.Order{
			"about $175.00": {FilingState: "WY", Formation: formation},
			"about $205.00": {FilingState: "WY", Formation: formation, EIN: &filing.EINItem{}},
			"$40.00":        {EIN: &filing.EINItem{}},
			"about $50.00":  {RegisteredAgent: &filing.RegisteredAgentItem{IsChangeOfAgent: true}},
			"about $85.50":  {FilingState: "WY", AnnualReport: &filing.AnnualReportItem{FilingYear: "2026"}},
			"about $210.00": {FilingState: "WY", ForeignQualification: &filing.QualificationItem{}},
		} {
			if got := total(book, o); got != want {
				t.Errorf("%v: %s is %s, want %s", types, filing.JoinProducts(o.Products(), ", "), got, want)
			}
		}
	}
}

func total(book *pricing.PriceBook, o *filing.Order) string {
	return pricing.NewRates(book, pricing.BuiltinFees()).Quote(o, pricing.Facts{}).Total.String()
}

// A price that cannot be read is unknown, and not zero.
func TestNewPriceBook_Amounts(t *testing.T) {
	const unknown = "at least $0.00"
	for amount, want := range map[string]string{"": unknown, "0.005": unknown, "-1": unknown, "free": unknown,
		"1e3": unknown, "99999999999": unknown, "0": "$0.00", "40.00": "$40.00"} {
		prices := []filing.Price{{Type: "ein", WholesaleAmount: amount}, {Type: "fein", WholesaleAmount: amount}}
		book, err := pricing.NewPriceBook(prices, "")
		if err != nil {
			t.Errorf("%q: %v", amount, err)
			continue
		}
		if got := total(book, &filing.Order{EIN: &filing.EINItem{}}); got != want {
			t.Errorf("%q: an EIN is %s, want %s", amount, got, want)
		}
	}
}

func TestPriceTypesGivenByTheOperator(t *testing.T) {
	prices := []filing.Price{{Type: "ein", WholesaleAmount: "40"}, {Type: "sku_17", WholesaleAmount: "41"},
		{Type: "agent", WholesaleAmount: "50"}, {Type: "ra", WholesaleAmount: "51"}}
	for _, tc := range []struct {
		overrides, ein, says string
	}{
		{"registered-agent=ra", "$40.00", ""},
		{"ein=SKU-17, Registered Agent = ra ,", "$41.00", ""},
		{"", "", "registered-agent=TYPE"},
		{"registered-agent=ra,tax-id=ein", "", `"tax-id" is no item`},
		{"registered-agent=ra,ein", "", "no type is given for ein"},
		{"registered-agent=nothing", "", "ein, sku_17, agent, ra"},
	} {
		book, err := pricing.NewPriceBook(prices, tc.overrides)
		if tc.says != "" {
			if !errors.Is(err, pricing.ErrPriceTypes) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%q: got %v", tc.overrides, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", tc.overrides, err)
			continue
		}
		if got := total(book, &filing.Order{EIN: &filing.EINItem{}}); got != tc.ein {
			t.Errorf("%q: an EIN is %s", tc.overrides, got)
		}
		if got := total(book, &filing.Order{RegisteredAgent: &filing.RegisteredAgentItem{}}); got != "about $51.00" {
			t.Errorf("%q: an agent is %s", tc.overrides, got)
		}
	}
}
