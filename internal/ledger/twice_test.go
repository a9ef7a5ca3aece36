package ledger_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
)

func ordering(company string, o filing.Order) ledger.Row {
	r := report(company, "2026")
	o.FilingState = "DE"
	r.Request.Order = o
	return r
}

func einOrder(company string) ledger.Row {
	return ordering(company, filing.Order{EIN: &filing.EINItem{}})
}

// forgotten sends a row, loses its answer and has a person mark it as not placed; late is the
// acceptance that comes in the end.
func (s *suite) forgotten(l *ledger.Ledger, r ledger.Row) (late ledger.Outcome) {
	s.Helper()
	attempt := s.send(l, r)
	late = outcome(s.row(l, r.ID), attempt, filing.Accepted)
	lost := outcome(s.row(l, r.ID), attempt, filing.NoAnswer)
	lost.Exhausted = true
	s.must(l.RecordOutcome(s.Context(), lost))
	s.must(l.Resolutions().MarkNotPlaced(s.Context(), r.ID, 0, "not there"))
	return late
}

// Each story ends with some second purchases of the same: as many are named, in the messages and
// by the audit, which finds nothing wrong.
func TestSecondPurchases(t *testing.T) {
	for name, c := range map[string]struct {
		second int // purchases
		tell   func(*suite, *ledger.Ledger)
	}{
		"a key that is taken and released in one group": {0, func(s *suite, l *ledger.Ledger) {
			rows := s.add(l, "a", report("comp_1", "2026"), report("comp_1", "2026"))
			late := s.forgotten(l, rows[0])
			s.send(l, rows[1])
			for _, c := range l.CommitTogether(late, outcome(s.row(l, rows[1].ID), 1, filing.Busy)) {
				s.must(c.Err)
			}
		}},
		"two products of two rows": {2, func(s *suite, l *ledger.Ledger) {
			both := report("comp_1", "2026")
			both.Request.Order.RegisteredAgent = &filing.RegisteredAgentItem{}
			rows := s.add(l, "a", both, both)
			late := s.forgotten(l, rows[0])
			s.place(l, rows[1])
			s.must(l.RecordOutcome(s.Context(), late))
		}},
		"an order that exists because of a late one": {0, func(s *suite, l *ledger.Ledger) {
			rows := s.add(l, "a", einOrder("comp_1"), einOrder("comp_1"))
			late := s.forgotten(l, rows[0])
			s.send(l, rows[1])
			s.answer(l, rows[1], filing.HasItem)
			s.must(l.RecordOutcome(s.Context(), late))
		}},
		"an order that exists, and was made as well": {1, func(s *suite, l *ledger.Ledger) {
			rows := s.add(l, "a", einOrder("comp_1"), einOrder("comp_1"))
			late := s.forgotten(l, rows[0])
			attempt := s.send(l, rows[1])
			later := outcome(s.row(l, rows[1].ID), attempt, filing.Accepted)
			s.answer(l, rows[1], filing.NoAnswer)
			s.send(l, rows[1])
			has := outcome(s.row(l, rows[1].ID), 2, filing.HasItem)
			has.Answer.Ordered = false
			s.must(l.RecordOutcome(s.Context(), has))
			s.must(l.RecordOutcome(s.Context(), late))
			s.must(l.RecordOutcome(s.Context(), later))
		}},
		"an item that exists in a placed row": {0, func(s *suite, l *ledger.Ledger) {
			q := filing.Order{ForeignQualification: &filing.QualificationItem{}}
			both := q
			both.RegisteredAgent = &filing.RegisteredAgentItem{}
			rows := s.add(l, "a", ordering("comp_1", q), ordering("comp_1", both))
			late := s.forgotten(l, rows[0])
			has := outcome(s.row(l, rows[1].ID), s.send(l, rows[1]), filing.HasItem)
			has.Owner, has.Answer.Has = "", filing.ForeignQualification
			has.Items = []ledger.Item{{Product: filing.ForeignQualification, Cost: has.Cost}}
			s.must(l.RecordOutcome(s.Context(), has))
			s.pass(time.Second)
			s.place(l, s.row(l, rows[1].ID))
			s.must(l.RecordOutcome(s.Context(), late))
		}},
		"a first purchase that is contradicted, and seen again": {1, func(s *suite, l *ledger.Ledger) {
			rows := s.add(l, "a", report("comp_1", "2026"), report("comp_1", "2026"))
			late := s.forgotten(l, rows[0])
			s.send(l, rows[1])
			refused := outcome(s.row(l, rows[1].ID), 1, filing.Refused)
			s.answer(l, rows[1], filing.NoAnswer)
			seen := func() {
				s.must(l.Resolutions().MarkPlaced(s.Context(), rows[1].ID, 0, []string{"order_seen"}, "seen"))
			}
			seen()
			s.must(l.RecordOutcome(s.Context(), late))
			s.must(l.RecordOutcome(s.Context(), refused))
			if v, err := l.Verify(s.Context()); err != nil || len(v.Twice) > 0 {
				s.Errorf("one of them is uncertain: %q, %v", v.Twice, err)
			}
			seen()
		}},
		"a renewal, and the late order of its report": {1, func(s *suite, l *ledger.Ledger) {
			old := orderOf(s.place(l, s.add(l, "old", report("comp_1", "2026"))[0]))
			s.must(l.Subscriptions().SetStatus(s.Context(), old, "past_due"))
			late := s.forgotten(l, s.add(l, "a", report("comp_1", "2027"))[0])
			s.must(l.Subscriptions().SetStatus(s.Context(), old, "active"))
			s.must(l.Subscriptions().Renew(s.Context(), s.cover(l, "b", "comp_1", "2027").ID, "order_renewal"))
			s.must(l.RecordOutcome(s.Context(), late))
		}},
		"a renewal of what was ordered meanwhile": {1, func(s *suite, l *ledger.Ledger) {
			old := orderOf(s.place(l, s.add(l, "old", report("comp_1", "2026"))[0]))
			covered := s.cover(l, "b", "comp_1", "2027")
			s.must(l.Subscriptions().SetStatus(s.Context(), old, "past_due"))
			s.place(l, s.add(l, "a", report("comp_1", "2027"))[0])
			s.must(l.Subscriptions().Renew(s.Context(), covered.ID, "order_renewal"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
				c.tell(s, l)
				said := 0
				for _, b := range []string{"a", "b"} {
					for _, r := range s.rows(l, b) {
						said += strings.Count(r.Message, "bought twice")
					}
				}
				v, err := l.Verify(ctx)
				if s.must(err); len(v.Wrong) > 0 || len(v.Twice) != c.second || said != 2*c.second {
					s.Errorf("wrong %q, twice %q, said %d times", v.Wrong, v.Twice, said)
				}
			})
		})
	}
}

