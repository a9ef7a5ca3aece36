package jobs_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/nettest"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// wantUntouched checks that the rows of a batch that are not placed are as if they had
// never been sent, and returns how many are placed.
func (f *firm) wantUntouched(batch string) (placed int) {
	f.Helper()
	for _, r := range f.rows(batch) {
		switch {
		case r.Result == filing.Placed:
			placed++
		case r.Result != filing.Ready || r.Attempts != 0 || r.Reserved != 0 || r.Uncertain:
			f.Errorf("%+v", r)
		}
	}
	return placed
}

// Money for half, of which only the service knows: few rows ask in vain, the
// rest stays ready, and goes on after the deposit.
func TestRun_FundsForHalf(t *testing.T) {
	onBothTransports(t, func(t *testing.T, on servers) {
		f := newFirm(t, on, sandbox.Config{OpeningBalance: 60 * each, AutoSeed: true, Latency: 5 * time.Millisecond})
		f.add("a", requests(120, report)...)
		if end := f.stops(jobs.OutOfFunds, "a"); end.Halted.Note != "Insufficient balance" {
			t.Errorf("%+v", end)
		}
		asked := f.service.Books().Refused[402]
		if placed := f.wantUntouched("a"); placed != 60 || asked > flying {
			t.Errorf("%d placed; %d orders asked in vain, with %d in flight", placed, asked, flying)
		}
		// The same run again asks once.
		f.must(f.Fleet().AllowProbe(t.Context()))
		f.stops(jobs.OutOfFunds, "a")
		f.service.Deposit(60 * each)
		f.must(f.Fleet().AllowProbe(t.Context()))
		f.placeRest("a")
		if n := f.service.Books().Refused[402] - asked; n != 1 {
			t.Errorf("the same run again, and after the deposit, asked %d times in vain", n)
		}
		f.agree("a")
	})
}

// Where deposits are declared, the book itself keeps rows from asking.
func TestRun_RecordedBalance(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{AutoSeed: true})
	f.must(f.Entries().RecordDeposit(t.Context(), 10*each+1, "opening"))
	f.add("a", requests(30, report)...)
	if end := f.stops(jobs.OutOfFunds, "a"); end.Short != 20 || f.posts("/orders") != 10 {
		t.Errorf("%+v, %d orders were sent", end, f.posts("/orders"))
	}
	f.want("a", ledger.Counts{filing.Placed: 10, filing.Ready: 20})
	f.must(f.Entries().RecordDeposit(t.Context(), 20*each, "top-up"))
	f.placeRest("a")
	if b, err := f.Balance(t.Context()); err != nil || b.Available() != 1 || b.Posted != 30*money.Cents(each) {
		t.Errorf("%+v, %v", b, err)
	}
	f.agree("a")
}

// A key that is refused stops everything at once and burns nothing; with a key
// that is accepted the same batch goes on.
func TestRun_RefusedKey(t *testing.T) {
	const other = "sk_test_other"
	for name, n := range map[string]int32{"from the start": 0, "in the middle": 40} {
		t.Run(name, func(t *testing.T) {
			f := newFirm(t, servers{}, sandbox.Config{AutoSeed: true, Latency: 10 * time.Millisecond})
			f.add("a", requests(300, report)...)
			if n == 0 {
				f.service.SetKeys(other)
			}
			f.stops(jobs.KeyRefused, "a", after(n, func() { f.service.SetKeys(other) }))
			refused := f.service.Books().Refused[401]
			if placed := f.wantUntouched("a"); placed < int(n) || refused > 3*flying {
				t.Errorf("%d were placed, and %d requests were sent with a refused key", placed, refused)
			}
			// A run without a new key asks for nothing at all.
			if f.stops(jobs.KeyRefused, "a"); f.service.Books().Refused[401] != refused {
				t.Errorf("%d requests", f.service.Books().Refused[401]-refused)
			}
			f.service.SetKeys()
			f.must(f.Fleet().RecordKeyAccepted(t.Context()))
			f.placeRest("a")
			f.agree("a")
		})
	}
}

// What halts the fleet ends a run also where a row waits for another of its
// batch that was sent without an answer: neither can move.
func TestHaltedWithARowBehindAnUncertainOne(t *testing.T) {
	for class, want := range map[filing.AnswerKind]jobs.StopReason{filing.KeyRefused: jobs.KeyRefused,
		filing.NoFunds: jobs.OutOfFunds} {
		t.Run(string(class), func(t *testing.T) {
			onBothTransports(t, func(t *testing.T, on servers) {
				f := newFirm(t, on, sandbox.Config{AutoSeed: true})
				later := reportAndAgent(1)
				later.User = filing.UserRef{Email: "person@example.com"}
				f.add("a", agentChange(1), later)
				end := f.runFor("a", jobs.WaitLimits{Silence: 3 * time.Second}, func(c *jobs.Config) {
					c.Service = &doubtThen{Service: c.Service, class: class}
				})
				if end.Reason != want {
					t.Errorf("%+v", end)
				}
				if moving, err := f.Backlog().WaitsForPlacing(t.Context(), "a"); err != nil || !moving {
					t.Errorf("no row waits for another: %v", err)
				}
				f.want("a", ledger.Counts{filing.Ready: 2})
			})
		})
	}
}

// doubtThen gives the first agent change no answer, and every order after it one
// of a class; other orders come later.
type doubtThen struct {
	jobs.Service
	class filing.AnswerKind
	sent  atomic.Int32
}

