package jobs

import (
	"context"
	"testing"
	"time"

	"github.com/hibiken/asynq"
)

// An idle consumer does not poll the queue. It starts again with the next task.
func TestConsumer_StopsWhenIdle(t *testing.T) {
	q, err := OpenQueue("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close() })
	handled := make(chan struct{})
	c := &consumer{
		redis:   q.redis,
		handler: func(context.Context, *asynq.Task) error { handled <- struct{}{}; return nil },
		config: asynq.Config{
			Queues:            map[string]int{queueName: 1},
			TaskCheckInterval: taskCheckInterval,
			Logger:            asynqLogger{},
			LogLevel:          asynq.FatalLevel,
		},
		idleAfter: 5 * time.Second,
	}
	t.Cleanup(c.stop)
	began := time.Now()
	for chunk, busy := range []time.Duration{0, time.Hour} {
		now := began.Add(busy)
		if _, err := q.enqueue(t.Context(), int64(chunk), now, []int64{1}); err != nil {
			t.Fatal(err)
		}
		if err := c.start(now); err != nil {
			t.Fatal(err)
		}
		<-handled
		for _, step := range []struct {
			after  time.Duration
			active bool
			runs   bool
		}{
			{4 * time.Second, false, true},
			{6 * time.Second, true, true},
			{10 * time.Second, false, true},
			{11 * time.Second, false, false},
		} {
			c.active.Store(0)
			if step.active {
				c.active.Store(1)
			}
			c.stopIfIdle(now.Add(step.after))
			if runs := c.server != nil; runs != step.runs {
				t.Errorf("after %s the consumer runs: %t", step.after, runs)
			}
		}
	}
}
