// Package ledgertest gives tests a database each.
package ledgertest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"net/url"
	"os"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver of schemas
)

// OnBoth runs a suite on SQLite and, where TEST_DATABASE_URL names a server, on
// PostgreSQL. On CI the server must be there. The suite is given what
// ledger.Config takes as DatabaseURL: an empty place of its own.
func OnBoth(t *testing.T, suite func(t *testing.T, database string)) {
	t.Run("SQLite", func(t *testing.T) { suite(t, "") })
	server := os.Getenv("TEST_DATABASE_URL")
	if server == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("TEST_DATABASE_URL is not set: on CI the PostgreSQL suite must run")
		}
		return
	}
	t.Run("PostgreSQL", func(t *testing.T) { suite(t, Schema(t, server)) })
}

// Server returns the address of the PostgreSQL server that TEST_DATABASE_URL names.
// Without one, the test is skipped; on CI it fails.
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

// Schema makes an empty place on a server, which goes with the test.
func Schema(tb testing.TB, server string) string {
	tb.Helper()
	db, err := sql.Open("pgx", server)
	if err != nil {
		tb.Fatal(err)
	}
	name := "t" + strings.ToLower(rand.Text())
	if _, err := db.ExecContext(tb.Context(), "CREATE SCHEMA "+name); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if _, err := db.ExecContext(context.Background(), "DROP SCHEMA "+name+" CASCADE"); err != nil {
			tb.Error(err)
		}
		db.Close()
	})
	u, err := url.Parse(server)
	if err != nil {
		tb.Fatal(err)
	}
	q := u.Query()
	q.Set("search_path", name)
	u.RawQuery = q.Encode()
	return u.String()
}

// Exec runs a statement on a PostgreSQL ledger beside its processes.
func Exec(ctx context.Context, database, statement string) error {
	db, err := sql.Open("pgx", database)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, statement)
	return err
}