// Of two purchases of the same, the one that was not canceled counts.
func TestTheFirstOfTwoIsCanceled(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		first, second := s.losesItsKey(l)
		s.answer(l, second, filing.Accepted)
		s.tell(l, "e1", orderOf(s.row(l, first.ID)), "annual_report", "canceled", s.clock())
		s.apply(l)
		in := intent(s.add(l, "b", report("comp_1", "2026"))[0])
		held, err := l.FindPriorPurchases(ctx, in.Claims)
		s.must(err)
		if h := held[in.Claims[0].Key]; h.Row != second.ID || h.Canceled {
			s.Errorf("the preview names %+v", h)
		}
		if begun := s.begin(l, in); len(begun.Taken) != 1 || begun.Taken[0].Row != second.ID {
			s.Errorf("%+v", begun.Taken)
		}
	})
}

// Of two rows whose orders of the same are both repeated, one goes and the other one waits.
func TestTwoRepetitionsOfOneKey(t *testing.T) {
	onRestorable(t, func(s *suite, place *ledgertest.Restorable) {
		s.config.Lease = 24 * time.Hour
		one, two := s.open(), s.open()
		a, b := s.add(one, "a", einOrder("comp_1"))[0], s.add(one, "b", einOrder("comp_1"))[0]
		place.Keep()
		s.await(one)
		s.await(two)
		s.send(one, a)
		s.answer(one, a, filing.NoAnswer)
		_, err := one.CancelBatch(s.Context(), "a")
		s.must(err)
		s.must(one.Resolutions().MarkNotPlaced(s.Context(), a.ID, 0, "no"))
		s.send(two, b)
		s.answer(two, b, filing.NoAnswer)
		place.Restore()
		s.await(one)
		s.await(two)
		s.must(one.Restores().EndUnsent(s.Context()))
		s.exec(`UPDATE control SET restart_wait_until = 0`)
		if begun := s.begin(two, intent(s.want(one, b, filing.Ready, cost))); len(begun.Taken) != 1 {
			s.Errorf("%+v", begun)
		}
		s.send(one, a)
	})
}

// Whether a later year was sent before a restore is asked, whatever may cover it by now.
func TestAssumeSentOfALaterYear(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		in := []ledger.Intent{intent(s.add(l, "a", report("comp_1", "2026"))[0]),
			intent(s.add(l, "b", report("comp_1", "2027"))[0])}
		_, err := l.Resolutions().AssumeSent(ctx, in, s.clock(), "lost")
		if s.must(err); s.row(l, in[1].Row).Result != filing.Uncertain {
			s.Error("nobody looks for it")
		}
	})
}

// A report that was bought covers later years, also while another item of its order is uncertain.
func TestCoversWhileAnItemIsUncertain(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		r := report("comp_1", "2026")
		r.Request.Order.RegisteredAgent = &filing.RegisteredAgentItem{}
		row := s.add(l, "a", r)[0]
		out := outcome(row, s.send(l, row), filing.Accepted)
		out.Items = []ledger.Item{{Product: filing.AnnualReport, OrderID: "order_1", Cost: row.Cost}}
		s.must(l.RecordOutcome(ctx, out))
		next := intent(s.add(l, "b", report("comp_1", "2027"))[0])
		if begun := s.begin(l, next); len(begun.Taken) != 1 || !begun.Taken[0].Covers {
			s.Errorf("%+v", begun)
		}
		held, err := l.FindPriorPurchases(ctx, next.Claims)
		if s.must(err); !held[next.Claims[0].Key].Covers {
			s.Errorf("before: %+v", held)
		}
	})
}
