// Package ledgertest provides each test with its own database.
package ledgertest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver pgx

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// OnBoth runs a suite on SQLite and, if TEST_DATABASE_URL names a server, on PostgreSQL. CI
// requires the server. The suite receives the DatabaseURL of ledger.Config, which is a separate,
// migrated ledger.
func OnBoth(t *testing.T, suite func(t *testing.T, database string)) {
	t.Run("SQLite", func(t *testing.T) { suite(t, "") })
	server := os.Getenv("TEST_DATABASE_URL")
	if server == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("TEST_DATABASE_URL is not set: on CI the PostgreSQL suite must run")
		}
		return
	}
	t.Run("PostgreSQL", func(t *testing.T) { suite(t, Database(t, server)) })
}

// Server returns the address of the PostgreSQL server that TEST_DATABASE_URL names. Without it, the
// test is skipped, or fails on CI.
func Server(tb testing.TB) string {
	tb.Helper()
	server := os.Getenv("TEST_DATABASE_URL")
	if server == "" && os.Getenv("CI") != "" {
		tb.Fatal("TEST_DATABASE_URL is not set: on CI this test must run")
	}
	if server == "" {
		tb.Skip("TEST_DATABASE_URL is not set")
	}
	return server
}

// Database creates a migrated PostgreSQL ledger and drops it after the test. A copy of a template
// takes a fraction of the time of the migrations.
func Database(tb testing.TB, server string) string {
	tb.Helper()
	from, err := template(tb.Context(), server)
	if err != nil {
		tb.Fatal(err)
	}
	name := "ledger_test_" + strings.ToLower(rand.Text())
	if err := Exec(tb.Context(), server, "CREATE DATABASE "+name+" TEMPLATE "+from+" STRATEGY file_copy"); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { exec(tb, server, "DROP DATABASE "+name+" WITH (FORCE)") })
	address, err := withPath(server, name)
	if err != nil {
		tb.Fatal(err)
	}
	return address
}

// template returns the name of a database with an empty, migrated ledger. Its name depends on the
// migrations. All test processes share it, and it stays on the server.
func template(ctx context.Context, server string) (string, error) {
	hash := sha256.New()
	files, err := fs.Glob(store.Migrations, "migrations/*.sql")
	if err != nil {
		return "", err
	}
	for _, file := range files {
		text, err := store.Migrations.ReadFile(file)
		if err != nil {
			return "", err
		}
		hash.Write(text)
	}
	name := fmt.Sprintf("ledger_template_%x", hash.Sum(nil)[:8])

	db, err := sql.Open("pgx", server)
	if err != nil {
		return "", err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock(hashtext($1))", name); err != nil {
		return "", err
	}
	defer conn.ExecContext(context.Background(), "SELECT pg_advisory_unlock(hashtext($1))", name)
	var ready bool
	err = conn.QueryRowContext(ctx, "SELECT count(*) > 0 FROM pg_database WHERE datname = $1", name).Scan(&ready)
	if err != nil || ready {
		return name, err
	}
	unfinished := name + "_unfinished"
	for _, statement := range []string{
		"DROP DATABASE IF EXISTS " + unfinished + " WITH (FORCE)",
		"CREATE DATABASE " + unfinished,
	} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return "", err
		}
	}
	if err := migrate(ctx, server, unfinished); err != nil {
		return "", err
	}
	_, err = conn.ExecContext(ctx, "ALTER DATABASE "+unfinished+" RENAME TO "+name)
	return name, err
}

// migrate creates the tables of a ledger in a database.
func migrate(ctx context.Context, server, name string) error {
	address, err := withPath(server, name)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	l, err := ledger.Open(ctx, ledger.Config{Dir: dir, DatabaseURL: address})
	if err != nil {
		return err
	}
	if err := l.Close(); err != nil {
		return err
	}
	// Clear the lineage so that each copy starts a new one.
	return Exec(ctx, address, "UPDATE control SET lineage = '', commits = 0, server_started = ''")
}

// withPath returns the address of another database on the server.
func withPath(server, name string) (string, error) {
	address, err := url.Parse(server)
	if err != nil {
		return "", err
	}
	address.Path = "/" + name
	return address.String(), nil
}

// Schema creates an empty schema on a server and drops it after the test.
func Schema(tb testing.TB, server string) string {
	tb.Helper()
	name := "t" + strings.ToLower(rand.Text())
	exec(tb, server, "CREATE SCHEMA "+name)
	tb.Cleanup(func() { exec(tb, server, "DROP SCHEMA "+name+" CASCADE") })
	u, err := url.Parse(server)
	if err != nil {
		tb.Fatal(err)
	}
	q := u.Query()
	q.Set("search_path", name)
	u.RawQuery = q.Encode()
	return u.String()
}

// exec runs a statement on a server, even after the test's context has ended.
func exec(tb testing.TB, server, statement string) {
	tb.Helper()
	if err := Exec(context.Background(), server, statement); err != nil {
		tb.Errorf("%s: %v", statement, err)
	}
}

// Exec runs a statement on a PostgreSQL ledger outside the product's own connections.
func Exec(ctx context.Context, database, statement string) error {
	db, err := sql.Open("pgx", database)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, statement)
	return err
}
