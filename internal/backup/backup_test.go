package backup_test

import (
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/backup"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		if e.Name() != ".lock" {
			names = append(names, e.Name())
		}
	}
	return names
}

// A backup never replaces a file, and a failed one leaves none.
func TestWrite(t *testing.T) {
	l, dir := ledgertest.Open(t, ledger.Config{}), t.TempDir()
	file := filepath.Join(dir, "ledger.db")
	for range 2 {
		_, err := backup.Write(t.Context(), l, file)
		if _, is := os.Stat(file); is != nil || (err != nil && !errors.Is(err, backup.ErrExists)) {
			t.Errorf("%v, %v", err, is)
		}
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	must(t, l.Entries().RecordDeposit(t.Context(), 100, ""))
	db, err := sql.Open("sqlite", filepath.Join(l.Dir, "ledger.db"))
	must(t, err)
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), `UPDATE entries SET amount = 1`); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Write(t.Context(), l, filepath.Join(dir, "wrong.db")); !errors.Is(err, backup.ErrWrong) {
		t.Errorf("a ledger that does not add up: %v", err)
	}
	if names := files(t, dir); len(names) != 1 {
		t.Errorf("%q", names)
	}
	server := ledgertest.Open(t, ledger.Config{DatabaseURL: ledgertest.Database(t, ledgertest.Server(t))})
	if _, err := backup.Write(t.Context(), server, filepath.Join(dir, "pg.db")); !errors.Is(err, store.ErrServer) {
		t.Errorf("PostgreSQL: %v", err)
	}
}

// One backup a day is written, and the newest are kept. Other files stay.
func TestDaily(t *testing.T) {
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	l := ledgertest.Open(t, ledger.Config{Clock: func() time.Time { return now }})
	d := backup.Daily{Ledger: l, Name: "firm", Dir: t.TempDir(), Keep: 2, Log: slog.New(slog.DiscardHandler)}
	others := []string{"firm-20200101T000000Z", "firm-20990101T000000Z.db", "other.db"}
	for _, name := range append(others, ".ledger-1.unfinished") {
		must(t, os.WriteFile(filepath.Join(d.Dir, name), nil, 0o600))
	}
	for range 4 {
		for range 2 {
			must(t, d.WriteDue(t.Context()))
		}
		now = now.Add(24 * time.Hour)
		if _, err := l.Fleet().Halt(t.Context()); err != nil { // reads the clock
			t.Fatal(err)
		}
	}
	want := []string{others[0], "firm-20260304T090000Z.db", others[1], others[2]}
	if names := files(t, d.Dir); !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	last, err := backup.Newest(d.Dir, "firm", now)
	if err != nil || !last.Equal(time.Date(2026, 3, 4, 9, 0, 0, 0, time.UTC)) {
		t.Errorf("%s, %v", last, err)
	}
}

// A failure is notified once, and so is the end of it.
func TestDaily_Fails(t *testing.T) {
	l := ledgertest.Open(t, ledger.Config{})
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	d := backup.Daily{
		Ledger: l,
		Name:   "firm",
		Dir:    filepath.Join(file, "backups"),
		Keep:   2,
		Log:    slog.New(slog.DiscardHandler),
	}
	notified := func() int {
		all, err := l.Notifications().List(t.Context(), 10)
		must(t, err)
		return len(all)
	}
	for range 2 {
		if err := d.WriteDue(t.Context()); err == nil {
			t.Error("it is written into a file")
		}
	}
	if n := notified(); n != 1 {
		t.Errorf("%d notifications", n)
	}
	d.Dir = t.TempDir()
	if err := d.WriteDue(t.Context()); err != nil {
		t.Error(err)
	}
	if n := notified(); n != 2 {
		t.Errorf("%d notifications", n)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
