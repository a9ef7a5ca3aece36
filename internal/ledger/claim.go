package ledger

import (
	"strconv"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// Claim is the idempotency key of one purchase that an intent makes. It is kept
// in the table of purchases.
type Claim struct {
	Product filing.Product
	Key     filing.Key
	Cover   string // annual reports: the subscription it opens, company and state; "" otherwise
	Year    int    // annual reports: the filing year
	Why     string // a deliberate repetition: who and why
}

// ClaimsOf returns the claims of an order. again names the deliberate
// repetition that it is part of; "" for none.
func ClaimsOf(o *filing.Order, again string) []Claim {
	keys := o.Keys()
	all := make([]Claim, 0, len(keys))
	for _, product := range o.Products() {
		c := Claim{Product: product, Key: keys[product], Why: again}
		if again != "" {
			c.Key += filing.Key("|again|" + again)
		}
		if product == filing.AnnualReport && o.CompanyID != "" {
			c.Cover = coverOf(o.CompanyID, o.FilingState)
			c.Year, _ = strconv.Atoi(o.AnnualReport.FilingYear)
		}
		all = append(all, c)
	}
	return all
}

// FormedClaims returns the claims of what came with a formation, by the id of
// the company: later rows name the company by it.
func FormedClaims(o *filing.Order, company string) []Claim {
	rest := o.Drop(filing.Formation)
	rest.CompanyID = company
	return ClaimsOf(&rest, "")
}

// Repetition returns why the batch may repeat purchases, as claims keep it; ""
// for most batches.
func (b *Batch) Repetition() string {
	if b.Again == "" {
		return ""
	}
	return b.ID + ": " + b.Again
}
