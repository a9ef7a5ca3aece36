package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

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
		&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}, slog.New(slog.NewTextHandler(&log, nil)))
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

// A serve that starts while Redis is away says so, in its log and on the page, and
// its lookups keep to their share of the rate.
func TestPageStartsWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	p, log := openedPage(t, "redis://:do_not_show@"+nettest.Free()+"/0")
	if n := strings.Count(log.String(), "the queue's Redis is down"); n != 1 ||
		strings.Contains(log.String(), "do_not_show") {
		t.Errorf("said %d times:\n%s", n, log)
	}
	if p.site.Throttle == nil {
		t.Fatal("nothing limits the rate of lookups")
	}
	began := time.Now()
	for range 6 { // at a tenth of 100 a second, the first at once
		if err := p.site.Throttle.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(began); took < 490*time.Millisecond {
		t.Errorf("six lookups within %s", took)
	}
	text := pageText(t, p, "/fleet")
	if !strings.Contains(text, "Redis is down") || strings.Contains(text, "Nothing is on it") ||
		strings.Contains(text, "do_not_show") {
		t.Errorf("the page says\n%s", text)
	}
}

// Once Redis is there the same page uses it, without being started again.
func TestPageFindsRedisLater(t *testing.T) {
	t.Parallel()
	there := os.Getenv("TEST_REDIS_URL")
	if there == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("TEST_REDIS_URL is not set: on CI the tests on real servers must run")
		}
		t.Skip("TEST_REDIS_URL is not set")
	}
	address, err := url.Parse(there)
	if err != nil {
		t.Fatal(err)
	}
	to := address.Host
	address.Host = nettest.Free()
	p, _ := openedPage(t, address.String())
	if _, err := p.site.Depth(t.Context()); !errors.Is(err, jobs.ErrQueueDown) {
		t.Fatalf("%v, want that Redis is away", err)
	}
	if err := p.site.Throttle.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	forward(t, address.Host, to)
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if _, err = p.site.Depth(t.Context()); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	if text := pageText(t, p, "/fleet"); strings.Contains(text, "Redis is away") {
		t.Errorf("the page says\n%s", text)
	}
	// A second's silence later the turns are the fleet's again: ten times as many.
	for deadline := time.Now().Add(patience); ; {
		began := time.Now()
		for range 20 {
			if err := p.site.Throttle.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if time.Since(began) < time.Second {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the lookups stay at this process's share")
		}
	}
}

// forward listens at an address and passes on what comes until the test ends.
func forward(t *testing.T, at, to string) {
	t.Helper()
	listener, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	t.Cleanup(func() { listener.Close(); running.Wait() })
	pass := func(from, into net.Conn) {
		_, _ = io.Copy(into, from) // it ends when either side does
		from.Close()
		into.Close()
	}
	running.Go(func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			context.AfterFunc(t.Context(), func() { in.Close() })
			running.Go(func() { pass(in, out) })
			running.Go(func() { pass(out, in) })
		}
	})
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
	_, err = openPage(t.Context(), l, server{env: env}, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)},
		slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "REDIS_URL") || strings.Contains(err.Error(), "do_not_show") {
		t.Errorf("%v", err)
	}
}
