package jobs_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// Two workers live while their ledger loses the record of some hundred orders, as
// by a stand-by that took over too early, or a file that was put back. They send
// nothing more, they write back what they know, and nothing is bought twice.
func TestLedgerRestoredUnderTwoWorkers(t *testing.T) {
	const all, kept, lost = 500, 100, 224
	ledgertest.OnBothRestorable(t, func(t *testing.T, place *ledgertest.Restorable) {
		f := newFirm(t, servers{database: place.Database},
			sandbox.Config{OpeningBalance: rich, AutoSeed: true, Latency: 20 * time.Millisecond})
		f.dir = place.Dir
		one, two := f.openLedger(), f.openLedger()
		f.add(one, "a", requests(all, report, reportAndAgent)...)

		var mu sync.Mutex
		sent, keep, restore := 0, make(chan struct{}), make(chan struct{})
		f.patch = func(c *jobs.Config) {
			client, err := filingapi.New(filingapi.Config{
				BaseURL:     f.url,
				Key:         "sk_test_firm",
				Concurrency: 2 * flying,
				Timeout:     time.Minute,
			})
			f.must(err)
			f.Cleanup(client.Close)
			c.Service = &countedOrders{Service: client, each: func() {
				mu.Lock()
				defer mu.Unlock()
				switch sent++; sent {
				case kept:
					close(keep)
				case kept + lost:
					close(restore)
				}
			}}
		}
		first, second := f.start(one, f.openQueue()), f.start(two, f.openQueue())
		<-keep
		place.Keep()
		<-restore
		place.Restore()

		for _, w := range []*jobs.Worker{first, second} {
			if end := f.await(w, "a", patient); end.Reason != jobs.LedgerHalted ||
				end.Halted.Reason != filing.HaltRestored {
				t.Fatalf("%+v", end)
			}
		}
		for _, l := range []*ledger.Ledger{one, two} { // each has written back what it knows
			f.must(l.Fleet().ProbeNow(t.Context()))
		}
		counts, err := one.Counts(t.Context(), "a")
		f.must(err)
		mu.Lock()
		out := sent
		mu.Unlock()
		if counts[filing.Placed] != out || counts[filing.Ready] != all-out || out < kept+lost {
			t.Errorf("%v of %d orders sent", counts, out)
		}
		f.must(one.Restores().EndUnsent(t.Context()))
		for _, w := range []*jobs.Worker{first, second} {
			if end := f.await(w, "a", jobs.WaitLimits{Silence: time.Minute}); end.Reason != jobs.Finished {
				t.Fatalf("%+v", end)
			}
		}
		f.want(one, "a", ledger.Counts{filing.Placed: all})
		if n := len(f.seen("POST", "/v1/orders")); n != all {
			t.Errorf("%d orders for %d rows", n, all)
		}
		f.agree(one, "a")
	})
}

// countedOrders counts the orders that leave.
type countedOrders struct {
	jobs.Service
	each func()
}

func (s *countedOrders) PlaceOrder(ctx context.Context, o *filing.Order) filing.Answer {
	s.each()
	return s.Service.PlaceOrder(ctx, o)
}

// A worker that starts on another machine after the ledger lost commits learns of
// them from Redis.
func TestWorkerThatStartsOnARestoredLedger(t *testing.T) {
	onBothTransports(t, func(t *testing.T, on servers) {
		if on.redis == "" {
			return // it goes with its process
		}
		ledgertest.OnBothRestorable(t, func(t *testing.T, place *ledgertest.Restorable) {
			if place.Database == "" {
				return // its machine knows by itself
			}
			f := newFirm(t, servers{place.Database, on.redis}, sandbox.Config{OpeningBalance: rich, AutoSeed: true})
			before := f.openLedger()
			f.add(before, "a", requests(4, report)...)
			place.Keep()
			f.eventually("the connections that broke are made anew", func() bool {
				_, err := before.Fleet().Membership(t.Context())
				return err == nil && before.Fleet().ProbeNow(t.Context()) == nil
			})
			queue := f.openQueue()
			w := f.start(before, queue)
			if end := f.await(w, "a", patient); end.Reason != jobs.Finished {
				t.Fatalf("%+v", end)
			}
			w.Stop()
			f.start(before, queue).Stop() // whose first sweep leaves the number
			f.must(before.Close())
			place.Restore()

			f.dir = ledgertest.Dir(t)
			after := f.openLedger()
			f.start(after, queue)
			f.must(after.Fleet().ProbeNow(t.Context()))
			if h, err := after.Fleet().Halt(t.Context()); err != nil || h.Reason != filing.HaltRestored {
				t.Errorf("%+v, %v", h, err)
			}
			if n := len(f.seen("POST", "/v1/orders")); n != 4 {
				t.Errorf("%d orders for 4 rows", n)
			}
		})
	})
}
