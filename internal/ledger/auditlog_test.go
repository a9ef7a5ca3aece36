package ledger_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
)

func (s *suite) acts(l *ledger.Ledger, q audit.Query) []audit.Event {
	s.Helper()
	acts, err := l.AuditLog().List(s.Context(), q)
	s.must(err)
	return acts
}

func deposit(id string) audit.Event {
	return audit.Event{
		ID:   id,
		By:   "ana",
		From: "192.0.2.1",
		What: "deposit",
		Note: "of $75.00",
	}
}

// What is asked twice under one ID is done once.
func TestAuditEventIsRecordedOnce(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		l, other := s.open(), s.open()
		s.must(l.Entries().RecordDeposit(audit.With(s.Context(), deposit("form")), cost, ""))
		for _, l := range []*ledger.Ledger{l, other} {
			s.wantErr(l.Entries().RecordDeposit(audit.With(s.Context(), deposit("form")), cost, ""), audit.ErrDone)
			s.wantErr(l.PauseBatch(audit.With(s.Context(), deposit("form")), "b"),
				audit.ErrDone) // before the batch is looked for
		}
		if b := s.book(l); b.Deposits != cost {
			s.Errorf("%s was deposited", b.Deposits)
		}
		acts := s.acts(l, audit.Query{})
		want := deposit("form")
		want.At = s.clock()
		if len(acts) == 1 {
			want.Seq = acts[0].Seq
		}
		if !slices.Equal(acts, []audit.Event{want}) {
			s.Errorf("%+v", acts)
		}
		s.must(l.Entries().RecordDeposit(audit.With(s.Context(), deposit("another form")), cost, ""))
		for range 2 { // no ID: each is an act of its own
			s.must(l.Entries().RecordDeposit(audit.With(s.Context(), deposit("")), cost, ""))
		}
		if n := len(s.acts(l, audit.Query{})); n != 4 || s.book(l).Deposits != 4*cost {
			s.Errorf("%d acts, %s", n, s.book(l).Deposits)
		}
	})
}

// Of two callers with one ID at the same moment, over several processes, one acts.
func TestConcurrentAuditEventIsRecordedOnce(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		ledgers := []*ledger.Ledger{s.open(), s.open()}
		const callers = 8
		for _, id := range []string{"first", "second", "third"} {
			before := s.book(ledgers[0]).Deposits
			results := make(chan error)
			for i := range callers {
				go func() {
					results <- ledgers[i%2].Entries().RecordDeposit(audit.With(s.Context(), deposit(id)), cost, "")
				}()
			}
			done := 0
			for range callers {
				if err := <-results; err == nil {
					done++
				} else if !errors.Is(err, audit.ErrDone) {
					s.Error(err)
				}
			}
			if entered := s.book(ledgers[0]).Deposits - before; done != 1 || entered != cost {
				s.Errorf("%d callers deposited %s", done, entered)
			}
		}
		if n := len(s.acts(ledgers[0], audit.Query{What: "deposit"})); n != 3 {
			s.Errorf("%d acts", n)
		}
	})
}

// An act that failed did not happen: it may be tried again, in the same context
// or in another one.
func TestFailedChangeRecordsNoAuditEvent(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		s.add(l, "b", reports("b", 1)...)
		act := audit.Event{ID: "form", By: "ana", What: "pause", Of: "b"}
		ctx := audit.With(s.Context(), act)
		s.wantErr(l.PauseBatch(ctx, "no such batch"), ledger.ErrNotFound)
		if acts := s.acts(l, audit.Query{}); len(acts) != 0 {
			s.Errorf("%+v", acts)
		}
		s.must(l.PauseBatch(ctx, "b"))
		if acts := s.acts(l, audit.Query{}); len(acts) != 1 {
			s.Errorf("%+v", acts)
		}
		s.wantErr(l.PauseBatch(audit.With(s.Context(), act), "b"), audit.ErrDone)
	})
}

// One act may be several changes, of which the first one records it.
func TestAuditEventOfSeveralChanges(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		s.add(l, "b", reports("b", 2)...)
		ctx := audit.With(s.Context(), audit.Event{ID: "form", By: "ana", What: "resume", Of: "b"})
		s.must(l.ResumeBatch(ctx, "b")) // two changes in itself
		for range 2 {
			s.must(l.Entries().RecordDeposit(ctx, cost, ""))
		}
		results := make(chan error)
		ctx = audit.With(s.Context(), audit.Event{ID: "at once", By: "ana", What: "deposit"})
		for range 8 {
			go func() { results <- l.Entries().RecordDeposit(ctx, cost, "") }()
		}
		for range 8 {
			s.must(<-results)
		}
		if b := s.book(l); b.Deposits != 10*cost {
			s.Errorf("%s was deposited", b.Deposits)
		}
		if acts := s.acts(l, audit.Query{}); len(acts) != 2 || acts[1].What != "resume" || acts[1].Of != "b" {
			s.Errorf("%+v", acts)
		}
	})
}

