package filingapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// BreakerLimits configures the order breaker. After a number of consecutive failures it sends
// nothing for a while, then one request at a time. It also counts orders and creations of companies
// separately. See circuit.
type BreakerLimits struct {
	// Failures is the number of consecutive failures that opens the breaker. The default is 10.
	Failures int
	// Open is how long nothing is sent. The default is 2 s.
	Open time.Duration
	// Longest limits the pause between single orders while each of them fails. The default is 5
	// min.
	Longest time.Duration
}

var (
	errOpen       = errors.New("the filing service has been failing; nothing is sent to it for a moment")
	errUnhealthy  = errors.New("the filing service failed")
	errCallerLeft = errors.New("the caller left")
)

// BreakerState is why the order breaker sends no order. It is zero while the breaker is closed and
// orders are sent in parallel.
type BreakerState struct {
	// Since is when the breaker opened. It is zero if the breaker is closed.
	Since time.Time
	// Until is when the next single order may be sent. It is in the past while that order is in
	// flight.
	Until time.Time
	// OrdersOnly reports whether the service answers other requests.
	OrdersOnly bool
}

// orderBreaker is the client's only breaker. It keeps a state for all requests and one for each
// kind of request that must not be repeated. The separate states are necessary because a service
// that fails only for orders still answers lookups, which close the first state.
type orderBreaker struct {
	requests *gobreaker.TwoStepCircuitBreaker[struct{}]
	orders   *circuit
	// creations counts the creations of companies.
	creations *circuit

	// mu must not be held during calls of requests, because they call changed.
	mu sync.Mutex
	// outage is the state of all requests.
	outage BreakerState
	open   time.Duration
}

func newOrderBreaker(limits BreakerLimits) *orderBreaker {
	limits.Failures = cmp.Or(limits.Failures, 10)
	limits.Open = cmp.Or(limits.Open, 2*time.Second)
	limits.Longest = cmp.Or(limits.Longest, 5*time.Minute)
	b := &orderBreaker{
		orders:    &circuit{limits: limits},
		creations: &circuit{limits: limits},
		open:      limits.Open,
	}
	b.requests = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name:          "filing service",
		MaxRequests:   1,
		Timeout:       limits.Open,
		ReadyToTrip:   func(n gobreaker.Counts) bool { return n.ConsecutiveFailures >= uint32(limits.Failures) },
		IsExcluded:    func(err error) bool { return errors.Is(err, errCallerLeft) },
		OnStateChange: func(_ string, _, now gobreaker.State) { b.changed(now) },
	})
	return b
}

// changed records a new state of the breaker for all requests. After it opens, orders and creations
// are sent one at a time until one is answered.
func (b *orderBreaker) changed(state gobreaker.State) {
	now := time.Now()
	b.mu.Lock()
	switch state {
	case gobreaker.StateOpen:
		if b.outage.Since.IsZero() {
			b.outage.Since = now
		}
		b.outage.Until = now.Add(b.open)
	case gobreaker.StateClosed:
		b.outage = BreakerState{}
	}
	b.mu.Unlock()
	if state == gobreaker.StateOpen {
		b.orders.trip(now)
		b.creations.trip(now)
	}
}

// current returns why no order is sent now.
func (b *orderBreaker) current() BreakerState {
	b.mu.Lock()
	state := b.outage
	b.mu.Unlock()
	if state.Since.IsZero() {
		state = b.orders.current()
	}
	return state
}

// health returns nil if an outcome shows a healthy service. A refusal of any kind is healthy. So is
// a busy service, because the client obeys its Retry-After.
func (o outcome) health(caller context.Context) error {
	switch {
	case o.status == http.StatusServiceUnavailable:
		return nil
	case o.status >= 500:
		return errUnhealthy
	case o.err == nil && o.bodyErr == nil:
		return nil
	case caller.Err() != nil:
		return errCallerLeft
	default:
		return errUnhealthy
	}
}

