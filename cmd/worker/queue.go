package main

import (
	"context"
	"errors"

	"bulkfiling/internal/jobs"
	"bulkfiling/internal/metrics"

	"github.com/hibiken/asynq"
)

// queueAway tells a Redis that may come back by itself from one that refuses for
// good.
func queueAway(err error) bool { return errors.Is(err, jobs.ErrAway) }

// queueDepth reads how much is on the queue; nil where it is in this process.
func (w *worker) queueDepth() (metrics.Depth, error) {
	if w.env.RedisURL == "" {
		return nil, nil
	}
	connect, err := asynq.ParseRedisURI(w.env.RedisURL)
	if err != nil {
		return nil, err
	}
	inspector := asynq.NewInspector(connect)
	return func(context.Context) (map[string]int, error) {
		queues, err := inspector.Queues()
		if err != nil {
			return nil, err
		}
		sum := make(map[string]int)
		for _, q := range queues {
			info, err := inspector.GetQueueInfo(q)
			if err != nil {
				return nil, err
			}
			for state, n := range map[string]int{
				"pending": info.Pending, "active": info.Active, "scheduled": info.Scheduled,
				"retry": info.Retry, "archived": info.Archived,
			} {
				sum[state] += n
			}
		}
		return sum, nil
	}, nil
}
