package jobs

import (
	"errors"
	"sync"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// haltTTL is how long this process relies on a halt that ends by itself. The pump reads the
// halt ten times a second.
const haltTTL = time.Second

// sendState decides whether this process may send requests. It knows the last reading of the
// fleet halt and the client's breaker of orders. The ledger decides again with every intent, so
// sendState only avoids intents that would be refused.
type sendState struct {
	// breaker is the breaker of orders. It may be nil.
	breaker interface{ BreakerState() filingapi.BreakerState }

	mu sync.Mutex
	// halt is the fleet halt. It blocks every row until blocked.
	halt    Hold
	blocked time.Time
	// ownHold follows from an answer that may not be recorded in the ledger yet.
	ownHold Hold
	// failed are the times of the first and the last failed request since the last success.
	failed struct{ first, last time.Time }
}

// setHalt records a reading of the fleet halt. It is zero if the fleet is not halted.
func (s *sendState) setHalt(now time.Time, h ledger.Halted) {
	until := now.Add(haltTTL)
	switch h.Reason {
	case filing.NoHalt:
		until = time.Time{}
	case filing.HaltRate:
		until = h.Until
	case filing.HaltKey, filing.HaltRestored, filing.HaltVersion: // until a person ends the halt
		until = now.Add(time.Hour)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.halt = FleetHold(h)
	s.blocked = until
}

// admitProbe admits a row as a probe although the fleet is halted for funds.
func (s *sendState) admitProbe() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocked = time.Time{}
}

// hold returns why nothing is sent now and whether every row is blocked. A funds halt and an
// open breaker admit one probe row.
func (s *sendState) hold(now time.Time) (h Hold, blocked bool) {
	s.mu.Lock()
	halt, ownHold := s.halt, s.ownHold
	if halt.Reason != HeldForFunds && !now.Before(s.blocked) {
		halt = Hold{} // it has ended, or the next reading renews it
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

// mayOrder reports whether an order may be sent.
func (s *sendState) mayOrder(now time.Time) bool {
	_, blocked := s.hold(now)
	return !blocked
}

// mayAsk reports whether a look-up may be sent. Look-ups go on if only orders fail.
func (s *sendState) mayAsk(now time.Time) bool {
	h, blocked := s.hold(now)
	return !blocked || h.Reason == HeldByBreaker && s.breaker.BreakerState().OrdersOnly
}

// observeOrder records whether an order was answered.
func (s *sendState) observeOrder(now time.Time, kind filing.AnswerKind) {
	switch kind {
	case filing.NotSent, filing.NoAnswer, filing.ServerError, filing.Unreadable, filing.Busy:
		s.recordFailure(now)
	case filing.Accepted, filing.HasItem, filing.Refused, filing.NoFunds, filing.KeyRefused:
		s.recordAnswer()
	}
}

// observeLookup records whether a look-up was answered. A refused key and a request to wait
// stop this process at once. The caller records them in the ledger for the fleet.
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

// silence returns for how long requests have failed: from the first failed request to the last
// one or, while the breaker is open, to now. A process that sends no requests, because of a slow
// throttle, queue or ledger, knows nothing about the service.
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
