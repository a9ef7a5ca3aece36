package sandbox

import (
	"context"
	"fmt"
	"strconv"
)

// SetEIN records an EIN that was not ordered here. An empty one removes it.
func (r *records) SetEIN(companyID, ein string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec := r.findCompany(companyID)
	if rec == nil {
		return fmt.Errorf("set the EIN of %q: %w", companyID, ErrNoCompany)
	}
	rec.EIN = ein
	return nil
}

// SetSubscription changes the subscription that an order established, without a change of its
// filing. There is one subscription per product, company and state.
// Source: spec section 2, subscriptionStatus.
func (r *records) SetSubscription(orderID, status string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	item := r.items[orderID]
	if item == nil || item.Subscription == "" {
		return fmt.Errorf("the subscription of %q: %w", orderID, ErrNoOrder)
	}
	for _, other := range r.items {
		if other.Product == item.Product && other.CompanyID == item.CompanyID && other.State == item.State {
			other.Subscription = status
		}
	}
	return nil
}

// Renew adds the next year's report under the subscription of an annual report, charges it and
// sends its event as pending. No client has seen its order ID.
// Source: spec section 4, order rule 9.
func (f *filings) Renew(ctx context.Context, orderID string) (renewed Item, events []Event, err error) {
	events, err = f.publish(ctx, func() ([]Event, error) {
		was := f.records.items[orderID]
		if was == nil || was.Product != annualReport || was.Subscription != "active" {
			return nil, fmt.Errorf("renew %q: %w", orderID, ErrNoOrder)
		}
		// The year has four digits.
		last, _ := strconv.Atoi(was.Year)
		for _, other := range f.records.items {
			if other.Product == annualReport && other.CompanyID == was.CompanyID && other.State == was.State {
				other, _ := strconv.Atoi(other.Year)
				last = max(last, other)
			}
		}
		rec := f.records.companies[was.CompanyID]
		req := &orderRequest{
			userID: was.UserID, companyID: was.CompanyID, state: was.State,
			report: &reportPart{year: fmt.Sprintf("%04d", last+1)},
		}
		items := f.orders.billItems(req, rec)
		o := f.orders.recordOrder(req, rec, items, sum(items), nil)
		o.Renewal = true
		item := &o.Items[0]
		events := f.changeStatus(item, func() { item.Status = pending })
		renewed = *item
		return events, nil
	})
	return renewed, events, err
}
