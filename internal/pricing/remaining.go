package pricing

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// Remaining is the part of some rows' orders that the ledger does not show as bought.
type Remaining struct {
	batch string
	// root is the Root of [ledger.Batch].
	root      string
	again     string
	companies map[string]filing.Company
	users     map[string]filing.User
	// named are the companies that rows describe and the ledger has on record.
	named  map[filing.Key]ledger.NamedCompany
	held   map[filing.Key]ledger.PriorPurchase
	lapsed map[filing.Key]ledger.Subscription
}

// LoadRemaining loads the remaining orders of the ready rows.
func LoadRemaining(ctx context.Context, l *ledger.Ledger, b ledger.Batch, rows []ledger.Row) (*Remaining, error) {
	some := &Remaining{batch: b.ID, root: b.Root, again: b.Repetition()}
	rows = slices.DeleteFunc(slices.Clone(rows), func(r ledger.Row) bool { return r.Result != filing.Ready })
	var refs, emails []string
	for _, r := range rows {
		refs = append(refs, r.Request.Company.Ref)
		if r.Request.User.ID == "" {
			emails = append(emails, r.Request.User.Ref())
		}
	}
	var err error
	if some.companies, err = l.Companies().Find(ctx, refs); err != nil {
		return some, err
	}
	if some.users, err = l.Companies().FindUsers(ctx, emails); err != nil {
		return some, err
	}
	var described []filing.NewCompany
	for _, r := range rows {
		if user := some.user(r); user != "" && r.Request.CreatesCompany() {
			described = append(described, r.Request.Company.Sheet.ForUser(user))
		}
	}
	if some.named, err = l.Companies().FindNamed(ctx, described); err != nil {
		return some, err
	}
	var all []ledger.Claim
	for _, r := range rows {
		all = append(all, some.Claims(r)...)
	}
	if some.held, err = l.FindPriorPurchases(ctx, all); err != nil {
		return some, err
	}
	some.lapsed, err = l.Subscriptions().Lapsed(ctx, all)
	return some, err
}

// buyer returns the first earlier purchase of a row's products.
func (s *Remaining) buyer(r ledger.Row) *ledger.PriorPurchase {
	for _, c := range s.Claims(r) {
		if h, taken := s.held[c.Key]; taken {
			return &h
		}
	}
	return &ledger.PriorPurchase{}
}

// boughtBefore returns the reason why nothing will be ordered for a row.
func boughtBefore(by *ledger.PriorPurchase) string {
	switch {
	case by.Covers:
		return fmt.Sprintf("%s: the annual subscription of order %s (row %d of batch %s) covers it",
			ledger.BoughtBefore, cmp.Or(by.Order, "without an id"), by.Number, by.Batch)
	case by.Canceled:
		return fmt.Sprintf(
			"%s, by row %d of batch %s, and canceled since: nothing will be ordered",
			ledger.BoughtBefore, by.Number, by.Batch)
	case by.Batch == "":
		return ledger.BoughtBefore + ": nothing will be ordered"
	}
	return fmt.Sprintf("%s, by row %d of batch %s: nothing will be ordered", ledger.BoughtBefore, by.Number, by.Batch)
}

// Lapsed returns the subscriptions of a row's products that no longer cover them.
func (s *Remaining) Lapsed(r ledger.Row) []ledger.Subscription {
	var all []ledger.Subscription
	for _, c := range s.Claims(r) {
		if sub, lapsed := s.lapsed[c.Key]; lapsed {
			all = append(all, sub)
		}
	}
	return all
}

// user returns the ID of a row's user, empty if unknown.
func (s *Remaining) user(r ledger.Row) string {
	return cmp.Or(r.Request.User.ID, s.users[r.Request.User.Ref()].ID)
}

// company returns the known record of a row's company.
func (s *Remaining) company(r ledger.Row) filing.Company {
	switch user := s.user(r); {
	case r.Request.Company.Ref != "":
		return s.companies[r.Request.Company.Ref]
	case user != "" && r.Request.CreatesCompany():
		return s.named[r.Request.Company.Sheet.ForUser(user).Key()].Company
	}
	return filing.Company{}
}

// Difference returns why a row may not be sent if the known record of its company contradicts the
// spreadsheet.
func (s *Remaining) Difference(r ledger.Row) (filing.Difference, bool) {
	for _, d := range r.Request.Differences(s.companies[r.Request.Company.Ref]) {
		if !d.Warning {
			return d, true
		}
	}
	return filing.Difference{}, false
}

// order returns a row's order with the known IDs.
func (s *Remaining) order(r ledger.Row) filing.Order {
	return r.Left(s.user(r), cmp.Or(s.company(r).ID, r.Request.Company.Ref))
}

// Claims returns the claims of a row whose company is known. The claims of other rows are known
// after the lookup of their company.
func (s *Remaining) Claims(r ledger.Row) []ledger.Claim {
	o := s.order(r)
	if o.CompanyID == "" && o.Formation == nil {
		return nil
	}
	return ledger.ClaimsOf(&o, s.again)
}

// Order returns a row's order without the items that another batch has bought or that a
// subscription covers. by is that subscription if no item remains.
func (s *Remaining) Order(r ledger.Row) (rest filing.Order, by *ledger.PriorPurchase) {
	rest = s.order(r)
	for _, c := range s.Claims(r) {
		switch h, taken := s.held[c.Key]; {
		case !taken, h.Batch == s.batch, h.Covers && h.Root == s.root:
		case h.Covers && s.again == "":
			rest, by = rest.Drop(c.Product), &h
		case h.Bought && !h.Covers:
			rest = rest.Drop(c.Product)
		}
	}
	if len(rest.Products()) > 0 {
		by = nil // the remaining items are ordered
	}
	return rest, by
}

// Facts returns the known facts about a row's company.
func (s *Remaining) Facts(r ledger.Row) Facts {
	return FactsOf(s.company(r), r.Request.Company.Sheet)
}

// FactsOf returns the facts of the filing service's record of a company. Facts that the record
// lacks come from the spreadsheet.
func FactsOf(service, sheet filing.Company) Facts {
	return Facts{
		EntityType:     cmp.Or(service.EntityType, sheet.EntityType),
		FormationState: cmp.Or(service.FormationState, sheet.FormationState),
	}
}
