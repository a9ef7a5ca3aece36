package jobs

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

// taskCheckInterval is the polling interval of asynq on an empty queue. At this interval polling
// costs one or two percent of a core.
const taskCheckInterval = 10 * time.Millisecond

// idleAfter is how long a consumer polls an empty queue.
const idleAfter = 5 * time.Second

// consumer takes tasks off the queue and handles them, but only while there is work. Only the pump
// uses it, until the pump has ended.
type consumer struct {
	redis   redis.UniversalClient
	handler asynq.HandlerFunc
	config  asynq.Config
	// idleAfter is the constant, except in tests.
	idleAfter time.Duration

	// active is the number of tasks that are being handled.
	active atomic.Int64
	// server is nil while the consumer is stopped.
	server *asynq.Server
	// busy is the time at which there was work last.
	busy time.Time
}

// start starts the consumer unless it is running.
func (c *consumer) start(now time.Time) error {
	c.busy = now
	if c.server != nil {
		return nil
	}
	server := asynq.NewServerFromRedisClient(c.redis, c.config)
	if err := server.Start(c.handler); err != nil {
		return fmt.Errorf("start the queue's handlers: %w", err)
	}
	c.server = server
	return nil
}

// stopIfIdle stops the consumer if there has been no work for a while.
func (c *consumer) stopIfIdle(now time.Time) {
	if c.active.Load() > 0 {
		c.busy = now
	}
	if now.Sub(c.busy) >= c.idleAfter {
		c.stop()
	}
}

// stop stops the consumer. It waits for the tasks that are being handled, for at most
// config.ShutdownTimeout.
func (c *consumer) stop() {
	if c.server != nil {
		c.server.Shutdown()
		c.server = nil
	}
}
