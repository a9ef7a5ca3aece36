package backup

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
	"github.com/bulkfiling/bulkfiling/internal/secret"
)

// A schedule makes a backup when one is due, once for all processes; keeps the latest,
// and touches no other file. A failure is told once, tried again soon, and its end is
// told, too.
//
//nolint:gocognit // the days of one schedule, told in their order
func TestSchedule(t *testing.T) {
	ledgertest.OnBoth(t, func(t *testing.T, database string) {
		ctx := t.Context()
		var mu sync.Mutex
		now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
		clock := func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return now
		}
		pass := func(d time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			now = now.Add(d)
		}
		data, dir := ledgertest.Dir(t), filepath.Join(t.TempDir(), "backups")
		var all []*Schedule
		for range 2 {
			l, err := ledger.Open(ctx, ledger.Config{
				Dir:         data,
				DatabaseURL: database,
				Clock:       clock,
				Lease:       24 * time.Hour,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			all = append(all, &Schedule{
				Ledger:     l,
				Name:       "firm",
				Dir:        dir,
				Every:      6 * time.Hour,
				Keep:       2,
				Passphrase: secret.New("pass"),
				Log:        slog.New(slog.DiscardHandler),
			})
		}
		made := func(want int) {
			t.Helper()
			n := 0
			for _, s := range all {
				is, err := s.MakeDue(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if is {
					n++
				}
			}
			if n != want {
				t.Fatalf("%d backups were made, want %d", n, want)
			}
		}
		files := func() (names []string) {
			found, _ := filepath.Glob(filepath.Join(dir, "*"))
			for _, f := range found {
				names = append(names, filepath.Base(f))
			}
			return names
		}
		made(1)
		_, commits := all[0].Ledger.Fleet().Commits()
		made(0)
		if _, n := all[0].Ledger.Fleet().Commits(); n != commits {
			t.Errorf("%d commits while no backup was due", n-commits)
		}
		pass(6*time.Hour - time.Minute)
		made(0)
		mine := filepath.Join(dir, "firm-mine.backup")
		if err := os.WriteFile(mine, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			pass(6 * time.Hour)
			made(1)
		}
		if names := files(); len(names) != 3 || !strings.HasPrefix(names[0], "firm-20260302T025900Z") ||
			names[2] != "firm-mine.backup" {
			t.Errorf("%v", names)
		}
		last, err := all[0].Ledger.Backups().Last(ctx)
		if err != nil || !last.Encrypted || !last.Scheduled || last.Bytes == 0 {
			t.Errorf("%+v, %v", last, err)
		}
		if s, err := Verify(ctx, last.File, secret.New("pass")); err != nil || s.Commits != last.Commits {
			t.Errorf("%+v, %v", s, err)
		}

		// The folder is a file: it cannot be written to.
		for _, s := range all {
			s.Dir = mine
		}
		pass(6 * time.Hour)
		failures := 0
		for range 3 {
			for _, s := range all {
				if _, err := s.MakeDue(ctx); err != nil {
					failures++
				}
			}
			pass(20 * time.Minute)
		}
		if failures != 3 {
			t.Errorf("%d failures, want one in each 15 minutes", failures)
		}
		told := func(want ...string) {
			t.Helper()
			list, err := all[0].Ledger.Notifications().List(ctx, 10)
			if err != nil || len(list) != len(want) {
				t.Fatalf("%+v, %v", list, err)
			}
			failing := "Bulkfiling: the backup of ledger " + all[0].Name + " "
			for i, n := range list {
				if n.Kind != ledger.NotifyBackup || n.Subject != failing+want[i] {
					t.Errorf("%q, want %q", n.Subject, want[i])
				}
			}
		}
		told("failed")
		if b, err := all[0].Ledger.Backups().Last(ctx); err != nil || b.ID != last.ID {
			t.Errorf("the last backup is %+v, %v", b, err)
		}
		for _, s := range all {
			s.Dir = dir
		}
		made(1)
		told("works again", "failed")

		// A process dies while it makes one: another waits until it is known to be dead.
		pass(6 * time.Hour)
		_, due, err := all[0].Ledger.Backups().BeginDue(ctx, ledger.Backup{File: dir}, 6*time.Hour)
		if err != nil || !due {
			t.Fatalf("due %t, %v", due, err)
		}
		made(0)
		pass(2 * time.Minute)
		made(0) // the attempt of the dead one counts as failed
		pass(15 * time.Minute)
		made(1)

		// A stop in order fails nothing: the next process makes it at once.
		pass(6 * time.Hour)
		if is, err := all[0].MakeDue(stopAtFirstPart(t, dir)); is || err != nil {
			t.Errorf("made %t, %v", is, err)
		}
		told("works again", "failed")
		made(1)
	})
}

// stopAtFirstPart returns a context that ends once a backup in dir is begun. The key of
// the backup takes longer than that to make.
func stopAtFirstPart(t *testing.T, dir string) context.Context {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	cheap := workFactor
	workFactor = 17
	t.Cleanup(func() { workFactor = cheap })
	go func() {
		for ctx.Err() == nil {
			if parts, _ := filepath.Glob(filepath.Join(dir, ".backup-*.part")); len(parts) > 0 {
				stop()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	return ctx
}

// Ledgers of one name, such as two firms', may have one folder: each keeps its own.
func TestScheduleKeepsTheBackupsOfOthers(t *testing.T) {
	dir := t.TempDir()
	var all []*Schedule
	for range 3 {
		l := fill(t, ledger.Location{Dir: ledgertest.Dir(t)})
		all = append(all, &Schedule{
			Ledger: l,
			Name:   "bulkfiling",
			Dir:    dir,
			Every:  time.Millisecond,
			Keep:   1,
			Log:    slog.New(slog.DiscardHandler),
		})
	}
	for range 2 {
		for _, s := range all {
			time.Sleep(2 * time.Millisecond)
			if made, err := s.MakeDue(t.Context()); err != nil || !made {
				t.Fatal(made, err)
			}
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.backup")); len(left) != 3 {
		t.Errorf("three ledgers keep one backup each, and %d are left", len(left))
	}
}
