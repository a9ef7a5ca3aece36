package jobs

import (
	"errors"
	"sync"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// haltTTL is how long a halt that ends by itself counts in this process before it is
// read again. The pump reads it ten times a second.
const haltTTL = time.Second

// sendState knows why this process sends nothing: the fleet halt, as the ledger
// gave it last, and the client's order breaker. The ledger decides again under
// every intent; sendState saves the intents that would come to nothing.
type sendState struct {
	breaker interface{ BreakerState() filingapi.BreakerState } // nil for none

	mu      sync.Mutex
	halt    Hold                            // of the fleet
	blocked time.Time                       // how long halt blocks every row
	ownHold Hold                            // an answer that the ledger may not have yet
	failed  struct{ first, last time.Time } // requests without a proper answer, since the last that had one
}

// setHalt keeps the fleet halt that the ledger gave; the zero value for none. It
// blocks every row, for as long as it counts without another reading.
func (s *sendState) setHalt(now time.Time, h ledger.Halted) {
	until := now.Add(haltTTL)
	switch h.Reason {
	case filing.NoHalt:
		until = time.Time{}
	case filing.HaltRate:
		until = h.Until
	case filing.HaltKey, filing.HaltRestored, filing.HaltVersion: // a person ends it, and the pump reads that
		until = now.Add(time.Hour)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.halt = FleetHold(h)
	s.blocked = until
}

// admitProbe lets a row through although the fleet is halted for funds: its moment
// to ask for all has come.
func (s *sendState) admitProbe() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocked = time.Time{}
}

// hold is why nothing is sent now, and whether that blocks every row: a halt for
// funds and an open breaker let one row through, when its moment has come.
func (s *sendState) hold(now time.Time) (h Hold, blocked bool) {
	s.mu.Lock()
	halt, ownHold := s.halt, s.ownHold
	if halt.Reason != HeldForFunds && !now.Before(s.blocked) {
		halt = Hold{} // it is over, or the next reading will tell
	}
	blocked = now.Before(s.blocked)
	s.mu.Unlock()
	if blocked {
		return halt, true
	}
	if now.Before(ownHold.Until) {
		return ownHold, true
	}
	if s.breaker != nil {
		if b := s.breaker.BreakerState(); !b.Since.IsZero() {
			h = newHold(HeldByBreaker, "")
			h.Since, h.Until = b.Since, b.Until
			return h, now.Before(b.Until)
		}
	}
	return halt, false
}

// mayOrder reports whether orders may try.
func (s *sendState) mayOrder(now time.Time) bool {
	_, blocked := s.hold(now)
	return !blocked
}

// mayAsk reports whether look-ups may try: while orders alone fail, look-ups go
// on.
func (s *sendState) mayAsk(now time.Time) bool {
	h, blocked := s.hold(now)
	return !blocked || h.Reason == HeldByBreaker && s.breaker.BreakerState().OrdersOnly
}

// observeOrder notes whether the service answered an order.
func (s *sendState) observeOrder(now time.Time, kind filing.AnswerKind) {
	switch kind {
	case filing.NotSent, filing.NoAnswer, filing.ServerError, filing.Unreadable, filing.Busy:
		s.recordFailure(now)
	case filing.Accepted, filing.HasItem, filing.Refused, filing.NoFunds, filing.KeyRefused:
		s.recordAnswer()
	}
}

// observeLookup notes whether the service answered a look-up. A refused key and
// a request for a pause stop this process at once; the caller records them in
// the ledger, for the fleet.
func (s *sendState) observeLookup(now time.Time, err error) {
	switch {
	case errors.Is(err, filingapi.ErrKeyRefused):
		s.recordFailure(now)
		s.setReported(HeldForKey, now)
	case errors.Is(err, filingapi.ErrBusy):
		s.recordFailure(now)
		s.setReported(HeldForRate, now)
	case errors.Is(err, filingapi.ErrUnavailable):
		s.recordFailure(now)
	case err == nil, errors.Is(err, filingapi.ErrNotFound), errors.Is(err, filingapi.ErrRefused),
		errors.Is(err, filingapi.ErrConflict):
		s.recordAnswer()
	}
}

func (s *sendState) setReported(reason HoldReason, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ownHold = newHold(reason, "")
	s.ownHold.Since, s.ownHold.Until = now, now.Add(haltTTL)
}

func (s *sendState) recordFailure(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed.first.IsZero() {
		s.failed.first = now
	}
	s.failed.last = now
}

func (s *sendState) recordAnswer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed.first = time.Time{}
}

// silence is for how long requests have got no proper answer: from the first to
// the last of them or, while the breaker lets none through, to now. Where nothing
// is asked nothing is known: a slow throttle, a queue that is down or a ledger
// that is slow says nothing of the service.
func (s *sendState) silence(now time.Time) time.Duration {
	h, _ := s.hold(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.failed.first.IsZero():
		return 0
	case h.Reason == HeldByBreaker:
		return now.Sub(s.failed.first)
	}
	return s.failed.last.Sub(s.failed.first)
}
