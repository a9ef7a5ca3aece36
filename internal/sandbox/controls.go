package sandbox

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// Action is a control of a running sandbox: POST /admin/NAME with a JSON object. Fields is an
// example of each field.
type Action struct {
	Name, Help, Fields string
	// read reads the fields and returns what to do if they are valid.
	read func(*Service, *object) action
}

// action executes a control and returns its answer.
type action func(context.Context) (any, error)

// Actions are the controls of a running sandbox.
var Actions = []Action{
	{"advance", "Advance filings one step, or to a status", "orderId=order_4be8 all=true status=filed", readAdvance},
	{"exception", "Give a filing an exception (463 to 465, 482, 483, 484 or 487); advance resolves it",
		"orderId=order_4be8 code=482", func(s *Service, o *object) action {
			orderID, code := o.text("orderId"), int(o.maybeCount("code"))
			return func(ctx context.Context) (any, error) {
				events, err := s.Raise(ctx, orderID, code)
				return movedAnswer(events, 1), err
			}
		}},
	{"renew", "Place the next annual report of a subscription", "orderId=order_4be8",
		func(s *Service, o *object) action {
			orderID := o.text("orderId")
			return func(ctx context.Context) (any, error) {
				item, _, err := s.Renew(ctx, orderID)
				return map[string]any{"orderId": item.ID}, err
			}
		}},
	{"subscription", "Set the status of a subscription: active, canceled or past_due",
		"orderId=order_4be8 status=past_due", func(s *Service, o *object) action {
			orderID, status := o.text("orderId"), o.text("status")
			o.oneOf("status", status, []string{"active", "canceled", "past_due"})
			return func(context.Context) (any, error) {
				return map[string]any{"status": status}, s.SetSubscription(orderID, status)
			}
		}},
	{"mail", "Deliver registered agent mail", "orderId=order_4be8", func(s *Service, o *object) action {
		orderID := o.text("orderId")
		return func(ctx context.Context) (any, error) {
			e, err := s.AgentMail(ctx, orderID)
			return map[string]any{"eventId": e.ID}, err
		}
	}},
	{"test-delivery", "Send a test event to every endpoint", "", func(s *Service, _ *object) action {
		return func(ctx context.Context) (any, error) {
			return map[string]any{"eventId": s.TestDelivery(ctx).ID}, nil
		}
	}},
	{"deposit", "Add dollars to the prepaid balance", "amount=250.5", func(s *Service, o *object) action {
		cents, given := o.maybeDollars("amount")
		if !given || cents <= 0 {
			o.fail("amount", "must be an amount in dollars, more than 0")
		}
		return func(context.Context) (any, error) {
			s.Deposit(cents)
			return map[string]any{"balance": dollars(s.Books().Balance)}, nil
		}
	}},
	{"fault", "Add a fault of answers", "kind=status status=503 after=true endpoint=* companyId=comp_1 nth=3 " +
		"retryAfterSeconds=2 rate=0.05 times=3 forSeconds=10", readFault},
	{"clear-faults", "Remove the faults", "", func(s *Service, _ *object) action {
		return func(context.Context) (any, error) {
			s.ClearFaults()
			return map[string]any{}, nil
		}
	}},
	{"down", "Stop the filing service (answer or refuse), or restart it (up)", "mode=answer seconds=30", readDown},
}

// handleAdmin serves the controls. They accept only JSON, which a page of another
// site cannot post without a preflight request.
func (s *Service) handleAdmin(mux *http.ServeMux) {
	for _, a := range Actions {
		mux.HandleFunc("POST /admin/"+a.Name, func(w http.ResponseWriter, r *http.Request) {
			v, err := s.control(w, r, a)
			if err == nil {
				write(w, answer{http.StatusOK, s.success(http.MethodGet, v).body})
				return
			}
			status := http.StatusBadRequest
			if refused, ok := errors.AsType[*refusal](err); ok {
				status = refused.status
			}
			write(w, answer{status, s.errorBody(err.Error(), nil)})
		})
	}
}

// control executes an action, without a key, latency, faults or books.
func (s *Service) control(w http.ResponseWriter, r *http.Request, a Action) (v any, err error) {
	c := &call{request: r}
	if c.raw, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody)); err != nil {
		return nil, err
	}
	if err = c.parse(nil); err != nil {
		return nil, err
	}
	do := a.read(s, c.body)
	if err = s.finish(c); err != nil {
		return nil, err
	}
	return do(r.Context())
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

// readAdvance advances the given filing, or all of them.
func readAdvance(s *Service, o *object) action {
	orderID, _ := o.maybeText("orderId")
	all, _ := o.maybeFlag("all")
	status, _ := o.maybeText("status")
	if all == (orderID != "") {
		o.fail("orderId", "or all is required, but not both")
	}
	return func(ctx context.Context) (any, error) {
		if all {
			return movedAnswer(s.AdvanceAll(ctx, status)), nil
		}
		events, err := s.Advance(ctx, orderID, status)
		return movedAnswer(events, 1), err
	}
}

func movedAnswer(events []Event, moved int) any {
	ids := make([]string, len(events))
	for i, e := range events {
		ids[i] = e.ID
	}
	return map[string]any{"moved": moved, "events": ids}
}

func readFault(s *Service, o *object) action {
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
	return func(context.Context) (any, error) {
		s.Inject(f)
		return map[string]any{"fault": f.String()}, nil
	}
}

// readDown starts an outage, which ends after the given seconds. An outage that refuses
// connections requires an end, because the controls cannot be reached during it.
func readDown(s *Service, o *object) action {
	mode, length := o.text("mode"), o.seconds("seconds")
	o.oneOf("mode", mode, []string{"up", "answer", string(OutageRefuse)})
	if mode == string(OutageRefuse) && length == 0 {
		o.fail("seconds", "is required: no control can be reached while connections are refused")
	}
	return func(context.Context) (any, error) {
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
}
