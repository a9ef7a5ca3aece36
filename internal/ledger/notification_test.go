package ledger_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

func (s *store) news(l *ledger.Ledger) ledger.Reportable {
	s.Helper()
	n, err := l.Notifications().FindReportable(s.Context())
	s.must(err)
	return n
}

func (s *store) keep(l *ledger.Ledger, n ledger.Notification) bool {
	s.Helper()
	kept, err := l.Notifications().Add(s.Context(), n)
	s.must(err)
	return kept
}

// except gives an item of a row an exception, as an event does; 0 takes it away.
func (s *store) except(row int64, code int) {
	s.Helper()
	s.exec(`UPDATE items SET exception = $1 WHERE row = $2`, code, row)
}

func TestNotificationsOfFleetHalts(t *testing.T) { onBothDatabases(t, testNotificationsOfFleetHalts) }

func testNotificationsOfFleetHalts(s *store) {
	ctx, l := s.Context(), s.open()
	rows := s.add(l, "b", reports("b", 2)...)
	if n := s.news(l); n.Halt != filing.NoHalt || n.Short || n.FundsReported || n.KeyReported {
		s.Errorf("nothing halts: %+v", n)
	}
	s.send(l, rows[0])
	s.answer(l, rows[0], filing.NoFunds)
	n := s.news(l)
	if n.Halt != filing.HaltFunds || n.HaltNote != "said the service" || !n.HaltSince.Equal(s.clock()) ||
		n.FundsReported {
		s.Errorf("after a 402: %+v", n)
	}
	out := ledger.Notification{Kind: ledger.NotifyFunds, Subject: "out", Lasts: true}
	if !s.keep(l, out) || s.keep(l, out) {
		s.Error("what lasts is kept once")
	}
	if n := s.news(l); !n.FundsReported {
		s.Error("it was told")
	}
	back := ledger.Notification{Kind: ledger.NotifyFunds, Subject: "back", Ends: true}
	if !s.keep(l, back) || s.keep(l, back) {
		s.Error("its end is kept once")
	}
	if n := s.news(l); n.FundsReported {
		s.Error("it is over")
	}
	if !s.keep(l, out) {
		s.Error("when it happens again it is news")
	}
	s.must(l.Fleet().RecordKeyRefused(ctx, "no such key"))
	if n := s.news(l); n.Halt != filing.HaltKey || n.HaltNote != "no such key" || n.KeyReported {
		s.Errorf("after a 401: %+v", n)
	}
	key := ledger.Notification{Kind: ledger.NotifyKey, Subject: "key", Lasts: true}
	if !s.keep(l, key) {
		s.Error("another kind is another thing")
	}
	if n := s.news(l); !n.KeyReported {
		s.Error("it was told")
	}
	s.must(l.Notifications().End(ctx, ledger.NotifyKey, ""))
	if n := s.news(l); n.KeyReported {
		s.Error("it is over")
	}
}

func TestNotificationsOfRowsThatWaitForFunds(t *testing.T) {
	onLedger(t, func(s *store, ctx context.Context, l *ledger.Ledger) {
		rows := s.add(l, "b", reports("b", 2)...)
		s.must(l.RecordDeposit(ctx, cost, ""))
		s.place(l, rows[0])
		if begun := s.begin(l, intent(s.row(l, rows[1].ID))); !begun.Short {
			s.Fatalf("%+v", begun)
		}
		if n := s.news(l); !n.Short || n.Halt != filing.NoHalt || len(n.Ended) > 0 {
			s.Errorf("a row waits for funds: %+v", n)
		}
		if n, sum, err := l.Backlog(ctx); err != nil || n != 1 || sum.Amount != cost || !sum.IsKnown() {
			s.Errorf("%d rows of %s wait, %v", n, sum, err)
		}
		s.must(l.RecordDeposit(ctx, cost, ""))
		if n := s.news(l); n.Short {
			s.Error("it waits no more")
		}
	})
}

