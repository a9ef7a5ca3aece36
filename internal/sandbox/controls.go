package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Action is a control of a running sandbox: POST /admin/NAME with a JSON object.
type Action struct {
	Name string
	Help string
	Keys []Key
	do   func(*Service, *call) (any, error)
}

// Key is a field of an action's object. The example has the type of the field.
type Key struct {
	Name    string
	Example any
}

// Usage is the action with an example of each key.
func (a Action) Usage() string {
	words := []string{a.Name}
	for _, k := range a.Keys {
		words = append(words, fmt.Sprintf("%s=%v", k.Name, k.Example))
	}
	return strings.Join(words, " ")
}

var orderOrAll = []Key{{"orderId", "order_4be8"}, {"all", true}}

// Actions are the controls of a running sandbox.
var Actions = []Action{
	{"advance", "Advance filings one step, or to a status", append(orderOrAll, Key{"status", "filed"}),
		(*Service).adminAdvance},
	{"exception", "Give filings an exception (463 to 465, 482, 483, 484 or 487); advance resolves it",
		append(orderOrAll, Key{"code", 482}), (*Service).adminException},
	{"renew", "Place the next annual report of a subscription", orderOrAll, (*Service).adminRenew},
	{"subscription", "Set the status of a subscription: active, canceled or past_due",
		append(orderOrAll, Key{"status", "past_due"}), (*Service).adminSubscription},
	{"mail", "Deliver registered agent mail", []Key{{"orderId", "order_4be8"}}, (*Service).adminMail},
	{"redeliver", "Deliver events again, with the same bytes and ID",
		[]Key{{"eventId", "evt_9c01"}, {"all", true}, {"reverse", true}, {"twice", true}}, (*Service).adminRedeliver},
	{"test-delivery", "Send a test event to every endpoint", nil, (*Service).adminTestDelivery},
	{"deposit", "Add dollars to the prepaid balance", []Key{{"amount", 250.5}}, (*Service).adminDeposit},
	{"ein", "Set the EIN of a company, or remove it", []Key{{"companyId", "comp_1"}, {"ein", "12-3456789"}},
		(*Service).adminEIN},
	{"fault", "Add a fault of answers", []Key{{"kind", "status"}, {"status", 503}, {"after", true},
		{"endpoint", "POST /orders"}, {"companyId", "comp_1"}, {"nth", 3}, {"retryAfterSeconds", 2}, {"rate", 0.05},
		{"times", 3}, {"forSeconds", 10}}, (*Service).adminAddFault},
	{"faults", "List the faults", nil, (*Service).adminListFaults},
	{"clear-faults", "Remove the faults", nil, (*Service).adminClearFaults},
	{"down", "Stop the filing service (503 or refuse), or restart it (up)", []Key{{"mode", "503"}, {"seconds", 30}},
		(*Service).adminDown},
}

// handleAdmin serves the controls. They accept only JSON, which a page of another
// site cannot post without a preflight request.
func (s *Service) handleAdmin(mux *http.ServeMux) {
	for _, a := range Actions {
		mux.HandleFunc("POST /admin/"+a.Name, func(w http.ResponseWriter, r *http.Request) { s.control(w, r, a) })
	}
}

// control executes an action: no key, latency, faults or books.
func (s *Service) control(w http.ResponseWriter, r *http.Request, a Action) {
	c := &call{request: r}
	var err error
	if c.raw, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody)); err == nil {
		err = c.parse(nil)
	}
	var v any
	if err == nil {
		v, err = a.do(s, c)
	}
	if err == nil {
		write(w, answer{http.StatusOK, s.success(http.MethodGet, v).body})
		return
	}
	status := http.StatusBadRequest
	if refused, ok := errors.AsType[*refusal](err); ok {
		status = refused.status
	}
	write(w, answer{status, s.errorBody(err.Error(), nil)})
}

