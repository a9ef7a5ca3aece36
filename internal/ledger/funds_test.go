package ledger_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

func TestBalanceAddsUp(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		if b := s.book(l); b != (ledger.Balance{}) {
			s.Fatalf("a new book: %+v", b)
		}
		for _, amount := range []money.Cents{0, -1} {
			s.wantErr(l.Entries().RecordDeposit(ctx, amount, ""), ledger.ErrAmount)
		}
		s.must(l.Entries().RecordDeposit(ctx, 50000, "wire 1"))
		s.must(l.Entries().Adjust(ctx, -1000, "fee of the bank"))
		s.must(l.Entries().Adjust(ctx, 500, "found"))
		rows := s.add(l, "a", reports("a", 3)...)
		s.place(l, rows[0])
		s.send(l, rows[1])
		s.answer(l, rows[1], filing.Refused)
		s.send(l, rows[2])
		want := ledger.Balance{
			HasDeposit:  true,
			Deposits:    50000,
			Adjustments: -500,
			Posted:      cost,
			Reserved:    cost,
		}
		if b := s.book(s.open()); b != want || b.Available() != 50000-500-2*cost {
			s.Errorf("%+v, available %s", b, b.Available())
		}
		var kinds []ledger.EntryKind
		for e, err := range l.Entries().All(ctx) {
			s.must(err)
			kinds = append(kinds, e.Kind)
			switch {
			case e.Row == 0 && e.Note == "", e.Row != 0 && (e.Batch != "a" || e.Number < 2), !e.At.Equal(s.clock()):
				s.Errorf("%+v", e)
			}
		}
		if !slices.Equal(kinds, []ledger.EntryKind{"deposit", "adjustment", "adjustment", "reserve", "post", "reserve",
			"void", "reserve"}) {
			s.Errorf("%v", kinds)
		}
		for range l.Entries().All(ctx) {
			break // leaving early is fine
		}
		s.must(l.Audit(ctx))
	})
}

// Audit finds every disagreement between the sums, the entries and the rows.
func TestAuditFindsWhatDoesNotAddUp(t *testing.T) {
	for _, spoil := range []string{
		`UPDATE control SET deposits = deposits + 1`,
		`UPDATE control SET adjustments = adjustments - 1`,
		`UPDATE control SET posted = posted + 1`,
		`UPDATE control SET reserved = reserved - 1`,
		`DELETE FROM entries WHERE kind = 'reserve'`,
		`UPDATE entries SET amount = amount + 1 WHERE kind = 'post'`,
		`UPDATE rows SET reserved = reserved + 1 WHERE result = 'placing'`,
		`UPDATE rows SET spent = spent + 1 WHERE result = 'placed'`,
	} {
		t.Run(spoil, func(t *testing.T) {
			onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
				s.must(l.Entries().RecordDeposit(s.Context(), 50000, ""))
				rows := s.add(l, "a", reports("a", 2)...)
				s.place(l, rows[0])
				s.send(l, rows[1])
				s.must(l.Audit(s.Context()))
				s.exec(spoil)
				s.wantErr(l.Audit(s.Context()), ledger.ErrInconsistent)
				s.config.Dir, s.config.DatabaseURL = s.TempDir(), "" // the rest is not to be audited
			})
		})
	}
}

// An adjustment alone declares nothing, and so gates nothing; it counts from the
// first deposit on.
func TestAnAdjustmentDeclaresNothing(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.must(l.Entries().Adjust(ctx, -cost, "fee of the bank"))
		if b := s.book(l); b.HasDeposit || b.Adjustments != -cost {
			s.Errorf("%+v", b)
		}
		rows := s.add(l, "a", reports("a", 3)...)
		s.place(l, rows[0])
		s.must(l.Entries().RecordDeposit(ctx, 3*cost, ""))
		if b := s.book(l); !b.HasDeposit || b.Available() != cost {
			s.Errorf("%+v, available %s", b, b.Available())
		}
		s.place(l, rows[1])
		if begun := s.begin(l, intent(rows[2])); !begun.Short {
			s.Errorf("%+v", begun)
		}
	})
}

