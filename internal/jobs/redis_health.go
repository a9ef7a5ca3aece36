package jobs

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// redisHealth knows whether Redis takes writes. Only a write tells: a server that
// is full, or a replica that was a master a moment ago, still answers reads.
type redisHealth struct {
	mu    sync.Mutex
	tried time.Time // the last write, failed or not
	lost  time.Time // when writes began to fail; zero while they succeed
	err   error     // of the first write that failed
}

// record notes how a write went.
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

// idle reports whether the last write is a while ago.
func (h *redisHealth) idle(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return now.Sub(h.tried) >= time.Second
}

// downFor is how long Redis has been down, and why; 0 while it takes writes.
func (h *redisHealth) downFor(now time.Time) (time.Duration, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lost.IsZero() {
		return 0, nil
	}
	return max(now.Sub(h.lost), 1), h.err
}

// Depth counts the tasks on the queue by asynq's names of their states. No task is
// scheduled, retried or kept.
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
