package ledger

import (
	"strconv"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// Claim is the idempotency key of one purchase that an intent makes. It is stored in the table of
// purchases.
type Claim struct {
	Product filing.Product
	Key     filing.Key
	// Cover identifies the subscription that an annual report opens: its company and state. It is
	// empty if the product is another one.
	Cover string
	// Year is the filing year of an annual report.
	Year int
	// Why names the person and the reason of a deliberate repetition.
	Why string
}

// ClaimsOf returns the claims of an order. Again identifies the deliberate repetition that the
// order is part of. It is empty if the order repeats nothing.
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

// FormedClaims returns the claims of the items that were ordered with a formation, under the ID of
// the company. Later rows name the company by that ID.
func FormedClaims(o *filing.Order, company string) []Claim {
	rest := o.Drop(filing.Formation)
	rest.CompanyID = company
	return ClaimsOf(&rest, "")
}

// Repetition returns the reason why the batch may repeat purchases, in the form that claims store.
// Most batches have none.
func (b *Batch) Repetition() string {
	if b.Again == "" {
		return ""
	}
	return b.ID + ": " + b.Again
}