// Without a deposit ever declared nothing is gated; with one, a row goes only
// when the book can pay for it, to the cent.
func TestFundsGate(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		rows := s.add(l, "a", reports("a", 6)...)
		s.place(l, rows[0])
		s.must(l.Entries().RecordDeposit(ctx, 3*cost-1, "")) // of which one was spent before
		s.send(l, rows[1])
		short := s.begin(l, intent(rows[2]))
		if !short.Short || short.Attempt != 0 {
			s.Fatalf("one cent is missing: %+v", short)
		}
		if r := s.want(l, rows[2], filing.Ready, 0); r.BlockedOn != "funds" || r.Message == "" || r.Attempts != 0 {
			s.Errorf("%+v", r)
		}
		cheap := intent(rows[3])
		cheap.Cost.Amount = cost - 1
		if begun := s.begin(l, cheap); begun.Attempt != 1 {
			s.Errorf("a row that the book can pay for waits behind one that it cannot: %+v", begun)
		}
		if b := s.book(l); b.Available() != 0 {
			s.Errorf("%+v", b)
		}
		s.must(l.Entries().Adjust(ctx, 1, "the missing cent"))
		if r := s.row(l, rows[2].ID); r.BlockedOn != "funds" {
			s.Errorf("a cent woke it, for nothing: %+v", r)
		}
		s.answer(l, rows[1], filing.Refused) // voids its reservation
		if r := s.row(l, rows[2].ID); r.BlockedOn != "" {
			s.Errorf("a void did not wake it: %+v", r)
		}
		s.send(l, rows[2])
		if begun := s.begin(l, intent(rows[4])); !begun.Short {
			s.Fatalf("%+v", begun)
		}
		s.answer(l, rows[2], filing.Accepted) // sets nothing free
		if r := s.row(l, rows[4].ID); r.BlockedOn != "funds" {
			s.Errorf("%+v", r)
		}
		s.must(l.Entries().RecordDeposit(ctx, 2*cost, "top-up"))
		s.place(l, rows[4])
		if b := s.book(l); b.Available() != cost+1 || b.Posted != 3*cost {
			s.Errorf("%+v, available %s", b, b.Available())
		}
	})
}

// A 402 halts everybody; then one row at a time asks, at growing intervals, until
// one is accepted.
func TestProbeForFunds(t *testing.T) { onBothDatabases(t, testProbeForFunds) }

func testProbeForFunds(s *suite) {
	l, other, ctx := s.open(), s.open(), s.Context()
	rows := s.add(l, "a", reports("a", 12)...)
	for _, r := range rows[:3] {
		s.send(l, r)
	}
	began := s.clock()
	for _, r := range rows[:3] { // in flight together: one moment, one backoff
		s.answer(l, r, filing.NoFunds)
	}
	h, err := other.Fleet().Halt(ctx)
	if err != nil || h.Reason != filing.HaltFunds || !h.Since.Equal(began) || h.Note != "said the service" {
		s.Fatalf("%+v, %v", h, err)
	}
	wait := h.Until.Sub(began)
	if wait <= 0 || wait > time.Minute {
		s.Fatalf("the first probe is due in %s", wait)
	}
	halted := func(r ledger.Row) {
		s.Helper()
		if begun := s.begin(other, intent(s.row(l, r.ID))); begun.Halted.Reason != filing.HaltFunds {
			s.Fatalf("%+v", begun)
		}
	}
	halted(rows[3])
	halted(rows[0])
	for probes := range 4 {
		s.pass(wait)
		s.send(l, rows[3+probes]) // exactly one passes
		halted(rows[8])
		halted(rows[9])
		s.answer(l, rows[3+probes], filing.NoFunds)
		halted(rows[8])
		h, err = l.Fleet().Halt(ctx)
		s.must(err)
		if next := h.Until.Sub(s.clock()); next != 2*wait {
			s.Fatalf("after %d probes the next is due in %s, want %s", probes+1, next, 2*wait)
		}
		wait *= 2
	}
	// A deposit asks at once, and begins anew.
	s.must(l.Entries().RecordDeposit(ctx, 100*cost, ""))
	s.send(l, rows[8])
	halted(rows[9])
	s.answer(l, rows[8], filing.Refused) // says nothing about funds
	s.send(l, rows[9])
	halted(rows[10])
	s.answer(l, rows[9], filing.Accepted)
	if h, err := l.Fleet().Halt(ctx); err != nil || h.Reason != filing.NoHalt {
		s.Fatalf("a row was accepted: %+v, %v", h, err)
	}
	s.send(l, rows[10])
	s.send(other, rows[11])
	for _, r := range s.rows(l, "a")[:8] {
		s.want(l, r, filing.Ready, 0)
		if r.Attempts != 0 {
			s.Errorf("a 402 used up an attempt: %+v", r)
		}
	}
}

// The backoff between probes has an end.
func TestProbeBackoffIsBounded(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		row := s.add(l, "a", reports("a", 1)...)[0]
		var h ledger.Halted
		for range 15 {
			s.send(l, row)
			s.answer(l, row, filing.NoFunds)
			var err error
			h, err = l.Fleet().Halt(s.Context())
			s.must(err)
			s.pass(h.Until.Sub(s.clock()))
		}
		if wait := s.clock().Sub(s.row(l, row.ID).UpdatedAt); wait > 10*time.Minute {
			s.Errorf("the fleet asks every %s", wait)
		}
	})
}