func (s *Service) adminDeposit(c *call) (any, error) {
	cents, given := c.body.maybeDollars("amount")
	if !given || cents <= 0 {
		c.body.fail("amount", "must be an amount in dollars, more than 0")
	}
	if err := s.finish(c); err != nil {
		return nil, err
	}
	s.Deposit(cents)
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[string]any{"balance": dollars(s.balance)}, nil
}

type faultAnswer struct {
	Name     string  `json:"name"`
	Endpoint string  `json:"endpoint,omitempty"`
	Company  string  `json:"companyId,omitempty"`
	Nth      int     `json:"nth,omitempty"`
	Rate     float64 `json:"rate,omitempty"`
	Times    int     `json:"times,omitempty"`
	Fired    int     `json:"fired"`
}

func (s *Service) adminListFaults(*call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]faultAnswer, 0, len(s.faults))
	for _, f := range s.faults {
		list = append(list, faultAnswer{f.String(), f.endpoint(), f.Company, f.Nth, f.Rate, f.Times, f.fired})
	}
	return map[string]any{"faults": list}, nil
}

// seconds reads an optional number of seconds, at most a day.
func (o *object) seconds(name string) time.Duration {
	return time.Duration(min(o.maybeCount(name), 86_400)) * time.Second
}

// maybeCount reads an optional whole number; 0 if it is not given.
func (o *object) maybeCount(name string) int64 {
	if !o.has(name) {
		return 0
	}
	return o.count(name)
}

func (s *Service) adminAddFault(c *call) (any, error) {
	o := c.body
	f := Fault{Kind: Kind(o.text("kind"))}
	o.oneOf("kind", string(f.Kind), KindNames())
	if f.Kind == FaultStatus {
		if f.Status = int(o.count("status")); f.Status < 300 || f.Status > 599 {
			o.fail("status", "must be from 300 to 599")
		}
	}
	f.After, _ = o.maybeFlag("after")
	f.Endpoint, _ = o.maybeText("endpoint")
	f.Company, _ = o.maybeText("companyId")
	if o.has("rate") {
		f.Rate = o.share("rate")
	}
	f.Nth, f.Times = int(o.maybeCount("nth")), int(o.maybeCount("times"))
	f.For, f.RetryAfter = o.seconds("forSeconds"), o.seconds("retryAfterSeconds")
	if err := s.finish(c); err != nil {
		return nil, err
	}
	s.Inject(f)
	return s.adminListFaults(c)
}

func (s *Service) adminClearFaults(c *call) (any, error) {
	s.ClearFaults()
	return s.adminListFaults(c)
}

// adminDown starts an outage, which ends after the given seconds. Refused
// connections need an end: the controls cannot be reached during the outage.
func (s *Service) adminDown(c *call) (any, error) {
	mode, length := c.body.text("mode"), c.body.seconds("seconds")
	c.body.oneOf("mode", mode, []string{"up", string(Outage503), string(OutageRefuse)})
	if mode == string(OutageRefuse) && length == 0 {
		c.body.fail("seconds", "is required: no control can be reached while connections are refused")
	}
	if err := s.finish(c); err != nil {
		return nil, err
	}
	outage := Outage(mode)
	if mode == "up" {
		outage = OutageNone
	}
	if length > 0 {
		time.AfterFunc(length, func() { s.SetOutage(OutageNone) })
	}
	if outage == OutageRefuse { // after this answer is sent
		time.AfterFunc(50*time.Millisecond, func() { s.SetOutage(outage) })
	} else {
		s.SetOutage(outage)
	}
	return map[string]any{"mode": mode}, nil
}

// oneOrAll executes a control for the order that it names, or for all.
func (s *Service) oneOrAll(c *call, one func(ctx context.Context, orderID string) ([]Event, error),
	all func(context.Context) ([]Event, int)) (any, error) {
	orderID, _ := c.body.maybeText("orderId")
	every, _ := c.body.maybeFlag("all")
	if every == (orderID != "") {
		c.body.fail("orderId", "or all is required, but not both")
	}
	if err := s.finish(c); err != nil {
		return nil, err
	}
	var events []Event
	moved := 1
	var err error
	if every {
		events, moved = all(c.request.Context())
	} else if events, err = one(c.request.Context(), orderID); err != nil {
		return nil, err
	}
	ids := make([]string, len(events))
	for i, e := range events {
		ids[i] = e.ID
	}
	return map[string]any{"moved": moved, "events": ids}, nil
}

