package jobs_test

import (
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
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
		f := newFirm(t, servers{database: place.Database, dir: place.Dir},
			sandbox.Config{AutoSeed: true, Latency: 20 * time.Millisecond})
		two := f.openLedger()
		f.add("a", requests(all, report, reportAndAgent)...)
		keep, restore := make(chan struct{}), make(chan struct{})
		var sent atomic.Int32
		counted := placing(func(send func() filing.Answer) filing.Answer {
			switch sent.Add(1) {
			case kept:
				close(keep)
			case kept + lost:
				close(restore)
			}
			return send()
		})
		workers := []*jobs.Worker{f.start(counted), f.start(over(two), counted)}
		<-keep
		place.Keep()
		<-restore
		place.Restore()

		for _, w := range workers {
			if end := f.await(w, "a", patient); end.Reason != jobs.LedgerHalted ||
				end.Halted.Reason != filing.HaltRestored {
				t.Fatalf("%+v", end)
			}
		}
		for _, l := range []*ledger.Ledger{f.Ledger, two} { // each has written back what it knows
			f.must(l.Fleet().AllowProbe(t.Context()))
		}
		f.eventually("what was sent is recorded, and nothing else", func() bool {
			out, counts := int(sent.Load()), f.counts("a")
			return counts[filing.Placed] == out && counts[filing.Ready] == all-out && out >= kept+lost
		})
		f.must(f.Restores().EndUnsent(t.Context()))
		for _, w := range workers {
			if end := f.await(w, "a", jobs.WaitLimits{Silence: time.Minute}); end.Reason != jobs.Finished {
				t.Fatalf("%+v", end)
			}
		}
		f.want("a", ledger.Counts{filing.Placed: all})
		f.wantPosts("/orders", all)
		f.agree("a")
	})
}

// A worker that starts on another machine after the ledger lost commits learns of
// them from Redis.
func TestWorkerThatStartsOnARestoredLedger(t *testing.T) {
	redis := os.Getenv("TEST_REDIS_URL")
	ledgertest.OnBothRestorable(t, func(t *testing.T, place *ledgertest.Restorable) {
		if place.Database == "" || redis == "" {
			return // a machine's file knows by itself
		}
		f := newFirm(t, servers{database: place.Database, redis: emptyRedis(t, redis)}, sandbox.Config{AutoSeed: true})
		f.add("a", requests(4, report)...)
		place.Keep()
		f.eventually("the connections that broke are made anew", func() bool {
			_, err := f.Fleet().Halt(t.Context())
			return err == nil && f.Fleet().AllowProbe(t.Context()) == nil
		})
		f.placeRest("a")
		f.start().Stop() // whose first sweep leaves the number
		f.must(f.Close())
		place.Restore()

		f.dir = ledgertest.Dir(t)
		f.Ledger = f.openLedger()
		f.start()
		f.must(f.Fleet().AllowProbe(t.Context()))
		f.halt(filing.HaltRestored)
		f.wantPosts("/orders", 4)
	})
}
