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

// Behavior is one way in which the real service may differ from what a client
// believes. The document rules none of them out.
type Behavior string

const (
	// SlowAgents: agent service becomes active when its filing is filed. An
	// order for it before that buys it again.
	SlowAgents Behavior = "slow-agents"
	// PartialConflicts: a 409 over one product of an order leaves the other
	// products ordered and charged.
	PartialConflicts Behavior = "partial-conflicts"
	// EINsExist: every company that appears by itself has an EIN already.
	EINsExist Behavior = "eins-exist"
	// Surcharge: every item costs a tenth more than the price list and the fees say.
	Surcharge Behavior = "surcharge"
	// PriceRise: the price list itself says a tenth more than before.
	PriceRise Behavior = "price-rise"
	// RefundCanceled: a canceled filing is paid back.
	RefundCanceled Behavior = "refund-canceled"
	// ChargeWhenFiled: only agent service is charged when it is ordered,
	// everything else when it is filed.
	ChargeWhenFiled Behavior = "charge-when-filed"
	// NotFound400: an unknown id is answered with 400 in place of 404.
	NotFound400 Behavior = "not-found-400"
	// DottedIDs: the ids of new orders and documents have dots and colons.
	DottedIDs Behavior = "dotted-ids"
	// ExactEmails: users are found by their e-mail exactly as it was written at
	// their creation.
	ExactEmails Behavior = "exact-emails"
	// NoReportWithFormation: an order of a formation together with an annual
	// report is refused.
	NoReportWithFormation Behavior = "no-report-with-formation"
	// EventDetails: events name the company, the filing state, the filing year
	// and the status of the subscription. A change of a subscription is told by
	// an event.
	EventDetails Behavior = "event-details"
)

var behaviors = []Behavior{SlowAgents, PartialConflicts, EINsExist, Surcharge, PriceRise, RefundCanceled,
	ChargeWhenFiled,
	NotFound400, DottedIDs, ExactEmails, NoReportWithFormation, EventDetails}

// Known reports whether b is one of the behaviors above.
func (b Behavior) Known() bool { return slices.Contains(behaviors, b) }

// BehaviorNames lists the behaviors as a person may write them.
func BehaviorNames() []string {
	names := make([]string, len(behaviors))
	for i, b := range behaviors {
		names[i] = string(b)
	}
	return names
}

// SetBehavior switches a behavior on or off.
func (s *Service) SetBehavior(b Behavior, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.behavior[b] = on
}

// raised adds a tenth to an amount while b is on. The caller holds s.mu.
func (s *Service) raised(b Behavior, cents int64) int64 {
	if !s.behavior[b] {
		return cents
	}
	return cents + cents/10
}

// makeRest makes what a refused order asks for besides the product that is in
// conflict. The caller holds s.mu.
func (s *Service) makeRest(c *call, req *orderRequest, rec *company) {
	rest := *req
	if req.ein != nil && (rec.EIN != "" || rec.EINRequested) {
		rest.ein = nil
	}
	if req.foreign != nil && rec.qualified[req.state] {
		rest.foreign = nil
	}
	items := s.bill(&rest, rec)
	if total := sum(items); len(items) > 0 && total <= s.balance {
		c.order = s.book(&rest, rec, items, total, c.raw)
	}
}

// SetEIN puts an EIN on record that nobody ordered here, or takes it off when it is empty.
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
// an event tells of it. Source: spec section 2, subscriptionStatus.
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

// Renew makes the next year's report under the subscription of an annual
// report, charges it and tells of it as pending. Its order id is one that no
// client has seen. Source: spec section 4, order rule 9.
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
	items := s.bill(req, rec)
	o := s.book(req, rec, items, sum(items), nil)
	o.Renewal = true
	item := &o.Items[0]
	events := s.change(item, func() { item.Status = pending })
	r := s.send(events...)
	renewed := *item
	s.mu.Unlock()
	s.wait(ctx, r)
	return renewed, values(events), nil
}

// oddBytes is what an answer may hold in any text: NUL, a control sequence of
// terminals, a byte that is no UTF-8, half of a surrogate pair, a byte order
// mark and an override of the writing direction.
var oddBytes = []byte(`\u0000\u001b[31m` + "\xff" + `\ud800` + "\ufeff\u202e")