// Reads, and what the ledger does by itself, record nothing and use nothing up.
func TestAuditEventOfNoChange(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		ana := s.account(l, "ana")
		secret := s.session(l, ana)
		rows := s.add(l, "b", reports("b", 2)...)
		s.pass(time.Hour)
		ctx := audit.With(s.Context(),
			audit.Event{ID: "form", By: "ana", What: "schedule-remove", Of: "spring"})
		for _, look := range []func() error{
			func() error { _, err := l.Batches(ctx); return err },
			func() error { _, err := l.Balance(ctx); return err },
			func() error { _, err := l.Accounts().FindSession(ctx, secret); return err }, // notes that it is used
			func() error { _, err := l.AuditLog().List(ctx, audit.Query{}); return err },
			func() error { _, err := l.Fleet().Processes(ctx); return err },
			func() error { return l.Fleet().Announce(ctx, "serve", true) },
			func() error { return l.Fleet().RecordKeyRefused(ctx, "no such key") },
			func() error { return l.Fleet().RecordKeyAccepted(ctx) },
			func() error { return l.Fleet().RecordBusy(ctx, 0) },
			func() error { return l.Quotes().Save(ctx, []ledger.RowQuote{{Row: rows[1].ID, Cost: rows[1].Cost}}) },
			func() error { _, err := l.Events().Apply(ctx); return err },
			func() error { s.pass(time.Minute); return nil }, // the service is not busy any more
			func() error { _, err := l.Begin(ctx, intent(rows[0])); return err },
		} {
			s.must(look())
		}
		s.answer(l, rows[0], filing.Accepted)
		if acts := s.acts(l, audit.Query{}); len(acts) != 0 {
			s.Errorf("%+v", acts)
		}
		// A change of a single statement is an act too.
		s.wantErr(schedule.NewRecords(l).Remove(ctx, "spring"), ledger.ErrNotFound)
		s.must(l.Accounts().EndSession(ctx, secret))
		if acts := s.acts(l, audit.Query{}); len(acts) != 1 {
			s.Errorf("%+v", acts)
		}
	})
}

func TestAuditEventsAreListed(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		keep := func(a audit.Event) {
			s.Helper()
			s.must(l.AuditLog().Record(ctx, a))
			s.pass(time.Second)
		}
		keep(audit.Event{By: "ana", What: "download", Of: "b1", Note: "results"})
		keep(audit.Event{By: "bo", What: "download", Of: "b2", ID: "once"})
		keep(audit.Event{By: "ana", What: "sign-in-failed"})
		keep(audit.Event{By: "ana", What: "download", Of: "b2"})
		s.wantErr(l.AuditLog().Record(ctx, audit.Event{ID: "once"}), audit.ErrDone)
		all := s.acts(l, audit.Query{})
		for _, test := range []struct {
			name string
			q    audit.Query
			want []int // indexes of all
		}{
			{"newest first", audit.Query{}, []int{0, 1, 2, 3}},
			{"by", audit.Query{By: "ana"}, []int{0, 1, 3}},
			{"what", audit.Query{What: "download"}, []int{0, 2, 3}},
			{"of", audit.Query{Of: "b2"}, []int{0, 2}},
			{"together", audit.Query{By: "ana", What: "download", Of: "b2"}, []int{0}},
			{"limit", audit.Query{Limit: 2}, []int{0, 1}},
			{"next page", audit.Query{Limit: 2, Before: all[1].Seq}, []int{2, 3}},
			{"last page", audit.Query{Limit: 2, Before: all[3].Seq}, nil},
		} {
			var want []audit.Event
			for _, i := range test.want {
				want = append(want, all[i])
			}
			if got := s.acts(l, test.q); !slices.Equal(got, want) {
				s.Errorf("%s: %+v", test.name, got)
			}
		}
		if len(all) != 4 || all[0].Of != "b2" || all[3].Note != "results" || !all[3].At.Before(all[0].At) {
			s.Errorf("%+v", all)
		}
	})
}

// An act whose context has ended before is neither done nor recorded.
func TestAuditEventOfAnEndedContext(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		if s.config.DatabaseURL == "" {
			return // SQLite waits for nothing but its own disk
		}
		l := s.open()
		ctx, cancel := context.WithCancel(s.Context())
		cancel()
		if err := l.Entries().RecordDeposit(audit.With(ctx, deposit("form")), cost, ""); err == nil {
			s.Error("it was done")
		}
		s.must(l.Entries().RecordDeposit(audit.With(s.Context(), deposit("form")), cost, ""))
	})
}
