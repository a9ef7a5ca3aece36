package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
)

// copied is a snapshot in memory.
type copied struct {
	ledger.Snapshot
	rows [][][]any // by table
}

// export copies a ledger; during is called after the first row.
func export(ctx context.Context, l *ledger.Ledger, during func()) (*copied, error) {
	c := &copied{}
	err := l.Export(ctx, func(s *ledger.Snapshot) error {
		c.Snapshot, c.rows = *s, make([][][]any, len(s.Tables))
		return nil
	}, func(table int, values []any) error {
		c.rows[table] = append(c.rows[table], values)
		if during != nil {
			during()
			during = nil
		}
		return nil
	})
	return c, err
}

// load puts a snapshot in the place of a ledger, as importer restore does.
func (c *copied) load(s *store, at ledger.Location) (kept string, uncertain int) {
	s.Helper()
	ctx := s.Context()
	to, err := ledger.NewCopy(ctx, at, &c.Snapshot)
	s.must(err)
	defer func() { s.must(to.Remove()) }()
	for table, rows := range c.rows {
		for _, values := range rows {
			s.must(to.Add(ctx, table, slices.Clone(values)))
		}
	}
	l, err := to.Finish(ctx)
	s.must(err)
	s.must(l.Audit(ctx))
	by := ledger.Restore{By: "ana", Host: "desk", File: "a.backup"}
	s.must(errors.Join(l.HaltRestored(ctx, &c.Snapshot, &by), l.Close()))
	uncertain = by.Uncertain
	kept, err = to.Publish(ctx)
	s.must(err)
	return kept, uncertain
}

// text is a table without regard to the order of its rows and to what the databases
// call bytes.
func (c *copied) text(name string) []string {
	i := slices.IndexFunc(c.Tables, func(t ledger.SnapshotTable) bool { return t.Name == name })
	var lines []string
	for _, values := range c.rows[i] {
		line := ""
		for _, v := range values {
			line += fmt.Sprintf("|%s", strings.TrimPrefix(fmt.Sprintf("%v", v), " "))
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

// databases are the places that a copy is restored into.
func databases(t *testing.T) map[string]string {
	all := map[string]string{"SQLite": ""}
	if server := os.Getenv("TEST_DATABASE_URL"); server != "" {
		all["PostgreSQL"] = ledgertest.Schema(t, server)
	}
	return all
}

// A snapshot is of one commit, whatever is written meanwhile; it is restored into
// either database with every row of every table, and starts halted.
//
//nolint:gocognit // two databases, each restored into the other
func TestSnapshotIsRestoredIntoEitherDatabase(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		ctx, l := s.Context(), s.open()
		s.must(l.RecordDeposit(ctx, 1_000_000, "a bank’s wire"))
		rows := s.add(l, "a", reports("a", 30)...)
		for _, r := range rows[:10] {
			s.place(l, r)
		}
		s.send(l, rows[10])
		s.send(l, rows[11])
		s.answer(l, rows[11], filing.NoAnswer)
		before, err := export(ctx, l, func() { s.place(l, rows[12]) })
		s.must(err)
		s.want(l, rows[12], filing.Placed, 0)
		if n := len(before.text("rows")); n != 30 {
			s.Fatalf("%d rows were copied", n)
		}
		for name, database := range databases(s.T) {
			s.Run(name, func(t *testing.T) {
				to := &store{T: t, config: s.config, now: s.clock()}
				to.config.Dir, to.config.DatabaseURL = t.TempDir(), database
				kept, uncertain := before.load(to, ledger.Location{Dir: to.config.Dir, DatabaseURL: database})
				if kept != "" || uncertain != 1 {
					t.Errorf("kept %q, %d uncertain", kept, uncertain)
				}
				there := to.open()
				to.want(there, rows[9], filing.Placed, 0)
				to.want(there, rows[10], filing.Uncertain, cost)
				to.want(there, rows[11], filing.Uncertain, cost)
				to.want(there, rows[12], filing.Ready, 0)
				if h, err := there.Fleet().Halt(ctx); err != nil || h.Reason != filing.HaltRestored ||
					!strings.Contains(h.Note, "restored from a backup of 2026-03-01 09:00 UTC") {
					t.Errorf("%+v, %v", h, err)
				}
				if begun := to.begin(there, intent(rows[12])); begun.Halted.Reason != filing.HaltRestored {
					t.Errorf("a row goes out: %+v", begun)
				}
				after, err := export(ctx, there, nil)
				to.must(err)
				for _, table := range before.Tables {
					if slices.Contains([]string{"control", "rows", "attempts", "restores", "acts"}, table.Name) {
						continue // the halt, the row that was being sent, and the restore
					}
					if !slices.Equal(before.text(table.Name), after.text(table.Name)) {
						t.Errorf("table %s:\n%s\nwas\n%s", table.Name, after.text(table.Name), before.text(table.Name))
					}
				}
				// New rows count on from those that were copied.
				more := to.add(there, "b", reports("b", 2)...)
				if more[0].ID <= rows[29].ID {
					t.Errorf("row %d", more[0].ID)
				}
				to.must(there.Audit(ctx))
			})
		}
	})
}

// A process that had the ledger open when it was restored sends nothing in it, even
// after the halt has ended, and changes nothing. The answers to its orders are
// recorded for the rows that the backup has, and for no other row of the same id.
func TestProcessOfAnEarlierGeneration(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		ctx := s.Context()
		s.config.Clock = nil
		old := s.open()
		s.must(old.RecordDeposit(ctx, 1_000_000, ""))
		rows := s.add(old, "a", reports("a", 6)...)
		s.place(old, rows[0])
		backup, err := export(ctx, old, nil)
		s.must(err)
		s.place(old, rows[1])
		try := s.send(old, rows[2])
		lost := s.add(old, "lost", reports("lost", 1)...)
		lostTry := s.send(old, lost[0])
		lostAnswer := outcome(s.row(old, lost[0].ID), lostTry, filing.Accepted)

		at := ledger.Location{Dir: s.config.Dir, DatabaseURL: s.config.DatabaseURL}
		to, err := ledger.NewCopy(ctx, at, &backup.Snapshot)
		s.must(err)
		_, err = to.Publish(ctx)
		if !errors.Is(err, ledger.ErrInUse) {
			s.Fatalf("a ledger that a process has open is replaced: %v", err)
		}
		s.must(to.Remove())

		// It is cut off: its lease has run out, and its machine is not this one.
		s.silence(old)
		backup.load(s, at)

		fresh := s.open()
		s.must(fresh.Restores().NothingOrdered(ctx))
		s.exec(`UPDATE control SET settling_until = 0`)
		other := s.add(fresh, "other", reports("other", 1)...)
		if other[0].ID != lost[0].ID {
			s.Fatalf("row %d, want %d", other[0].ID, lost[0].ID)
		}
		for _, r := range []ledger.Row{rows[3], rows[4]} {
			if begun := s.begin(old, intent(r)); begun.Try != 0 || begun.Halted.Reason != filing.HaltRestored ||
				!strings.Contains(begun.Halted.Note, "start it again") {
				s.Errorf("the old process sends row %d: %+v", r.ID, begun)
			}
		}
		if h, err := old.Fleet().Halt(ctx); err != nil || h.Reason != filing.HaltRestored {
			s.Errorf("%+v, %v", h, err)
		}
		if err := old.RecordDeposit(ctx, 1, ""); !errors.Is(err, ledger.ErrGeneration) {
			s.Errorf("a deposit of the old process: %v", err)
		}
		// What it sent is known again, with the answer that is still to come.
		s.want(fresh, rows[1], filing.Placed, 0)
		s.want(fresh, rows[2], filing.Placing, cost)
		s.must(old.RecordOutcome(ctx, outcome(s.row(fresh, rows[2].ID), try, filing.Accepted)))
		s.want(fresh, rows[2], filing.Placed, 0)
		// The row of the same id is another one.
		if err := old.RecordOutcome(ctx, lostAnswer); !errors.Is(err, ledger.ErrGeneration) {
			s.Errorf("the answer of a lost row: %v", err)
		}
		s.want(fresh, other[0], filing.Ready, 0)
		s.exec(`UPDATE control SET settling_until = 0`)
		s.place(fresh, rows[3])
		s.place(fresh, other[0])
		s.must(fresh.Audit(ctx))
	})
}

