package ledger_test

import (
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// databaseNow reads the clock that counts: the server's, or the machine's.
func (s *suite) databaseNow() time.Time {
	s.Helper()
	if s.config.DatabaseURL == "" {
		return time.Now()
	}
	var ms int64
	s.must(s.sql().QueryRowContext(s.Context(),
		`SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)`).Scan(&ms))
	return time.UnixMilli(ms)
}

// The clock of the process that looks decides nothing, nor does that of the one
// that is looked at: leases, holds and due times are the database's.
func TestClocksOfProcessesPlayNoRole(t *testing.T) {
	for _, c := range []clockCase{
		{0, 48 * time.Hour}, {0, -48 * time.Hour}, {48 * time.Hour, 0}, {-48 * time.Hour, 0},
		{-26 * time.Hour, 26 * time.Hour},
	} {
		t.Run(c.owner.String()+" "+c.observer.String(), func(t *testing.T) { onBothDatabases(t, c.test) })
	}
}

type clockCase struct{ owner, observer time.Duration }

func (c clockCase) test(s *suite) {
	ctx := s.Context()
	open := func(off time.Duration) *ledger.Ledger {
		s.config.Now = func() time.Time { return time.Now().Add(off) }
		return s.open()
	}
	const lease = 40 * time.Second
	s.config.Clock, s.config.Lease = nil, lease
	open(0) // the first one sets the clock of an SQLite ledger
	owner, observer := open(c.owner), open(c.observer)
	// What a loaded machine takes for a few statements; the clocks are hours apart.
	const slow = 10 * time.Second
	near := func(what string, at time.Time, after, since time.Duration) {
		s.Helper()
		if off := at.Sub(s.databaseNow()) - after; off > slow || off < -slow-since {
			s.Errorf("%s is %s, %s off", what, at, off)
		}
	}
	rows := s.add(owner, "a", reports("a", 3)...)
	s.send(owner, rows[0])
	s.exec(`UPDATE processes
		SET host = 'elsewhere'
		WHERE id = (SELECT owner FROM rows WHERE result = 'placing')`)
	if n := s.sweep(observer); n != 0 {
		s.Fatal("a living process was robbed")
	}
	near("the change", s.row(observer, rows[0].ID).UpdatedAt, 0, 0)
	all, err := observer.Fleet().Processes(ctx)
	s.must(err)
	for _, p := range all {
		if !p.Alive {
			s.Errorf("%+v", p)
		}
		near("the lease", p.ExpiresAt, lease, lease/3) // it is renewed three times
	}

	for _, l := range []*ledger.Ledger{owner, observer} {
		s.must(l.Fleet().RecordBusy(ctx, 30*time.Minute))
		for _, looking := range []*ledger.Ledger{owner, observer} {
			h, err := looking.Fleet().Halt(ctx)
			if s.must(err); h.Reason != filing.HaltRate {
				s.Fatalf("%+v", h)
			}
			near("the end of the hold", h.Until, 30*time.Minute, 0)
		}
		s.exec(`UPDATE control SET hold_until = 0`)
	}

	s.must(owner.Defer(ctx, ledger.Deferral{
		Row:     rows[1].ID,
		Next:    filing.Ready,
		Due:     owner.Now().Add(time.Minute),
		Message: "later",
	}))
	if ids, err := observer.Backlog().ListSendable(ctx, "", 10); err != nil || len(ids) != 1 || ids[0] != rows[2].ID {
		s.Errorf("%v may be sent, %v", ids, err)
	}
	s.must(observer.Defer(ctx, ledger.Deferral{
		Row:     rows[1].ID,
		Next:    filing.Ready,
		Due:     observer.Now().Add(-slow), // what each knows of a server's time is as old as its last answer
		Message: "now",
	}))
	if ids, err := owner.Backlog().ListSendable(ctx, "", 10); err != nil || len(ids) != 2 {
		s.Errorf("%v may be sent, %v", ids, err)
	}

	// A dead process is dead, however far ahead its clock was.
	s.exec(`UPDATE processes SET expires_at = expires_at - 40000 WHERE host = 'elsewhere'`)
	if n := s.sweep(observer); n != 1 {
		s.Errorf("%d orphans of a process whose lease has run out", n)
	}
}

// The clock of an SQLite ledger goes on by itself while a process lives. The
// first process after that sets it by the machine's, and what was to come is as
// far off as before.
func TestClockThatWasSet(t *testing.T) {
	s := &suite{T: t, config: ledger.Config{Dir: t.TempDir()}}
	ctx := t.Context()
	open := func(off time.Duration) *ledger.Ledger {
		s.config.Now = func() time.Time { return time.Now().Add(off) }
		return s.open()
	}
	near := func(what string, got, want time.Time) {
		t.Helper()
		if off := got.Sub(want); off > 10*time.Second || off < -10*time.Second {
			t.Errorf("%s is %s, want %s", what, got, want)
		}
	}
	ahead := open(48 * time.Hour)
	near("the ledger's clock", ahead.Now(), time.Now().Add(48*time.Hour))
	row := s.add(ahead, "a", reports("a", 1)...)[0]
	s.must(ahead.Defer(ctx, ledger.Deferral{
		Row:     row.ID,
		Next:    filing.Ready,
		Due:     ahead.Now().Add(20 * time.Minute),
		Message: "later",
	}))
	s.must(ahead.Fleet().RecordBusy(ctx, 30*time.Minute))
	beside := open(0)
	near("the clock of two processes", beside.Now(), ahead.Now())
	near("the clock of two processes", ahead.Now(), time.Now().Add(48*time.Hour))
	s.must(ahead.Close())
	s.must(beside.Close())

	alone := open(0)
	near("the ledger's clock", alone.Now(), time.Now())
	h, err := alone.Fleet().Halt(ctx)
	s.must(err)
	near("the end of the hold", h.Until, time.Now().Add(30*time.Minute))
	f, err := alone.Figures(ctx, "a")
	s.must(err)
	near("the moment of the row", f.NextDue, time.Now().Add(20*time.Minute))
	if err := alone.Audit(ctx); err != nil {
		t.Error(err)
	}
}

// The time of a change is that of its turn, not of the moment it began to wait.
func TestTimeOfAChangeIsThatOfItsTurn(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		if s.config.DatabaseURL == "" {
			return // its processes take turns before they ask for the time
		}
		s.config.Clock = nil
		l := s.open()
		row := s.add(l, "a", reports("a", 1)...)[0]
		db := s.sql()
		tx, err := db.BeginTx(s.Context(), nil)
		s.must(err)
		defer tx.Rollback()
		_, err = tx.ExecContext(s.Context(), `SELECT id FROM control FOR UPDATE`)
		s.must(err)
		sent := make(chan error)
		go func() {
			begun, err := l.Begin(s.Context(), intent(row))
			if err == nil && begun.Attempt != 1 {
				s.Errorf("%+v", begun)
			}
			sent <- err
		}()
		for waiting := 0; waiting == 0; {
			s.must(db.QueryRowContext(s.Context(),
				`SELECT COUNT(*) FROM pg_stat_activity
					WHERE wait_event_type = 'Lock' AND query LIKE '%control%FOR UPDATE%' AND query LIKE '%lineage%'`).
				Scan(&waiting))
		}
		_, err = tx.ExecContext(s.Context(), `SELECT pg_sleep(0.2)`)
		s.must(err)
		turn := s.databaseNow()
		s.must(tx.Rollback())
		s.must(<-sent)
		if at := s.row(l, row.ID).UpdatedAt; at.Before(turn.Add(-time.Millisecond)) {
			s.Errorf("the intent is of %s, and its turn came at %s", at, turn)
		}
	})
}

// A service that names a very long wait is obeyed for the longest that anybody
// waits.
func TestLongestHold(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		l, other := s.open(), s.open()
		s.must(l.Fleet().RecordBusy(s.Context(), 5*time.Hour))
		if h, err := other.Fleet().Halt(s.Context()); err != nil || !h.Until.Equal(s.clock().Add(time.Hour)) {
			s.Errorf("%+v, %v", h, err)
		}
		s.pass(time.Hour)
		if h, err := other.Fleet().Halt(s.Context()); err != nil || h.Reason != filing.NoHalt {
			s.Errorf("%+v, %v", h, err)
		}
	})
}
