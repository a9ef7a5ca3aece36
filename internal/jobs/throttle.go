package jobs

import (
	"context"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/time/rate"
)

// Throttle spaces requests out. An order waits before its intent, so a slow rate leaves no row
// uncertain.
type Throttle interface {
	// Wait returns when a request may be sent, or the context's error if the context ends first.
	Wait(context.Context) error
}

// unlimited is a throttle without a limit.
type unlimited struct{}

func (unlimited) Wait(ctx context.Context) error { return ctx.Err() }

func orUnlimited(t Throttle) Throttle {
	if t == nil {
		return unlimited{}
	}
	return t
}

// Throttle returns a throttle of perSecond requests a second for all processes that share the
// queue's Redis or, with the in-process queue, the data folder dir. It returns nil if perSecond
// is 0.
func (q *Queue) Throttle(perSecond float64, dir string) Throttle {
	if perSecond == 0 {
		return nil
	}
	p := &throttle{
		rate:     perSecond,
		burst:    max(1, int(perSecond/10)),
		batch:    min(max(1, int(perSecond/20)), 64),
		queue:    make(chan struct{}, 1),
		fallback: rate.NewLimiter(rate.Limit(perSecond/assumedSharers), 1),
	}
	if q.embedded != nil {
		p.bucket = &fileBucket{lock: flock.New(filepath.Join(dir, "pace"))}
	} else {
		p.bucket = &redisBucket{redis: q.redis}
	}
	return p
}

// tokenBucket is shared by processes.
type tokenBucket interface {
	// reserve takes tokens that are an interval apart. At most burst unused tokens accumulate.
	// It returns the time until the first token is valid, which is negative if it is valid
	// already.
	reserve(ctx context.Context, interval time.Duration, wanted, burst int) (first time.Duration, err error)
}

// assumedSharers is the number of processes that are assumed to share the rate while the bucket
// cannot be reached.
const assumedSharers = 10

// throttle takes tokens from a shared bucket, several at a time. While the bucket cannot be
// reached, each process uses its share of the rate.
type throttle struct {
	bucket tokenBucket
	rate   float64
	burst  int
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
}

// PerSecond returns the rate of all processes together.
func (p *throttle) PerSecond() float64 { return p.rate }

// Wait returns when the request has a token.
func (p *throttle) Wait(ctx context.Context) error {
	select {
	case p.queue <- struct{}{}:
		defer func() { <-p.queue }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	between := p.interval()
	// Drop tokens that were not used in time, since the bucket accumulates unused tokens, too.
	if p.tokens > 0 && time.Since(p.next) > time.Duration(p.burst+p.batch)*between {
		p.tokens = 0
	}
	if p.tokens == 0 && !p.reserve(ctx) {
		return p.fallback.Wait(ctx)
	}
	if wait := time.Until(p.next); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err() // the token remains for the next request
		}
	}
	p.tokens--
	p.next = p.next.Add(between)
	return nil
}

func (p *throttle) interval() time.Duration {
	return time.Duration(float64(time.Second) / p.rate)
}

// reserve takes tokens from the bucket. It reports false if the bucket cannot be reached.
func (p *throttle) reserve(ctx context.Context) bool {
	now := time.Now()
	if now.Before(p.retryAt) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	first, err := p.bucket.reserve(ctx, p.interval(), p.batch, p.burst)
	if err != nil {
		p.retryAt = time.Now().Add(time.Second)
		return false
	}
	// Ignoring the time of the response makes tokens valid a little late rather than early.
	p.tokens, p.next = p.batch, time.Now().Add(first)
	return true
}
