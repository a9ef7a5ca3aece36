package jobs

import (
	"context"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/time/rate"
)

// Throttle spaces requests out. An order waits for it before its intent, so that a
// slow rate leaves nothing uncertain.
type Throttle interface {
	Wait(context.Context) error // the context's error, when it ends first
}

// unlimited is the throttle without a limit.
type unlimited struct{}

func (unlimited) Wait(ctx context.Context) error { return ctx.Err() }

func orUnlimited(t Throttle) Throttle {
	if t == nil {
		return unlimited{}
	}
	return t
}

// Throttle returns a throttle of perSecond requests a second for all processes that
// share the queue's Redis or, with the in-process queue, the data folder dir. It
// returns nil for perSecond 0: no limit.
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

// tokenBucket is shared by processes. reserve takes tokens that are an interval
// apart, of which at most burst pile up unused. It returns in how long the first
// one counts (less than 0: since when).
type tokenBucket interface {
	reserve(ctx context.Context, interval time.Duration, wanted, burst int) (first time.Duration, err error)
}

// assumedSharers is how many processes share the rate while the bucket cannot be
// reached.
const assumedSharers = 10

// throttle takes tokens from a shared bucket, some at a time. While the bucket
// cannot be reached, each process keeps to its share of the rate.
type throttle struct {
	bucket tokenBucket
	rate   float64
	burst  int
	batch  int // tokens of a twentieth of a second: they are not reserved one by one

	queue    chan struct{} // held by the request that waits for the next token; the others wait here
	tokens   int           // reserved and not used yet
	next     time.Time     // when the first of them counts
	retryAt  time.Time     // the bucket is not asked before
	fallback *rate.Limiter // while the bucket cannot be reached
}

// PerSecond is the rate of all processes together.
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
	// Tokens that were not used in time are dropped: they must not pile up here on
	// top of those in the bucket.
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
			return ctx.Err() // the next request uses the token
		}
	}
	p.tokens--
	p.next = p.next.Add(between)
	return nil
}

func (p *throttle) interval() time.Duration {
	return time.Duration(float64(time.Second) / p.rate)
}

// reserve takes tokens from the bucket. It reports false while that fails.
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
	// The answer's way back is not counted: a token counts rather too late.
	p.tokens, p.next = p.batch, time.Now().Add(first)
	return true
}
