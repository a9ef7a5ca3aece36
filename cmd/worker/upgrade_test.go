//go:build unix

package main

import (
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
)

// buildNext builds the worker of the next version, whose ledger has one migration more.
func buildNext(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "worker")
	c := exec.CommandContext(t.Context(), "go", "build", "-tags", "nextschema", "-o", bin, ".")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("build the next version: %v\n%s", err, out)
	}
	return bin
}

// upgraded is a fleet of which some workers are of the next version.
type upgraded struct {
	*fleet
	next     string
	database string // "" for SQLite in the data folder
}

// worker starts a worker of this version, or of the next one.
func (u *upgraded) worker(next bool) *process {
	u.Helper()
	vars := []string{}
	if u.database != "" {
		vars = append(vars, "DATABASE_URL="+u.database)
	}
	bin := os.Args[0]
	if next {
		bin = u.next
	}
	return u.startAs(bin, vars)
}

// openLedger opens the ledger with a program of this version.
func (u *upgraded) openLedger() (*ledger.Ledger, error) {
	if u.database != "" {
		return ledger.Open(u.Context(), ledger.Config{Dir: u.dir, DatabaseURL: u.database})
	}
	files, err := filepath.Glob(filepath.Join(u.dir, "accounts", "*", "ledger.db"))
	if err != nil || len(files) != 1 {
		u.Fatalf("%v, %v", files, err)
	}
	return ledger.Open(u.Context(), ledger.Config{Dir: filepath.Dir(files[0])})
}

// query reads one number of the ledger's tables, past the program.
func (u *upgraded) query(query string) (n int) {
	u.Helper()
	driver, name := "pgx", u.database
	if u.database == "" {
		files, _ := filepath.Glob(filepath.Join(u.dir, "accounts", "*", "ledger.db"))
		if len(files) != 1 {
			u.Fatalf("%v", files)
		}
		driver, name = "sqlite", "file:"+files[0]+"?mode=ro&_pragma=busy_timeout(5000)"
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		u.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(u.Context(), query).Scan(&n); err != nil {
		u.Fatal(err)
	}
	return n
}

// Workers of this version place orders while one of the next version starts and migrates
// the ledger. Each old worker notices, sends nothing more, records the answers that are
// out, and ends with a message that says what to do; the new one places the rest, and
// nothing is bought twice. The old version is refused from then on, and changes nothing.
//
//nolint:gocognit // one upgrade, told in its order
func TestRollingUpgrade(t *testing.T) {
	if testing.Short() {
		t.Skip("skipping a test that builds the worker in short mode")
	}
	t.Parallel()
	next := buildNext(t)
	ledgertest.OnBoth(t, func(t *testing.T, database string) {
		const rows = 150
		u := &upgraded{newFleet(t, 400*time.Millisecond), next, database}
		u.service.Deposit(1_000_000_00)
		u.open()
		if database == "" {
			u.fill(rows)
		} else {
			l, err := u.openLedger()
			if err != nil {
				t.Fatal(err)
			}
			u.fillInto(l, rows)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
		old := []*process{u.worker(false), u.worker(false)}
		for _, p := range old {
			p.await("it has orders out", func() bool {
				_, body := p.get("/metrics")
				return strings.Contains(body, "\nbulkfiling_orders_in_flight ") &&
					!strings.Contains(body, "\nbulkfiling_orders_in_flight 0\n")
			})
		}
		young := u.worker(true)
		for _, p := range old {
			p.exits(exitFailed)
			for _, words := range []string{`"msg":"worker outdated"`, `"msg":"worker draining"`,
				`"msg":"worker stopped"`, "the ledger was prepared by a newer version", "schema 90001",
				"use that version or a newer one"} {
				if !strings.Contains(p.said(), words) {
					t.Errorf("the log of an old worker does not have %s", words)
				}
			}
		}
		if n := u.query(`SELECT COUNT(*) FROM rows WHERE result = 'uncertain'`); n > 0 {
			t.Errorf("%d rows are uncertain: an answer in flight was not recorded", n)
		}
		before := u.query(`SELECT COUNT(*) FROM rows WHERE result = 'placed'`)
		if before == 0 || before == rows {
			t.Errorf("%d of %d rows were placed when the old workers had ended", before, rows)
		}

		// A rollback is refused, and nothing is half done.
		rolled := u.worker(false)
		rolled.exits(exitFailed)
		if !strings.Contains(rolled.said(), "the ledger was prepared by a newer version") ||
			!strings.Contains(rolled.said(), "restore the backup from before the update") {
			t.Error("the log of the old version does not say that the ledger is newer")
		}
		if n := u.query(`SELECT schema_version FROM control`); n != 90001 {
			t.Errorf("schema %d after the rollback", n)
		}
		if l, err := u.openLedger(); err == nil {
			_ = l.Close()
			t.Error("the old version opens the ledger")
		}

		young.await("all rows are placed", func() bool {
			return u.query(`SELECT COUNT(*) FROM rows WHERE result = '`+string(filing.Placed)+`'`) == rows
		})
		young.signal(syscall.SIGTERM)
		young.exits(exitDone)
		books := u.service.Books()
		if len(books.Orders) != rows || len(books.Duplicates()) > 0 {
			t.Errorf("%d orders for %d rows, bought twice: %v", len(books.Orders), rows, books.Duplicates())
		}
	})
}