// State returns the state of the order breaker: "closed", "half-open" or "open".
func (c *Client) State() string {
	switch state := c.breaker.current(); {
	case state.Since.IsZero():
		return "closed"
	case time.Now().Before(state.Until):
		return "open"
	}
	return "half-open"
}

// BreakerState returns why the order breaker sends no order now. It sends no request, so callers
// can check it before they record an intent that the breaker would reject.
func (c *Client) BreakerState() BreakerState { return c.breaker.current() }

// recovered reports whether orders may be sent. After an outage an order is never the first
// request, because it would become uncertain if the service still fails. recovered requests the
// organization first, which has no effect. It does so before every single trial order, because no
// other request may detect the outage.
func (c *Client) recovered(ctx context.Context, single bool) bool {
	if !single && c.breaker.requests.State() == gobreaker.StateClosed {
		return true
	}
	look := c.do(ctx, http.MethodGet, organizationPath, nil)
	return look.err == nil && look.status < 500 && c.breaker.requests.State() == gobreaker.StateClosed
}

// once sends a request that must not be repeated if the breaker admits it.
func (c *Client) once(ctx context.Context, k *circuit, send func() filing.Answer) filing.Answer {
	answer := filing.Answer{Kind: filing.NotSent, Message: errOpen.Error()}
	done, single, allowed := k.allow(time.Now())
	if !allowed {
		return answer
	}
	defer func() { done(time.Now(), answer.Kind) }()
	if !c.recovered(ctx, single) {
		k.postpone(time.Now())
		return answer
	}
	answer.Kind = filing.NoAnswer // in case send panics
	answer = send()
	return answer
}

// circuit is the order breaker's state for one kind of request. After a number of consecutive
// failures, or an outage of all requests, requests of the kind are sent one at a time. The pause
// between them doubles while they fail. A conclusive answer closes the circuit.
type circuit struct {
	limits BreakerLimits

	mu sync.Mutex
	// failed counts consecutive failures of parallel requests.
	failed int
	// since is when the circuit opened.
	since time.Time
	// wait is the pause between single requests. Zero means that requests are sent in parallel.
	wait time.Duration
	// next is when the next single request may be sent.
	next time.Time
	// out reports whether the single request is in flight.
	out bool
}

// trip makes requests of the kind go one at a time.
func (k *circuit) trip(now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tripLocked(now)
}

func (k *circuit) tripLocked(now time.Time) {
	if k.wait == 0 {
		k.since, k.wait, k.next = now, k.limits.Open, now.Add(k.limits.Open)
	}
}

// allow reports whether a request may be sent and whether it is a single trial. Callers pass the
// answer to done.
func (k *circuit) allow(now time.Time) (done func(time.Time, filing.AnswerKind), single, allowed bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.wait == 0:
		return k.recordParallel, false, true
	case k.out || now.Before(k.next):
		return nil, true, false
	}
	k.out = true
	return k.recordSingle, true, true
}

// postpone delays the next single request by the current pause, because the service still fails.
func (k *circuit) postpone(now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next = now.Add(k.wait)
}

// recordParallel counts the answer to one of several parallel requests.
func (k *circuit) recordParallel(now time.Time, kind filing.AnswerKind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case kind == filing.NotSent:
	case !kind.Lost():
		k.failed = 0
	default:
		if k.failed++; k.failed >= k.limits.Failures {
			k.tripLocked(now)
		}
	}
}

// recordSingle counts the answer to a single request.
func (k *circuit) recordSingle(now time.Time, kind filing.AnswerKind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.out = false
	switch {
	case kind == filing.NotSent, kind == filing.Busy: // shows nothing about the next request
	case kind.Lost():
		k.wait = min(2*k.wait, max(k.limits.Longest, k.limits.Open))
		k.next = now.Add(k.wait)
	default:
		k.wait, k.failed = 0, 0
	}
}

func (k *circuit) current() BreakerState {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.wait == 0 {
		return BreakerState{}
	}
	return BreakerState{Since: k.since, Until: k.next, OrdersOnly: true}
}
