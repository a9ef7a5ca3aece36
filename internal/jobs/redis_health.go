package jobs

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// redisHealth records whether Redis accepts writes. Reads prove nothing: a server that is full,
// or a replica that was a master a moment ago, still answers reads.
type redisHealth struct {
	mu sync.Mutex
	// tried is the time of the last write, successful or not.
	tried time.Time
	// lost is when writes began to fail, zero if the last one succeeded. err is the first error.
	lost time.Time
	err  error
}

// record records the result of a write.
func (h *redisHealth) record(now time.Time, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried = now
	switch {
	case err == nil:
		h.lost, h.err = time.Time{}, nil
	case h.lost.IsZero():
		h.lost, h.err = now, err
	}
}

// idle reports whether the last write was a second ago or earlier.
func (h *redisHealth) idle(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return now.Sub(h.tried) >= time.Second
}

// downFor returns how long Redis has been down, and the error. It returns zero if Redis is up.
func (h *redisHealth) downFor(now time.Time) (time.Duration, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lost.IsZero() {
		return 0, nil
	}
	return max(now.Sub(h.lost), 1), h.err
}

// Depth counts the tasks on the queue by asynq's names of their states.
func (q *Queue) Depth(ctx context.Context) (map[string]int, error) {
	pending, err := q.countPending(ctx)
	if err != nil {
		return nil, err
	}
	active, err := q.redis.LLen(ctx, "asynq:{"+queueName+"}:active").Result()
	if err != nil {
		return nil, fmt.Errorf("count the tasks on the queue: %w", err)
	}
	return map[string]int{"pending": pending, "active": int(active)}, nil
}

// queuesKey lists the queues for asynq's tools. A client writes the list only once, so it is
// missing after a flush.
const queuesKey = "asynq:queues"

// probe writes the list of queues to see whether Redis accepts writes.
func (q *Queue) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	if err := q.redis.SAdd(ctx, queuesKey, queueName).Err(); err != nil {
		return fmt.Errorf("write to Redis: %w", err)
	}
	return nil
}
