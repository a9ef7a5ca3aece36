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

// each is what an annual report of these tests costs.
const each = 25_00 + feeLLC

// Money for half, of which only the service knows: few rows ask in vain, the
// rest stays ready, and goes on after the deposit.
func TestFundsForHalf(t *testing.T) {
	onBothTransports(t, func(t *testing.T, on servers) {
		f := newFirm(t, on, sandbox.Config{OpeningBalance: 60 * each, AutoSeed: true, Latency: 5 * time.Millisecond})
		l := f.openLedger()
		f.add(l, "a", requests(120, report)...)
		end := f.run(l, "a", patient)
		if end.Reason != jobs.OutOfFunds || end.Halted.Note != "Insufficient balance" {
			t.Fatalf("%+v", end)
		}
		f.want(l, "a", ledger.Counts{filing.Placed: 60, filing.Ready: 60})
		asked := f.service.Books().Refused[402]
		if asked > flying {
			t.Errorf("%d orders asked in vain, with %d in flight", asked, flying)
		}
		for _, r := range f.rows(l, "a") {
			if r.Result == filing.Ready && (r.Attempts != 0 || r.Reserved != 0) {
				t.Errorf("%+v", r)
			}
		}
		// The same run again asks once.
		f.must(l.Fleet().ProbeNow(t.Context()))
		if end := f.run(l, "a", patient); end.Reason != jobs.OutOfFunds {
			t.Fatalf("%+v", end)
		}
		if n := f.service.Books().Refused[402] - asked; n != 1 {
			t.Errorf("the same run again asked %d times", n)
		}
		f.service.Deposit(60 * each)
		f.must(l.Fleet().ProbeNow(t.Context()))
		if end := f.run(l, "a", patient); end.Reason != jobs.Finished {
			t.Fatalf("%+v", end)
		}
		f.want(l, "a", ledger.Counts{filing.Placed: 120})
		if n := f.service.Books().Refused[402] - asked; n != 1 {
			t.Errorf("%d were refused after the deposit", n-1)
		}
		f.agree(l, "a")
	})
}

// Where deposits are declared, the book itself keeps rows from asking.
func TestFundsByTheBook(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{OpeningBalance: rich, AutoSeed: true})
	l := f.openLedger()
	f.must(l.RecordDeposit(t.Context(), 10*each+1, "opening"))
	f.add(l, "a", requests(30, report)...)
	if end := f.run(l, "a", patient); end.Reason != jobs.OutOfFunds || end.Short != 20 {
		t.Fatalf("%+v", end)
	}
	f.want(l, "a", ledger.Counts{filing.Placed: 10, filing.Ready: 20})
	if n := len(f.seen("POST", "/v1/orders")); n != 10 {
		t.Errorf("%d orders were sent", n)
	}
	f.must(l.RecordDeposit(t.Context(), 20*each, "top-up"))
	f.run(l, "a", patient)
	f.want(l, "a", ledger.Counts{filing.Placed: 30})
	if b, err := l.Balance(t.Context()); err != nil || b.Available() != 1 || b.Posted != 30*money.Cents(each) {
		t.Errorf("%+v, %v", b, err)
	}
	f.agree(l, "a")
}

// A batch that waits for funds resumes after the deposit.
func TestWaitForFunds(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{OpeningBalance: 5 * each, AutoSeed: true})
	l := f.openLedger()
	f.add(l, "a", requests(20, report)...)
	w := f.start(l, f.openQueue(), func(c *jobs.Config) { c.Batch = "a" })
	ended := make(chan jobs.Outcome)
	go func() {
		end, err := w.Await(t.Context(), "a", jobs.WaitLimits{Silence: time.Minute, Funds: true})
		if err != nil {
			t.Error(err)
		}
		ended <- end
	}()
	f.eventually("a pause for funds", func() bool {
		h, err := l.Fleet().Halt(t.Context())
		f.must(err)
		return h.Reason == filing.HaltFunds
	})
	f.service.Deposit(15 * each)
	f.must(l.RecordDeposit(t.Context(), 100*each, "top-up"))
	if end := <-ended; end.Reason != jobs.Finished {
		t.Fatalf("%+v", end)
	}
	f.want(l, "a", ledger.Counts{filing.Placed: 20})
	f.agree(l, "a")
}

