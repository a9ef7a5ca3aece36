package jobs_test

import (
	"context"
	"sync"
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
		f := newFirm(t, on, sandbox.Config{OpeningBalance: rich, AutoSeed: true, Latency: 5 * time.Millisecond})
		one, two := f.openLedger(), f.openLedger()
		f.add(one, "a", requests(200, report, reportAndAgent, agentChange)...)
		f.add(two, "b", requests(200, report, reportAndAgent, agentChange)...) // the same purchases
		var running sync.WaitGroup
		for _, run := range []struct {
			l     *ledger.Ledger
			batch string
		}{{one, "a"}, {two, "a"}, {one, "b"}} {
			running.Go(func() {
				queue := f.openQueue()
				w := f.start(run.l, queue, func(c *jobs.Config) { c.Batch = run.batch })
				if end := f.await(w, run.batch, patient); end.Reason != jobs.Finished {
					t.Errorf("%+v", end)
				}
				w.Stop()
			})
		}
		running.Wait()
		placed := 0
		for _, batch := range []string{"a", "b"} {
			for _, r := range f.rows(one, batch) {
				switch r.Result {
				case filing.Placed:
					placed++
				case filing.Exists:
				default:
					t.Errorf("row %d of %s is %s: %s", r.Number, batch, r.Result, r.Message)
				}
			}
		}
		if n := len(f.seen("POST", "/v1/orders")); placed < 200 || n != placed {
			t.Errorf("%d rows are placed by %d orders", placed, n)
		}
		f.agree(one, "a", "b")
	})
}

// A queue that is emptied while it works loses nothing and doubles nothing.
func TestFlushedRedis(t *testing.T) {
	onBothTransports(t, func(t *testing.T, on servers) {
		if on.redis == "" {
			return // nobody can reach the Redis of a process
		}
		f := newFirm(t, on, sandbox.Config{OpeningBalance: rich, AutoSeed: true, Latency: 10 * time.Millisecond})
		l := f.openLedger()
		f.add(l, "a", requests(300, report, agentChange)...)
		f.patch = func(c *jobs.Config) {
			c.Service = &everyOrders{Service: c.Service, n: 60, do: func() { flush(f, on.redis) }}
		}
		if end := f.run(l, "a", patient); end.Reason != jobs.Finished {
			t.Fatalf("%+v", end)
		}
		f.want(l, "a", ledger.Counts{filing.Placed: 300})
		f.agree(l, "a")
		for _, r := range f.rows(l, "a") {
			if r.Tries != 1 {
				t.Errorf("%+v", r)
			}
		}
	})
}

// everyOrders does something again and again, after every n orders.
type everyOrders struct {
	jobs.Service
	mu      sync.Mutex
	n, sent int
	do      func()
}

func (s *everyOrders) PlaceOrder(ctx context.Context, o *filing.Order) filing.Answer {
	s.mu.Lock()
	if s.sent++; s.sent%s.n == 0 {
		s.do()
	}
	s.mu.Unlock()
	return s.Service.PlaceOrder(ctx, o)
}

// A worker that is stopped while its orders are out gives its task back to the
// queue; the worker that gets it finds the intents, and sends nothing twice.
func TestRedeliveredAfterShutdown(t *testing.T) {
	onBothTransports(t, func(t *testing.T, on servers) {
		f := newFirm(t, on, sandbox.Config{OpeningBalance: rich, AutoSeed: true})
		slow, next := f.openLedger(), f.openLedger()
		queue := f.openQueue() // they share it
		f.add(slow, "a", requests(40, report, agentChange)...)

		reached, answer := make(chan struct{}, 40), make(chan struct{})
		first := f.start(slow, queue, func(c *jobs.Config) {
			c.DrainTimeout = 50 * time.Millisecond
			c.Service = &held{Service: c.Service, reached: reached, answer: answer}
		})
		for range flying {
			<-reached
		}
		first.Stop() // its orders are still out
		second := f.start(next, queue)
		f.eventually("the second worker placed all that the first had not begun", func() bool {
			counts, err := next.Counts(t.Context(), "a")
			f.must(err)
			return counts[filing.Placed] == 40-flying && counts[filing.Placing] == flying
		})
		close(answer)
		if end := f.await(second, "a", patient); end.Reason != jobs.Finished {
			t.Fatalf("%+v", end)
		}
		f.want(next, "a", ledger.Counts{filing.Placed: 40})
		for _, r := range f.rows(next, "a") {
			if r.Tries != 1 {
				t.Errorf("%+v", r)
			}
		}
		f.agree(next, "a")
	})
}

