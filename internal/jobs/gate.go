package jobs

import (
	"errors"
	"sync"
	"time"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/filingapi"
	"bulkfiling/internal/ledger"
)

// gate keeps this process from asking for what it already knows it will not
// get: while the fleet is halted, or the service cannot be reached, rows stay
// where they are at no cost. The ledger decides again under every intent; the
// gate only saves the asking.
type gate struct {
	mu     sync.Mutex
	until  time.Time // as the ledger has it, or as misses make it
	own    time.Time // what this process was told and the ledger may not have yet
	misses int
	heard  time.Time // the last answer that settled something
}

// open reports whether rows may try.
func (g *gate) open(now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !now.Before(g.until) && !now.Before(g.own)
}

// clear opens the gate: what halted the fleet is over.
func (g *gate) clear() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.misses == 0 {
		g.until = time.Time{}
	}
}

// hold closes the gate for what the ledger said.
func (g *gate) hold(now time.Time, h ledger.Halted) {
	g.mu.Lock()
	defer g.mu.Unlock()
	until := h.Until
	if h.Reason != filing.ForRate {
		until = now.Add(time.Second) // the pump looks again, and clears it
	}
	if until.After(g.until) {
		g.until = until
	}
}

// answered notes that the service is there.
func (g *gate) answered(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.heard = now
	if g.misses > 0 {
		g.misses, g.until = 0, time.Time{}
	}
}

// miss closes the gate for a moment that grows while nobody answers.
func (g *gate) miss(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now.Before(g.until) {
		return // one miss a moment: those in flight together count once
	}
	g.misses++
	g.until = now.Add(min(100*time.Millisecond<<min(g.misses, 6), 3*time.Second))
}

// learn takes from an order's answer whether the service is there.
func (g *gate) learn(now time.Time, a filing.Answer) {
	switch a.Class {
	case filing.NotSent:
		g.miss(now)
	case filing.Accepted, filing.HasItem, filing.Refused, filing.NoFunds, filing.KeyRefused:
		g.answered(now)
	}
}

// heed takes from a look-up's outcome whether the service may be asked.
func (g *gate) heed(now time.Time, err error) {
	switch {
	case errors.Is(err, filingapi.ErrKeyRefused), errors.Is(err, filingapi.ErrBusy):
		g.mu.Lock()
		defer g.mu.Unlock()
		g.own = now.Add(time.Second) // by then the ledger has it, for everybody
	case errors.Is(err, filingapi.ErrUnavailable):
		g.miss(now)
	case err == nil, errors.Is(err, filingapi.ErrNotFound), errors.Is(err, filingapi.ErrRefused), errors.Is(err, filingapi.ErrConflict):
		g.answered(now)
	}
}

// silence is how long nothing was heard.
func (g *gate) silence(now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return now.Sub(g.heard)
}
