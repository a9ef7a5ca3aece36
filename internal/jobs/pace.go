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
type Pace interface {
	Wait(context.Context) error // the context's error, when it ends first
}

// unpaced is the pace of no limit.
type unpaced struct{}

func (unpaced) Wait(ctx context.Context) error { return ctx.Err() }

// Pace lets perSecond requests a second through, together with all processes
// that share the queue's Redis; with the queue in the process, with those that
// share the data folder dir. It returns nil for perSecond 0: no limit.
func (q *Queue) Pace(perSecond float64, dir string) Pace {
	if perSecond == 0 {
		return nil
	}
	p := &fleetPace{
		rate:   perSecond,
		burst:  max(1, int(perSecond/10)),
		atOnce: min(max(1, int(perSecond/20)), 64),
		turn:   make(chan struct{}, 1),
		alone:  rate.NewLimiter(rate.Limit(perSecond/unknownFleet), 1),
	}
	if q.embedded != nil {
		p.turns = &folderTurns{lock: flock.New(filepath.Join(dir, "pace"))}
	} else {
		p.turns = &redisTurns{redis: q.redis, id: rand.Text()[:12]}
	}
	return p
}

// turns are those of everybody who shares them. take takes some that lie between
// apart, of which so many may pile up unused, and says in how long the first of
// them is (less than 0: since when), and how many take turns.
type turns interface {
	take(ctx context.Context, between time.Duration, wanted, pile int) (first time.Duration, sharers int, err error)
}

// unknownFleet is how many processes are taken to share the rate where nobody
// could say from the beginning.
const unknownFleet = 10

// fleetPace takes the turns that it shares, some at a time. While they cannot be
// had each process keeps to its share of the rate.
type fleetPace struct {
	turns  turns
	rate   float64
	burst  int
	atOnce int // a twentieth of a second's turns: they are not asked for one by one

	turn  chan struct{} // held by whoever waits for the next turn: the others queue up here
	left  int           // turns taken and not used yet
	next  time.Time     // when the first of them may be used
	retry time.Time     // nobody is asked for turns before this moment
	alone *rate.Limiter // for while they cannot be had
}

// PerSecond is the rate of the fleet.
func (p *fleetPace) PerSecond() float64 { return p.rate }

// Wait returns when it is this request's turn.
func (p *fleetPace) Wait(ctx context.Context) error {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	between := p.between()
	// Turns that nobody used in time are gone: they must not pile up here on top
	// of those that pile up for everybody.
	if p.left > 0 && time.Since(p.next) > time.Duration(p.burst+p.atOnce)*between {
		p.left = 0
	}
	if p.left == 0 && !p.take(ctx) {
		return p.alone.Wait(ctx)
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
	p.left--
	p.next = p.next.Add(between)
	return nil
}

func (p *fleetPace) between() time.Duration {
	return time.Duration(float64(time.Second) / p.rate)
}

// take asks for turns. It reports false while they cannot be had.
func (p *fleetPace) take(ctx context.Context) bool {
	now := time.Now()
	if now.Before(p.retry) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	first, sharers, err := p.turns.take(ctx, p.between(), p.atOnce, p.burst)
	if err != nil {
		p.retry = time.Now().Add(time.Second)
		return false
	}
	// The answer's way back is not counted: a turn comes rather too late.
	p.left, p.next = p.atOnce, time.Now().Add(first)
	p.alone.SetLimit(rate.Limit(p.rate / math.Max(1, float64(sharers))))
	return true
}