// A key that is refused stops everything at once and burns nothing; with a key
// that is accepted the same batch goes on.
func TestRefusedKey(t *testing.T) {
	for _, from := range []struct {
		name  string
		after int32 // orders placed before the key is refused
	}{{"from the start", 0}, {"in the middle", 40}} {
		t.Run(from.name, func(t *testing.T) {
			f := newFirm(t, servers{}, sandbox.Config{
				OpeningBalance: rich,
				AutoSeed:       true,
				Latency:        10 * time.Millisecond,
			})
			l := f.openLedger()
			f.add(l, "a", requests(300, report)...)
			if from.after == 0 {
				f.service.SetKeys("sk_test_other")
			}
			f.patch = func(c *jobs.Config) {
				c.Service = &afterOrders{
					Service: c.Service,
					n:       from.after,
					do:      func() { f.service.SetKeys("sk_test_other") },
				}
			}
			end := f.run(l, "a", patient)
			if end.Reason != jobs.KeyRefused {
				t.Fatalf("%+v", end)
			}
			refused := f.service.Books().Refused[401]
			t.Logf("%d requests were refused", refused)
			if refused > 3*flying {
				t.Errorf("%d requests were sent with a refused key", refused)
			}
			placed := 0
			for _, r := range f.rows(l, "a") {
				switch {
				case r.Result == filing.Placed:
					placed++
				case r.Result != filing.Ready || r.Attempts != 0 || r.Reserved != 0:
					t.Errorf("%+v", r)
				}
			}
			if placed < int(from.after) {
				t.Errorf("%d were placed", placed)
			}
			// A run without a new key asks for nothing at all.
			if end := f.run(l, "a", patient); end.Reason != jobs.KeyRefused ||
				f.service.Books().Refused[401] != refused {
				t.Errorf("%+v, %d requests", end, f.service.Books().Refused[401]-refused)
			}
			f.service.SetKeys()
			f.patch = nil
			f.must(l.Fleet().RecordKeyAccepted(t.Context()))
			f.run(l, "a", patient)
			f.want(l, "a", ledger.Counts{filing.Placed: 300})
			f.agree(l, "a")
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
				f := newFirm(t, on, sandbox.Config{OpeningBalance: rich, AutoSeed: true})
				l := f.openLedger()
				f.add(l, "a", agentChange(1), reportAndAgent(1))
				f.patch = func(c *jobs.Config) { c.Service = &doubtThen{Service: c.Service, class: class} }
				end := f.run(l, "a", jobs.WaitLimits{Silence: 3 * time.Second})
				if end.Reason != want {
					t.Errorf("%+v", end)
				}
				left, err := l.Unfinished(t.Context(), "a")
				if f.must(err); left.Keys != 1 || left.Moving != 1 {
					t.Errorf("no row waits for another: %+v", left)
				}
				f.want(l, "a", ledger.Counts{filing.Ready: 2})
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

func (s *doubtThen) Company(ctx context.Context, id string) (filing.Company, error) {
	for s.sent.Load() == 0 { // the row that has to wait
		time.Sleep(time.Millisecond)
	}
	return s.Service.Company(ctx, id)
}

func (s *doubtThen) PlaceOrder(context.Context, *filing.Order) filing.Answer {
	if s.sent.Add(1) == 1 {
		return filing.Answer{Kind: filing.NoAnswer, Message: "no answer came in time"}
	}
	return filing.Answer{Kind: s.class, Message: "so it is"}
}

// afterOrders does something once, after n orders.
type afterOrders struct {
	jobs.Service
	n    int32
	sent atomic.Int32
	do   func()
}

func (s *afterOrders) PlaceOrder(ctx context.Context, o *filing.Order) filing.Answer {
	a := s.Service.PlaceOrder(ctx, o)
	if s.sent.Add(1) == s.n {
		s.do()
	}
	return a
}

// An outage of the whole service costs time and nothing else: in doubt is what
// was in flight when it began, and nothing that is sent after it. If the service answers
// every order with 503, the worker notices at the tenth such answer in a row. An order that
// was accepted before the outage may interrupt that row once.
func TestOutage(t *testing.T) {
	const noticed = 10
	for outage, inDoubt := range map[sandbox.Outage]int{
		sandbox.Outage503:    noticed + 2*(flying-1),
		sandbox.OutageRefuse: flying,
	} {
		t.Run(string(outage), func(t *testing.T) {
			t.Parallel()
			f := newFirm(t, servers{}, sandbox.Config{
				OpeningBalance: rich,
				AutoSeed:       true,
				Latency:        10 * time.Millisecond,
			})
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			f.must(err)
			go f.service.Serve(t.Context(), listener)
			f.url = "http://" + listener.Addr().String() + "/v1"
			l := f.openLedger()
			f.add(l, "a", requests(200, report)...)
			f.patch = func(c *jobs.Config) {
				c.Service = &afterOrders{Service: c.Service, n: 50, do: func() {
					f.service.SetOutage(outage)
					time.AfterFunc(time.Second, func() { f.service.SetOutage(sandbox.OutageNone) })
				}}
			}
			if end := f.run(l, "a", patient); end.Reason != jobs.Finished {
				t.Fatalf("%+v", end)
			}
			counts, err := l.Counts(t.Context(), "a")
			f.must(err)
			if counts[filing.Placed]+counts[filing.Uncertain] != 200 || counts[filing.Uncertain] > inDoubt {
				t.Errorf("%v", counts)
			}
			f.agree(l, "a")
		})
	}
}

// A service that fails for orders alone puts few of them in doubt, and no row is
// lost: once it is well the rest is placed.
func TestOutageOfOrdersAlone(t *testing.T) {
	onBothTransports(t, func(t *testing.T, on servers) {
		f := newFirm(t, on, sandbox.Config{
			OpeningBalance: rich,
			AutoSeed:       true,
			Faults:         []sandbox.Fault{{Kind: sandbox.FaultStatus, Status: 500, Endpoint: "POST /orders"}},
		})
		l := f.openLedger()
		f.add(l, "a", requests(300, report)...)
		client, err := filingapi.New(filingapi.Config{
			BaseURL: f.url,
			Key:     "sk_test_firm",
			Timeout: 10 * time.Second,
			Breaker: filingapi.BreakerLimits{Open: 50 * time.Millisecond},
		})
		f.must(err)
		t.Cleanup(client.Close)
		time.AfterFunc(2*time.Second, f.service.ClearFaults)
		if end := f.run(l, "a", patient, func(c *jobs.Config) { c.Service = client }); end.Reason != jobs.Finished {
			t.Fatalf("%+v", end)
		}
		counts, err := l.Counts(t.Context(), "a")
		if f.must(err); counts[filing.Placed]+counts[filing.Uncertain] != 300 || counts[filing.Uncertain] < 10 ||
			counts[filing.Uncertain] > 10+flying+6 {
			t.Errorf("%v", counts)
		}
		f.agree(l, "a")
	})
}

// Without an answer the run gives up after its patience, and nothing was burnt.
func TestServiceDown(t *testing.T) {
	for _, outage := range []sandbox.Outage{sandbox.Outage503, sandbox.OutageRefuse} {
		t.Run(string(outage), func(t *testing.T) {
			t.Parallel()
			f := newFirm(t, servers{}, sandbox.Config{OpeningBalance: rich, AutoSeed: true})
			if outage == sandbox.OutageRefuse {
				f.url = "http://" + nettest.Free() + "/v1"
			} else {
				f.service.SetOutage(outage)
			}
			l := f.openLedger()
			// Each has to be looked up first: no order leaves.
			f.add(l, "a", requests(100, report)...)
			want := map[sandbox.Outage]jobs.StopReason{sandbox.Outage503: jobs.AskedToWait,
				sandbox.OutageRefuse: jobs.ServiceDown}[outage]
			if end := f.run(l, "a", jobs.WaitLimits{Silence: 500 * time.Millisecond}); end.Reason != want {
				t.Fatalf("%+v, want %s", end, want)
			}
			for _, r := range f.rows(l, "a") {
				if r.Result != filing.Ready || r.Attempts != 0 || r.Uncertain {
					t.Errorf("%+v", r)
				}
			}
			if n := len(f.seen("POST", "/v1/orders")) + len(f.seen("GET", "/")); n > 3*flying {
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
				OpeningBalance: rich,
				AutoSeed:       true,
				Faults:         []sandbox.Fault{fault},
			})
			f.timeout = time.Minute // a busy machine is no lost answer
			var passed atomic.Int64
			now := func() time.Time { return time.Now().Add(time.Duration(passed.Load())) }
			f.patch = func(c *jobs.Config) { c.Now = now }
			var workers []*jobs.Worker
			var l *ledger.Ledger
			for range 2 {
				var err error
				l, err = ledger.Open(t.Context(), ledger.Config{Dir: f.dir, Clock: now, Lease: 24 * time.Hour})
				f.must(err)
				t.Cleanup(func() { l.Close() })
				if workers == nil {
					f.add(l, "a", requests(200, report)...)
				}
				workers = append(workers, f.start(l, f.openQueue()))
			}
			end := func(want jobs.StopReason) {
				t.Helper()
				for _, w := range workers {
					if end := f.await(w, "a", patient); end.Reason != want {
						t.Fatalf("%+v, want %s", end, want)
					}
				}
			}
			end(jobs.AskedToWait)
			if held, err := l.Fleet().Halt(t.Context()); err != nil || held.Reason != filing.HaltRate ||
				held.Until.Sub(now()) < asked/2 {
				t.Errorf("%+v, %v", held, err)
			}
			sent := len(f.seen("POST", "/v1/orders"))
			f.add(l, "b", report(200))
			for _, w := range workers {
				_ = w.Handle(t.Context(), f.rows(l, "b")[0].ID) // the queue may deliver a row late
			}
			if n := len(f.seen("POST", "/v1/orders")); n != sent || n >= 200 {
				t.Errorf("%d orders came while the fleet was to wait, after %d", n-sent, sent)
			}
			passed.Store(int64(asked + time.Second))
			end(jobs.Finished)
			f.want(l, "a", ledger.Counts{filing.Placed: 200})
			f.agree(l, "a", "b")
		})
	}
}

// An order that could not leave is not an attempt: with the breaker open nothing
// is used up.
func TestNotSentUsesUpNothing(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{OpeningBalance: rich, AutoSeed: true})
	l := f.openLedger()
	f.add(l, "a", requests(20, report)...)
	f.patch = func(c *jobs.Config) { c.Service = &neverSent{Service: c.Service} }
	f.run(l, "a", patient)
	f.want(l, "a", ledger.Counts{filing.Placed: 20})
	tries := 0
	for _, r := range f.rows(l, "a") {
		tries += r.Tries
		if r.Attempts != 1 {
			t.Errorf("%+v", r)
		}
	}
	if tries < 25 {
		t.Errorf("%d tries", tries)
	}
	f.agree(l, "a")
}

// neverSent fails to reach the service for some orders.
type neverSent struct {
	jobs.Service
	sent atomic.Int32
}

func (s *neverSent) PlaceOrder(ctx context.Context, o *filing.Order) filing.Answer {
	if n := s.sent.Add(1); n <= 10 {
		return filing.Answer{Kind: filing.NotSent, Message: "not sent: no route"}
	}
	return s.Service.PlaceOrder(ctx, o)
}

var _ jobs.Service = (*filingapi.Client)(nil)
