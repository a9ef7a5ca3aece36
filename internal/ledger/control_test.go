package ledger_test

import (
	"testing"
	"time"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/ledger"
)

// A clock that was set back, or a host's whose clock is ahead, holds nobody: a
// moment further off than any that is ever set is not believed.
func TestAClockThatWasAheadHoldsNobody(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		l, other, ctx := s.open(), s.open(), s.Context()
		rows := s.add(l, "a", reports("a", 4)...)
		standstill := func(reason filing.Halt, until time.Duration) {
			s.Helper()
			h, err := other.Standstill(ctx)
			if s.must(err); h.Reason != reason || reason == filing.ForRate && !h.Until.Equal(s.clock().Add(until)) {
				s.Fatalf("%+v, want %q until %s", h, reason, s.clock().Add(until))
			}
		}
		s.must(l.Busy(ctx, time.Second))
		s.pass(-20 * time.Hour)
		standstill(filing.Nothing, 0)
		s.send(l, rows[0])
		s.must(l.Busy(ctx, time.Second)) // what is said now counts
		standstill(filing.ForRate, time.Second)
		if begun := s.begin(l, intent(rows[1])); begun.Halted.Reason != filing.ForRate {
			s.Errorf("%+v", begun)
		}
		s.must(l.Busy(ctx, 5*time.Hour)) // longer than the longest, which is obeyed
		standstill(filing.ForRate, time.Hour)
		s.pass(-time.Minute) // another host's clock is a little slow
		standstill(filing.ForRate, time.Hour+time.Minute)
		s.pass(time.Hour + time.Minute)
		standstill(filing.Nothing, 0)
		s.must(l.Busy(ctx, 0))
		s.pass(-20 * time.Hour)
		s.must(l.Busy(ctx, 0)) // without a time of its own
		standstill(filing.ForRate, 2*time.Second)
		s.pass(2 * time.Second)

		s.answer(l, rows[0], filing.NoFunds)
		if begun := s.begin(l, intent(rows[1])); begun.Halted.Reason != filing.ForFunds {
			s.Fatalf("%+v", begun)
		}
		s.pass(-20 * time.Hour)
		h, err := other.Standstill(ctx)
		if s.must(err); h.Reason != filing.ForFunds || !h.Until.Before(s.clock()) {
			s.Errorf("%+v, and the moment of the probe has come", h)
		}
		s.send(l, rows[1])
		for _, row := range []ledger.Row{rows[2], rows[3]} {
			if begun := s.begin(other, intent(row)); begun.Halted.Reason != filing.ForFunds {
				s.Fatalf("a second row asks: %+v", begun)
			}
		}
		s.answer(l, rows[1], filing.NoFunds) // the next one is in its time
		if h, err := l.Standstill(ctx); err != nil || !h.Until.After(s.clock()) || h.Until.Sub(s.clock()) > 10*time.Minute {
			s.Errorf("%+v, %v", h, err)
		}
	})
}
