package main

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/bulkfiling/bulkfiling/internal/config"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/nettest"
)

// openedPage is the page of a serve with a REDIS_URL, and what its log says.
func openedPage(t *testing.T, redis string) (*page, *bytes.Buffer) {
	t.Helper()
	env, err := config.Read(func(name string) string {
		return map[string]string{"REDIS_URL": redis, "FILING_RATE": "100"}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(t.Context(), ledger.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var log bytes.Buffer
	p, err := openPage(t.Context(), l, server{env: env, maxUpload: 1},
		&front{addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}}, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.site.Close()
		if err := p.close(); err != nil {
			t.Error(err)
		}
	})
	return p, &log
}

// pageText is a page as a person sees it who is signed in.
func pageText(t *testing.T, p *page, path string) string {
	t.Helper()
	front := httptest.NewServer(p.site)
	defer front.Close()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := http.Client{Jar: jar, Timeout: patience}
	defer browser.CloseIdleConnections()
	account, err := p.ledger.Accounts().Find(t.Context(), "ana")
	if errors.Is(err, ledger.ErrNotFound) {
		account, err = p.ledger.Accounts().Add(t.Context(), "ana", ledger.Roles)
	}
	if err != nil {
		t.Fatal(err)
	}
	secret, err := p.ledger.Accounts().MakeSignInLink(t.Context(), account.ID, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	entered, err := browser.PostForm(front.URL+"/enter", url.Values{"link": {secret}})
	if err != nil {
		t.Fatal(err)
	}
	entered.Body.Close()
	answer, err := browser.Get(front.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%d, %v", answer.StatusCode, err)
	}
	return string(text)
}

// A serve that starts while Redis is away says so, in its log and on the page. Once
// Redis is there, the same page uses it, without being started again.
func TestPageStartsWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	away := nettest.Free()
	p, log := openedPage(t, "redis://:do_not_show@"+away+"/0")
	if n := strings.Count(log.String(), "the queue's Redis is down"); n != 1 ||
		strings.Contains(log.String(), "do_not_show") {
		t.Errorf("said %d times:\n%s", n, log)
	}
	if _, err := p.site.Depth(t.Context()); !errors.Is(err, jobs.ErrQueueDown) {
		t.Fatalf("%v, want that Redis is away", err)
	}
	text := pageText(t, p, "/fleet")
	if !strings.Contains(text, "Redis is down") || strings.Contains(text, "Nothing is on it") ||
		strings.Contains(text, "do_not_show") {
		t.Errorf("the page says\n%s", text)
	}
	newRelay(t, away, redisAddress(t))
	eventually(t, "the page without a warning", func() string { return pageText(t, p, "/fleet") },
		func(text string) bool { return !strings.Contains(text, "Redis is down") })
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
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(t.Context(), ledger.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = openPage(t.Context(), l, server{env: env}, &front{addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}},
		slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "REDIS_URL") || strings.Contains(err.Error(), "do_not_show") {
		t.Errorf("%v", err)
	}
}
