//go:build unix

package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/lookup"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// A password, a user and a database are used, and what is wrong is said at once, without
// the password.
func TestRedisAccess(t *testing.T) {
	t.Parallel()
	open := startRedis(t, &redis.Options{Username: "filer", Password: "pass:word"}, "requirepass s3cret",
		"user filer on >pass:word ~* &* +@all")
	f := newFirm(t, servers{redis: fmt.Sprintf("redis://filer:pass%%3Aword@%s/3", open.addr())},
		sandbox.Config{AutoSeed: true})
	f.place("a", requests(40, report, agentChange)...)
	f.agree("a")
	gone := startRedis(t, nil)
	gone.kill()
	for name, wrong := range map[string]struct {
		address string
		away    bool
	}{
		"no password":      {"redis://" + open.addr(), false},
		"wrong password":   {"redis://:do_not_show@" + open.addr(), false},
		"no such database": {"redis://:s3cret@" + open.addr() + "/99", false},
		"nobody there":     {"redis://:do_not_show@" + gone.addr(), true},
	} {
		_, err := jobs.OpenQueue(wrong.address)
		if err == nil || errors.Is(err, jobs.ErrQueueDown) != wrong.away ||
			strings.Contains(err.Error(), "do_not_show") ||
			strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// fleet places a batch with two processes at once, does something when a quarter of the
// orders is placed, and holds ledger and books against each other at the end.
func (f *firm) fleet(do func()) (said *logged) {
	f.Helper()
	said = &logged{}
	f.add("a", requests(600, report, agentChange)...)
	once := after(150, do)
	w := f.start(said.to(), once)
	f.start(over(f.openLedger()), said.to(), once)
	if end := f.await(w, "a", jobs.WaitLimits{Silence: 50 * time.Second}); end.Reason != jobs.Finished {
		f.Fatalf("%+v", end)
	}
	f.want("a", ledger.Counts{filing.Placed: 600})
	f.agree("a")
	f.wantOneAttempt("a")
	return said
}

// A server that ends without saving and comes back empty, or stands still for longer
// than the lease of a task, costs time only: no order is sent twice. The log says once
// that it went.
func TestRedisComesBack(t *testing.T) {
	for name, away := range map[string]func(*redisServer, chan struct{}){
		"empty": func(s *redisServer, back chan struct{}) {
			_ = s.admin.ShutdownNoSave(context.Background()).Err() // it ends without an answer
			_ = s.cmd.Wait()
			time.AfterFunc(2*time.Second, func() { s.start(); close(back) })
		},
		"after its tasks' leases": func(s *redisServer, back chan struct{}) {
			_ = s.cmd.Process.Signal(syscall.SIGSTOP)
			time.AfterFunc(31*time.Second, func() { _ = s.cmd.Process.Signal(syscall.SIGCONT); close(back) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startRedis(t, nil)
			f := newFirm(t, servers{redis: "redis://" + s.addr()},
				sandbox.Config{AutoSeed: true, Latency: 20 * time.Millisecond})
			back := make(chan struct{})
			said := f.fleet(func() { away(s, back) })
			<-back
			for _, line := range []string{`held" reason=redis`, `resumed" reason=redis`, "level=ERROR"} {
				if n := said.count(line); n != 2 { // once a process
					t.Errorf("%q was said %d times: %s", line, n, said.lines)
				}
			}
		})
	}
}

// A Redis that stays away, or is full and takes nothing, ends a run after its patience,
// by its own name: the service was not asked and is not to blame. The same run again
// goes on.
func TestRedisAway(t *testing.T) {
	for name, c := range map[string]struct {
		away, back func(*redisServer)
		says       string
	}{
		"dead": {(*redisServer).kill, (*redisServer).start, "127.0.0.1"},
		"full": {
			func(s *redisServer) { s.do("CONFIG", "SET", "maxmemory", "1") },
			func(s *redisServer) { s.do("CONFIG", "SET", "maxmemory", "0") },
			"OOM",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startRedis(t, nil)
			f := newFirm(t, servers{redis: "redis://" + s.addr()},
				sandbox.Config{AutoSeed: true, Latency: 20 * time.Millisecond})
			f.add("a", requests(400, report)...)
			end := f.runFor("a", jobs.WaitLimits{Silence: 2 * time.Second}, after(50, func() { c.away(s) }))
			if end.Reason != jobs.QueueDown || !strings.Contains(end.Redis.Error(), c.says) {
				t.Errorf("%+v", end)
			}
			if placed := f.wantUntouched("a"); placed < 50 || placed == 400 {
				t.Errorf("%d rows were placed", placed)
			}
			c.back(s)
			f.placeRest("a")
			f.agree("a")
		})
	}
}

// Whatever the size of a batch and however often the crew changes, Redis holds
// a bounded window of it; and a batch of five rows that comes while a large one
// runs is placed while it runs.
func TestBoundedWindowAndSmallBatch(t *testing.T) {
	t.Parallel()
	const rows = 20_000
	s := startRedis(t, nil)
	f := newFirm(t, servers{redis: "redis://" + s.addr()},
		sandbox.Config{OpeningBalance: 1e12, AutoSeed: true, Latency: 100 * time.Millisecond})
	f.add("large", requests(rows, report)...)
	f.start(func(c *jobs.Config) { c.Concurrency = 32 })
	most := 0
	look := func() {
		keys, err := s.admin.Keys(t.Context(), "asynq:{filings}:t:*").Result()
		f.must(err)
		most = max(most, len(keys))
	}
	for range 3 { // processes come and go
		look()
		other := f.openLedger()
		w := f.start(over(other))
		f.eventually("the next process is at work", func() bool { look(); return f.posts("/orders") > 0 })
		w.Stop()
		f.must(other.Close())
		f.must(jobs.CatchUp(t.Context(), f.Ledger))
	}
	f.add("small", requests(rows+5, report)[rows:]...)
	f.eventually("the small batch is placed", func() bool {
		look()
		return f.counts("small")[filing.Placed] == 5
	})
	if most*16 > 3*2048 {
		t.Errorf("%d tasks were in Redis at once", most)
	}
	if counts := f.counts("large"); counts[filing.Ready] < rows/2 {
		t.Errorf("%v: the large batch was nearly done", counts)
	}
}

// Where nothing is asked, silence says nothing of the service: a rate of one
// request a second is no outage.
func TestThrottle_SlowRateIsNoOutage(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{AutoSeed: true})
	f.add("a", requests(2, agentChange)...)
	queue := f.openQueue()
	w := f.start(sharing(queue), func(c *jobs.Config) { c.Throttle = queue.Throttle(1, t.TempDir()) })
	if end := f.await(w, "a", jobs.WaitLimits{Silence: 100 * time.Millisecond}); end.Reason != jobs.Finished {
		t.Errorf("%+v", end)
	}
}

// countingBucket counts the tokens that a throttle takes from it.
type countingBucket struct{ taken atomic.Int64 }

func (b *countingBucket) Reserve(_ context.Context, _ time.Duration, wanted, _ int) (time.Duration, error) {
	b.taken.Add(int64(wanted))
	return 0, nil
}

// interruptedService calls a function before each look-up of a company.
type interruptedService struct {
	jobs.Service
	before func()
}

func (s *interruptedService) Company(ctx context.Context, ref string) (filing.Company, error) {
	s.before()
	return s.Service.Company(ctx, ref)
}

// A row that turns out not to be sendable leaves its token to the next request.
func TestThrottle_TokenOfUnsentOrder(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{AutoSeed: true})
	f.add("a", agentChange(1))
	bucket := &countingBucket{}
	throttle := lookup.NewThrottle(0.001, bucket)
	w := f.start(func(c *jobs.Config) {
		c.Batch = "none" // the queue delivers nothing
		c.Throttle = throttle
		c.Service = &interruptedService{c.Service, func() {
			_, err := f.CancelBatch(f.Context(), "a")
			f.must(err)
		}}
	})
	f.must(w.Handle(t.Context(), f.rows("a")[0].ID))
	f.want("a", ledger.Counts{filing.Canceled: 1})
	taken := bucket.taken.Load()
	f.must(throttle.Wait(t.Context()))
	if n := bucket.taken.Load(); n != taken {
		t.Errorf("the token of the order is lost: %d tokens were taken", n)
	}
}
