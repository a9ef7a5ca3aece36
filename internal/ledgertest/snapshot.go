package ledgertest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Restorable is a place for a ledger that can be taken back in time while
// processes have it open.
type Restorable struct {
	testing.TB
	Dir      string
	Database string // what ledger.Config takes as DatabaseURL

	server     *sql.DB
	name, copy string
}

// OnBothRestorable runs a suite on an SQLite file and, where TEST_DATABASE_URL
// names a server, on a PostgreSQL database of its own.
func OnBothRestorable(t *testing.T, suite func(*testing.T, *Restorable)) {
	t.Run("SQLite", func(t *testing.T) { suite(t, &Restorable{TB: t, Dir: t.TempDir()}) })
	server := os.Getenv("TEST_DATABASE_URL")
	if server == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("TEST_DATABASE_URL is not set: on CI the PostgreSQL suite must run")
		}
		return
	}
	t.Run("PostgreSQL", func(t *testing.T) {
		db, err := sql.Open("pgx", server)
		if err != nil {
			t.Fatal(err)
		}
		r := &Restorable{TB: t, Dir: t.TempDir(), server: db, name: "t" + strings.ToLower(rand.Text())}
		r.copy = r.name + "_copy"
		r.exec("CREATE DATABASE " + r.name)
		t.Cleanup(func() {
			for _, name := range []string{r.name, r.copy, r.name + "_lost"} {
				if _, err := db.ExecContext(context.Background(),
					"DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
					t.Error(err)
				}
			}
			db.Close()
		})
		u, err := url.Parse(server)
		if err != nil {
			t.Fatal(err)
		}
		u.Path = "/" + r.name
		r.Database = u.String()
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

// alone runs statements on the server while nobody is connected to the ledger.
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

// Keep makes the copy that Restore goes back to, in place of an earlier one.
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

// Restore puts the copy in the place of the ledger, as a stand-by does that lacks
// the last commits, or a person with a backup. It may be called again.
//
// The product asks a person to stop every process first. Here none is stopped, and
// so the log of an SQLite file goes before the file: a log that stayed would be
// taken for that of the copy. A connection that is made in between sees the old file
// without its log; those that are open, of the writers above all, have both.
func (r *Restorable) Restore() {
	r.Helper()
	if r.server != nil {
		r.exec("DROP DATABASE IF EXISTS " + r.name + "_lost WITH (FORCE)")
		r.alone("ALTER DATABASE "+r.name+" RENAME TO "+r.name+"_lost", "CREATE DATABASE "+r.name+" TEMPLATE "+r.copy)
		return
	}
	path := filepath.Join(r.Dir, "ledger.db")
	from, err := os.Open(filepath.Join(r.Dir, "copy.db"))
	if err != nil {
		r.Fatal(err)
	}
	defer from.Close()
	to, err := os.Create(path + ".restored")
	if err != nil {
		r.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		r.Fatal(err)
	}
	if err := to.Close(); err != nil {
		r.Fatal(err)
	}
	for _, beside := range []string{"-wal", "-shm"} {
		if err := os.Remove(path + beside); err != nil {
			r.Fatal(err)
		}
	}
	if err := os.Rename(path+".restored", path); err != nil {
		r.Fatal(err)
	}
}
