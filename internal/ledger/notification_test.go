package ledger_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/outbox"
)

func (s *suite) news(l *ledger.Ledger) ledger.Reportable {
	s.Helper()
	n, err := l.Attention().FindReportable(s.Context())
	s.must(err)
	return n
}

func (s *suite) keep(l *ledger.Ledger, n outbox.Notification) bool {
	s.Helper()
	kept, err := l.Notifications().Add(s.Context(), n)
	s.must(err)
	return kept
}

// except gives an item of a row an exception, as an event does; 0 takes it away.
func (s *suite) except(row int64, code int) {
	s.Helper()
	s.exec(`UPDATE items SET exception = $1 WHERE row = $2`, code, row)
}

func TestNotificationsOfBatches(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		ended := func(want ...string) {
			s.Helper()
			if n := s.news(l); !slices.Equal(n.Ended, want) || len(n.Resumed) > 0 {
				s.Fatalf("ended %v, go on %v, want ended %v", n.Ended, n.Resumed, want)
			}
		}
		if _, err := l.CreateBatch(ctx, ledger.Batch{ID: "coming", File: "x.csv"}); err != nil {
			s.Fatal(err)
		}
		ended() // an import under way is no end
		rows := s.add(l, "b", reports("b", 2)...)
		ended()
		s.send(l, rows[0])
		s.place(l, rows[1])
		ended() // one is at the service
		s.pass(time.Hour)
		s.answer(l, rows[0], filing.Refused)
		ended("b")
		if f := s.figures(l, "b"); !f.Changed.Equal(s.clock()) {
			s.Errorf("changed %v", f.Changed)
		}
		over := outbox.Notification{Kind: outbox.KindBatch, Batch: "b", Subject: "ended", Lasts: true}
		if !s.keep(l, over) || s.keep(l, over) {
			s.Error("an end is kept once")
		}
		ended()
		if _, err := l.RetryBatch(ctx, "b"); err != nil {
			s.Fatal(err)
		}
		ended()
		if !s.keep(l, over) {
			s.Error("a retry ends the notice")
		}
		// Somebody told an end that is none any more.
		if n := s.news(l); !slices.Equal(n.Resumed, []string{"b"}) || len(n.Ended) > 0 {
			s.Fatalf("after retry: %+v", n)
		}
		s.must(l.Notifications().End(ctx, outbox.KindBatch, "b"))
		ended()
		s.place(l, rows[0])
		ended("b")
		if !s.keep(l, over) {
			s.Error("a second end is news")
		}
		rows = s.add(l, "c", report("comp_b0", "2026")) // waits for nothing: taken
		s.must(l.Defer(ctx, ledger.Deferral{Row: rows[0].ID, Next: filing.Exists}))
		ended("c")
	})
}

func TestNotificationsOfRowsAndItemsComeOnce(t *testing.T) {
	onBothDatabases(t, testNotificationsOfRowsAndItemsComeOnce)
}

func testNotificationsOfRowsAndItemsComeOnce(s *suite) {
	ctx, l := s.Context(), s.open()
	rows := s.add(l, "b", reports("b", 4)...)
	for _, r := range rows[:2] {
		s.send(l, r)
		s.answer(l, r, filing.NoAnswer)
	}
	for _, r := range rows[2:] {
		s.place(l, r)
	}
	s.except(rows[2].ID, 482)
	untold := func(kind outbox.Kind, want ...int64) []outbox.Pending {
		s.Helper()
		var got []int64
		var of []outbox.Pending
		for _, u := range s.news(l).Pending {
			if u.Kind == kind {
				got, of = append(got, u.Row), append(of, u)
			}
		}
		if !slices.Equal(got, want) {
			s.Fatalf("untold of %s: rows %v, want %v", kind, got, want)
		}
		return of
	}
	of := untold(outbox.KindUncertain, rows[0].ID, rows[1].ID)
	if of[0].Reserved != (money.Cost{Amount: cost}) || of[0].Batch != "b" {
		s.Errorf("%+v", of[0])
	}
	if !s.keep(l, outbox.Notification{Kind: outbox.KindUncertain, Batch: "b", Subject: "x", Pending: of[:1]}) {
		s.Fatal("it is news")
	}
	if s.keep(l, outbox.Notification{Kind: outbox.KindUncertain, Batch: "b", Subject: "x", Pending: of}) {
		s.Error("a row of it was told")
	}
	untold(outbox.KindUncertain, rows[1].ID)
	// Settled, sent again, and in doubt again: another attempt, another notice.
	s.must(l.Resolutions().MarkNotPlaced(ctx, rows[0].ID, 0, "seen"))
	s.send(l, rows[0])
	s.answer(l, rows[0], filing.NoAnswer)
	untold(outbox.KindUncertain, rows[0].ID, rows[1].ID)

	of = untold(outbox.KindExceptions, rows[2].ID)
	if !s.keep(l, outbox.Notification{Kind: outbox.KindExceptions, Batch: "b", Subject: "x", Pending: of}) {
		s.Fatal("it is news")
	}
	untold(outbox.KindExceptions)
	if s.news(l).Cured {
		s.Error("it stands")
	}
	s.except(rows[2].ID, 0)
	if !s.news(l).Cured {
		s.Error("it is gone")
	}
	s.must(l.Notifications().ForgetCured(ctx))
	if s.news(l).Cured {
		s.Error("it is forgotten")
	}
	s.except(rows[2].ID, 482)
	untold(outbox.KindExceptions, rows[2].ID)
}

