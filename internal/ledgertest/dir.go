package ledgertest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

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
