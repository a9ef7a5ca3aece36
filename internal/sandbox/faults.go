package sandbox

import (
	"fmt"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind is the way in which an answer goes wrong.
type Kind string

// The faults of answers.
const (
	FaultTimeout    Kind = "timeout"      // silence until the client leaves, at most For (or Config.HangLimit)
	FaultReset      Kind = "reset"        // the connection is reset (RST)
	FaultEOF        Kind = "eof"          // the connection is closed without an answer
	FaultHalfBody   Kind = "half-body"    // half of the announced body, then the end
	FaultGarbage    Kind = "garbage"      // the success status, and a body that is not JSON
	FaultHTML       Kind = "html"         // the success status, and a page of some proxy
	FaultEmpty      Kind = "empty"        // the success status, and no body
	FaultNoOrderIDs Kind = "no-order-ids" // the success status, and readable JSON that lacks the order ids
	FaultSlowBody   Kind = "slow-body"    // the right answer, in pieces over For (or two seconds); always after
	FaultStatus     Kind = "status"       // Status with a message, after For, and Retry-After where set
)

var faultKinds = []Kind{FaultTimeout, FaultReset, FaultEOF, FaultHalfBody, FaultGarbage, FaultHTML, FaultEmpty,
	FaultNoOrderIDs, FaultSlowBody, FaultStatus}

// KindNames lists the kinds in the spelling of the controls.
func KindNames() []string {
	texts := make([]string, len(faultKinds))
	for i, k := range faultKinds {
		texts[i] = string(k)
	}
	return texts
}

// Fault makes answers go wrong. The first active fault that matches a request
// and is due applies.
type Fault struct {
	Kind   Kind
	Status int // of FaultStatus

	// After places the order first and then loses its answer. Every status can
	// come after a placed order: a gateway may answer while the service behind
	// it goes on.
	After bool

	// Endpoint is the endpoint that it strikes: "POST /orders" (also when empty),
	// "GET /companies/{id}" and so on by the paths of section 4. A trailing *
	// matches any rest: "GET *" is every lookup and "*" everything. Downloads of
	// documents are "GET /files/{id}".
	Endpoint string
	Company  string                                  // only requests that name this company, as the client writes it
	Match    func(r *http.Request, body []byte) bool // only requests of which this is true

	Nth   int     // only the nth request, from 1, of those that Endpoint, Company and Match let through
	Rate  float64 // share of the requests to which it applies; 0: all
	Times int     // maximum number of times it applies; 0: no limit

	RetryAfter time.Duration // of FaultStatus; 0: no such header
	RetryDate  bool          // Retry-After as an HTTP date, rounded up to a whole second, in place of seconds
	For        time.Duration // of FaultTimeout, FaultSlowBody and FaultStatus
}

// String returns the fault's name in the books, such as "reset after".
func (f Fault) String() string {
	name := string(f.Kind)
	if f.Kind == FaultStatus {
		name = strconv.Itoa(f.Status)
	}
	if f.after() {
		return name + " after"
	}
	return name + " before"
}

func (f Fault) after() bool {
	return f.After || f.Kind == FaultSlowBody
}

func (f Fault) endpoint() string {
	if f.Endpoint == "" {
		return "POST /orders"
	}
	return f.Endpoint
}

func (f Fault) matches(c *call) bool {
	want := f.endpoint()
	if prefix, wild := strings.CutSuffix(want, "*"); wild {
		if !strings.HasPrefix(c.endpoint, prefix) {
			return false
		}
	} else if want != c.endpoint {
		return false
	}
	return (f.Company == "" || f.Company == c.company()) && (f.Match == nil || f.Match(c.request, c.raw))
}

// activeFault counts how often a fault matched and applied.
type activeFault struct {
	Fault
	seen, fired int
}

// Inject activates faults after those that are active.
func (s *Service) Inject(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range faults {
		s.faults = append(s.faults, &activeFault{Fault: f})
	}
}

// ClearFaults removes all faults.
func (s *Service) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// Outage is the way in which the whole service is unavailable. The books and the
// controls stay reachable under Outage503.
type Outage string

// The outages.
const (
	OutageNone   Outage = ""
	Outage503    Outage = "503"
	OutageRefuse Outage = "refuse" // connections are refused under Serve; under Handler alone they are reset
)

// SetOutage starts or ends an outage.
func (s *Service) SetOutage(o Outage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o != s.outage {
		s.outage = o
		close(s.outageChanged)
		s.outageChanged = make(chan struct{})
	}
}

func (s *Service) isOut(w http.ResponseWriter) bool {
	s.mu.Lock()
	o := s.outage
	if o != OutageNone {
		s.faultsFired["outage "+string(o)]++
	}
	s.mu.Unlock()
	switch o {
	case Outage503:
		write(w, answer{http.StatusServiceUnavailable, s.errorBody("The filing service is down for maintenance", nil)})
	case OutageRefuse:
		reset(w)
	}
	return o != OutageNone
}

// pickFault returns the fault that applies to a request, or nil.
func (s *Service) pickFault(c *call) *Fault {
	s.mu.Lock()
	active := slices.Clone(s.faults)
	s.mu.Unlock()
	active = slices.DeleteFunc(active, func(f *activeFault) bool { return !f.matches(c) }) // Match may ask the service

	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range active {
		f.seen++ // also when another fault applies: Nth counts every matching request
	}
	for _, f := range active {
		if (f.Nth > 0 && f.seen != f.Nth) || (f.Times > 0 && f.fired >= f.Times) ||
			(f.Rate > 0 && s.rand.Float64() >= f.Rate) {
			continue
		}
		f.fired++
		s.faultsFired[f.String()]++
		picked := f.Fault
		return &picked
	}
	return nil
}

// answerWithoutOrder returns the answer to which a fault applies if no order is
// placed.
func (s *Service) answerWithoutOrder(c *call) answer {
	return s.success(c.request.Method, map[string]any{"companyId": c.company(), "items": []any{}})
}

// applyFault applies a fault to the answer a.
func (s *Service) applyFault(w http.ResponseWriter, c *call, f *Fault, a answer) {
	if c.order != nil {
		s.mu.Lock()
		c.order.Fault = f.String()
		s.mu.Unlock()
	}
	switch f.Kind {
	case FaultTimeout:
		limit := f.For
		if limit == 0 {
			limit = s.cfg.HangLimit
		}
		waitUntil(c.request.Context(), time.Now().Add(limit))
		panic(http.ErrAbortHandler)
	case FaultReset:
		reset(w)
	case FaultEOF:
		panic(http.ErrAbortHandler) // net/http closes the connection
	case FaultHalfBody:
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
		write(w, answer{a.status, a.body[:len(a.body)/2]})
		_ = http.NewResponseController(w).Flush() // the connection ends here in either case
		panic(http.ErrAbortHandler)
	case FaultHTML:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(a.status)
		fmt.Fprint(w, "<!doctype html><title>Gateway</title><h1>Everything is fine</h1>")
	case FaultSlowBody:
		writeSlowly(w, c, f, a)
	case FaultStatus:
		waitUntil(c.request.Context(), time.Now().Add(f.For))
		if f.RetryAfter > 0 {
			w.Header().Set("Retry-After", f.retryAfter())
		}
		if f.Status >= 300 && f.Status < 400 {
			w.Header().Set("Location", c.request.URL.Path)
		}
		write(w, answer{f.Status, s.errorBody(http.StatusText(f.Status), nil)})
	case FaultGarbage:
		write(w, answer{a.status, []byte(`{"companyId": undefined, "items": [order`)})
	case FaultEmpty:
		w.WriteHeader(a.status)
	case FaultNoOrderIDs:
		write(w, answer{a.status, orderIDs.ReplaceAll(a.body, nil)})
	default:
		panic(fmt.Sprintf("sandbox: fault of unknown kind %q", f.Kind))
	}
}

// orderIDs matches the order ids of an answer.
var orderIDs = regexp.MustCompile(`"orderId":"[^"]*",?`)

func (f Fault) retryAfter() string {
	if f.RetryDate {
		return time.Now().Add(f.RetryAfter).Truncate(time.Second).Add(time.Second).UTC().Format(http.TimeFormat)
	}
	return strconv.Itoa(int((f.RetryAfter + time.Second - 1) / time.Second))
}

// reset ends the connection with RST where it is TCP, else without an answer.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // makes Close send RST; without it the client sees EOF
	}
	conn.Close()
}

func writeSlowly(w http.ResponseWriter, c *call, f *Fault, a answer) {
	total := f.For
	if total == 0 {
		total = 2 * time.Second
	}
	const pieces = 10
	if c.endpoint == fileEndpoint {
		w.Header().Set("Content-Type", "application/pdf")
	} else {
		w.Header().Set("Content-Type", "application/json")
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(a.status)
	for i := range pieces {
		from, to := len(a.body)*i/pieces, len(a.body)*(i+1)/pieces
		if _, err := w.Write(a.body[from:to]); err != nil {
			return
		}
		if http.NewResponseController(w).Flush() != nil {
			return
		}
		waitUntil(c.request.Context(), time.Now().Add(total/pieces))
	}
}
