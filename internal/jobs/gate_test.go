package jobs

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

// A server that found the queue empty asks again when there is a task, when its
// worker stops, and rarely besides; not twenty times a second.
func TestDequeueGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newDequeueGate()
		asked, during := 0, func() {}
		process := g.ProcessHook(func(context.Context, redis.Cmder) error {
			asked++
			during()
			return redis.Nil
		})
		ask := func() time.Duration {
			began := time.Now()
			_ = process(t.Context(), redis.NewCmd(t.Context(), "evalsha", "sha", 4, pendingKey, "paused"))
			return time.Since(began)
		}
		if d := ask(); d != 0 {
			t.Errorf("the first request waited %s", d)
		}
		if d := ask(); d != dequeueWait {
			t.Errorf("a request to an empty queue waited %s, want %s", d, dequeueWait)
		}
		go func() {
			time.Sleep(time.Second)
			g.open()
		}()
		if d := ask(); d != time.Second {
			t.Errorf("a request waited %s, want until there was a task", d)
		}
		during = func() { g.open() } // a task comes while the queue answers that it has none
		ask()
		during = func() {}
		if d := ask(); d != 0 {
			t.Errorf("a request after a task waited %s", d)
		}
		left := g.leave()
		if d := ask() + ask(); d != 0 {
			t.Errorf("requests of a worker that stops waited %s", d)
		}
		left()
		if ask(); ask() != dequeueWait {
			t.Error("requests go on after a worker has stopped")
		}
		before := asked
		_ = process(t.Context(), redis.NewCmd(t.Context(), "evalsha", "sha", 2, "task", pendingKey))
		_ = process(t.Context(), redis.NewCmd(t.Context(), "llen", pendingKey))
		if asked != before+2 {
			t.Error("the gate kept another command")
		}
	})
}