// A prober that dies does not keep everybody waiting.
func TestDeadProberIsReplaced(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		l, prober := s.open(), s.open()
		rows := s.add(l, "a", reports("a", 3)...)
		s.send(l, rows[0])
		s.answer(l, rows[0], filing.NoFunds)
		s.pass(time.Hour)
		s.send(prober, rows[1])
		if begun := s.begin(l, intent(rows[2])); begun.Halted.Reason != filing.HaltFunds {
			s.Fatalf("%+v", begun)
		}
		s.must(prober.Close())
		if n := s.sweep(l); n != 1 {
			s.Fatalf("%d orphans", n)
		}
		s.want(l, rows[1], filing.Uncertain, cost)
		s.place(l, rows[2])
	})
}

// 429 and 503 hold the whole fleet back for as long as they say, or for a second
// and then twice as long where they do not say.
func TestHoldForRate(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		l, other, ctx := s.open(), s.open(), s.Context()
		rows := s.add(l, "a", reports("a", 4)...)
		busy := func(r ledger.Row, retryAfter time.Duration) {
			s.Helper()
			attempt := s.send(l, r)
			out := outcome(r, attempt, filing.Busy)
			out.Answer.RetryAfter = retryAfter
			s.must(l.RecordOutcome(ctx, out))
		}
		held := func(d time.Duration) {
			s.Helper()
			h, err := other.Fleet().Halt(ctx)
			if err != nil || h.Reason != filing.HaltRate || !h.Until.Equal(s.clock().Add(d)) {
				s.Fatalf("%+v, %v, want until %s", h, err, s.clock().Add(d))
			}
			if begun := s.begin(other, intent(rows[3])); begun.Halted.Reason != filing.HaltRate {
				s.Fatalf("%+v", begun)
			}
			s.pass(d - time.Millisecond)
			if begun := s.begin(other, intent(rows[3])); begun.Halted.Reason != filing.HaltRate {
				s.Fatalf("a millisecond early: %+v", begun)
			}
			s.pass(time.Millisecond)
			if h, err := other.Fleet().Halt(ctx); err != nil || h.Reason != filing.NoHalt {
				s.Fatalf("%+v, %v", h, err)
			}
		}
		busy(rows[0], 7*time.Second)
		held(7 * time.Second)
		for _, want := range []time.Duration{1, 2, 4} {
			busy(rows[0], 0)
			held(want * time.Second)
		}
		s.must(l.Fleet().RecordBusy(ctx, 0))
		for range 5 { // in flight together: one moment, one backoff
			s.must(l.Fleet().RecordBusy(ctx, 0))
		}
		held(8 * time.Second)
		s.place(l, rows[1]) // an answer that is one: the backoff begins anew
		s.must(l.Fleet().RecordBusy(ctx, 0))
		held(time.Second)
		// Of two that overlap the longer counts.
		s.must(l.Fleet().RecordBusy(ctx, 9*time.Second))
		s.must(l.Fleet().RecordBusy(ctx, time.Second))
		held(9 * time.Second)
		if r := s.row(l, rows[0].ID); r.Attempts != 0 {
			s.Errorf("it used up an attempt: %+v", r)
		}
	})
}

// 401 and 403 stop everything until the service has answered to a key.
func TestKeyRefusedStopsEverything(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		l, other, ctx := s.open(), s.open(), s.Context()
		rows := s.add(l, "a", reports("a", 4)...)
		stopped := func() {
			s.Helper()
			h, err := other.Fleet().Halt(ctx)
			if err != nil || h.Reason != filing.HaltKey || !h.Until.IsZero() || h.Note != "said the service" {
				s.Fatalf("%+v, %v", h, err)
			}
			s.pass(time.Hour)
			if begun := s.begin(other, intent(rows[3])); begun.Halted.Reason != filing.HaltKey {
				s.Fatalf("%+v", begun)
			}
		}
		s.send(l, rows[0])
		s.send(l, rows[1])
		s.answer(l, rows[0], filing.KeyRefused)
		stopped()
		s.answer(l, rows[1], filing.NoFunds) // was on its way
		stopped()
		s.must(l.Fleet().AllowProbe(ctx)) // funds have nothing to do with it
		if begun := s.begin(l, intent(rows[3])); begun.Halted.Reason != filing.HaltKey {
			s.Fatalf("%+v", begun)
		}
		s.must(l.Fleet().RecordKeyAccepted(ctx))
		s.place(l, rows[3])
		s.must(l.Fleet().RecordKeyRefused(ctx, "said the service")) // by a look-up
		if begun := s.begin(other, intent(rows[2])); begun.Halted.Reason != filing.HaltKey {
			s.Fatalf("%+v", begun)
		}
		s.must(l.Fleet().RecordKeyAccepted(ctx))
		s.place(l, rows[2])
	})
}

// Test orders and live ones never meet in one ledger.
func TestBind(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		for range 2 {
			s.must(l.Organizations().Bind(s.Context(), "test"))
		}
		s.wantErr(s.open().Organizations().Bind(s.Context(), "live"), ledger.ErrMode)
		s.must(l.Organizations().Bind(s.Context(), "test"))
	})
}
