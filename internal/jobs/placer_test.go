package jobs_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// orderService is a service whose orders go through a function of a test.
type orderService struct {
	jobs.Service
	place func(context.Context, *filing.Order) filing.Answer
}

func (s *orderService) PlaceOrder(ctx context.Context, o *filing.Order) filing.Answer {
	return s.place(ctx, o)
}

// placing puts a function in the way of a worker's orders. It is given what
// sends them.
func placing(place func(send func() filing.Answer) filing.Answer) func(*jobs.Config) {
	return func(c *jobs.Config) {
		service := c.Service
		c.Service = &orderService{service, func(ctx context.Context, o *filing.Order) filing.Answer {
			return place(func() filing.Answer { return service.PlaceOrder(ctx, o) })
		}}
	}
}

// begin commits the intent of a row without sending its order.
func (f *firm) begin(l *ledger.Ledger, batch string, order filing.Order, creating bool) ledger.Row {
	f.Helper()
	row := f.rows(l, batch)[0]
	order.UserID, order.CompanyID = "user_1", row.Request.Company.Ref
	in := ledger.Intent{Row: row.ID, Tries: row.Tries, Claims: ledger.ClaimsOf(&order, ""), Creating: creating}
	if creating {
		in.Claims = []ledger.Claim{{Product: filing.CompanyRecord, Key: "company|user_1|larkspur|DE"}}
	}
	if begun, err := l.Begin(f.Context(), in); err != nil || begun.Try == 0 {
		f.Fatalf("%+v, %v", begun, err)
	}
	return f.rows(l, batch)[0]
}

// dying opens the ledger as a process that ends in the middle of its orders.
func (f *firm) dying() *ledger.Ledger {
	f.Helper()
	l, err := ledger.Open(f.Context(), ledger.Config{Dir: f.dir, RepeatAgents: true})
	f.must(err)
	return l
}

// When an order leaves, the ledger has its intent already: a process that dies
// now leaves a row that everybody knows may have been bought.
func TestIntentIsRecordedBeforeTheOrder(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{OpeningBalance: rich, AutoSeed: true})
	l := f.openLedger()
	f.add(l, "a", report(0))
	var seen []ledger.Row
	f.run(l, "a", patient, placing(func(send func() filing.Answer) filing.Answer {
		seen = append(seen, f.rows(l, "a")[0])
		return send()
	}))
	f.want(l, "a", ledger.Counts{filing.Placed: 1})
	if len(seen) != 1 || seen[0].Result != filing.Placing || seen[0].Tries != 1 {
		t.Errorf("as the order left, the row was %+v", seen)
	}
	f.agree(l, "a")
}

// An order that a process announced before it stood still for most of its lease
// is not sent: another process may have taken the row over.
func TestNothingIsSentAfterStandingStill(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{OpeningBalance: rich, AutoSeed: true})
	var passed atomic.Int64
	clock := func() time.Time {
		return time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC).Add(time.Duration(passed.Load()))
	}
	l, err := ledger.Open(t.Context(), ledger.Config{Dir: f.dir, Clock: clock, Lease: 24 * time.Hour})
	f.must(err)
	t.Cleanup(func() { l.Close() })
	f.add(l, "a", report(0))
	passed.Store(int64(17 * time.Hour)) // the lease still stands in the ledger
	w := f.start(l, f.openQueue())
	row := f.rows(l, "a")[0].ID
	f.eventually("an attempt ended", func() bool {
		attempts, err := l.Attempts(t.Context(), row)
		f.must(err)
		return len(attempts) > 0
	})
	w.Stop()
	f.want(l, "a", ledger.Counts{filing.Ready: 1})
	if sent := f.seen("POST", "/v1/orders"); len(sent) != 0 {
		t.Errorf("%d orders were sent", len(sent))
	}
}

