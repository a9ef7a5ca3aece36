package jobs_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// begin commits the intent of a row without sending its order.
func (f *firm) begin(batch string, order filing.Order, creating bool) ledger.Row {
	f.Helper()
	return f.beginOver(f.Ledger, batch, order, creating)
}

func (f *firm) beginOver(l *ledger.Ledger, batch string, order filing.Order, creating bool) ledger.Row {
	f.Helper()
	row := f.rows(batch)[0]
	order.UserID, order.CompanyID = "user_1", row.Request.Company.Ref
	in := ledger.Intent{
		Row:         row.ID,
		LastAttempt: row.LastAttempt,
		Claims:      ledger.ClaimsOf(&order, ""),
		Creating:    creating,
	}
	if !creating {
		in.Cost = f.quoter().Quote(&order, pricing.Facts{EntityType: filing.LLC}).Total
	}
	if creating {
		in.Claims = []ledger.Claim{{
			Product: filing.CompanyRecord,
			Key:     row.Request.Company.Sheet.ForUser(order.UserID).Key(),
		}}
	}
	if begun, err := l.Begin(f.Context(), in); err != nil || begun.Attempt == 0 {
		f.Fatalf("%+v, %v", begun, err)
	}
	return f.rows(batch)[0]
}

// lose records that the order of a row, which may be sent again, got no answer.
func (f *firm) lose(row ledger.Row) {
	f.Helper()
	f.must(f.RecordOutcome(f.Context(), ledger.Outcome{
		Row:        row.ID,
		Attempt:    row.LastAttempt,
		Answer:     filing.Answer{Kind: filing.NoAnswer},
		Repeatable: true,
		Message:    "lost",
	}))
}

// die begins a row as a process that ends before it has an answer.
func (f *firm) die(batch string, order filing.Order, creating bool) {
	f.Helper()
	l := f.openLedger()
	f.beginOver(l, batch, order, creating)
	f.must(l.Close())
}

func (f *firm) sweep() {
	f.Helper()
	f.must(jobs.CatchUp(f.Context(), f.Ledger))
}

// When an order leaves, the ledger has its intent already: a process that dies
// now leaves a row that everybody knows may have been bought.
func TestPlacer_IntentBeforeOrder(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{AutoSeed: true})
	f.add("a", report(0))
	var seen []ledger.Row
	f.placeRest("a", placing(func(send func() filing.Answer) filing.Answer {
		seen = append(seen, f.rows("a")[0])
		return send()
	}))
	if len(seen) != 1 || seen[0].Result != filing.Placing || seen[0].LastAttempt != 1 {
		t.Errorf("as the order left, the row was %+v", seen)
	}
	f.agree("a")
}

// An order that a process announced before it stood still for most of its lease
// is not sent: another process may have taken the row over.
func TestPlacer_SuspendedProcessSendsNothing(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{AutoSeed: true})
	var passed atomic.Int64
	f.reopen(func(c *ledger.Config) {
		c.Lease = 24 * time.Hour
		c.Clock = func() time.Time {
			return time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC).Add(time.Duration(passed.Load()))
		}
	})
	f.add("a", report(0))
	passed.Store(int64(17 * time.Hour)) // the lease still stands in the ledger
	w := f.start()
	row := f.rows("a")[0].ID
	f.eventually("an attempt ended", func() bool {
		attempts, err := f.Attempts(t.Context(), row)
		f.must(err)
		return len(attempts) > 0
	})
	w.Stop()
	f.want("a", ledger.Counts{filing.Ready: 1})
	f.wantPosts("/orders", 0)
}

// An answer that the ledger cannot record for a while is kept until it can.
func TestAnswerIsRecordedOnceTheLedgerIsBack(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{AutoSeed: true})
	f.add("a", report(0))
	db, err := sql.Open("sqlite", "file:"+filepath.Join(f.dir, "ledger.db")+"?_pragma=busy_timeout(10000)")
	f.must(err)
	defer db.Close()
	exec := func(query string) {
		if _, err := db.ExecContext(context.WithoutCancel(t.Context()), query); err != nil {
			t.Error(err)
		}
	}
	said := &logged{}
	w := f.start(said.to(), placing(func(send func() filing.Answer) filing.Answer {
		defer exec(
			`CREATE TRIGGER failing BEFORE INSERT ON attempts BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`)
		return send()
	}))
	f.eventually("the failure is logged", func() bool { return said.count("recording an answer failed") > 0 })
	exec(`DROP TRIGGER failing`)
	w.Stop()
	f.want("a", ledger.Counts{filing.Placed: 1})
	f.agree("a")
}