// oddFields are texts that a person reads. Ids and enumerations are left alone:
// without them an answer means nothing.
var oddFields = []string{"message", "filingStatus", "orderType", "legalName", "tradeName", "fullName", "name",
	"description",
	"documentType"}

// odd puts odd bytes into every text of a JSON value that a person reads.
func odd(body []byte) []byte {
	var v any
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return body
	}
	const marker = "@@odd@@"
	mark(v, marker)
	marked, _ := json.Marshal(v) // came from JSON
	return bytes.ReplaceAll(marked, []byte(marker), oddBytes)
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

// repeatOrderID answers with the id of the oldest order in the books, for every item.
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

// adminBehavior switches behaviors, and lists those that are on.
func (s *Service) adminBehavior(c *call) (any, error) {
	b := Behavior(c.body.text("behavior"))
	if b != "" && !b.Known() {
		c.body.oneOf("behavior", string(b), BehaviorNames())
	}
	off, _ := c.body.maybeFlag("off")
	c.body.done()
	if err := s.invalid(c.found); err != nil {
		return nil, err
	}
	s.SetBehavior(b, !off)
	return s.adminListBehaviors(c)
}

func (s *Service) adminListBehaviors(*call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	on := []Behavior{}
	for _, b := range behaviors {
		if s.behavior[b] {
			on = append(on, b)
		}
	}
	return map[string]any{"behaviors": on}, nil
}

func (s *Service) adminEIN(c *call) (any, error) {
	company := c.body.text("companyId")
	number, given := c.body.maybeText("ein")
	if given {
		c.body.matches("ein", number, einShape, "an EIN of nine digits")
	}
	c.body.done()
	if err := s.invalid(c.found); err != nil {
		return nil, err
	}
	return map[string]any{"companyId": company, "ein": number}, s.SetEIN(company, number)
}

func (s *Service) adminSubscription(c *call) (any, error) {
	orderID, all := whichOrders(c)
	status := c.body.text("status")
	c.body.oneOf("status", status, []string{"active", "canceled", "past_due"})
	c.body.done()
	if err := s.invalid(c.found); err != nil {
		return nil, err
	}
	return s.eachSubscription(orderID, all, func(id string) ([]Event, error) {
		return s.SetSubscription(c.request.Context(), id, status)
	})
}

func (s *Service) adminRenew(c *call) (any, error) {
	orderID, all := whichOrders(c)
	c.body.done()
	if err := s.invalid(c.found); err != nil {
		return nil, err
	}
	return s.eachSubscription(orderID, all, func(id string) ([]Event, error) {
		_, events, err := s.Renew(c.request.Context(), id)
		return events, err
	})
}

// eachSubscription does something with one order, or with the newest annual
// report of every active subscription.
func (s *Service) eachSubscription(orderID string, all bool, do func(id string) ([]Event, error)) (any, error) {
	if !all {
		events, err := do(orderID)
		return moved(events, 1), err
	}
	newest := map[string]string{}
	var keys []string
	for _, item := range s.Books().Items() {
		if item.Product != annualReport || item.Subscription != "active" {
			continue
		}
		key := item.CompanyID + " " + item.State
		if newest[key] == "" {
			keys = append(keys, key)
		}
		newest[key] = item.ID
	}
	var events []Event
	for _, key := range keys {
		more, err := do(newest[key])
		if err != nil {
			return nil, err
		}
		events = append(events, more...)
	}
	return moved(events, len(keys)), nil
}

func sum(items []Item) (total int64) {
	for _, item := range items {
		total += item.Amount()
	}
	return total
}

// chargeFiled takes the money of an item that is paid when it is filed. The
// caller holds s.mu.
func (s *Service) chargeFiled(item *Item) {
	s.balance -= item.owed
	s.charged += item.owed
	item.owed = 0
}

// refund gives the money of a canceled item back. The caller holds s.mu.
func (s *Service) refund(item *Item) {
	paid := item.Amount() - item.owed
	item.owed = 0
	if s.behavior[RefundCanceled] && !item.refunded {
		item.refunded = true
		s.balance += paid
		s.charged -= paid
	}
}

// notFound is the status of an answer about an unknown id.
func (s *Service) notFound(status int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if status == http.StatusNotFound && s.behavior[NotFound400] {
		return http.StatusBadRequest
	}
	return status
}