// held keeps every order back until it is told to send it.
type held struct {
	jobs.Service
	reached chan<- struct{}
	answer  <-chan struct{}
}

func (s *held) PlaceOrder(ctx context.Context, o *filing.Order) filing.Answer {
	s.reached <- struct{}{}
	<-s.answer
	return s.Service.PlaceOrder(ctx, o)
}

// Ctrl-C waits for the answers that are out, records them and sends nothing more.
func TestStopRecordsWhatIsOut(t *testing.T) {
	onBothTransports(t, func(t *testing.T, on servers) {
		f := newFirm(t, on, sandbox.Config{OpeningBalance: rich, AutoSeed: true})
		l := f.openLedger()
		f.add(l, "a", requests(60, report, agentChange)...)
		reached, answer := make(chan struct{}, 60), make(chan struct{})
		w := f.start(l, f.openQueue(), func(c *jobs.Config) {
			c.Service = &held{Service: c.Service, reached: reached, answer: answer}
		})
		for range flying {
			<-reached
		}
		interrupted, cancel := context.WithCancel(t.Context())
		cancel()
		if end, err := w.Await(interrupted, "a", patient); err != nil || end.Reason != jobs.Interrupted {
			t.Errorf("%+v, %v", end, err)
		}
		stopped := make(chan struct{})
		go func() { w.Stop(); close(stopped) }()
		<-w.Stopping()
		close(answer)
		<-stopped
		f.want(l, "a", ledger.Counts{filing.Placed: flying, filing.Ready: 60 - flying})
		f.agree(l, "a")
		f.run(l, "a", patient)
		f.want(l, "a", ledger.Counts{filing.Placed: 60})
		f.agree(l, "a")
	})
}

// A row that waits for an order in doubt of another batch does not keep a run
// waiting for ever: it ends, and says how many wait.
func TestBehindAnotherBatch(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{OpeningBalance: rich, AutoSeed: true})
	l := f.openLedger()
	f.add(l, "a", agentChange(0))
	row := f.rows(l, "a")[0]
	key := (&filing.Order{
		CompanyID:       "comp_0",
		FilingState:     "DE",
		RegisteredAgent: &filing.RegisteredAgentItem{},
	}).Keys()[filing.RegisteredAgent]
	begun, err := l.Begin(t.Context(),
		ledger.Intent{Row: row.ID, Claims: []ledger.Claim{{Product: filing.AgentChange, Key: key}}})
	f.must(err)
	a := filing.Answer{Kind: filing.NoAnswer}
	f.must(l.RecordOutcome(t.Context(), ledger.Outcome{
		Row:        row.ID,
		Try:        begun.Try,
		Answer:     a,
		Repeatable: true,
		Message:    "lost",
	}))
	f.add(l, "b", agentChange(0), report(1))
	if end := f.run(l, "b", patient); end.Reason != jobs.Finished || end.Behind != 1 {
		t.Errorf("%+v", end)
	}
	f.want(l, "b", ledger.Counts{filing.Placed: 1, filing.Ready: 1})
	f.run(l, "a", patient)
	f.run(l, "b", patient)
	f.want(l, "a", ledger.Counts{filing.Placed: 1})
	f.want(l, "b", ledger.Counts{filing.Placed: 1, filing.Exists: 1})
	f.agree(l, "a", "b")
}
