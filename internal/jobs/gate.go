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
	failed struct{ first, last time.Time } // of the requests that got no proper answer, since the last that did
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
	if h.Reason != filing.HaltRate {
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
	g.failed.first = time.Time{}
	if g.misses > 0 {
		g.misses, g.until = 0, time.Time{}
	}
}

// miss closes the gate for a moment that grows while nobody answers.
func (g *gate) miss(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fail(now)
	if now.Before(g.until) {
		return // one miss a moment: those in flight together count once
	}
	g.misses++
	g.until = now.Add(min(100*time.Millisecond<<min(g.misses, 6), 3*time.Second))
}

// fail notes a request that got no proper answer; g.mu is held.
func (g *gate) fail(now time.Time) {
	if g.failed.first.IsZero() {
		g.failed.first = now
	}
	g.failed.last = now
}

// learn takes from an order's answer whether the service is there.
func (g *gate) learn(now time.Time, a filing.Answer) {
	switch a.Kind {
	case filing.NotSent:
		g.miss(now)
	case filing.NoAnswer, filing.ServerError, filing.Unreadable, filing.Busy:
		g.mu.Lock()
		defer g.mu.Unlock()
		g.fail(now)
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
		g.fail(now)
		g.own = now.Add(time.Second) // by then the ledger has it, for everybody
	case errors.Is(err, filingapi.ErrUnavailable):
		g.miss(now)
	case err == nil, errors.Is(err, filingapi.ErrNotFound), errors.Is(err, filingapi.ErrRefused),
		errors.Is(err, filingapi.ErrConflict):
		g.answered(now)
	}
}

// silence is for how long requests have got no proper answer, from the first to
// the last of them. Where nothing is asked nothing is known: a slow pace, a queue
// that is away or a ledger that is slow says nothing of the service.
func (g *gate) silence() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failed.first.IsZero() {
		return 0
	}
	return g.failed.last.Sub(g.failed.first)
}
