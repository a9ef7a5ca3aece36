package ledgertest

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Restorable is a ledger that can go back in time while processes have it open.
type Restorable struct {
	testing.TB
	Dir string
	// Database is the DatabaseURL of ledger.Config.
	Database string

	server     *sql.DB
	name, copy string
}

// OnBothRestorable runs a suite on an SQLite file and, if TEST_DATABASE_URL names a server, on a
// separate PostgreSQL database.
func OnBothRestorable(t *testing.T, suite func(*testing.T, *Restorable)) {
	OnBoth(t, func(t *testing.T, database string) {
		r := &Restorable{TB: t, Dir: t.TempDir(), Database: database}
		if database != "" {
			var err error
			if r.server, err = sql.Open("pgx", os.Getenv("TEST_DATABASE_URL")); err != nil {
				t.Fatal(err)
			}
			u, err := url.Parse(database)
			if err != nil {
				t.Fatal(err)
			}
			r.name = strings.TrimPrefix(u.Path, "/")
			r.copy = r.name + "_copy"
			t.Cleanup(func() {
				r.exec("DROP DATABASE IF EXISTS "+r.copy+" WITH (FORCE)",
					"DROP DATABASE IF EXISTS "+r.name+"_lost WITH (FORCE)")
				r.server.Close()
			})
		}
		suite(t, r)
	})
}

func (r *Restorable) exec(statements ...string) {
	r.Helper()
	for _, s := range statements {
		if _, err := r.server.ExecContext(context.Background(), s); err != nil {
			r.Fatalf("%s: %v", s, err)
		}
	}
}

// alone runs statements on the server while no connection to the ledger is open.
func (r *Restorable) alone(statements ...string) {
	r.Helper()
	r.exec("ALTER DATABASE " + r.name + " WITH ALLOW_CONNECTIONS false")
	for left := 1; left > 0; {
		r.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + r.name + "'")
		if err := r.server.QueryRowContext(context.Background(),
			"SELECT COUNT(*) FROM pg_stat_activity WHERE datname = $1", r.name).Scan(&left); err != nil {
			r.Fatal(err)
		}
	}
	r.exec(statements...)
	r.exec("ALTER DATABASE " + r.name + " WITH ALLOW_CONNECTIONS true")
}

// Keep creates the copy that Restore goes back to. It replaces an earlier copy.
func (r *Restorable) Keep() {
	r.Helper()
	if r.server != nil {
		r.exec("DROP DATABASE IF EXISTS " + r.copy)
		r.alone("CREATE DATABASE " + r.copy + " TEMPLATE " + r.name)
		return
	}
	kept := filepath.Join(r.Dir, "copy.db")
	if err := os.Remove(kept); err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(r.Dir, "ledger.db")+"?_pragma=busy_timeout(10000)")
	if err != nil {
		r.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(context.Background(), `VACUUM INTO '`+kept+`'`); err != nil {
		r.Fatal(err)
	}
}

// Restore replaces the ledger with the copy, like a standby that lacks the last commits, or a
// person with a backup. It may be called again.
//
// The product asks a person to stop every process first. Restore stops none. It therefore removes
// the log of an SQLite file before it replaces the file, because SQLite would use a remaining log
// for the copy. A connection opened in between sees the old file without its log. Connections that
// are already open, especially connections of writers, still have both.
func (r *Restorable) Restore() {
	r.Helper()
	if r.server != nil {
		r.exec("DROP DATABASE IF EXISTS " + r.name + "_lost WITH (FORCE)")
		r.alone("ALTER DATABASE "+r.name+" RENAME TO "+r.name+"_lost", "CREATE DATABASE "+r.name+" TEMPLATE "+r.copy)
		return
	}
	path := filepath.Join(r.Dir, "ledger.db")
	content, err := os.ReadFile(filepath.Join(r.Dir, "copy.db"))
	if err == nil {
		err = os.WriteFile(path+".restored", content, 0o600)
	}
	for _, beside := range []string{"-wal", "-shm"} {
		if err == nil {
			err = os.Remove(path + beside)
		}
	}
	if err == nil {
		err = os.Rename(path+".restored", path)
	}
	if err != nil {
		r.Fatal(err)
	}
}
