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

// phase is the activity of the process, as probes report it.
type phase string

// The phases that follow the phases of await ("waits for the ledger", …).
const (
	starting phase = "starts"
	placing  phase = "places"
	draining phase = "drains"
)

// check is a check of one requirement for placing orders.
type check struct {
	name string
	ask  func(context.Context) error
}

// The times of probes. An idle worker reads the clock ten times a second.
const (
	checkTimeout = 2 * time.Second
	stuckAfter   = 2 * time.Minute
)

// health answers probes.
type health struct {
	log *slog.Logger
	now func() time.Time

	// lastLoop is the last time at which the worker's loops read the clock, in Unix nanoseconds.
	lastLoop atomic.Int64

	mu     sync.Mutex
	phase  phase
	checks []check
	// failed are the failing checks, so that only changes are logged.
	failed map[string]bool
}

func newHealth(log *slog.Logger) *health {
	return &health{log: log, now: time.Now, phase: starting, failed: make(map[string]bool)}
}

// clock is the worker's clock. Its loops read it in every round, so it also shows whether they run.
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

// addCheck adds a requirement for placing orders.
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

// report is the body of both probes. It has no error texts, because errors are logged.
type report struct {
	// Status is ok, not ready or stuck.
	Status string            `json:"status"`
	Phase  phase             `json:"phase"`
	Checks map[string]string `json:"checks,omitempty"`
}

// live answers /healthz. A restart helps a process whose loops are stuck although all dependencies
// are available. It does not help if a dependency is missing.
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

// ready answers /readyz. It does not call the filing service, because a worker that waits for the
// service is ready.
func (h *health) ready(w http.ResponseWriter, r *http.Request) {
	phase, checks := h.status()
	results, well := h.runChecks(r.Context(), checks)
	body := report{Status: "ok", Phase: phase, Checks: results}
	if !well || phase != placing {
		body.Status = "not ready"
	}
	writeReport(w, body)
}

// runChecks runs the checks in parallel.
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
		// A check may ignore its context.
		case <-ctx.Done():
			return results, false
		}
	}
	return results, well
}

// logChange logs that a check begins to fail or no longer fails.
func (h *health) logChange(name string, err error) {
	h.mu.Lock()
	before := h.failed[name]
	h.failed[name] = err != nil
	h.mu.Unlock()
	switch {
	case err != nil && !before:
		h.log.Warn("check failed", "check", name, "err", err)
	case err == nil && before:
		h.log.Info("check passed again", "check", name)
	}
}

func writeReport(w http.ResponseWriter, body report) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if body.Status != "ok" {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	// The client may have disconnected.
	_ = json.NewEncoder(w).Encode(body)
}
