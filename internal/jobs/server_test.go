package jobs_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"net/url"
	"strings"
	"testing"
)

// newDatabase makes an empty database on the server and drops it after the test.
func newDatabase(tb testing.TB, server string) string {
	tb.Helper()
	db, err := sql.Open("pgx", server)
	if err != nil {
		tb.Fatal(err)
	}
	name := "t" + strings.ToLower(rand.Text())
	if _, err := db.ExecContext(tb.Context(), "CREATE DATABASE "+name); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if _, err := db.ExecContext(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			tb.Error(err)
		}
		db.Close()
	})
	u, err := url.Parse(server)
	if err != nil {
		tb.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}
