package ledgertest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// Dir returns a data folder with an empty, migrated SQLite ledger. A copy takes a tenth of the time
// of the migrations.
func Dir(tb testing.TB) string {
	tb.Helper()
	file, err := migrated()
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ledger.db"), file, 0o600); err != nil {
		tb.Fatal(err)
	}
	return dir
}

// Open opens a ledger until the test ends. Without a folder it is an empty SQLite ledger.
func Open(tb testing.TB, c ledger.Config) *ledger.Ledger {
	tb.Helper()
	if c.Dir == "" {
		c.Dir = Dir(tb)
	}
	c.Gate = approval.Gate{}
	l, err := ledger.Open(tb.Context(), c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { l.Close() })
	return l
}

// Submit opens a batch of rows and returns them as the ledger has them.
func Submit(tb testing.TB, l *ledger.Ledger, b ledger.Batch, rows ...ledger.Row) []ledger.Row {
	tb.Helper()
	ctx := tb.Context()
	_, err := l.CreateBatch(ctx, b)
	if err = errors.Join(err, l.AddRows(ctx, b.ID, rows), l.OpenBatch(ctx, b.ID)); err != nil {
		tb.Fatal(err)
	}
	var stored []ledger.Row
	for r, err := range l.Rows(ctx, b.ID) {
		if err != nil {
			tb.Fatal(err)
		}
		stored = append(stored, r)
	}
	return stored
}

// migrated is the file of an unused ledger.
var migrated = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	l, err := ledger.Open(context.Background(), ledger.Config{Dir: dir})
	if err != nil {
		return nil, err
	}
	if err := l.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, "ledger.db"))
})
