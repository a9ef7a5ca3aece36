package sandbox

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

// handleAdmin serves the controls. They take JSON only, which no page of another site can post without asking first.
func (s *Service) handleAdmin(mux *http.ServeMux) {
	for pattern, do := range map[string]func(*call) (any, error){
		"POST /admin/deposit":       s.adminDeposit,
		"GET /admin/faults":         s.adminListFaults,
		"POST /admin/faults":        s.adminAddFault,
		"DELETE /admin/faults":      s.adminClearFaults,
		"POST /admin/down":          s.adminDown,
		"POST /admin/advance":       s.adminAdvance,
		"POST /admin/redeliver":     s.adminRedeliver,
		"POST /admin/test-delivery": s.adminTestDelivery,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.control(w, r, do) })
	}
}

// control is serve without key, latency, faults and books.
func (s *Service) control(w http.ResponseWriter, r *http.Request, do func(*call) (any, error)) {
	c := &call{request: r}
	var err error
	if c.raw, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody)); err == nil && r.Method == http.MethodPost {
		err = c.parse(nil)
	}
	var v any
	if err == nil {
		v, err = do(c)
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
	if errors.Is(err, ErrNoOrder) || errors.Is(err, ErrNoEvent) {
		status = http.StatusNotFound
	}
	write(w, answer{status, s.errorBody(err.Error(), nil)})
}

func (s *Service) adminDeposit(c *call) (any, error) {
	cents, given := c.body.maybeDollars("amount")
	if !given || cents <= 0 {
		c.body.fail("amount", "must be dollars, more than 0")
	}
	c.body.done()
	if err := s.invalid(c.found); err != nil {
		return nil, err
	}
	s.Deposit(cents)
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[string]any{"balance": dollars(s.balance)}, nil
}

type faultAnswer struct {
	Name     string  `json:"name"`
	Endpoint string  `json:"endpoint"`
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

func (s *Service) adminAddFault(c *call) (any, error) {
	o := c.body
	f := Fault{Kind: Kind(o.text("kind"))}
	if f.Kind != "" && !f.Kind.Known() {
		o.fail("kind", "must be one of %s", strings.Join(KindNames(), ", "))
	}
	if f.Kind == FaultStatus {
		if f.Status = int(o.count("status")); f.Status < 400 || f.Status > 599 {
			o.fail("status", "must be from 400 to 599")
		}
	}
	f.After, _ = o.maybeFlag("after")
	f.Endpoint, _ = o.maybeText("endpoint")
	f.Company, _ = o.maybeText("companyId")
	if o.has("rate") {
		f.Rate = o.share("rate")
	}
	for name, to := range map[string]*int{"nth": &f.Nth, "times": &f.Times} {
		if o.has(name) {
			*to = int(o.count(name))
		}
	}
	for name, to := range map[string]*time.Duration{"retryAfterSeconds": &f.RetryAfter, "forSeconds": &f.For} {
		if o.has(name) {
			*to = time.Duration(min(o.count(name), 86_400)) * time.Second
		}
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

// adminDown begins an outage, which ends by itself after seconds where given. Refused connections need an end: the
// controls cannot be reached meanwhile.
func (s *Service) adminDown(c *call) (any, error) {
	mode := c.body.text("mode")
	c.body.oneOf("mode", mode, []string{"up", string(Outage503), string(OutageRefuse)})
	var seconds int64
	if c.body.has("seconds") {
		seconds = min(c.body.count("seconds"), 86_400)
	}
	if mode == string(OutageRefuse) && seconds == 0 {
		c.body.fail("seconds", "is required: nothing can be reached while connections are refused")
	}
	c.body.done()
	if err := s.invalid(c.found); err != nil {
		return nil, err
	}
	outage := Outage(mode)
	if mode == "up" {
		outage = OutageNone
	}
	if seconds > 0 {
		time.AfterFunc(time.Duration(seconds)*time.Second, func() { s.SetOutage(OutageNone) })
	}
	if outage == OutageRefuse { // this answer has to get away first
		time.AfterFunc(50*time.Millisecond, func() { s.SetOutage(outage) })
	} else {
		s.SetOutage(outage)
	}
	return map[string]any{"mode": mode}, nil
}

// adminAdvance moves one filing, or with all every filing by one step.
func (s *Service) adminAdvance(c *call) (any, error) {
	orderID, _ := c.body.maybeText("orderId")
	status, _ := c.body.maybeText("status")
	all, _ := c.body.maybeFlag("all")
	var code int64
	if c.body.has("exceptionCode") {
		code = c.body.count("exceptionCode")
	}
	if all == (orderID != "") {
		c.body.fail("orderId", "or all is required, and not both")
	}
	c.body.done()
	if err := s.invalid(c.found); err != nil {
		return nil, err
	}
	ids := []string{orderID}
	if all {
		ids = ids[:0]
		for _, item := range s.Books().Items() {
			if item.Status != filed && item.Status != canceled {
				ids = append(ids, item.ID)
			}
		}
	}
	told := []string{}
	for _, id := range ids {
		var events []Event
		var err error
		if code != 0 {
			events, err = s.Raise(c.request.Context(), id, int(code))
		} else {
			events, err = s.Advance(c.request.Context(), id, status)
		}
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			told = append(told, e.ID)
		}
	}
	return map[string]any{"moved": len(ids), "events": told}, nil
}

func (s *Service) adminRedeliver(c *call) (any, error) {
	id := c.body.text("eventId")
	c.body.done()
	if err := s.invalid(c.found); err != nil {
		return nil, err
	}
	return map[string]any{"eventId": id}, s.Redeliver(c.request.Context(), id)
}

func (s *Service) adminTestDelivery(c *call) (any, error) {
	c.body.done()
	if err := s.invalid(c.found); err != nil {
		return nil, err
	}
	return map[string]any{"eventId": s.TestDelivery(c.request.Context()).ID}, nil
}
