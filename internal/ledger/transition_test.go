package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// What each class of answer does to the row, its money and its key, for an
// order that must not be sent twice and for one that may.
func TestSettle(t *testing.T) {
	back := rowWant{result: filing.Ready, key: "free"}
	lost := rowWant{result: filing.Uncertain, held: cost, attempts: 1, key: "held"}
	again := rowWant{
		result:   filing.Ready,
		held:     cost,
		attempts: 1,
		doubt:    true,
		key:      "held",
	}
	placed := rowWant{result: filing.Placed, posted: cost, attempts: 1, key: "bought"}
	for _, c := range []settleCase{
		{filing.Accepted, placed, placed},
		{filing.NotSent, back, back},
		{filing.Busy, back, back},
		{filing.NoFunds, back, back},
		{filing.KeyRefused, back, back},
		{filing.NoAnswer, lost, again},
		{filing.Unreadable, lost, again},
		{filing.ServerError, lost, again},
		{filing.Refused, rowWant{result: filing.Rejected, attempts: 1, key: "free"},
			rowWant{result: filing.Rejected, attempts: 1, key: "free"}},
		{filing.HasItem, rowWant{result: filing.Exists, attempts: 1, key: "bought"},
			rowWant{result: filing.Exists, attempts: 1, key: "bought"}},
	} {
		t.Run(string(c.class), func(t *testing.T) { onBothDatabases(t, c.test) })
	}
}

// rowWant is what a row is after an answer.
type rowWant struct {
	result   filing.Result
	held     money.Cents
	posted   money.Cents
	attempts int
	doubt    bool
	key      string // free, held or bought
}

type settleCase struct {
	class      filing.AnswerKind
	once       rowWant
	repeatable rowWant
}

func (c settleCase) test(s *suite) {
	l := s.open()
	rows := s.add(l, "b1", report("comp_1", "2026"), agentOrder("comp_1"))
	for i, want := range []rowWant{c.once, c.repeatable} {
		before := s.book(l).Posted
		s.send(l, rows[i])
		if p := s.want(l, rows[i], filing.Placing, cost); p.Owner == "" || p.Attempts != 1 || p.LastAttempt != 1 {
			s.Fatalf("%+v", p)
		}
		r := s.answer(l, rows[i], c.class)
		s.want(l, r, want.result, want.held)
		if r.Attempts != want.attempts || r.LastAttempt != 1 || r.Uncertain != want.doubt || r.Owner != "" ||
			r.Message != "it is "+string(c.class) {
			s.Errorf("%+v", r)
		}
		attempts, err := l.Attempts(s.Context(), r.ID)
		if s.must(err); len(attempts) != 1 || attempts[0].Outcome != c.class ||
			attempts[0].Message != "said the service" || attempts[0].Detail != "read tcp: reset" {
			s.Errorf("%+v", attempts)
		}
		if got := s.book(l).Posted - before; got != want.posted {
			s.Errorf("posted %s, want %s", got, want.posted)
		}
		if (len(r.Items) > 0) != (c.class == filing.Accepted) {
			s.Errorf("items %+v", r.Items)
		}
		s.must(l.Fleet().RecordKeyAccepted(s.Context()))
		s.must(l.Fleet().AllowProbe(s.Context()))
		s.pass(time.Minute)
		// A rival for the same purchase tells what became of the key.
		rival := rows[i]
		rival.Request.Order.UserID = "user_2"
		rival = s.add(l, fmt.Sprint("rival", i), rival)[0]
		begun := s.begin(l, intent(rival))
		got := "free"
		if len(begun.Taken) == 1 {
			got = map[bool]string{true: "bought", false: "held"}[begun.Taken[0].Bought]
			if begun.Taken[0].Row != r.ID {
				s.Errorf("%+v", begun)
			}
		}
		if got != want.key {
			s.Errorf("the key is %s, want %s (%+v)", got, want.key, begun)
		}
		if begun.Attempt > 0 {
			s.answer(l, rival, filing.NotSent)
		}
	}
}

func TestPlacedOnce(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		s.must(l.Entries().RecordDeposit(s.Context(), 100000, "opening"))
		row := s.add(l, "a", reports("a", 1)...)[0]
		s.send(l, row)
		for _, attempts := range []int{0, 1} { // a redelivered task, stale or fresh
			in := intent(row)
			in.LastAttempt = attempts
			if again := s.begin(l, in); !again.Lost {
				s.Fatalf("second Begin: %+v", again)
			}
		}
		got := s.answer(l, row, filing.Accepted)
		if got.Result != filing.Placed || len(got.Items) != 1 || got.Attempts != 1 {
			s.Fatalf("row: %+v", got)
		}
		for range 2 { // the same answer again: the first commit's reply was lost
			s.must(l.RecordOutcome(s.Context(), outcome(row, 1, filing.Accepted)))
		}
		if got = s.row(l, row.ID); len(got.Items) != 1 || got.Attempts != 1 {
			s.Fatalf("row: %+v", got)
		}
		book := s.book(l)
		if book.Posted != 7500 || book.Reserved != 0 || book.Available() != 92500 {
			s.Fatalf("book: %+v", book)
		}
		if again := s.begin(l, intent(got)); !again.Lost {
			s.Fatalf("Begin of a placed row: %+v", again)
		}
	})
}

