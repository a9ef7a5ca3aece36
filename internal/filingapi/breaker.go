package filingapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/sony/gobreaker/v2"
)

// Breaker sets the circuit breaker around all calls: after a number of failures
// in a row nothing is sent for a while, and then one request at a time.
type Breaker struct {
	Failures int           // in a row; 0: 10
	Open     time.Duration // how long nothing is sent; 0: 2 s
}

var (
	errOpen = errors.New("the service has been failing; nothing is sent to it for a moment")
	errSick = errors.New("the service failed")
	errLeft = errors.New("the caller left")
)

func (b Breaker) build() *gobreaker.TwoStepCircuitBreaker[struct{}] {
	if b.Failures <= 0 {
		b.Failures = 10
	}
	if b.Open <= 0 {
		b.Open = 2 * time.Second
	}
	return gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name:        "filing service",
		MaxRequests: 1,
		Timeout:     b.Open,
		ReadyToTrip: func(n gobreaker.Counts) bool { return n.ConsecutiveFailures >= uint32(b.Failures) },
		IsExcluded:  func(err error) bool { return errors.Is(err, errLeft) },
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
		return errSick
	case o.err == nil && o.bodyErr == nil:
		return nil
	case caller.Err() != nil:
		return errLeft
	default:
		return errSick
	}
}

// State is the breaker's: "closed", "half-open" or "open".
func (c *Client) State() string { return c.breaker.State().String() }

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
