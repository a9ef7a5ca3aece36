package lookup

import (
	"context"
	"time"

	"golang.org/x/time/rate"
)

// Bucket is a token bucket that processes share.
type Bucket interface {
	// Reserve takes tokens that are an interval apart. At most burst unused tokens accumulate.
	// It returns the time until the first token is valid, which is negative if it is valid
	// already.
	Reserve(ctx context.Context, interval time.Duration, wanted, burst int) (first time.Duration, err error)
}

// assumedSharers is the number of processes that are assumed to share the rate while the bucket
// cannot be reached.
const assumedSharers = 10

// Throttle spaces requests out. An order waits before its intent, so a slow rate leaves no row
// uncertain. A Throttle takes tokens from a shared bucket, several at a time. While the bucket
// cannot be reached, each process uses its share of the rate. A nil Throttle has no limit.
type Throttle struct {
	bucket Bucket
	rate   float64
	// interval is the time between two requests of all processes.
	interval time.Duration
	burst    int
	// batch is the number of tokens to reserve at a time. They last a twentieth of a second.
	batch int

	// queue serializes requests. The request that holds it waits for the next token.
	queue chan struct{}
	// tokens are reserved and unused. The first of them is valid from next on.
	tokens int
	next   time.Time
	// fallback applies until retryAt if the bucket cannot be reached.
	retryAt  time.Time
	fallback *rate.Limiter

	// released has the times at which tokens were given back. They are valid for as long as unused
	// tokens accumulate. At most burst of them are kept.
	released chan time.Time
}

// NewThrottle returns a throttle of perSecond requests a second for all processes that share the
// bucket.
func NewThrottle(perSecond float64, b Bucket) *Throttle {
	burst := max(1, int(perSecond/10))
	return &Throttle{
		bucket:   b,
		rate:     perSecond,
		interval: time.Duration(float64(time.Second) / perSecond),
		burst:    burst,
		released: make(chan time.Time, burst),
		batch:    min(max(1, int(perSecond/20)), 64),
		queue:    make(chan struct{}, 1),
		fallback: rate.NewLimiter(rate.Limit(perSecond/assumedSharers), 1),
	}
}

// PerSecond returns the rate of all processes together. It is 0 without a limit.
func (t *Throttle) PerSecond() float64 {
	if t == nil {
		return 0
	}
	return t.rate
}

// Wait returns when a request may be sent, or the context's error if the context ends first.
func (t *Throttle) Wait(ctx context.Context) error {
	if t == nil {
		return ctx.Err()
	}
	select {
	case t.queue <- struct{}{}:
		defer func() { <-t.queue }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	// Drop tokens that were not used in time, since the bucket accumulates unused tokens, too.
	if t.tokens > 0 && time.Since(t.next) > time.Duration(t.burst+t.batch)*t.interval {
		t.tokens = 0
	}
	if t.takeReleased() {
		return nil
	}
	if t.tokens == 0 && !t.reserve(ctx) {
		return t.fallback.Wait(ctx)
	}
	next := time.NewTimer(time.Until(t.next))
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err() // the token remains for the next request
		case at := <-t.released:
			if t.isValid(at) {
				return nil
			}
		case <-next.C:
			t.tokens--
			t.next = t.next.Add(t.interval)
			return nil
		}
	}
}

// takeReleased takes a token that was given back.
func (t *Throttle) takeReleased() bool {
	for {
		select {
		case at := <-t.released:
			if t.isValid(at) {
				return true
			}
		default:
			return false
		}
	}
}

// isValid reports whether a token that was given back at a time may still be used.
func (t *Throttle) isValid(at time.Time) bool {
	return time.Since(at) <= time.Duration(t.burst)*t.interval
}

// Release gives back the token of a request that was not sent after all. A chunk of rows may be on
// the queue twice, and the requests of its second copy find their rows sent.
func (t *Throttle) Release() {
	if t == nil {
		return
	}
	select {
	case t.released <- time.Now():
	default:
	}
}

// reserve takes tokens from the bucket. It reports false if the bucket cannot be reached.
func (t *Throttle) reserve(ctx context.Context) bool {
	now := time.Now()
	if now.Before(t.retryAt) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	first, err := t.bucket.Reserve(ctx, t.interval, t.batch, t.burst)
	if err != nil {
		t.retryAt = time.Now().Add(time.Second)
		return false
	}
	// Ignoring the time of the response makes tokens valid a little late rather than early.
	t.tokens, t.next = t.batch, time.Now().Add(first)
	return true
}
