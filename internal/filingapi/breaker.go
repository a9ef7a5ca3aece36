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

// BreakerLimits are those of the order breaker: after a number of failures in a
// row nothing is sent for a while, and then one request at a time. Orders, and
// creations of companies, are also counted separately: see circuit.
type BreakerLimits struct {
	Failures int           // in a row; 0: 10
	Open     time.Duration // how long nothing is sent; 0: 2 s
	Longest  time.Duration // how long no order is sent while one after the other fails; 0: 5 min
}

var (
	errOpen       = errors.New("the filing service has been failing; nothing is sent to it for a moment")
	errUnhealthy  = errors.New("the filing service failed")
	errCallerLeft = errors.New("the caller left")
)

// BreakerState is why the order breaker sends no order; the zero value while orders
// are sent side by side.
type BreakerState struct {
	Since      time.Time // when the breaker opened; zero: it is closed
	Until      time.Time // when the next single order goes; in the past while that is under way
	OrdersOnly bool      // other requests are answered
}

// orderBreaker is the client's one breaker. It keeps a state for all requests,
// and one for each kind of request that must not be sent twice: a service that
// fails for orders alone still answers look-ups, which close the first.
type orderBreaker struct {
	requests  *gobreaker.TwoStepCircuitBreaker[struct{}]
	orders    *circuit
	creations *circuit // of companies

	mu     sync.Mutex   // not held while requests is asked, which calls changed
	outage BreakerState // of all requests
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

// changed notes a new state of the breaker of all requests. Once it has opened,
// orders and creations go one at a time until one is answered.
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

// current is why no order is sent now.
func (b *orderBreaker) current() BreakerState {
	b.mu.Lock()
	state := b.outage
	b.mu.Unlock()
	if state.Since.IsZero() {
		state = b.orders.current()
	}
	return state
}

// health is what an outcome says of the service: nil for a healthy one. A
// refusal of any kind is healthy, and so is a busy service, whose Retry-After
// is obeyed instead.
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

// State is the order breaker's: "closed", "half-open" or "open".
func (c *Client) State() string {
	switch state := c.breaker.current(); {
	case state.Since.IsZero():
		return "closed"
	case time.Now().Before(state.Until):
		return "open"
	}
	return "half-open"
}

// BreakerState is why the order breaker sends no order now. Asking it costs nothing: a
// caller asks before it announces an order that would not leave.
func (c *Client) BreakerState() BreakerState { return c.breaker.current() }

// recovered reports whether orders may be sent. After an outage an order is
// never the first request to find out, for it would end uncertain where the
// service still fails: a harmless look at the organization goes first. A single
// trial order has a look of its own, because no other request may detect the outage.
func (c *Client) recovered(ctx context.Context, single bool) bool {
	if !single && c.breaker.requests.State() == gobreaker.StateClosed {
		return true
	}
	look := c.do(ctx, http.MethodGet, organizationPath, nil)
	return look.err == nil && look.status < 500 && c.breaker.requests.State() == gobreaker.StateClosed
}

// once sends what must not be sent twice, where the breaker lets it through.
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
	answer.Kind = filing.NoAnswer // until there is one, whatever happens
	answer = send()
	return answer
}

// circuit is the order breaker's state for one kind of request. After so many
// failures in a row, or an outage of everything, requests of the kind go one at
// a time; while these fail, the time between them doubles. An answer that can be
// trusted closes it.
type circuit struct {
	limits BreakerLimits

	mu     sync.Mutex
	failed int           // in a row, of those sent side by side
	since  time.Time     // when it opened
	wait   time.Duration // between one and the next; 0: they are sent side by side
	next   time.Time     // when the next one may be sent
	out    bool          // it is under way
}

// trip lets requests of the kind through one at a time from now on.
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

// allow reports whether a request may be sent and whether it is a single trial. Callers
// pass the answer to done.
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

// postpone makes the next single request wait as long as this one did, because the
// service still fails.
func (k *circuit) postpone(now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next = now.Add(k.wait)
}

// recordParallel counts the answer to one request among others.
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

// recordSingle counts the answer to the one request that was let through.
func (k *circuit) recordSingle(now time.Time, kind filing.AnswerKind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.out = false
	switch {
	case kind == filing.NotSent, kind == filing.Busy: // it says nothing of the next
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