// An answer that the ledger cannot record for a while is kept until it can.
func TestAnswerIsRecordedOnceTheLedgerIsBack(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{OpeningBalance: rich, AutoSeed: true})
	l := f.openLedger()
	f.add(l, "a", report(0))
	db, err := sql.Open("sqlite", "file:"+filepath.Join(f.dir, "ledger.db")+"?_pragma=busy_timeout(10000)")
	f.must(err)
	defer db.Close()
	exec := func(query string) {
		if _, err := db.ExecContext(context.WithoutCancel(t.Context()), query); err != nil {
			t.Error(err)
		}
	}
	failed := make(chan struct{})
	mended := false
	log := slog.New(&onError{func(message string) {
		if strings.Contains(message, "recording an answer failed") && !mended {
			mended = true
			exec(`DROP TRIGGER failing`)
			close(failed)
		}
	}})
	w := f.start(l, f.openQueue(), func(c *jobs.Config) { c.Log = log },
		placing(func(send func() filing.Answer) filing.Answer {
			defer exec(
				`CREATE TRIGGER failing BEFORE INSERT ON attempts BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`)
			return send()
		}))
	select {
	case <-failed:
	case <-time.After(2 * time.Minute):
		t.Fatal("the failure to record the answer was never logged")
	}
	w.Stop()
	f.want(l, "a", ledger.Counts{filing.Placed: 1})
	f.agree(l, "a")
}

// onError calls a function with each message of an error.
type onError struct{ do func(message string) }

func (h *onError) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelError }
func (h *onError) WithAttrs([]slog.Attr) slog.Handler               { return h }
func (h *onError) WithGroup(string) slog.Handler                    { return h }
func (h *onError) Handle(_ context.Context, r slog.Record) error {
	h.do(r.Message)
	return nil
}

// What was bought although a person had marked it as not placed is not bought
// again by the next sheet.
func TestLateAnswerOwnsItsKey(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{OpeningBalance: rich, AutoSeed: true})
	l, other := f.openLedger(), f.openLedger()
	f.add(l, "a", report(0))
	reached, answer := make(chan struct{}, 1), make(chan struct{})
	w := f.start(l, f.openQueue(), func(c *jobs.Config) {
		c.Service = &held{Service: c.Service, reached: reached, answer: answer}
	})
	<-reached
	row := f.rows(other, "a")[0]
	f.must(other.PauseBatch(t.Context(), "a"))
	f.must(other.RecordOutcome(t.Context(), ledger.Outcome{
		Row:     row.ID,
		Try:     row.Tries,
		Owner:   row.Owner,
		Answer:  filing.Answer{Kind: filing.NoAnswer},
		Message: "its process was given up for dead",
	}))
	f.must(other.Resolutions().MarkNotPlaced(t.Context(), row.ID, 0, "not on the dashboard"))
	f.want(other, "a", ledger.Counts{filing.Ready: 1})
	close(answer)
	w.Stop()
	f.want(l, "a", ledger.Counts{filing.Placed: 1})
	f.add(l, "b", report(0))
	f.run(l, "b", patient)
	f.want(l, "b", ledger.Counts{filing.Exists: 1})
	f.agree(l, "a", "b")
}

// An order whose repetition is harmless, and that never gets an answer, is a
// person's in the end: whether its last process waited for the answer or died.
func TestAttemptsRunOut(t *testing.T) {
	for _, dies := range []bool{false, true} {
		t.Run(fmt.Sprintf("the last process dies: %t", dies), func(t *testing.T) {
			f := newFirm(t, servers{}, sandbox.Config{OpeningBalance: rich, AutoSeed: true})
			l := f.openLedger()
			f.add(l, "a", agentChange(0))
			order := agentChange(0).Order
			for range jobs.MaxAttempts - 1 {
				row := f.begin(l, "a", order, false)
				f.must(l.RecordOutcome(t.Context(), ledger.Outcome{
					Row:        row.ID,
					Try:        row.Tries,
					Answer:     filing.Answer{Kind: filing.NoAnswer},
					Repeatable: true,
					Message:    "lost",
				}))
			}
			f.want(l, "a", ledger.Counts{filing.Ready: 1})
			if dies {
				last := f.dying()
				f.begin(last, "a", order, false)
				f.must(last.Close())
				f.must(jobs.Sweep(t.Context(), l, slog.New(slog.DiscardHandler)))
			} else {
				sent := make(chan struct{}, 1)
				w := f.start(l, f.openQueue(), placing(func(func() filing.Answer) filing.Answer {
					sent <- struct{}{}
					return filing.Answer{Kind: filing.ServerError, Status: 502, Message: "502 Bad Gateway"}
				}))
				<-sent
				w.Stop()
			}
			f.want(l, "a", ledger.Counts{filing.Uncertain: 1})
			f.must(l.Audit(t.Context()))
		})
	}
}

