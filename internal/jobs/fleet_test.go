package jobs_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// Two processes at once over one ledger, each told to place the same batch, buy
// nothing twice; each has a queue of its own, or they share one.
func TestTwoWorkersAtOnce(t *testing.T) {
	onBothTransports(t, func(t *testing.T, on servers) {
		f := newFirm(t, on, sandbox.Config{AutoSeed: true, Latency: 5 * time.Millisecond})
		two := f.openLedger()
		f.add("a", requests(200, report, reportAndAgent, agentChange)...)
		f.add("b", requests(200, report, reportAndAgent, agentChange)...) // the same purchases
		var running sync.WaitGroup
		running.Go(func() { f.finish("a") })
		running.Go(func() { f.finish("a", over(two)) })
		running.Go(func() { f.finish("b") })
		running.Wait()
		a, b := f.counts("a"), f.counts("b")
		placed := a[filing.Placed] + b[filing.Placed]
		if n := f.posts("/orders"); placed < 200 || n != placed ||
			placed+a[filing.Exists]+b[filing.Exists] != 400 {
			t.Errorf("%v and %v by %d orders", a, b, n)
		}
		f.agree("a", "b")
	})
}

// A queue that is emptied while it works loses nothing and doubles nothing.
func TestFlushedRedis(t *testing.T) {
	onBothTransports(t, func(t *testing.T, on servers) {
		if on.redis == "" {
			return // nobody can reach the Redis of a process
		}
		f := newFirm(t, on, sandbox.Config{AutoSeed: true, Latency: 10 * time.Millisecond})
		f.add("a", requests(300, report, agentChange)...)
		var sent atomic.Int32
		f.placeRest("a", placing(func(send func() filing.Answer) filing.Answer {
			if sent.Add(1)%60 == 0 {
				flush(f, on.redis)
			}
			return send()
		}))
		f.wantOneAttempt("a")
		f.agree("a")
	})
}

// A worker that is stopped while its orders are out gives its task back to the
// queue; the worker that gets it finds the intents, and sends nothing twice.
func TestRedeliveredAfterShutdown(t *testing.T) {
	onBothTransports(t, func(t *testing.T, on servers) {
		f := newFirm(t, on, sandbox.Config{AutoSeed: true})
		queue := f.openQueue() // they share it
		f.add("a", requests(40, report, agentChange)...)
		hold, reached, answer := held()
		first := f.start(over(f.openLedger()), sharing(queue), hold, func(c *jobs.Config) {
			c.DrainTimeout = 50 * time.Millisecond
		})
		for range flying {
			<-reached
		}
		first.Stop() // its orders are still out
		second := f.start(sharing(queue))
		f.eventually("the second worker placed all that the first had not begun", func() bool {
			counts := f.counts("a")
			return counts[filing.Placed] == 40-flying && counts[filing.Placing] == flying
		})
		close(answer)
		f.await(second, "a", patient)
		f.want("a", ledger.Counts{filing.Placed: 40})
		f.wantOneAttempt("a")
		f.agree("a")
	})
}

// A worker that stops waits for the orders in its hands, whether the queue still
// knows of them or not.
func TestStop_WaitsWithoutRedis(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{AutoSeed: true})
	f.add("a", report(0))
	hold, reached, answer := held()
	w := f.start(hold, func(c *jobs.Config) {
		c.Batch = "none" // the queue delivers nothing
		c.DrainTimeout = time.Minute
	})
	row := f.rows("a")[0].ID
	go w.Handle(context.WithoutCancel(t.Context()), row)
	<-reached
	time.AfterFunc(time.Second, func() { close(answer) }) // Stop waits for it, however long it takes
	w.Stop()
	f.want("a", ledger.Counts{filing.Placed: 1})
	f.agree("a")
}