func TestNotificationIsClaimedUntilTheLeaseEnds(t *testing.T) {
	onBothDatabases(t, testNotificationIsClaimedUntilTheLeaseEnds)
}

func testNotificationIsClaimedUntilTheLeaseEnds(s *suite) {
	ctx, a, b := s.Context(), s.open(), s.open()
	s.keep(a, outbox.Notification{Kind: outbox.KindSchedule, Subject: "fired", Body: "at noon", Path: "/schedule"})
	claim := func(l *ledger.Ledger, want bool) outbox.Notification {
		s.Helper()
		n, ok, err := l.Notifications().Claim(ctx, outbox.Kinds, time.Minute)
		if err != nil || ok != want {
			s.Fatalf("claimed %v, want %v, %v", ok, want, err)
		}
		return n
	}
	if _, ok, err := a.Notifications().Claim(ctx, []outbox.Kind{outbox.KindKey}, time.Minute); ok ||
		err != nil {
		s.Errorf("it is not of that kind: %v, %v", ok, err)
	}
	first := claim(a, true)
	if first.Subject != "Bulkfiling: fired" || first.Body != "at noon" || first.Path != "/schedule" ||
		first.Attempts != 1 {
		s.Errorf("%+v", first)
	}
	claim(b, false)
	s.pass(time.Minute) // a died
	second := claim(b, true)
	if second.Attempts != 2 {
		s.Errorf("%+v", second)
	}
	first.Reported = []string{"late"}
	s.must(a.Notifications().RecordDelivery(ctx, first, time.Time{}, "")) // it lives after all: the claim is b's
	second.Reported = []string{"two", "one", "two"}
	s.must(b.Notifications().RecordDelivery(ctx, second, s.clock().Add(time.Hour), "three: no route"))
	claim(a, false)
	s.pass(time.Hour)
	third := claim(a, true)
	if !slices.Equal(third.Reported, []string{"one", "two"}) {
		s.Errorf("told %v", third.Reported)
	}
	s.must(a.Notifications().RecordDelivery(ctx, third, time.Time{}, ""))
	s.pass(time.Hour)
	claim(b, false)

	s.keep(a, outbox.Notification{Kind: outbox.KindSchedule, Subject: "again"})
	s.keep(a, outbox.Notification{Kind: outbox.KindSchedule}) // told to nobody
	s.pass(23 * time.Hour)
	if n, err := a.Notifications().GiveUp(ctx, 24*time.Hour); n != 0 || err != nil {
		s.Errorf("given up %d, %v", n, err)
	}
	s.pass(2 * time.Hour)
	if n, err := a.Notifications().GiveUp(ctx, 24*time.Hour); n != 1 || err != nil {
		s.Errorf("given up %d, %v", n, err)
	}
	claim(b, false)
	if all, err := a.Notifications().List(ctx, 2); err != nil || len(all) != 2 ||
		all[0].Subject != "Bulkfiling: again" {
		s.Errorf("%+v, %v", all, err)
	}
	if at, err := a.Notifications().FindLast(ctx, outbox.KindSchedule, ""); err != nil ||
		!at.Equal(s.clock().Add(-25*time.Hour)) {
		s.Errorf("the last is of %v, %v", at, err)
	}
	if at, err := a.Notifications().FindLast(ctx, outbox.KindSchedule, "none"); err != nil || !at.IsZero() {
		s.Errorf("%v, %v", at, err)
	}
}
