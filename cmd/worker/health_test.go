package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/config"
)

var (
	well = func(context.Context) error { return nil }
	ill  = func(context.Context) error { return errors.New("postgres://admin:secret@db is away") }
	deaf = func(context.Context) error { select {} } // does not heed its time
)

func probe(t *testing.T, handler http.HandlerFunc) (int, report) {
	t.Helper()
	w := httptest.NewRecorder()
	handler(w, httptest.NewRequest("GET", "/", nil))
	var body report
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatalf("%s: %v", w.Body, err)
	}
	return w.Code, body
}

func TestProbes(t *testing.T) {
	for name, c := range map[string]struct {
		phase         phase
		ledger, queue func(context.Context) error
		still         time.Duration // since the loops turned
		live, ready   int
	}{
		"starts":                                {starting, nil, nil, time.Hour, 200, 503},
		"waits for the ledger":                  {"waits for the ledger", nil, nil, time.Hour, 200, 503},
		"waits for the service":                 {"waits for prices", well, well, time.Hour, 200, 503},
		"places":                                {placing, well, well, time.Second, 200, 200},
		"places, the ledger is away":            {placing, ill, well, time.Second, 200, 503},
		"places, the queue is away":             {placing, well, ill, time.Second, 200, 503},
		"places, its loops stand still":         {placing, well, well, 3 * time.Minute, 503, 200},
		"stands still for the ledger is away":   {placing, ill, well, 3 * time.Minute, 200, 503},
		"stands still for the queue is away":    {placing, well, ill, 3 * time.Minute, 200, 503},
		"drains":                                {draining, well, well, time.Second, 200, 503},
		"drains, and nothing turns any more":    {draining, well, well, time.Hour, 200, 503},
		"places, and one check does not answer": {placing, well, nil, time.Second, 200, 503},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHealth(slog.New(slog.DiscardHandler))
			h.clock()
			h.now = func() time.Time { return time.Now().Add(c.still) }
			h.setPhase(c.phase)
			if c.ledger != nil {
				h.addCheck(check{"ledger", c.ledger})
			}
			switch {
			case c.queue != nil:
				h.addCheck(check{"queue", c.queue})
			case c.ledger != nil:
				h.addCheck(check{"queue", deaf})
			}
			if code, body := probe(t, h.live); code != c.live || body.Phase != c.phase {
				t.Errorf("/healthz: %d %+v", code, body)
			}
			code, body := probe(t, h.ready)
			if code != c.ready || body.Phase != c.phase {
				t.Errorf("/readyz: %d %+v", code, body)
			}
			for name, said := range body.Checks {
				if said != "ok" && said != "failed" && said != "no answer" {
					t.Errorf("%s shows %q", name, said)
				}
			}
		})
	}
}

func TestEveryAnswerHasSecurityHeaders(t *testing.T) {
	handler := newWorker(config.Environment{}, options{}, slog.New(slog.DiscardHandler)).handler()
	for target, status := range map[string]int{"GET /healthz": 200, "GET /readyz": 503, "GET /metrics": 200,
		"GET /nothing": 404, "POST /metrics": 405} {
		method, path, _ := strings.Cut(target, " ")
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(method, path, nil))
		if h := answer.Header(); answer.Code != status || h.Get("X-Content-Type-Options") != "nosniff" ||
			!strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: %d, %v", target, answer.Code, h)
		}
	}
}