func TestNotificationsOfBatches(t *testing.T) {
	onLedger(t, func(s *store, ctx context.Context, l *ledger.Ledger) {
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
		over := ledger.Notification{Kind: ledger.NotifyBatch, Batch: "b", Subject: "ended", Lasts: true}
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
		s.must(l.Notifications().End(ctx, ledger.NotifyBatch, "b"))
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

func testNotificationsOfRowsAndItemsComeOnce(s *store) {
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
	untold := func(kind ledger.NotificationKind, want ...int64) []ledger.Pending {
		s.Helper()
		var got []int64
		var of []ledger.Pending
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
	of := untold(ledger.NotifyUncertain, rows[0].ID, rows[1].ID)
	if of[0].Reserved != (money.Cost{Amount: cost}) || of[0].Batch != "b" {
		s.Errorf("%+v", of[0])
	}
	if !s.keep(l, ledger.Notification{Kind: ledger.NotifyUncertain, Batch: "b", Subject: "x", Pending: of[:1]}) {
		s.Fatal("it is news")
	}
	if s.keep(l, ledger.Notification{Kind: ledger.NotifyUncertain, Batch: "b", Subject: "x", Pending: of}) {
		s.Error("a row of it was told")
	}
	untold(ledger.NotifyUncertain, rows[1].ID)
	// Settled, sent again, and in doubt again: another attempt, another notice.
	s.must(l.Resolutions().MarkNotPlaced(ctx, rows[0].ID, 0, "seen"))
	s.send(l, rows[0])
	s.answer(l, rows[0], filing.NoAnswer)
	untold(ledger.NotifyUncertain, rows[0].ID, rows[1].ID)

	of = untold(ledger.NotifyExceptions, rows[2].ID)
	if !s.keep(l, ledger.Notification{Kind: ledger.NotifyExceptions, Batch: "b", Subject: "x", Pending: of}) {
		s.Fatal("it is news")
	}
	untold(ledger.NotifyExceptions)
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
	untold(ledger.NotifyExceptions, rows[2].ID)
}

func TestNotificationIsClaimedUntilTheLeaseEnds(t *testing.T) {
	onBothDatabases(t, testNotificationIsClaimedUntilTheLeaseEnds)
}

func testNotificationIsClaimedUntilTheLeaseEnds(s *store) {
	ctx, a, b := s.Context(), s.open(), s.open()
	s.keep(a, ledger.Notification{Kind: ledger.NotifySchedule, Subject: "fired", Body: "at noon", Path: "/schedule"})
	claim := func(l *ledger.Ledger, want bool) ledger.Notification {
		s.Helper()
		n, ok, err := l.Notifications().Claim(ctx, ledger.NotificationKinds, time.Minute)
		if err != nil || ok != want {
			s.Fatalf("claimed %v, want %v, %v", ok, want, err)
		}
		return n
	}
	if _, ok, err := a.Notifications().Claim(ctx, []ledger.NotificationKind{ledger.NotifyKey}, time.Minute); ok ||
		err != nil {
		s.Errorf("it is not of that kind: %v, %v", ok, err)
	}
	first := claim(a, true)
	if first.Subject != "Bulkfiling: fired" || first.Body != "at noon" || first.Path != "/schedule" ||
		first.Tries != 1 {
		s.Errorf("%+v", first)
	}
	claim(b, false)
	s.pass(time.Minute) // a died
	second := claim(b, true)
	if second.Tries != 2 {
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

	s.keep(a, ledger.Notification{Kind: ledger.NotifySchedule, Subject: "again"})
	s.keep(a, ledger.Notification{Kind: ledger.NotifySchedule}) // told to nobody
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
		all[1].Subject != "Bulkfiling: again" {
		s.Errorf("%+v, %v", all, err)
	}
	if at, err := a.Notifications().FindLast(ctx, ledger.NotifySchedule, ""); err != nil ||
		!at.Equal(s.clock().Add(-25*time.Hour)) {
		s.Errorf("the last is of %v, %v", at, err)
	}
	if at, err := a.Notifications().FindLast(ctx, ledger.NotifySchedule, "none"); err != nil || !at.IsZero() {
		s.Errorf("%v, %v", at, err)
	}
}

// Several processes that see the same news keep it once, and each notice is
// claimed by one of them.
func TestNotificationsOfAFleetAreAddedAndClaimedOnce(t *testing.T) {
	onBothDatabases(t, testNotificationsOfAFleetAreAddedAndClaimedOnce)
}

// addPending adds a notification of some uncertain rows that are not reported yet.
// It reports whether another process was not quicker.
func (s *store) addPending(l *ledger.Ledger) (of []ledger.Pending, added bool) {
	news, err := l.Notifications().FindReportable(s.Context())
	if err != nil {
		s.Error(err)
		return nil, false
	}
	of = news.Pending[:min(len(news.Pending), 1+rand.IntN(4))]
	if len(of) == 0 {
		return nil, false
	}
	added, err = l.Notifications().Add(s.Context(), ledger.Notification{
		Kind:    ledger.NotifyUncertain,
		Batch:   "b",
		Subject: fmt.Sprint(of),
		Pending: of,
	})
	if err != nil {
		s.Error(err)
	}
	return of, added
}

// deliverAll claims and delivers notifications until none is left, and returns how
// many it claimed.
func (s *store) deliverAll(l *ledger.Ledger) (claimed int64) {
	for {
		n, ok, err := l.Notifications().Claim(s.Context(), ledger.NotificationKinds, time.Minute)
		if err != nil {
			s.Error(err)
		}
		if !ok {
			return claimed
		}
		claimed++
		if err := l.Notifications().RecordDelivery(s.Context(), n, time.Time{}, ""); err != nil {
			s.Error(err)
		}
	}
}

func testNotificationsOfAFleetAreAddedAndClaimedOnce(s *store) {
	fleet := []*ledger.Ledger{s.open(), s.open(), s.open(), s.open()}
	rows := s.add(fleet[0], "b", reports("b", 12)...)
	for _, r := range rows {
		s.send(fleet[0], r)
		s.answer(fleet[0], r, filing.NoAnswer)
	}
	var kept, claimed, marks atomic.Int64
	var all sync.WaitGroup
	for _, l := range fleet {
		all.Go(func() {
			for range 20 {
				of, ok := s.addPending(l)
				if len(of) == 0 {
					break
				}
				if ok {
					kept.Add(1)
					marks.Add(int64(len(of)))
				}
			}
			claimed.Add(s.deliverAll(l))
		})
	}
	all.Wait()
	if marks.Load() != 12 || kept.Load() != claimed.Load() || kept.Load() < 3 {
		s.Errorf("%d rows told in %d notices, %d of them claimed", marks.Load(), kept.Load(), claimed.Load())
	}
}
