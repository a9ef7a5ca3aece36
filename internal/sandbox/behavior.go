package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
)

// Behavior is one way in which the real service may differ from a client's
// assumptions. The document permits all of them.
type Behavior string

// The behaviors.
const (
	// SlowAgents makes agent service active only when its filing is filed. An
	// order for it before that buys it again.
	SlowAgents Behavior = "slow-agents"
	// PartialConflicts places and charges the other products of an order when one
	// of them is answered with 409.
	PartialConflicts Behavior = "partial-conflicts"
	// EINsExist gives an EIN to every company of AutoSeed.
	EINsExist Behavior = "eins-exist"
	// Surcharge charges every item a tenth more than the price list and the fees.
	Surcharge Behavior = "surcharge"
	// PriceRise raises the price list by a tenth.
	PriceRise Behavior = "price-rise"
	// RefundCanceled refunds canceled filings.
	RefundCanceled Behavior = "refund-canceled"
	// ChargeWhenFiled charges everything but agent service when it is filed, not
	// when it is ordered.
	ChargeWhenFiled Behavior = "charge-when-filed"
	// NotFound400 answers an unknown id with 400 in place of 404.
	NotFound400 Behavior = "not-found-400"
	// DottedIDs puts dots and colons into the ids of new orders and documents.
	DottedIDs Behavior = "dotted-ids"
	// ExactEmails finds users only by the exact spelling of the email address at
	// their creation.
	ExactEmails Behavior = "exact-emails"
	// NoReportWithFormation refuses an order of a formation together with an
	// annual report.
	NoReportWithFormation Behavior = "no-report-with-formation"
	// EventDetails puts the company, the filing state, the filing year and the
	// status of the subscription into events, and sends an event for a change of
	// a subscription.
	EventDetails Behavior = "event-details"
)

var behaviors = []Behavior{SlowAgents, PartialConflicts, EINsExist, Surcharge, PriceRise, RefundCanceled,
	ChargeWhenFiled, NotFound400, DottedIDs, ExactEmails, NoReportWithFormation, EventDetails}

// Known reports whether b is one of the behaviors above.
func (b Behavior) Known() bool { return slices.Contains(behaviors, b) }

// BehaviorNames lists the behaviors in the spelling of the flags.
func BehaviorNames() []string { return names(behaviors) }

// SetBehavior switches a behavior on or off.
func (s *Service) SetBehavior(b Behavior, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.behavior[b] = on
}

// addTenth adds a tenth to an amount while b is on. The caller holds s.mu.
func (s *Service) addTenth(b Behavior, cents int64) int64 {
	if !s.behavior[b] {
		return cents
	}
	return cents + cents/10
}

// placeOthers places the items of a refused order other than the one in
// conflict. The caller holds s.mu.
func (s *Service) placeOthers(c *call, req *orderRequest, rec *company) {
	rest := *req
	if req.ein != nil && (rec.EIN != "" || rec.EINRequested) {
		rest.ein = nil
	}
	if req.foreign != nil && rec.qualified[req.state] {
		rest.foreign = nil
	}
	items := s.billItems(&rest, rec)
	if total := sum(items); len(items) > 0 && total <= s.balance {
		c.order = s.recordOrder(&rest, rec, items, total, c.raw)
	}
}

// SetEIN records an EIN that was not ordered here; an empty one removes it.
func (s *Service) SetEIN(companyID, ein string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec := s.findCompany(companyID)
	if rec == nil {
		return fmt.Errorf("set the EIN of %q: %w", companyID, ErrNoCompany)
	}
	rec.EIN = ein
	return nil
}

// SetSubscription changes the subscription that an order established, one per
// product, company and state, without a change of its filing. With EventDetails
// an event announces it. Source: spec section 2, subscriptionStatus.
func (s *Service) SetSubscription(ctx context.Context, orderID, status string) ([]Event, error) {
	s.mu.Lock()
	item := s.items[orderID]
	if item == nil || item.Subscription == "" {
		s.mu.Unlock()
		return nil, fmt.Errorf("the subscription of %q: %w", orderID, ErrNoOrder)
	}
	for _, other := range s.items {
		if other.Product == item.Product && other.CompanyID == item.CompanyID && other.State == item.State {
			other.Subscription = status
		}
	}
	var events []*Event
	if s.behavior[EventDetails] {
		events = []*Event{s.statusEvent(item)}
	}
	r := s.send(events...)
	s.mu.Unlock()
	s.wait(ctx, r)
	return values(events), nil
}