func (s *doubtThen) User(ctx context.Context, email string) (filing.User, error) {
	for s.sent.Load() == 0 { // the row that has to wait
		time.Sleep(time.Millisecond)
	}
	return s.Service.User(ctx, email)
}

func (s *doubtThen) PlaceOrder(context.Context, *filing.Order) filing.Answer {
	if s.sent.Add(1) == 1 {
		return filing.Answer{Kind: filing.NoAnswer, Message: "no answer came in time"}
	}
	return filing.Answer{Kind: s.class, Message: "so it is"}
}

// An outage costs time and nothing else: uncertain is what was in flight when it began,
// and nothing that is sent after it. The worker notices at the tenth failure in a row,
// which an order that was accepted before the outage may interrupt once. A service that
// refuses connections resets those that are open first, and a slot may lose several orders
// on them.
func TestOutage(t *testing.T) {
	const noticed = 10
	const orders = sandbox.Outage("orders alone")
	for outage, most := range map[sandbox.Outage]int{
		sandbox.Outage503:    noticed + 2*(flying-1),
		sandbox.OutageRefuse: noticed + 2*(flying-1),
		orders:               noticed + 2*(flying-1) + 6,
	} {
		t.Run(string(outage), func(t *testing.T) {
			t.Parallel()
			f := newFirm(t, servers{}, sandbox.Config{AutoSeed: true, Latency: 10 * time.Millisecond})
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			f.must(err)
			go f.service.Serve(t.Context(), listener)
			f.url = "http://" + listener.Addr().String() + "/v1"
			f.add("a", requests(200, report)...)
			f.finish("a", after(50, func() {
				if outage == orders {
					f.service.Inject(sandbox.Fault{Kind: sandbox.FaultStatus, Status: 500, Endpoint: "POST /orders"})
					time.AfterFunc(2*time.Second, f.service.ClearFaults)
					return
				}
				f.service.SetOutage(outage)
				time.AfterFunc(time.Second, func() { f.service.SetOutage(sandbox.OutageNone) })
			}))
			if counts := f.counts("a"); counts[filing.Placed]+counts[filing.Uncertain] != 200 ||
				counts[filing.Uncertain] > most {
				t.Errorf("%v", counts)
			}
			f.agree("a")
		})
	}
}

// Without an answer the run gives up after its patience, and nothing was burnt.
func TestServiceDown(t *testing.T) {
	for outage, want := range map[sandbox.Outage]jobs.StopReason{sandbox.Outage503: jobs.AskedToWait,
		sandbox.OutageRefuse: jobs.ServiceDown} {
		t.Run(string(outage), func(t *testing.T) {
			t.Parallel()
			f := newFirm(t, servers{}, sandbox.Config{AutoSeed: true})
			if outage == sandbox.OutageRefuse {
				f.url = "http://" + nettest.Free() + "/v1"
			} else {
				f.service.SetOutage(outage)
			}
			// Each has to be looked up first: no order leaves.
			f.add("a", requests(100, report)...)
			if end := f.runFor("a", jobs.WaitLimits{Silence: 500 * time.Millisecond}); end.Reason != want {
				t.Fatalf("%+v, want %s", end, want)
			}
			if n := f.wantUntouched("a") + f.posts("/") + f.seen("GET", "/"); n > 3*flying {
				t.Errorf("%d requests were sent to a service that is down", n)
			}
		})
	}
}

// Retry-After is obeyed by the whole fleet: two processes, of which one is told.
func TestRetryAfter(t *testing.T) {
	const asked = 30 * time.Minute // long beside what a loaded machine takes
	for name, fault := range map[string]sandbox.Fault{
		"seconds":      {Status: 429, Nth: 30},
		"date":         {Status: 503, Nth: 30, RetryDate: true},
		"at a look-up": {Status: 429, Nth: 60, Endpoint: "GET *"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fault.Kind, fault.RetryAfter = sandbox.FaultStatus, asked
			f := newFirm(t, servers{}, sandbox.Config{
				AutoSeed: true,
				Faults:   []sandbox.Fault{fault},
			})
			var passed atomic.Int64
			now := func() time.Time { return time.Now().Add(time.Duration(passed.Load())) }
			f.patch = func(c *jobs.Config) { c.Now = now }
			later := func(c *ledger.Config) { c.Clock, c.Lease = now, 24*time.Hour }
			f.reopen(later)
			f.add("a", requests(200, report)...)
			workers := []*jobs.Worker{f.start(), f.start(over(f.openLedger(later)))}
			end := func(want jobs.StopReason) {
				t.Helper()
				for _, w := range workers {
					if end := f.await(w, "a", patient); end.Reason != want {
						t.Fatalf("%+v, want %s", end, want)
					}
				}
			}
			end(jobs.AskedToWait)
			if held := f.halt(filing.HaltRate); held.Until.Sub(now()) < asked/2 {
				t.Errorf("%+v", held)
			}
			sent := f.posts("/orders")
			f.add("b", report(200))
			for _, w := range workers {
				_ = w.Handle(t.Context(), f.rows("b")[0].ID) // the queue may deliver a row late
			}
			if n := f.posts("/orders"); n != sent || n >= 200 {
				t.Errorf("%d orders came while the fleet was to wait, after %d", n-sent, sent)
			}
			passed.Store(int64(asked + time.Second))
			end(jobs.Finished)
			f.want("a", ledger.Counts{filing.Placed: 200})
			f.agree("a", "b")
		})
	}
}

var _ jobs.Service = (*filingapi.Client)(nil)
