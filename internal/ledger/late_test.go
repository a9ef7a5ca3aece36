package ledger_test

import (
	"sync"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// An answer that comes after a person said that the order was never made: the
// order is there, and is not made again, by this row or by another.
func TestAnswerAfterNotPlaced(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		l := s.open()
		rows := s.add(l, "a", report("comp_1", "2026"))
		try := s.send(l, rows[0])
		in := intent(s.row(l, rows[0].ID))
		late := outcome(s.row(l, rows[0].ID), try, filing.Accepted)
		late.Claims = in.Claims
		s.answer(l, rows[0], filing.NoAnswer) // its process was taken for dead
		s.must(l.Resolutions().MarkNotPlaced(s.Context(), rows[0].ID, 0, "not there, says Ana"))
		s.want(l, rows[0], filing.Ready, 0)
		s.must(l.RecordOutcome(s.Context(), late))
		got := s.want(l, rows[0], filing.Placed, 0)
		if len(got.Items) != len(late.Items) || got.Cost.Amount != cost {
			s.Errorf("%+v", got)
		}
		if begun := s.begin(l, intent(got)); begun.Try != 0 {
			s.Errorf("sent again: %+v", begun)
		}
		other := s.add(l, "b", report("comp_1", "2026"))
		if begun := s.begin(l, intent(s.row(l, other[0].ID))); begun.Try != 0 || len(begun.Taken) == 0 {
			s.Errorf("sent by another row: %+v", begun)
		}
		s.must(l.RecordOutcome(s.Context(), late)) // once more, as after a commit of which nobody heard
		if again := s.row(l, rows[0].ID); len(again.Items) != len(late.Items) || again.Cost != got.Cost {
			s.Errorf("%+v", again)
		}
		if book := s.book(l); book.Posted != cost || book.Reserved != 0 {
			s.Errorf("%+v", book)
		}
		s.must(l.Audit(s.Context()))
	})
}

// A 409 to the first order of an EIN comes while the second one is out, and the second
// one's process ends: the company has its EIN, and no order without an item is sent.
func TestLateConflictWhileTheRepetitionIsOut(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		l := s.open()
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

// An answer that is recorded twice adds nothing the second time.
func TestAnswerRecordedTwice(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		l := s.open()
		rows := s.add(l, "a", report("comp_1", "2026"))
		try := s.send(l, rows[0])
		o := outcome(s.row(l, rows[0].ID), try, filing.Accepted)
		s.must(l.RecordOutcome(s.Context(), o))
		s.must(l.RecordOutcome(s.Context(), o))
		if got := s.row(l, rows[0].ID); got.Result != filing.Placed || len(got.Items) != len(o.Items) {
			s.Errorf("%+v", got)
		}
		s.must(l.Audit(s.Context()))
	})
}

// A sweep beside answers never writes over one: an attempt that was sent is not
// called unsent.
func TestSweepBesideAnswers(t *testing.T) { onBothDatabases(t, testSweepBesideAnswers) }

func testSweepBesideAnswers(s *store) {
	l := s.open()
	rows := s.add(l, "a", reports("a", 120)...)
	done := make(chan struct{})
	var sweeps sync.WaitGroup
	sweeps.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if _, err := l.Fleet().Orphans(s.Context()); err != nil {
				s.Error(err)
				return
			}
			time.Sleep(time.Millisecond) // a moment between two sweeps
		}
	})
	var senders sync.WaitGroup
	for part := range 12 {
		senders.Go(func() {
			for i := part; i < len(rows); i += 12 {
				begun, err := l.Begin(s.Context(), intent(rows[i]))
				if err != nil || begun.Try == 0 {
					s.Errorf("%+v %v", begun, err)
					return
				}
				if err := l.RecordOutcome(s.Context(), outcome(rows[i], begun.Try, filing.NoAnswer)); err != nil {
					s.Error(err)
					return
				}
			}
		})
	}
	senders.Wait()
	close(done)
	sweeps.Wait()
	for _, r := range rows {
		attempts, err := l.Attempts(s.Context(), r.ID)
		if err != nil || len(attempts) != 1 || attempts[0].Class != filing.NoAnswer {
			s.Errorf("row %d: %+v, %v", r.Number, attempts, err)
		}
	}
}

// Processes that did not know of each other began attempts of the same number. Each is an
// attempt of its own, in any order of the answers.
func TestAnswersToAttemptsOfOneNumber(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		l := s.open()
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
