package jobs

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// dequeueWait is how long a server waits at most before it asks an empty queue again.
// The pump of the same process opens the gate when there is a task; this is for a task
// that only another process knows of.
const dequeueWait = 5 * time.Second

// dequeueGate lets the server's requests for a task wait while the queue is empty. By
// itself the server asks twenty times a second, with a script that costs the queue
// within the process more than all else that an idle worker does.
type dequeueGate struct {
	mu      sync.Mutex
	opens   int           // how often the gate was opened
	empty   int           // opens as of a request that found no task; -1 for none
	opened  chan struct{} // closed when the gate opens
	leaving int           // workers that stop: their servers' requests must not wait
}

func newDequeueGate() *dequeueGate { return &dequeueGate{empty: -1, opened: make(chan struct{})} }

// open lets requests through: there is a task on the queue.
func (g *dequeueGate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.opens++
	close(g.opened)
	g.opened = make(chan struct{})
}

// leave lets all requests through until the returned function is called.
func (g *dequeueGate) leave() (left func()) {
	g.mu.Lock()
	g.leaving++
	g.mu.Unlock()
	g.open()
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.leaving--
	}
}

// wait waits while the queue is empty, as far as this process knows. It returns what
// the request that follows hands to found.
func (g *dequeueGate) wait(ctx context.Context) (opens int) {
	g.mu.Lock()
	opened, empty := g.opened, g.empty == g.opens && g.leaving == 0
	g.mu.Unlock()
	if empty {
		timer := time.NewTimer(dequeueWait)
		defer timer.Stop()
		select {
		case <-opened:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.opens
}

// foundNone records that a request found the queue empty. A task that came after the
// request has opened the gate since.
func (g *dequeueGate) foundNone(opens int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.empty = opens
}

// DialHook is part of redis.Hook.
func (g *dequeueGate) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook is part of redis.Hook.
func (g *dequeueGate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// ProcessHook lets the server's requests for a task wait.
func (g *dequeueGate) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if !isDequeue(cmd) {
			return next(ctx, cmd)
		}
		opens := g.wait(ctx)
		err := next(ctx, cmd)
		if errors.Is(err, redis.Nil) {
			g.foundNone(opens)
		}
		return err
	}
}

// isDequeue reports whether a command is asynq's script that takes a task: of its
// scripts, the one whose first key is the list of pending tasks.
func isDequeue(cmd redis.Cmder) bool {
	args := cmd.Args() // EVALSHA, the script, the number of keys, the keys
	if len(args) < 4 || (cmd.Name() != "evalsha" && cmd.Name() != "eval") {
		return false
	}
	key, _ := args[3].(string)
	return key == pendingKey
}
