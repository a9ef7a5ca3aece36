package filingapi

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"

	"bulkfiling/internal/filing"
)

// Breaker sets the circuit breaker around all calls: after a number of failures
// in a row nothing is sent for a while, and then one request at a time. Orders,
// and creations of companies, are watched for themselves besides: see trial.
type Breaker struct {
	Failures int           // in a row; 0: 10
	Open     time.Duration // how long nothing is sent; 0: 2 s
	Longest  time.Duration // how long no order is sent where one after the other fails; 0: 5 min
}

var (
	errOpen       = errors.New("the service has been failing; nothing is sent to it for a moment")
	errUnhealthy  = errors.New("the service failed")
	errCallerLeft = errors.New("the caller left")
)

// orDefaults fills in what is not set.
func (b Breaker) orDefaults() Breaker {
	if b.Failures <= 0 {
		b.Failures = 10
	}
	if b.Open <= 0 {
		b.Open = 2 * time.Second
	}
	if b.Longest <= 0 {
		b.Longest = 5 * time.Minute
	}
	return b
}

// build makes the breaker; opened is called whenever it opens.
func (b Breaker) build(opened func()) *gobreaker.TwoStepCircuitBreaker[struct{}] {
	return gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name:        "filing service",
		MaxRequests: 1,
		Timeout:     b.Open,
		ReadyToTrip: func(n gobreaker.Counts) bool { return n.ConsecutiveFailures >= uint32(b.Failures) },
		IsExcluded:  func(err error) bool { return errors.Is(err, errCallerLeft) },
		OnStateChange: func(_ string, _, now gobreaker.State) {
			if now == gobreaker.StateOpen {
				opened()
			}
		},
	})
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

// State is the breaker's: "closed", "half-open" or "open". Where it is closed for
// look-ups alone it is that of orders.
func (c *Client) State() string {
	state := c.breaker.State()
	if state == gobreaker.StateClosed {
		state = c.orders.state(time.Now())
	}
	return state.String()
}

// recovered reports whether orders may be sent. After an outage an order is
// never the first request to find out, for it would end in doubt where the
// service still fails: a harmless look at the organization goes first.
func (c *Client) recovered(ctx context.Context) bool {
	if c.breaker.State() == gobreaker.StateClosed {
		return true
	}
	c.do(ctx, http.MethodGet, organizationPath, nil)
	return c.breaker.State() == gobreaker.StateClosed
}

// once sends what must not be sent twice, where that may be tried now.
func (c *Client) once(ctx context.Context, t *trial, send func() filing.Answer) filing.Answer {
	answer := filing.Answer{Kind: filing.NotSent, Message: errOpen.Error()}
	ended, admitted := t.admit(time.Now())
	if !admitted {
		return answer
	}
	defer func() { ended(time.Now(), answer.Kind) }()
	if c.recovered(ctx) {
		answer.Kind = filing.NoAnswer // until there is one, whatever happens
		answer = send()
	}
	return answer
}

// trial keeps a service that answers everything but orders from putting one
// after the other in doubt, which the breaker does not see: a look-up that is
// answered closes it. After as many failures in a row, or an outage, one is sent
// at a time; while these fail, the time between them doubles. An answer that can
// be trusted ends it.
type trial struct {
	limits Breaker

	mu     sync.Mutex
	failed int           // in a row, of those sent side by side
	wait   time.Duration // between one and the next; 0: they are sent side by side
	next   time.Time     // when the next one may be sent
	out    bool          // it is under way
}

// begin sends one at a time from now on.
func (t *trial) begin(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.beginLocked(now)
}

func (t *trial) beginLocked(now time.Time) {
	if t.wait == 0 {
		t.wait, t.next = t.limits.Open, now.Add(t.limits.Open)
	}
}

// admit reports whether one more may be sent; if so, ended must be told what
// came of it.
func (t *trial) admit(now time.Time) (ended func(time.Time, filing.AnswerKind), admitted bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.wait == 0:
		return t.sideBySide, true
	case t.out || now.Before(t.next):
		return nil, false
	}
	t.out = true
	return t.alone, true
}

// sideBySide takes in what became of one among others.
func (t *trial) sideBySide(now time.Time, class filing.AnswerKind) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case class == filing.NotSent:
	case !isUncertain(class):
		t.failed = 0
	default:
		if t.failed++; t.failed >= t.limits.Failures {
			t.beginLocked(now)
		}
	}
}

// alone takes in what became of the one that was sent by itself.
func (t *trial) alone(now time.Time, class filing.AnswerKind) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.out = false
	switch {
	case class == filing.NotSent, class == filing.Busy: // nothing was learnt
	case isUncertain(class):
		t.wait = min(2*t.wait, max(t.limits.Longest, t.limits.Open))
		t.next = now.Add(t.wait)
	default:
		t.wait, t.failed = 0, 0
	}
}

func (t *trial) state(now time.Time) gobreaker.State {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.wait == 0:
		return gobreaker.StateClosed
	case now.Before(t.next):
		return gobreaker.StateOpen
	}
	return gobreaker.StateHalfOpen
}

// inDoubt reports whether something was sent and nobody knows what became of it.
func isUncertain(class filing.AnswerKind) bool {
	return class == filing.NoAnswer || class == filing.ServerError || class == filing.Unreadable
}