func (s *Service) adminAdvance(c *call) (any, error) {
	status, _ := c.body.maybeText("status")
	return s.oneOrAll(c,
		func(ctx context.Context, id string) ([]Event, error) { return s.Advance(ctx, id, status) },
		func(ctx context.Context) ([]Event, int) { return s.AdvanceAll(ctx, status) })
}

func (s *Service) adminException(c *call) (any, error) {
	code := int(c.body.maybeCount("code"))
	return s.oneOrAll(c,
		func(ctx context.Context, id string) ([]Event, error) { return s.Raise(ctx, id, code) },
		func(ctx context.Context) ([]Event, int) { return s.RaiseAll(ctx, code) })
}

func (s *Service) adminSubscription(c *call) (any, error) {
	status := c.body.text("status")
	c.body.oneOf("status", status, []string{"active", "canceled", "past_due"})
	one := func(_ context.Context, id string) ([]Event, error) { return nil, s.SetSubscription(id, status) }
	return s.oneOrAll(c, one, func(ctx context.Context) ([]Event, int) { return s.eachSubscription(ctx, one) })
}

func (s *Service) adminRenew(c *call) (any, error) {
	one := func(ctx context.Context, id string) ([]Event, error) {
		_, events, err := s.Renew(ctx, id)
		return events, err
	}
	return s.oneOrAll(c, one, func(ctx context.Context) ([]Event, int) { return s.eachSubscription(ctx, one) })
}

// eachSubscription calls do for the newest annual report of every active subscription.
func (s *Service) eachSubscription(ctx context.Context,
	do func(context.Context, string) ([]Event, error)) (events []Event, moved int) {
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
	for _, key := range keys {
		if more, err := do(ctx, newest[key]); err == nil {
			events, moved = append(events, more...), moved+1
		}
	}
	return events, moved
}

func (s *Service) adminMail(c *call) (any, error) {
	orderID := c.body.text("orderId")
	if err := s.finish(c); err != nil {
		return nil, err
	}
	e, err := s.AgentMail(c.request.Context(), orderID)
	return map[string]any{"eventId": e.ID}, err
}

// adminRedeliver delivers one event or all events again; with reverse the newest
// first, with twice each one twice.
func (s *Service) adminRedeliver(c *call) (any, error) {
	id, _ := c.body.maybeText("eventId")
	all, _ := c.body.maybeFlag("all")
	reverse, _ := c.body.maybeFlag("reverse")
	twice, _ := c.body.maybeFlag("twice")
	if all == (id != "") {
		c.body.fail("eventId", "or all is required, but not both")
	}
	if err := s.finish(c); err != nil {
		return nil, err
	}
	ids := []string{id}
	if all {
		ids = ids[:0]
		for _, e := range s.Events() {
			ids = append(ids, e.ID)
		}
	}
	if reverse {
		slices.Reverse(ids)
	}
	events := len(ids)
	if twice {
		doubled := make([]string, 0, 2*len(ids))
		for _, id := range ids {
			doubled = append(doubled, id, id)
		}
		ids = doubled
	}
	return map[string]any{"events": events}, s.Redeliver(c.request.Context(), ids...)
}

func (s *Service) adminTestDelivery(c *call) (any, error) {
	if err := s.finish(c); err != nil {
		return nil, err
	}
	return map[string]any{"eventId": s.TestDelivery(c.request.Context()).ID}, nil
}

func (s *Service) adminEIN(c *call) (any, error) {
	company := c.body.text("companyId")
	number, given := c.body.maybeText("ein")
	if given {
		c.body.matches("ein", number, einShape, "an EIN of nine digits")
	}
	if err := s.finish(c); err != nil {
		return nil, err
	}
	return map[string]any{"companyId": company, "ein": number}, s.SetEIN(company, number)
}