// Renew adds the next year's report under the subscription of an annual report,
// charges it and sends its event as pending. No client has seen its order ID.
// Source: spec section 4, order rule 9.
func (s *Service) Renew(ctx context.Context, orderID string) (Item, []Event, error) {
	s.mu.Lock()
	was := s.items[orderID]
	if was == nil || was.Product != annualReport || was.Subscription != "active" {
		s.mu.Unlock()
		return Item{}, nil, fmt.Errorf("renew %q: %w", orderID, ErrNoOrder)
	}
	last, _ := strconv.Atoi(was.Year) // four digits
	for _, other := range s.items {
		if other.Product == annualReport && other.CompanyID == was.CompanyID && other.State == was.State {
			other, _ := strconv.Atoi(other.Year)
			last = max(last, other)
		}
	}
	rec := s.companies[was.CompanyID]
	req := &orderRequest{
		userID: was.UserID, companyID: was.CompanyID, state: was.State,
		report: &reportPart{year: fmt.Sprintf("%04d", last+1)},
	}
	items := s.billItems(req, rec)
	o := s.recordOrder(req, rec, items, sum(items), nil)
	o.Renewal = true
	item := &o.Items[0]
	events := s.changeStatus(item, func() { item.Status = pending })
	r := s.send(events...)
	renewed := *item
	s.mu.Unlock()
	s.wait(ctx, r)
	return renewed, values(events), nil
}

// oddText is what an answer may hold in any text: NUL, a control sequence of
// terminals, a byte that is not UTF-8, half of a surrogate pair, a byte order
// mark and an override of the writing direction.
var oddText = []byte(`\u0000\u001b[31m` + "\xff" + `\ud800` + "\ufeff\u202e")

// oddFields are texts that a person reads. IDs and enumerations stay: without
// them an answer means nothing.
var oddFields = []string{"message", "filingStatus", "orderType", "legalName", "tradeName", "fullName", "name",
	"description",
	"documentType"}

// makeTextsOdd puts odd characters into every text of a JSON value that a
// person reads.
func makeTextsOdd(body []byte) []byte {
	var v any
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return body
	}
	const marker = "@@odd@@"
	mark(v, marker)
	marked, _ := json.Marshal(v) // came from JSON
	return bytes.ReplaceAll(marked, []byte(marker), oddText)
}

func mark(v any, marker string) {
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			if text, ok := field.(string); ok && slices.Contains(oddFields, name) {
				v[name] = text + marker
				continue
			}
			mark(field, marker)
		}
	case []any:
		for _, element := range v {
			mark(element, marker)
		}
	}
}

// rewriteItems changes the items of an order's answer.
func rewriteItems(body []byte, change func(items []map[string]any) []map[string]any) []byte {
	var a struct {
		CompanyID string           `json:"companyId"`
		Items     []map[string]any `json:"items"`
	}
	if json.Unmarshal(body, &a) != nil || len(a.Items) == 0 {
		return body
	}
	a.Items = change(a.Items)
	changed, _ := json.Marshal(a) // came from JSON
	return changed
}

// repeatOrderID gives every item the id of the oldest order in the books.
func (s *Service) repeatOrderID(body []byte) []byte {
	s.mu.Lock()
	oldest := ""
	if len(s.orders) > 0 {
		oldest = s.orders[0].Items[0].ID
	}
	s.mu.Unlock()
	return rewriteItems(body, func(items []map[string]any) []map[string]any {
		for _, item := range items {
			item["orderId"] = oldest
		}
		return items
	})
}

func sum(items []Item) (total int64) {
	for _, item := range items {
		total += item.Amount()
	}
	return total
}

// chargeFiled charges an item that is paid when it is filed. The
// caller holds s.mu.
func (s *Service) chargeFiled(item *Item) {
	if item.owed != 0 {
		s.charge(item.Amount())
		item.owed = 0
	}
}

// refund refunds a canceled item. The caller holds s.mu.
func (s *Service) refund(item *Item) {
	paid := item.Amount() - item.owed
	item.owed = 0
	if s.behavior[RefundCanceled] && !item.refunded {
		item.refunded = true
		s.charge(-paid)
	}
}

// notFound returns the status of an answer about an unknown ID.
func (s *Service) notFound(status int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if status == http.StatusNotFound && s.behavior[NotFound400] {
		return http.StatusBadRequest
	}
	return status
}
