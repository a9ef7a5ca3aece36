package sandbox

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// Action is a control of a running sandbox: POST /admin/NAME with a JSON object. Fields is an
// example of each field.
type Action struct {
	Name, Help, Fields string
	do                 func(*Service, *call) (any, error)
}

// Actions are the controls of a running sandbox.
var Actions = []Action{
	{"advance", "Advance filings one step, or to a status", "orderId=order_4be8 all=true status=filed",
		(*Service).adminAdvance},
	{"exception", "Give a filing an exception (463 to 465, 482, 483, 484 or 487); advance resolves it",
		"orderId=order_4be8 code=482", (*Service).adminException},
	{"renew", "Place the next annual report of a subscription", "orderId=order_4be8", (*Service).adminRenew},
	{"subscription", "Set the status of a subscription: active, canceled or past_due",
		"orderId=order_4be8 status=past_due", (*Service).adminSubscription},
	{"mail", "Deliver registered agent mail", "orderId=order_4be8", (*Service).adminMail},
	{"test-delivery", "Send a test event to every endpoint", "", (*Service).adminTestDelivery},
	{"deposit", "Add dollars to the prepaid balance", "amount=250.5", (*Service).adminDeposit},
	{"fault", "Add a fault of answers", "kind=status status=503 after=true endpoint=* companyId=comp_1 nth=3 " +
		"retryAfterSeconds=2 rate=0.05 times=3 forSeconds=10", (*Service).adminAddFault},
	{"clear-faults", "Remove the faults", "", (*Service).adminClearFaults},
	{"down", "Stop the filing service (answer or refuse), or restart it (up)", "mode=answer seconds=30",
		(*Service).adminDown},
}

// handleAdmin serves the controls. They accept only JSON, which a page of another
// site cannot post without a preflight request.
func (s *Service) handleAdmin(mux *http.ServeMux) {
	for _, a := range Actions {
		mux.HandleFunc("POST /admin/"+a.Name, func(w http.ResponseWriter, r *http.Request) { s.control(w, r, a) })
	}
}

// control executes an action, without a key, latency, faults or books.
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
	return map[string]any{"balance": dollars(s.orderBook.balance)}, nil
}

// seconds reads an optional number of seconds, at most a day.
func (o *object) seconds(name string) time.Duration {
	return time.Duration(min(o.maybeCount(name), 86_400)) * time.Second
}

// maybeCount reads an optional whole number. It returns 0 if the number is not given.
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
	return map[string]any{"fault": f.String()}, nil
}

func (s *Service) adminClearFaults(c *call) (any, error) {
	err := s.finish(c)
	if err == nil {
		s.ClearFaults()
	}
	return map[string]any{}, err
}

// adminDown starts an outage, which ends after the given seconds. An outage that refuses
// connections requires an end, because the controls cannot be reached during it.
func (s *Service) adminDown(c *call) (any, error) {
	mode, length := c.body.text("mode"), c.body.seconds("seconds")
	c.body.oneOf("mode", mode, []string{"up", "answer", string(OutageRefuse)})
	if mode == string(OutageRefuse) && length == 0 {
		c.body.fail("seconds", "is required: no control can be reached while connections are refused")
	}
	if err := s.finish(c); err != nil {
		return nil, err
	}
	// Any other mode ends the outage.
	outage := map[string]Outage{"answer": Outage503, "refuse": OutageRefuse}[mode]
	if length > 0 {
		time.AfterFunc(length, func() { s.SetOutage(OutageNone) })
	}
	// Refuse connections only after this answer is sent.
	if outage == OutageRefuse {
		time.AfterFunc(50*time.Millisecond, func() { s.SetOutage(outage) })
	} else {
		s.SetOutage(outage)
	}
	return map[string]any{"mode": mode}, nil
}

// adminAdvance advances the given filing, or all of them.
func (s *Service) adminAdvance(c *call) (any, error) {
	orderID, _ := c.body.maybeText("orderId")
	all, _ := c.body.maybeFlag("all")
	status, _ := c.body.maybeText("status")
	if all == (orderID != "") {
		c.body.fail("orderId", "or all is required, but not both")
	}
	if err := s.finish(c); err != nil {
		return nil, err
	}
	if !all {
		events, err := s.Advance(c.request.Context(), orderID, status)
		return movedAnswer(events, 1), err
	}
	return movedAnswer(s.AdvanceAll(c.request.Context(), status)), nil
}

func movedAnswer(events []Event, moved int) any {
	ids := make([]string, len(events))
	for i, e := range events {
		ids[i] = e.ID
	}
	return map[string]any{"moved": moved, "events": ids}
}

func (s *Service) adminException(c *call) (any, error) {
	orderID, code := c.body.text("orderId"), int(c.body.maybeCount("code"))
	if err := s.finish(c); err != nil {
		return nil, err
	}
	events, err := s.Raise(c.request.Context(), orderID, code)
	return movedAnswer(events, 1), err
}

func (s *Service) adminSubscription(c *call) (any, error) {
	orderID, status := c.body.text("orderId"), c.body.text("status")
	c.body.oneOf("status", status, []string{"active", "canceled", "past_due"})
	if err := s.finish(c); err != nil {
		return nil, err
	}
	return map[string]any{"status": status}, s.SetSubscription(orderID, status)
}

func (s *Service) adminRenew(c *call) (any, error) {
	orderID := c.body.text("orderId")
	if err := s.finish(c); err != nil {
		return nil, err
	}
	item, _, err := s.Renew(c.request.Context(), orderID)
	return map[string]any{"orderId": item.ID}, err
}

func (s *Service) adminMail(c *call) (any, error) {
	orderID := c.body.text("orderId")
	if err := s.finish(c); err != nil {
		return nil, err
	}
	e, err := s.AgentMail(c.request.Context(), orderID)
	return map[string]any{"eventId": e.ID}, err
}

func (s *Service) adminTestDelivery(c *call) (any, error) {
	if err := s.finish(c); err != nil {
		return nil, err
	}
	return map[string]any{"eventId": s.TestDelivery(c.request.Context()).ID}, nil
}