// An order whose repetition is harmless, and that never gets an answer, is a
// person's in the end: whether its last process waited for the answer or died.
func TestPlacer_AttemptsRunOut(t *testing.T) {
	for _, dies := range []bool{false, true} {
		t.Run(fmt.Sprintf("the last process dies: %t", dies), func(t *testing.T) {
			f := newFirm(t, servers{}, sandbox.Config{AutoSeed: true})
			f.reopen(func(c *ledger.Config) { c.Timeout = time.Nanosecond })
			f.add("a", agentChange(0))
			order := agentChange(0).Order
			for range jobs.MaxAttempts - 1 {
				f.lose(f.begin("a", order, false))
			}
			f.want("a", ledger.Counts{filing.Ready: 1})
			if dies {
				f.die("a", order, false)
				f.sweep()
			} else {
				sent := make(chan struct{}, 1)
				w := f.start(placing(func(func() filing.Answer) filing.Answer {
					sent <- struct{}{}
					return filing.Answer{Kind: filing.ServerError, Status: 502, Message: "502 Bad Gateway"}
				}))
				<-sent
				w.Stop()
			}
			f.want("a", ledger.Counts{filing.Uncertain: 1})
			f.must(f.Audit(t.Context()))
		})
	}
}

// What a dead process sent is known by what its order held: of a row whose report
// is placed only the agent was out, and that may be sent again.
func TestSweep_DroppedItems(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{AutoSeed: true})
	f.add("a", reportAndAgent(0))
	order := reportAndAgent(0).Order
	row := f.begin("a", order, false)
	both := order
	both.UserID, both.CompanyID = "user_1", "comp_0"
	f.must(f.RecordOutcome(t.Context(), ledger.Outcome{
		Row:     row.ID,
		Attempt: 1,
		Answer:  filing.Answer{Kind: filing.Accepted},
		Claims:  ledger.ClaimsOf(&both, ""),
		Message: "half of it",
		Items:   []ledger.Item{{Product: filing.AnnualReport, OrderType: "annual_report", OrderID: "order_report"}},
	}))
	f.want("a", ledger.Counts{filing.Uncertain: 1})
	f.must(f.Resolutions().MarkNotPlaced(t.Context(), row.ID, 0, "the agent is not on the dashboard"))
	f.die("a", order.Drop(filing.AnnualReport), false)
	f.sweep()
	if row = f.rows("a")[0]; row.Result != filing.Ready || !row.Uncertain {
		t.Errorf("it is %s: %s", row.Result, row.Message)
	}
}

// An order that could not leave is not an attempt: with the breaker open nothing is
// used up.
func TestPlacer_NotSentUsesNoAttempt(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{AutoSeed: true})
	f.add("a", requests(20, report)...)
	var gone atomic.Bool
	var tried atomic.Int32
	w := f.start(placing(func(send func() filing.Answer) filing.Answer {
		if tried.Add(1); !gone.Load() {
			return filing.Answer{Kind: filing.NotSent, Message: "not sent: no route"}
		}
		return send()
	}))
	f.eventually("a row is tried again", func() bool { return tried.Load() > 20 })
	gone.Store(true)
	if end := f.await(w, "a", patient); end.Reason != jobs.Finished {
		t.Fatalf("%+v", end)
	}
	f.want("a", ledger.Counts{filing.Placed: 20})
	attempts := 0
	for _, r := range f.rows("a") {
		attempts += r.LastAttempt
		if r.Attempts != 1 {
			t.Errorf("%+v", r)
		}
	}
	if attempts <= 20 {
		t.Errorf("%d attempts", attempts)
	}
	f.agree("a")
}

// What became of an order is told in plain words; what the network itself said is
// in the log and beside the attempt.
func TestAnswer_BrokenConnection(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{
		AutoSeed: true,
		Faults:   []sandbox.Fault{{Kind: sandbox.FaultEOF, Endpoint: "POST /orders"}},
	})
	f.add("a", report(0))
	var said logged
	f.run("a", said.to())
	row := f.rows("a")[0]
	const message = "sent, but the filing service did not confirm it: the connection was closed before an answer " +
		"came. The order may or may not have been placed. Check"
	if row.Result != filing.Uncertain || !strings.HasPrefix(row.Message, message) ||
		strings.Contains(row.Message, "EOF") {
		t.Errorf("%s: %s", row.Result, row.Message)
	}
	attempts, err := f.Attempts(t.Context(), row.ID)
	if f.must(err); len(attempts) != 1 || attempts[0].Message != "the connection was closed before an answer came" ||
		attempts[0].Detail != "EOF" || said.count("detail=EOF") != 1 {
		t.Errorf("%+v; the log says %q", attempts, said.lines)
	}
}
