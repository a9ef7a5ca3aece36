package jobs

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

// taskCheckInterval is the polling interval of asynq on an empty queue.
const taskCheckInterval = 10 * time.Millisecond

// consumerIdleAfter is how long a consumer polls an empty queue. Polling every 50 ms already costs 1.5
// percent of a core.
const consumerIdleAfter = 5 * time.Second

// consumer takes tasks off the queue and handles them, but only while there is work. Only the pump
// starts and stops it, until the pump has ended.
type consumer struct {
	redis     redis.UniversalClient
	handler   asynq.HandlerFunc
	config    asynq.Config
	idleAfter time.Duration

	// active is the number of tasks that are being handled.
	active atomic.Int64
	// server is nil while the consumer is stopped.
	server *asynq.Server
	// stopping are the servers that are shutting down.
	stopping sync.WaitGroup
	// lastWork is the time at which there was work last.
	lastWork time.Time
}

// start starts the consumer, or keeps it running.
func (c *consumer) start(now time.Time) error {
	c.lastWork = now
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

// stopIfIdle begins to stop the consumer if there has been no work for a while.
func (c *consumer) stopIfIdle(now time.Time) {
	if c.active.Load() > 0 {
		c.lastWork = now
	}
	if c.server != nil && now.Sub(c.lastWork) >= c.idleAfter {
		c.stopping.Go(c.server.Shutdown)
		c.server = nil
	}
}

// stop stops the consumer. It waits for the tasks that are being handled, for at most
// config.ShutdownTimeout.
func (c *consumer) stop() {
	if c.server != nil {
		c.server.Shutdown()
		c.server = nil
	}
	c.stopping.Wait()
}
