package pricing

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// item is a line of the price list that orders are billed by. A formation has two such lines,
// because tier 2 includes the EIN.
// Source: spec section 4, Billing rules.
type item string

const (
	annualReport item = "annual-report"
	// registeredAgent also applies to a change of agent.
	registeredAgent      item = "registered-agent"
	ein                  item = "ein"
	foreignQualification item = "foreign-qualification"
	tier1                item = "formation-tier-1"
	tier2                item = "formation-tier-2"
)

// priceTypes are the names that a price type may have, folded. FILING_PRICE_TYPES sets other names.
// Source: spec section 2, Price, for ein. Assumption: the spec does not show the other names.
var priceTypes = []struct {
	item  item
	names []string
}{
	{annualReport, []string{"annualreport", "annualreports", "annualreportfiling", "annualreportservice"}},
	{registeredAgent, []string{"registeredagent", "registeredagents", "registeredagentservice",
		"registeredagentsubscription", "agent", "agentservice", "ra"}},
	{ein, []string{"ein", "einfiling", "einapplication", "federalein", "fein"}},
	{foreignQualification, []string{"foreignqualification", "foreignqualifications", "foreignqualificationfiling",
		"foreignqual", "fq"}},
	{tier1, []string{"formationtier1", "tier1", "tier1formation", "formation1", "formation"}},
	{tier2, []string{"formationtier2", "tier2", "tier2formation", "formation2", "formationein", "formationwithein"}},
}

// maxAmount exceeds every real price and fee. A larger amount is a typing error. The limit also
// keeps sums far from an overflow.
const maxAmount = money.Cents(1_000_000_00)

// PriceBook has the price of the filing service for each item, in cents.
type PriceBook struct {
	wholesale map[item]money.Cents
}

// ErrPriceTypes means that a price list and FILING_PRICE_TYPES do not determine the price of an
// item.
var ErrPriceTypes = errors.New("FILING_PRICE_TYPES")

// NewPriceBook finds the price of each item in the service's list by its type. overrides is the
// value of FILING_PRICE_TYPES, such as "annual-report=their_type,ein=their_other". An item that is
// not in the list, or has no amount in it, has no known price. NewPriceBook returns ErrPriceTypes
// if two types give one item two prices.
func NewPriceBook(prices []filing.Price, overrides string) (*PriceBook, error) {
	named, err := parseOverrides(overrides)
	if err != nil {
		return nil, err
	}
	book := &PriceBook{wholesale: make(map[item]money.Cents, len(priceTypes))}
	for _, known := range priceTypes {
		names, overridden := known.names, false
		if name, ok := named[known.item]; ok {
			names, overridden = []string{name}, true
		}
		var found []filing.Price
		for _, p := range prices {
			if slices.Contains(names, filing.FoldName(p.Type)) {
				found = append(found, p)
			}
		}
		if overridden && len(found) == 0 {
			return nil, fmt.Errorf("%w: the filing service has no price of the type given for %s; it has %s",
				ErrPriceTypes, known.item, types(prices))
		}
		for _, p := range found {
			cents, err := parseAmount(p.WholesaleAmount)
			if err != nil {
				continue // unknown, as if the list did not have it
			}
			if before, twice := book.wholesale[known.item]; twice && before != cents {
				return nil, fmt.Errorf(
					"%w: the filing service has several prices that could be the one for %s (%s): choose with "+
						"FILING_PRICE_TYPES=%s=TYPE",
					ErrPriceTypes, known.item, types(found), known.item)
			}
			book.wholesale[known.item] = cents
		}
	}
	return book, nil
}

// parseOverrides parses FILING_PRICE_TYPES into folded types by item.
func parseOverrides(text string) (map[item]string, error) {
	named := make(map[item]string)
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, theirs, _ := strings.Cut(pair, "=")
		i := slices.IndexFunc(priceTypes, func(known struct {
			item  item
			names []string
		}) bool {
			return filing.FoldName(string(known.item)) == filing.FoldName(name)
		})
		switch {
		case i < 0:
			return nil, fmt.Errorf("%w: %q is no item: it is one of %s", ErrPriceTypes, strings.TrimSpace(name),
				items())
		case filing.FoldName(theirs) == "":
			return nil, fmt.Errorf("%w: no type is given for %s: write %s=their_type", ErrPriceTypes,
				priceTypes[i].item, priceTypes[i].item)
		}
		named[priceTypes[i].item] = filing.FoldName(theirs)
	}
	return named, nil
}

// parseAmount parses an amount in dollars. Assumption: the spec does not show the unit.
func parseAmount(text string) (money.Cents, error) {
	cents, err := money.Parse(text)
	if err == nil && (cents < 0 || cents > maxAmount) {
		err = money.ErrAmount
	}
	return cents, err
}

func (b *PriceBook) price(i item) money.Cost {
	cents, ok := b.wholesale[i]
	return money.Cost{Amount: cents, Certainty: unless(ok)}
}

func items() string {
	all := make([]string, len(priceTypes))
	for i, known := range priceTypes {
		all[i] = string(known.item)
	}
	return strings.Join(all, ", ")
}

func types(prices []filing.Price) string {
	all := make([]string, len(prices))
	for i, p := range prices {
		all[i] = p.Type
	}
	return strings.Join(all, ", ")
}