// An order made from an old reading of the row is not sent: it would be decided
// on without the doubt, and with the items, of before.
func TestStaleReadingIsLost(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		row := s.add(l, "a", agentOrder("comp_1"))[0]
		s.send(l, row)
		s.answer(l, row, filing.NoAnswer)
		if begun := s.begin(l, intent(row)); !begun.Lost {
			s.Fatalf("%+v", begun)
		}
		s.send(l, row) // read anew
		if got := s.answer(l, row, filing.HasItem); got.Result != filing.Placed {
			s.Fatalf("%+v", got)
		}
		if b := s.book(l); b.Posted != cost || b.Reserved != 0 {
			s.Fatalf("%+v", b)
		}
	})
}

// A row in doubt keeps its key and its reservation through answers that send
// nothing, and pays once.
func TestUncertainIsKept(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		s.must(l.Entries().RecordDeposit(s.Context(), cost, ""))
		row := s.add(l, "a", agentOrder("comp_1"))[0]
		for _, class := range []filing.AnswerKind{filing.NoAnswer, filing.NotSent, filing.Busy, filing.ServerError,
			filing.NoFunds} {
			s.send(l, row)
			r := s.answer(l, row, class)
			s.want(l, row, filing.Ready, cost)
			if !r.Uncertain {
				s.Fatalf("%s took the doubt away", class)
			}
			s.pass(time.Hour)
		}
		s.send(l, row)
		if r := s.answer(l, row, filing.Accepted); r.Uncertain || r.Attempts != 3 || r.LastAttempt != 6 {
			s.Fatalf("%+v", r)
		}
		s.want(l, row, filing.Placed, 0)
		if b := s.book(l); b.Posted != cost || b.Available() != 0 {
			s.Fatalf("%+v", b)
		}
	})
}

// A 409 for one product: that purchase exists, the rest is claimed anew without it.
func TestDroppedItem(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		r := agentOrder("comp_1")
		r.Request.Order.EIN = &filing.EINItem{}
		row := s.add(l, "a", r)[0]
		s.send(l, row)
		out := outcome(row, 1, filing.HasItem)
		out.Answer.Has, out.Items[0].Product = filing.EIN, filing.EIN
		s.must(l.RecordOutcome(s.Context(), out))
		got := s.want(l, row, filing.Ready, 0)
		if len(got.Dropped) != 1 || got.Dropped[0] != filing.EIN {
			s.Fatalf("%+v", got)
		}
		// Nobody else buys that EIN either, and the agent is free.
		einOnly := report("comp_1", "")
		einOnly.Request.Order = filing.Order{FilingState: "DE", EIN: &filing.EINItem{}}
		rival := s.add(l, "rival", einOnly)[0]
		if begun := s.begin(l, intent(rival)); len(begun.Taken) != 1 || !begun.Taken[0].Bought {
			s.Fatalf("%+v", begun)
		}
		s.place(l, got)
	})
}

// What was spent may be more or less than what was set aside.
func TestPostDiffersFromReserve(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		rows := s.add(l, "a", reports("a", 2)...)
		for i, spent := range []money.Cents{cost + 100, cost - 200} {
			s.send(l, rows[i])
			out := outcome(rows[i], 1, filing.Accepted)
			out.Items[0].Cost = money.Cost{Amount: spent, Certainty: money.Certainty(2 * (1 - i))}
			s.must(l.RecordOutcome(s.Context(), out))
			if got := s.want(l, rows[i], filing.Placed, 0); got.Cost != out.Items[0].Cost {
				s.Errorf("%+v", got.Cost)
			}
			s.must(l.Audit(s.Context()))
		}
		if b := s.book(l); b.Posted != 2*cost-100 || b.Reserved != 0 || b.Certainty != money.Unknown {
			s.Errorf("%+v", b)
		}
	})
}

// holdWriters keeps every writer of the ledger waiting until it is released, so
// that transitions gather in one group.
func (s *suite) holdWriters() (release func()) {
	s.Helper()
	conn, err := s.sql().Conn(s.Context())
	s.must(err)
	begin, lock := "BEGIN IMMEDIATE", "SELECT 1"
	if s.config.DatabaseURL != "" {
		begin, lock = "BEGIN", "SELECT 1 FROM control FOR UPDATE"
	}
	for _, q := range []string{begin, lock} {
		_, err := conn.ExecContext(s.Context(), q)
		s.must(err)
	}
	return func() {
		s.Helper()
		_, err := conn.ExecContext(context.Background(), "ROLLBACK")
		s.must(err)
		conn.Close()
	}
}