// silence makes a process look dead: its lease has run out, and its lock is gone.
func (s *store) silence(l *ledger.Ledger) {
	s.Helper()
	s.exec(`UPDATE owners SET expires_at = 0, host = 'elsewhere'`)
	if s.config.DatabaseURL == "" {
		s.must(ledger.ReleaseLock(l))
	}
}

// A snapshot of another organization, or of the other environment, is refused.
func TestSnapshotOfAnotherOwner(t *testing.T) {
	one := ledger.Organization{Name: "One", CreatedAt: "2026-01-01T00:00:00Z"}
	two := ledger.Organization{Name: "Two", CreatedAt: "2026-02-01T00:00:00Z"}
	s := &ledger.Snapshot{Mode: "test", Organizations: []ledger.Organization{one}}
	for _, c := range []struct {
		mode  string
		known []ledger.Organization
		want  error
	}{
		{"", nil, nil},
		{"test", []ledger.Organization{two, one}, nil},
		{"live", []ledger.Organization{one}, ledger.ErrMode},
		{"test", []ledger.Organization{two}, ledger.ErrOrganization},
	} {
		if err := s.CheckOwner(c.mode, c.known); !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s %v: %v, want %v", c.mode, c.known, err, c.want)
		}
	}
}

// A snapshot that does not fit its schema is refused, and nothing of it is left.
func TestSnapshotThatIsNotALedger(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		ctx, l := s.Context(), s.open()
		good, err := export(ctx, l, nil)
		s.must(err)
		at := ledger.Location{Dir: t.TempDir(), DatabaseURL: s.config.DatabaseURL}
		for what, c := range map[string]struct {
			change func(*ledger.Snapshot)
			want   error
		}{
			"newer": {func(s *ledger.Snapshot) { s.Migrations = append(slices.Clone(s.Migrations), 999) },
				ledger.ErrNewer},
			"a table": {func(s *ledger.Snapshot) { s.Tables = s.Tables[1:] }, ledger.ErrSnapshot},
			"a name": {func(s *ledger.Snapshot) {
				s.Tables = slices.Clone(s.Tables)
				s.Tables[0].Name = "sqlite_master"
			}, ledger.ErrSnapshot},
			"a column": {func(s *ledger.Snapshot) {
				s.Tables = slices.Clone(s.Tables)
				s.Tables[0].Columns = append(slices.Clone(s.Tables[0].Columns), "more")
			}, ledger.ErrSnapshot},
		} {
			bad := good.Snapshot
			c.change(&bad)
			if _, err := ledger.NewCopy(ctx, at, &bad); !errors.Is(err, c.want) {
				s.Errorf("%s: %v, want %v", what, err, c.want)
			}
			if left, _ := os.ReadDir(at.Dir); len(left) > 0 {
				s.Errorf("%s: %v is left", what, left)
			}
		}
	})
}
