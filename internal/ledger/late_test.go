package ledger_test

import (
	"context"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// A 409 to the first order of an EIN comes while the second one is out, and the second
// one's process ends: the company has its EIN, and no order without an item is sent.
func TestLateConflictWhileTheRepetitionIsOut(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		ein := report("comp_1", "2026")
		ein.Request.Order = filing.Order{FilingState: "DE", EIN: &filing.EINItem{}}
		row := s.add(l, "a", ein)[0]
		s.send(l, row)
		late := outcome(s.row(l, row.ID), 1, filing.HasItem)
		s.answer(l, row, filing.NoAnswer)
		s.send(l, s.want(l, row, filing.Ready, cost))
		s.must(l.RecordOutcome(s.Context(), late))
		swept := outcome(s.want(l, row, filing.Placing, cost), 2, filing.NoAnswer)
		swept.Claims = nil // a sweep does not know them
		s.must(l.RecordOutcome(s.Context(), swept))
		s.want(l, row, filing.Exists, 0)
		s.must(l.Audit(s.Context()))
	})
}

// The first order of an EIN is accepted late, while the second one is out.
func TestLateAcceptanceWhileTheRepetitionIsOut(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		ein := report("comp_1", "2026")
		ein.Request.Order = filing.Order{FilingState: "DE", EIN: &filing.EINItem{}}
		row := s.add(l, "a", ein)[0]
		s.send(l, row)
		late := outcome(s.row(l, row.ID), 1, filing.Accepted)
		s.answer(l, row, filing.NoAnswer)
		s.send(l, s.want(l, row, filing.Ready, cost))
		s.must(l.RecordOutcome(s.Context(), late))
		s.must(l.Audit(s.Context()))
		s.answer(l, s.want(l, row, filing.Placing, cost), filing.HasItem)
		s.want(l, row, filing.Placed, 0)
		s.must(l.Audit(s.Context()))
	})
}

// Processes that did not know of each other began attempts of the same number. Each is an
// attempt of its own, in any order of the answers.
func TestAnswersToAttemptsOfOneNumber(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		row := s.add(l, "a", report("comp_1", "2026"))[0]
		s.place(l, row)
		for _, a := range []struct {
			owner string
			kind  filing.AnswerKind
		}{
			{"p", filing.Accepted},
			{"q", filing.NoAnswer},
			{"r", filing.Accepted},
			{"q", filing.Accepted},
			{"p", filing.NoAnswer},
		} {
			o := outcome(row, 1, a.kind)
			o.Owner = a.owner
			for i := range o.Items {
				o.Items[i].OrderID = "order_" + a.owner
			}
			s.must(l.RecordOutcome(s.Context(), o))
		}
		if r := s.want(l, row, filing.Placed, 0); r.Spent.Amount != 4*cost {
			s.Errorf("%s: %s", r.Spent, r.Message)
		}
		if attempts, err := l.Attempts(s.Context(), row.ID); err != nil || len(attempts) != 4 {
			s.Errorf("%+v, %v", attempts, err)
		}
	})
}

// A service whose gateway gave up may still make the order: the row is not sent again before a
// request would have ended, however soon the answer came.
func TestARepetitionWaitsForTheTimeout(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		s.config.Timeout = 20 * time.Second
		l := s.open()
		ein := report("comp_1", "2026")
		ein.Request.Order = filing.Order{FilingState: "DE", EIN: &filing.EINItem{}}
		for _, kind := range []filing.AnswerKind{filing.NoAnswer, filing.ServerError, filing.Unreadable} {
			row := s.add(l, string(kind), ein)[0]
			s.send(l, row)
			s.pass(time.Second)
			s.answer(l, row, kind)
			s.pass(18 * time.Second)
			if begun := s.begin(l, intent(s.row(l, row.ID))); begun.Attempt != 0 {
				s.Errorf("after %s it is sent again at once: %+v", kind, begun)
			}
			s.pass(time.Second)
			s.place(l, row)
			ein.Request.Company.Ref += "0"
		}
	})
}