// A key set free and one that claims it may meet in one commit.
func TestFreedKeyIsClaimedInTheSameGroup(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		rows := s.add(l, "a", report("comp_1", "2026"), report("comp_1", "2026"), report("comp_2", "2026"))
		s.send(l, rows[0])
		release := s.holdWriters()
		var flying sync.WaitGroup
		flying.Go(func() { l.Begin(ctx, intent(rows[2])) }) // waits in the first group, by itself
		var begun ledger.Begun
		var settled, err error
		flying.Go(func() { settled = l.RecordOutcome(ctx, outcome(rows[0], 1, filing.Refused)) })
		flying.Go(func() { begun, err = l.Begin(ctx, intent(rows[1])) })
		release()
		flying.Wait()
		if settled != nil || err != nil || begun.Attempt == 0 && len(begun.Taken) == 0 {
			s.Fatalf("%v, %+v, %v", settled, begun, err)
		}
		s.must(l.Audit(ctx))
	})
}

// Once closed, the ledger refuses at once; what waited before is recorded.
func TestClose(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		rows := s.add(l, "a", reports("a", 50)...)
		for _, r := range rows {
			s.send(l, r)
		}
		release := s.holdWriters()
		var flying sync.WaitGroup
		errs := make([]error, len(rows))
		for i, r := range rows {
			flying.Go(func() { errs[i] = l.RecordOutcome(ctx, outcome(r, 1, filing.Accepted)) })
		}
		closed := make(chan error)
		go func() { closed <- l.Close() }()
		release()
		flying.Wait()
		s.must(<-closed)
		after := s.open()
		for i, r := range rows {
			want := filing.Placed
			if errs[i] != nil {
				want = filing.Placing
				if !errors.Is(errs[i], ledger.ErrClosed) {
					s.Error(errs[i])
				}
			}
			s.want(after, r, want, map[filing.Result]money.Cents{filing.Placing: cost}[want])
		}
		for range 20 { // each used to hang one time in two
			if _, err := l.Begin(ctx, intent(rows[0])); !errors.Is(err, ledger.ErrClosed) {
				s.Fatal(err)
			}
		}
		s.must(l.Close())
	})
}

func TestContextEndsTheWaitForATurn(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		row := s.add(l, "a", reports("a", 1)...)[0]
		ctx, cancel := context.WithCancel(s.Context())
		cancel()
		// Either it was not handed over, or it is committed: never in between.
		begun, err := l.Begin(ctx, intent(row))
		switch {
		case err == nil && begun.Attempt == 1:
			s.want(l, row, filing.Placing, cost)
		case errors.Is(err, context.Canceled):
			s.want(l, row, filing.Ready, 0)
		default:
			s.Fatal(begun, err)
		}
	})
}

func TestDefer(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		rows := s.add(l, "a", reports("a", 6)...)
		for i, next := range []filing.Result{filing.Exists, filing.Skipped, filing.Rejected} {
			s.must(l.Defer(ctx, ledger.Deferral{
				Row:     rows[i].ID,
				Next:    next,
				Message: "why",
				Items:   []ledger.Item{{Product: filing.AnnualReport, OrderID: "order_9"}},
			}))
			if r := s.want(l, rows[i], next, 0); !strings.HasPrefix(r.Message, "why") || len(r.Items) != 1 ||
				r.Cost != (money.Cost{}) || r.Attempts != 0 {
				s.Errorf("%+v", r)
			}
		}
		s.must(l.Defer(ctx, ledger.Deferral{
			Row:     rows[3].ID,
			Next:    filing.Ready,
			Message: "later",
			Due:     s.clock().Add(time.Second),
		}))
		if begun := s.begin(l, intent(rows[3])); !begun.Lost {
			s.Errorf("not due: %+v", begun)
		}
		s.pass(time.Second)
		s.send(l, rows[3])
		for _, a := range []ledger.Deferral{
			{Row: rows[3].ID, Next: filing.Exists},   // it is placing
			{Row: rows[0].ID, Next: filing.Ready},    // it is over
			{Row: rows[4].ID, Next: filing.Placed},   // not without an attempt
			{Row: rows[4].ID, Next: "no such state"}, // not a state
		} {
			s.wantErr(l.Defer(ctx, a), ledger.ErrTransition)
		}
		s.wantErr(l.Defer(ctx, ledger.Deferral{Row: 1 << 40, Next: filing.Exists}), ledger.ErrNotFound)
	})
}
