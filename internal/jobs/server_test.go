package jobs_test

import (
	"net/url"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
)

// servers are where a test's ledger and queue are; empty for within the process.
type servers struct {
	database, redis string
	dir             string // the data folder; empty for a new one
}

// onBothTransports runs a test with SQLite and the Redis in the process and,
// where TEST_DATABASE_URL and TEST_REDIS_URL name servers, with PostgreSQL and a
// real Redis. On CI the servers must be there.
func onBothTransports(t *testing.T, test func(*testing.T, servers)) {
	t.Run("in process", func(t *testing.T) { test(t, servers{}) })
	database, redis := os.Getenv("TEST_DATABASE_URL"), os.Getenv("TEST_REDIS_URL")
	if database == "" || redis == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("TEST_DATABASE_URL and TEST_REDIS_URL are not set: on CI the tests on real servers must run")
		}
		return
	}
	t.Run("PostgreSQL and Redis", func(t *testing.T) {
		test(t, servers{database: ledgertest.Database(t, database), redis: emptyRedis(t, redis)})
	})
}

// emptyRedis empties the database of a Redis server that these tests have to themselves,
// and returns its address.
func emptyRedis(t *testing.T, server string) string {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/11"
	flush(t, u.String())
	return u.String()
}

// flush empties a Redis database, as an operator might.
func flush(tb testing.TB, server string) {
	tb.Helper()
	o, err := redis.ParseURL(server)
	if err != nil {
		tb.Fatal(err)
	}
	c := redis.NewClient(o)
	defer c.Close()
	if err := c.FlushDB(tb.Context()).Err(); err != nil {
		tb.Fatal(err)
	}
}
