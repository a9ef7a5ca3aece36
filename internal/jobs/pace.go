package jobs

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"time"

	"github.com/redis/go-redis/v9"
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
// that share the queue's Redis; with the queue in the process, it is this
// process's alone. It returns nil for perSecond 0: no limit.
func (q *Queue) Pace(perSecond float64) Pace {
	burst := max(1, int(perSecond/10))
	switch {
	case perSecond == 0:
		return nil
	case q.embedded != nil:
		return ownPace{rate.NewLimiter(rate.Limit(perSecond), burst)}
	}
	return &fleetPace{
		redis: q.redis, id: rand.Text()[:12], rate: perSecond, burst: burst,
		atOnce: min(max(1, int(perSecond/20)), 64),
		turn:   make(chan struct{}, 1),
		alone:  rate.NewLimiter(rate.Limit(perSecond/unknownFleet), 1),
	}
}

// ownPace is a process's own.
type ownPace struct{ *rate.Limiter }

// PerSecond is the rate.
func (p ownPace) PerSecond() float64 { return float64(p.Limit()) }

// unknownFleet is how many processes are taken to share the rate where Redis
// was away from the beginning and could not say.
const unknownFleet = 10

// fleetPace takes its turns from Redis, some at a time. While Redis is away each
// process keeps to its share of the rate.
type fleetPace struct {
	redis  redis.UniversalClient
	id     string // of this process among those who take turns
	rate   float64
	burst  int
	atOnce int // a twentieth of a second's turns: a round trip is not needed for each

	turn  chan struct{} // held by whoever waits for the next turn: the others queue up here
	left  int           // turns taken from Redis and not used yet
	next  time.Time     // when the first of them may be used
	retry time.Time     // Redis is not asked before this moment
	alone *rate.Limiter // for while Redis is away
}

// takeTurns hands turns out as if everybody drew them from one bucket, by the
// clock of the server: those of the hosts need not agree. KEYS: the moment of the
// next free turn, in microseconds; who took turns lately. ARGV: microseconds
// between turns, turns wanted, turns that may pile up unused, who asks. It
// returns in how many microseconds the first turn is (less than 0: since when),
// and how many take turns.
//
// A moment that lies further ahead than a hundred processes could have taken it
// is from before the server's clock was set back, or from another server.
var takeTurns = redis.NewScript(`
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local between, wanted, pile = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local free = tonumber(redis.call('GET', KEYS[1]) or '0')
if free > now + 1000000 + 100 * wanted * between then free = now end
free = math.max(free, now - (pile - 1) * between)
local after = free + wanted * between
redis.call('SET', KEYS[1], string.format('%.3f', after), 'PX', math.ceil((after - now + pile * between) / 1000) + 1000)
redis.call('ZADD', KEYS[2], clock[1], ARGV[4])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', clock[1] - 60)
redis.call('EXPIRE', KEYS[2], 60)
return {math.ceil(free - now), redis.call('ZCARD', KEYS[2])}
`)

// paceKeys lie in one slot of a cluster.
var paceKeys = []string{"bulkfiling:{" + queueName + "}:pace", "bulkfiling:{" + queueName + "}:paced"}

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
	// of those that pile up in Redis.
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

// take asks Redis for turns. It reports false while Redis is away.
func (p *fleetPace) take(ctx context.Context) bool {
	now := time.Now()
	if now.Before(p.retry) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	answer, err := takeTurns.Run(ctx, p.redis, paceKeys, fmt.Sprintf("%.3f", 1e6/p.rate), p.atOnce, p.burst, p.id).Int64Slice()
	if err != nil || len(answer) != 2 {
		p.retry = time.Now().Add(time.Second)
		return false
	}
	// The answer's way back is not counted: a turn comes rather too late.
	p.left, p.next = p.atOnce, time.Now().Add(time.Duration(answer[0])*time.Microsecond)
	p.alone.SetLimit(rate.Limit(p.rate / math.Max(1, float64(answer[1]))))
	return true
}
