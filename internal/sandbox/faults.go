package sandbox

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind is the kind of failure of an answer.
type Kind string

// The faults of answers.
const (
	// FaultTimeout sends no answer until the client leaves, at most for For (or Config.HangLimit).
	FaultTimeout Kind = "timeout"
	// FaultReset resets the connection (RST).
	FaultReset Kind = "reset"
	// FaultEOF closes the connection without an answer.
	FaultEOF Kind = "eof"
	// FaultHalfBody ends the connection after half of the announced body.
	FaultHalfBody Kind = "half-body"
	// FaultGarbage sends the success status with a body that is not JSON.
	FaultGarbage Kind = "garbage"
	// FaultHTML sends the success status with the page of a proxy.
	FaultHTML Kind = "html"
	// FaultEmpty sends the success status without a body.
	FaultEmpty Kind = "empty"
	// FaultNoOrderIDs sends the success status with valid JSON that lacks the order ids.
	FaultNoOrderIDs Kind = "no-order-ids"
	// FaultSlowBody sends the right answer in pieces over For (or two seconds). It always implies
	// After.
	FaultSlowBody Kind = "slow-body"
	// FaultStatus sends Status with a message, after For, and Retry-After if set.
	FaultStatus Kind = "status"
)

var faultKinds = []Kind{FaultTimeout, FaultReset, FaultEOF, FaultHalfBody, FaultGarbage, FaultHTML, FaultEmpty,
	FaultNoOrderIDs, FaultSlowBody, FaultStatus}

// KindNames lists the kinds in the spelling of the controls.
func KindNames() []string {
	var names []string
	for _, k := range faultKinds {
		names = append(names, string(k))
	}
	return names
}

// Fault makes answers fail. The first active fault that matches a request and is due applies.
type Fault struct {
	Kind Kind
	// Status is the status of a FaultStatus.
	Status int

	// After places the order first and then loses its answer. Every status can follow a placed
	// order, because a gateway may answer while the service behind it continues.
	After bool

	// Endpoint is the endpoint to which the fault applies: "POST /orders" (also if empty), "GET
	// /companies/{id}" and so on by the paths of section 4. A trailing * matches any rest: "GET *"
	// is every lookup and "*" everything. Downloads of documents are "GET /files/{id}".
	Endpoint string
	// Company limits the fault to requests that name this company, as the client writes it. Empty
	// means any.
	Company string
	// Match limits the fault to requests for which it returns true. Nil means any.
	Match func(r *http.Request, body []byte) bool

	// Nth limits the fault to the nth request, counted from 1, among those that match Endpoint,
	// Company and Match. Zero means every request.
	Nth int
	// Rate is the share of the requests to which the fault applies. Zero means all.
	Rate float64
	// Times is the maximum number of times the fault applies. Zero means no limit.
	Times int

	// RetryAfter is the Retry-After header of a FaultStatus. Zero means no header.
	RetryAfter time.Duration
	// RetryDate sends Retry-After as an HTTP date, rounded up to a whole second, instead of
	// seconds.
	RetryDate bool
	// For is the duration of a FaultTimeout, FaultSlowBody or FaultStatus.
	For time.Duration
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

func (f Fault) matches(c *call) bool {
	want := cmp.Or(f.Endpoint, "POST /orders")
	if prefix, wild := strings.CutSuffix(want, "*"); wild {
		if !strings.HasPrefix(c.endpoint, prefix) {
			return false
		}
	} else if want != c.endpoint {
		return false
	}
	return (f.Company == "" || f.Company == c.company()) && (f.Match == nil || f.Match(c.request, c.raw))
}

// faultInjector makes answers fail.
type faultInjector struct {
	*core
	faults        []*activeFault
	faultsFired   map[string]int
	outage        Outage
	outageChanged chan struct{}
}

// activeFault counts how often a fault matched and applied.
type activeFault struct {
	Fault
	seen, fired int
}

// Inject activates faults after those already active.
func (in *faultInjector) Inject(faults ...Fault) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, f := range faults {
		in.faults = append(in.faults, &activeFault{Fault: f})
	}
}

// ClearFaults removes all faults.
func (in *faultInjector) ClearFaults() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.faults = nil
}

// Outage is the way in which the whole service is unavailable. The books and the controls stay
// reachable during an Outage503.
type Outage string

// The outages.
const (
	OutageNone Outage = ""
	Outage503  Outage = "503"
	// OutageRefuse refuses connections under Serve. Under Handler alone it resets them.
	OutageRefuse Outage = "refuse"
)

// SetOutage starts or ends an outage.
func (in *faultInjector) SetOutage(o Outage) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if o != in.outage {
		in.outage = o
		close(in.outageChanged)
		in.outageChanged = make(chan struct{})
	}
}

func (in *faultInjector) isOut(w http.ResponseWriter) bool {
	in.mu.Lock()
	o := in.outage
	if o != OutageNone {
		in.faultsFired["outage "+string(o)]++
	}
	in.mu.Unlock()
	switch o {
	case Outage503:
		write(w, answer{http.StatusServiceUnavailable, in.errorBody("The filing service is down for maintenance", nil)})
	case OutageRefuse:
		reset(w)
	}
	return o != OutageNone
}

// pickFault returns the fault that applies to a request, or nil.
func (in *faultInjector) pickFault(c *call) *Fault {
	in.mu.Lock()
	active := slices.Clone(in.faults)
	in.mu.Unlock()
	// Call Match without the lock, because it may call the service.
	active = slices.DeleteFunc(active, func(f *activeFault) bool { return !f.matches(c) })

	in.mu.Lock()
	defer in.mu.Unlock()
	for _, f := range active {
		// Count even if another fault applies, because Nth counts every matching request.
		f.seen++
	}
	for _, f := range active {
		if (f.Nth > 0 && f.seen != f.Nth) || (f.Times > 0 && f.fired >= f.Times) ||
			(f.Rate > 0 && in.rand.Float64() >= f.Rate) {
			continue
		}
		f.fired++
		in.faultsFired[f.String()]++
		picked := f.Fault
		return &picked
	}
	return nil
}

// answerWithoutOrder returns the answer that a fault changes if no order is placed.
func (in *faultInjector) answerWithoutOrder(c *call) answer {
	return in.success(c.request.Method, map[string]any{"companyId": c.company(), "items": []any{}})
}

// applyFault applies a fault to the answer a.
func (in *faultInjector) applyFault(w http.ResponseWriter, c *call, f *Fault, a answer) {
	if c.order != nil {
		in.mu.Lock()
		c.order.Fault = f.String()
		in.mu.Unlock()
	}
	switch f.Kind {
	case FaultTimeout:
		waitUntil(c.request.Context(), time.Now().Add(cmp.Or(f.For, in.cfg.HangLimit)))
		panic(http.ErrAbortHandler)
	case FaultReset:
		reset(w)
	case FaultEOF:
		// net/http closes the connection.
		panic(http.ErrAbortHandler)
	case FaultHalfBody:
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
		write(w, answer{a.status, a.body[:len(a.body)/2]})
		// The connection ends here, even if the flush fails.
		_ = http.NewResponseController(w).Flush()
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
		write(w, answer{f.Status, in.errorBody(http.StatusText(f.Status), nil)})
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

// reset ends the connection with RST if it is TCP, and otherwise without an answer.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		// SetLinger makes Close send RST. Otherwise the client would see EOF.
		_ = tcp.SetLinger(0)
	}
	conn.Close()
}

func writeSlowly(w http.ResponseWriter, c *call, f *Fault, a answer) {
	total := cmp.Or(f.For, 2*time.Second)
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
