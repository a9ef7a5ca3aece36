package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// phase is what the process is doing, in the words that probes are told.
type phase string

// The phases after those of waiting ("waits for the ledger", …).
const (
	starting phase = "starts"
	placing  phase = "places"
	draining phase = "drains"
)

// check is one thing that has to be there for rows to be placed.
type check struct {
	name string
	ask  func(context.Context) error
}

// The times of probes. A worker at rest asks for the time ten times a second.
const (
	checkTimeout = 2 * time.Second
	stuckAfter   = 2 * time.Minute
)

// health is what probes are told.
type health struct {
	log *slog.Logger
	now func() time.Time

	lastLoop atomic.Int64 // when the worker's loops last asked for the time, in Unix nanoseconds

	mu     sync.Mutex
	phase  phase
	checks []check
	failed map[string]bool // so that a change is logged and a repetition is not
}

func newHealth(log *slog.Logger) *health {
	return &health{log: log, now: time.Now, phase: starting, failed: make(map[string]bool)}
}

// clock is the worker's: its loops ask for the time at every turn, so that it
// also tells whether they turn.
func (h *health) clock() time.Time {
	now := h.now()
	h.lastLoop.Store(now.UnixNano())
	return now
}

func (h *health) setPhase(p phase) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.phase = p
}

// need adds something that has to be there.
func (h *health) addCheck(c check) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.checks = append(h.checks, c)
}

func (h *health) status() (phase, []check) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.phase, h.checks
}

// report is the body of both probes. It has no words of errors: those are
// logged.
type report struct {
	Status string            `json:"status"` // ok, not ready, stuck
	Phase  phase             `json:"phase"`
	Checks map[string]string `json:"checks,omitempty"`
}

// live answers /healthz. Only a restart helps a process whose loops stand still
// while everything they need is there; where something is missing, a restart
// helps nobody.
func (h *health) live(w http.ResponseWriter, r *http.Request) {
	phase, checks := h.status()
	body := report{Status: "ok", Phase: phase}
	if phase == placing && h.now().Sub(time.Unix(0, h.lastLoop.Load())) > stuckAfter {
		if results, well := h.runChecks(r.Context(), checks); well {
			body.Status, body.Checks = "stuck", results
		}
	}
	writeReport(w, body)
}

// ready answers /readyz. The service is not asked: a worker that waits for it
// is where it should be.
func (h *health) ready(w http.ResponseWriter, r *http.Request) {
	phase, checks := h.status()
	results, well := h.runChecks(r.Context(), checks)
	body := report{Status: "ok", Phase: phase, Checks: results}
	if !well || phase != placing {
		body.Status = "not ready"
	}
	writeReport(w, body)
}

// ask makes the checks side by side.
func (h *health) runChecks(ctx context.Context, checks []check) (results map[string]string, well bool) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	type result struct {
		name string
		err  error
	}
	answers := make(chan result, len(checks))
	for _, c := range checks {
		go func() { answers <- result{c.name, c.ask(ctx)} }()
	}
	results, well = make(map[string]string, len(checks)), true
	for _, c := range checks {
		results[c.name] = "no answer"
	}
	for range checks {
		select {
		case a := <-answers:
			h.logChange(a.name, a.err)
			if results[a.name] = "ok"; a.err != nil {
				results[a.name], well = "failed", false
			}
		case <-ctx.Done(): // a check that does not heed its time
			return results, false
		}
	}
	return results, well
}

// note logs what changed.
func (h *health) logChange(name string, err error) {
	h.mu.Lock()
	before := h.failed[name]
	h.failed[name] = err != nil
	h.mu.Unlock()
	switch {
	case err != nil && !before:
		h.log.Warn("not ready", "check", name, "error", err)
	case err == nil && before:
		h.log.Info("ready again", "check", name)
	}
}

func writeReport(w http.ResponseWriter, body report) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if body.Status != "ok" {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(body) // whoever asked may have left
}