// What a dead process sent is known by what its order held: of a row whose report
// is placed only the agent was out, and that may be sent again.
func TestSweepKnowsWhatWasDropped(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{OpeningBalance: rich, AutoSeed: true})
	l := f.openLedger()
	f.add(l, "a", reportAndAgent(0))
	order := reportAndAgent(0).Order
	row := f.begin(l, "a", order, false)
	both := order
	both.UserID, both.CompanyID = "user_1", "comp_0"
	f.must(l.RecordOutcome(t.Context(), ledger.Outcome{
		Row:     row.ID,
		Try:     1,
		Answer:  filing.Answer{Kind: filing.Accepted},
		Claims:  ledger.ClaimsOf(&both, ""),
		Message: "half of it",
		Items:   []ledger.Item{{Product: filing.AnnualReport, OrderType: "annual_report", OrderID: "order_report"}},
	}))
	f.want(l, "a", ledger.Counts{filing.Uncertain: 1})
	f.must(l.Resolutions().MarkNotPlaced(t.Context(), row.ID, 0, "the agent is not on the dashboard"))
	last := f.dying()
	f.begin(last, "a", order.Drop(filing.AnnualReport), false)
	f.must(last.Close())
	f.must(jobs.Sweep(t.Context(), l, slog.New(slog.DiscardHandler)))
	if row = f.rows(l, "a")[0]; row.Result != filing.Ready || !row.Uncertain {
		t.Errorf("it is %s: %s", row.Result, row.Message)
	}
}

// A company whose creation got no answer is never created again by itself, even
// where its order could be repeated.
func TestSweepOfACreation(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{OpeningBalance: rich, AutoSeed: true})
	l := f.openLedger()
	f.add(l, "a", agentChange(0))
	last := f.dying()
	f.begin(last, "a", agentChange(0).Order, true)
	f.must(last.Close())
	f.must(jobs.Sweep(t.Context(), l, slog.New(slog.DiscardHandler)))
	if row := f.rows(l, "a")[0]; row.Result != filing.Uncertain || !row.Creating {
		t.Errorf("it is %s: %s", row.Result, row.Message)
	}
}

// A worker that stops waits for the orders in its hands, whether the queue still
// knows of them or not.
func TestStopWaitsWithoutTheQueue(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{OpeningBalance: rich, AutoSeed: true})
	l := f.openLedger()
	f.add(l, "a", report(0))
	reached, answer := make(chan struct{}, 1), make(chan struct{})
	w := f.start(l, f.openQueue(), func(c *jobs.Config) {
		c.Batch = "none" // the queue delivers nothing
		c.DrainTimeout = time.Minute
		c.Service = &held{Service: c.Service, reached: reached, answer: answer}
	})
	row := f.rows(l, "a")[0].ID
	go w.Handle(context.WithoutCancel(t.Context()), row)
	<-reached
	time.AfterFunc(time.Second, func() { close(answer) }) // Stop waits for it, however long it takes
	w.Stop()
	f.want(l, "a", ledger.Counts{filing.Placed: 1})
	f.agree(l, "a")
}

// The registered agent that came with a formation is not bought again for the
// company once it has an id.
func TestAgentOfAFormedCompanyIsBought(t *testing.T) {
	f := newEnvironment(t, servers{}, sandbox.Config{})
	l := f.openLedger()
	f.add(l, "a", formation(0))
	f.run(l, "a", patient)
	f.want(l, "a", ledger.Counts{filing.Placed: 1})
	company := f.rows(l, "a")[0].Company
	f.add(l, "b", &filing.Request{
		Product: filing.RegisteredAgent, User: ana(0), Company: filing.CompanyRef{Ref: company},
		Order: filing.Order{FilingState: "WY", RegisteredAgent: &filing.RegisteredAgentItem{}},
	})
	f.run(l, "b", patient)
	f.want(l, "b", ledger.Counts{filing.Exists: 1})
	if n := f.posts("/v1/orders"); n != 1 {
		t.Errorf("%d orders were sent", n)
	}
}
