package sandbox

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

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
	var refused *refusal
	if errors.As(err, &refused) {
		status = refused.status
	}
	if errors.Is(err, ErrNoOrder) || errors.Is(err, ErrNoEvent) || errors.Is(err, ErrNoCompany) {
		status = http.StatusNotFound
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
	return map[string]any{"faults": s.listFaults()}, nil
}

// listFaults returns the active faults of answers. The caller holds s.mu.
func (s *Service) listFaults() []faultAnswer {
	list := make([]faultAnswer, 0, len(s.faults))
	for _, f := range s.faults {
		list = append(list, faultAnswer{f.String(), f.endpoint(), f.Company, f.Nth, f.Rate, f.Times, f.fired})
	}
	return list
}

// listWebhookFaults returns the active faults of deliveries. The caller holds s.mu.
func (s *Service) listWebhookFaults() []faultAnswer {
	list := make([]faultAnswer, 0, len(s.webhookFaults))
	for _, f := range s.webhookFaults {
		list = append(list, faultAnswer{Name: string(f.Kind), Rate: f.Rate, Times: f.Times, Fired: f.fired})
	}
	return list
}

// readLimits reads the fields that both kinds of faults have.
func (o *object) readLimits(rate *float64, times *int, wait *time.Duration) {
	if o.has("rate") {
		*rate = o.share("rate")
	}
	if o.has("times") {
		*times = int(o.count("times"))
	}
	if o.has("forSeconds") {
		*wait = o.seconds("forSeconds")
	}
}

// seconds reads a required number of seconds, at most a day.
func (o *object) seconds(name string) time.Duration {
	return time.Duration(min(o.count(name), 86_400)) * time.Second
}

func (s *Service) adminAddFault(c *call) (any, error) {
	o := c.body
	f := Fault{Kind: Kind(o.text("kind"))}
	if f.Kind != "" && !f.Kind.Known() {
		o.fail("kind", "must be one of %s", strings.Join(KindNames(), ", "))
	}
	if f.Kind == FaultStatus {
		if f.Status = int(o.count("status")); f.Status < 300 || f.Status > 599 {
			o.fail("status", "must be from 300 to 599")
		}
	}
	f.After, _ = o.maybeFlag("after")
	f.Endpoint, _ = o.maybeText("endpoint")
	f.Company, _ = o.maybeText("companyId")
	o.readLimits(&f.Rate, &f.Times, &f.For)
	if o.has("nth") {
		f.Nth = int(o.count("nth"))
	}
	if o.has("retryAfterSeconds") {
		f.RetryAfter = o.seconds("retryAfterSeconds")
	}
	f.RetryDate, _ = o.maybeFlag("retryDate")
	o.done()
	if err := s.invalid(c.found); err != nil {
		return nil, err
	}
	s.Inject(f)
	return s.adminListFaults(c)
}

func (s *Service) adminClearFaults(c *call) (any, error) {
	s.ClearFaults()
	return s.adminListFaults(c)
}

func (s *Service) adminListWebhookFaults(*call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[string]any{"faults": s.listWebhookFaults()}, nil
}

func (s *Service) adminAddWebhookFault(c *call) (any, error) {
	o := c.body
	f := WebhookFault{Kind: WebhookKind(o.text("kind"))}
	if f.Kind != "" && !f.Kind.Known() {
		o.fail("kind", "must be one of %s", strings.Join(WebhookKindNames(), ", "))
	}
	o.readLimits(&f.Rate, &f.Times, &f.For)
	o.done()
	if err := s.invalid(c.found); err != nil {
		return nil, err
	}
	s.InjectWebhook(f)
	return s.adminListWebhookFaults(c)
}

func (s *Service) adminClearWebhookFaults(c *call) (any, error) {
	s.ClearWebhookFaults()
	return s.adminListWebhookFaults(c)
}

// adminDown starts an outage, which ends after the given seconds. Refused
// connections need an end: the controls cannot be reached during the outage.
func (s *Service) adminDown(c *call) (any, error) {
	mode := c.body.text("mode")
	c.body.oneOf("mode", mode, []string{"up", string(Outage503), string(OutageRefuse)})
	var length time.Duration
	if c.body.has("seconds") {
		length = c.body.seconds("seconds")
	}
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

// whichOrders reads the choice between one order and all of them.
func whichOrders(c *call) (orderID string, all bool) {
	orderID, _ = c.body.maybeText("orderId")
	all, _ = c.body.maybeFlag("all")
	if all == (orderID != "") {
		c.body.fail("orderId", "or all is required, but not both")
	}
	return orderID, all
}

func moved(events []Event, n int) map[string]any {
	ids := make([]string, len(events))
	for i, e := range events {
		ids[i] = e.ID
	}
	return map[string]any{"moved": n, "events": ids}
}

// adminAdvance moves one filing, or with all every unfinished filing, by one step
// or to a status.
func (s *Service) adminAdvance(c *call) (any, error) {
	orderID, all := whichOrders(c)
	status, _ := c.body.maybeText("status")
	if err := s.finish(c); err != nil {
		return nil, err
	}
	if all {
		return moved(s.AdvanceAll(c.request.Context(), status)), nil
	}
	events, err := s.Advance(c.request.Context(), orderID, status)
	return moved(events, 1), err
}

// adminException raises an exception for one filing, or with all for every filing
// that can have it. Without a code it picks one that fits the product.
func (s *Service) adminException(c *call) (any, error) {
	orderID, all := whichOrders(c)
	code := 0
	if c.body.has("code") {
		code = int(c.body.count("code"))
	}
	if err := s.finish(c); err != nil {
		return nil, err
	}
	if all {
		return moved(s.RaiseAll(c.request.Context(), code)), nil
	}
	events, err := s.Raise(c.request.Context(), orderID, code)
	return moved(events, 1), err
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
