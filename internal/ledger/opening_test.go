package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// newLedgerFile creates a ledger that no process has open, and returns its folder.
func newLedgerFile(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	l, err := Open(t.Context(), Config{Dir: dir})
	if err == nil {
		err = l.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// A process may be suspended at any moment of its opening, and a person may replace
// the file meanwhile. What it does afterwards is in the file that everyone sees.
func TestTheFileIsReplacedWhileAProcessOpensIt(t *testing.T) {
	dir, ctx := newLedgerFile(t), t.Context()
	path := filepath.Join(dir, "ledger.db")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(ctx, store.Config{Dir: dir})
	err = errors.Join(err, os.WriteFile(path+".copy", content, 0o600), remove(path+"-wal"), remove(path+"-shm"),
		os.Rename(path+".copy", path))
	if err != nil {
		t.Fatal(err)
	}
	l, err := join(ctx, db, Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	other, err := Open(ctx, Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for _, id := range []string{"a", "b", "c"} {
		if _, err := l.CreateBatch(ctx, Batch{ID: id, File: id + ".csv", Product: filing.AnnualReport}); err != nil {
			t.Errorf("batch %s: %v", id, err)
		}
		if _, err := other.Batch(ctx, id); err != nil {
			t.Errorf("another process does not see what was committed: %v", err)
		}
	}
}

func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// A process that is opening the file has it in use from its first step on: no one
// restores another ledger into its place.
func TestAProcessThatOpensTheFileUsesIt(t *testing.T) {
	dir, ctx := newLedgerFile(t), t.Context()
	db, err := store.Open(ctx, store.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.CheckUnused(dir); !errors.Is(err, store.ErrInUse) {
		t.Errorf("a ledger that is being opened counts as unused: %v", err)
	}
	l, err := join(ctx, db, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.CheckUnused(dir); !errors.Is(err, store.ErrInUse) {
		t.Errorf("an open ledger counts as unused: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := store.CheckUnused(dir); err != nil {
		t.Errorf("a closed ledger is in use: %v", err)
	}
}

// A process whose opening fails leaves no lock behind.
func TestAFailedOpeningUsesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ledger.db"), []byte("no database"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Config{Dir: dir}); err == nil {
		t.Fatal("it opened")
	}
	if err := store.CheckUnused(dir); err != nil {
		t.Error(err)
	}
}
