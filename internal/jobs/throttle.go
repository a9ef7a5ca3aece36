package jobs

import (
	"context"
	"crypto/rand"
	"math"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/time/rate"
)

// Pace spaces requests out. An order waits its turn before its intent, so that
// a slow pace leaves nothing in doubt.
type Throttle interface {
	Wait(context.Context) error // the context's error, when it ends first
}

// unpaced is the pace of no limit.
type unlimited struct{}

func (unlimited) Wait(ctx context.Context) error { return ctx.Err() }

// Pace lets perSecond requests a second through, together with all processes
// that share the queue's Redis; with the queue in the process, with those that
// share the data folder dir. It returns nil for perSecond 0: no limit.
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
		p.bucket = &redisBucket{redis: q.redis, id: rand.Text()[:12]}
	}
	return p
}

// turns are those of everybody who shares them. take takes some that lie between
// apart, of which so many may pile up unused, and says in how long the first of
// them is (less than 0: since when), and how many take turns.
type tokenBucket interface {
	reserve(ctx context.Context, between time.Duration, wanted, pile int) (first time.Duration, sharers int, err error)
}

// unknownFleet is how many processes are taken to share the rate where nobody
// could say from the beginning.
const assumedSharers = 10

// fleetPace takes the turns that it shares, some at a time. While they cannot be
// had each process keeps to its share of the rate.
type throttle struct {
	bucket tokenBucket
	rate   float64
	burst  int
	batch  int // a twentieth of a second's turns: they are not asked for one by one

	queue    chan struct{} // held by whoever waits for the next turn: the others queue up here
	tokens   int           // turns taken and not used yet
	next     time.Time     // when the first of them may be used
	retryAt  time.Time     // nobody is asked for turns before this moment
	fallback *rate.Limiter // for while they cannot be had
}

// PerSecond is the rate of the fleet.
func (p *throttle) PerSecond() float64 { return p.rate }

// Wait returns when it is this request's turn.
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
	// Turns that nobody used in time are gone: they must not pile up here on top
	// of those that pile up for everybody.
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
			return ctx.Err() // the turn is left for the next
		}
	}
	p.tokens--
	p.next = p.next.Add(between)
	return nil
}

func (p *throttle) interval() time.Duration {
	return time.Duration(float64(time.Second) / p.rate)
}

// take asks for turns. It reports false while they cannot be had.
func (p *throttle) reserve(ctx context.Context) bool {
	now := time.Now()
	if now.Before(p.retryAt) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	first, sharers, err := p.bucket.reserve(ctx, p.interval(), p.batch, p.burst)
	if err != nil {
		p.retryAt = time.Now().Add(time.Second)
		return false
	}
	// The answer's way back is not counted: a turn comes rather too late.
	p.tokens, p.next = p.batch, time.Now().Add(first)
	p.fallback.SetLimit(rate.Limit(p.rate / math.Max(1, float64(sharers))))
	return true
}
