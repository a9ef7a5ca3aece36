package main

import (
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/bulkfiling/bulkfiling/internal/config"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
	"github.com/bulkfiling/bulkfiling/internal/nettest"
)

// openedPage is the page of a serve without a filing service.
func openedPage(t *testing.T) *page {
	t.Helper()
	env, err := config.Read(func(string) string { return "" })
	must(t, err)
	l := ledgertest.Open(t, ledger.Config{})
	p, err := openPage(t.Context(), serveOptions{maxUpload: 1}, newGlobal(nil, nil, nil, os.Getenv), openLedger{l, env},
		&front{addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}}, slog.New(slog.DiscardHandler))
	must(t, err)
	t.Cleanup(func() {
		p.site.Close()
		if err := p.close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// A serve that starts while Redis is away says so, in its log and on the page. Once
// Redis is there, the same page uses it, without being started again.
func TestPageStartsWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	away := nettest.Free()
	var log lockedBuffer
	d := newDesktop(t, &log, "REDIS_URL", "redis://:do_not_show@"+away+"/0")
	if n := strings.Count(log.String(), "the queue's Redis is down"); n != 1 {
		t.Errorf("said %d times:\n%s", n, log.String())
	}
	text, _ := d.get("/workers")
	d.wants(text, "Redis is down")
	if strings.Contains(text, "Nothing is on it") || strings.Contains(text+log.String(), "do_not_show") {
		t.Errorf("the page says\n%s", text)
	}
	newRelay(t, away, redisAddress(t))
	for end := time.Now().Add(testTimeout); strings.Contains(text, "Redis is down"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: the page without a warning\n%s", text)
		}
		text, _ = d.get("/workers")
	}
	must(t, d.stop())
}

// redisAddress is a Redis without a password that answers one with a password.
func redisAddress(t *testing.T) string {
	t.Helper()
	server := miniredis.RunT(t)
	server.RequireAuth("do_not_show")
	return server.Addr()
}

// A REDIS_URL that only a person can put right ends serve at once.
func TestPageRefusesAWrongRedis(t *testing.T) {
	t.Parallel()
	env, err := config.Read(func(name string) string {
		return map[string]string{"REDIS_URL": "http://do_not_show"}[name]
	})
	must(t, err)
	l := ledgertest.Open(t, ledger.Config{})
	_, err = openPage(t.Context(), serveOptions{}, nil, openLedger{l, env},
		&front{addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}}, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "REDIS_URL") || strings.Contains(err.Error(), "do_not_show") {
		t.Errorf("%v", err)
	}
}
