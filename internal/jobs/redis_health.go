package jobs

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// link knows whether Redis takes what it is given. Only a write tells: a server
// that is full, or a replica that was a master a moment ago, still answers.
type redisHealth struct {
	mu    sync.Mutex
	tried time.Time // the last write, or try of one
	lost  time.Time // zero while all is well
	err   error     // of the first write that failed
}

// Words about Redis for the log, each said once an outage.
const (
	redisDown = "Redis is away: nothing more is placed until it is back; no row is lost"
	redisUp   = "Redis is back: placing goes on"
)

// note takes in how a write went and returns what is new about it, "" for
// nothing, and since when Redis was away.
func (l *redisHealth) record(now time.Time, err error) (news string, since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tried = now
	switch {
	case err != nil && l.lost.IsZero():
		l.lost, l.err = now, err
		return redisDown, now
	case err == nil && !l.lost.IsZero():
		since = l.lost
		l.lost, l.err = time.Time{}, nil
		return redisUp, since
	}
	return "", time.Time{}
}

// quiet reports whether nobody has written for a while.
func (l *redisHealth) idle(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now.Sub(l.tried) >= time.Second
}

// away is how long Redis has been away, and why; 0 while it is there.
func (l *redisHealth) downFor(now time.Time) (time.Duration, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost.IsZero() {
		return 0, nil
	}
	return now.Sub(l.lost), l.err
}

// Depth counts the tasks on the queue by asynq's names of their states.
func (q *Queue) Depth(ctx context.Context) (map[string]int, error) {
	const key = "asynq:{" + queueName + "}:"
	pipe := q.redis.Pipeline()
	counts := map[string]*redis.IntCmd{
		"pending":   pipe.LLen(ctx, pendingKey),
		"active":    pipe.LLen(ctx, key+"active"),
		"scheduled": pipe.ZCard(ctx, key+"scheduled"),
		"retry":     pipe.ZCard(ctx, key+"retry"),
		"archived":  pipe.ZCard(ctx, key+"archived"),
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, fmt.Errorf("see how much is on the queue: %w", err)
	}
	depth := make(map[string]int, len(counts))
	for state, n := range counts {
		depth[state] = int(n.Val())
	}
	return depth, nil
}

// queuesKey lists the queues for asynq's tools, which a client tells Redis once
// in its life: after a flush they would know of none.
const queuesKey = "asynq:queues"

// probe writes something harmless.
func (q *Queue) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	if err := q.redis.SAdd(ctx, queuesKey, queueName).Err(); err != nil {
		return fmt.Errorf("write to Redis: %w", err)
	}
	return nil
}
