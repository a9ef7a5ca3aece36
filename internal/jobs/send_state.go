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

// sendState avoids intents that the ledger would refuse. It knows the last reading of the fleet halt
// and the client's breaker of orders. The ledger decides with every intent. It is also the
// lookup.Breaker of the resolver.
type sendState struct {
	// breaker is the breaker of orders.
	breaker interface{ BreakerState() filingapi.BreakerState }
	now     func() time.Time

	mu sync.Mutex
	// halt is the fleet halt. It blocks every row until blockedUntil.
	halt         Hold
	blockedUntil time.Time
	// firstFailure is the time of the first failed request since the last success. It is zero after a
	// success. lastRequest is the time of the last request.
	firstFailure, lastRequest time.Time
}

// setHalt records a reading of the fleet halt. It is zero if the fleet is not halted.
func (s *sendState) setHalt(h ledger.Halted) {
	until := s.now().Add(haltTTL)
	switch h.Reason {
	case filing.NoHalt:
		until = time.Time{}
	case filing.HaltRate:
		until = h.Until
	case filing.HaltKey, filing.HaltRestored, filing.HaltVersion: // until a person ends the halt
		until = s.now().Add(time.Hour)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.halt, s.blockedUntil = FleetHold(h), until
}

// admitProbe admits a row as a probe although the fleet is halted for funds.
func (s *sendState) admitProbe() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blockedUntil = time.Time{}
}

// hold returns why nothing is sent now and whether every row is blocked. A funds halt and an
// open breaker admit one probe row.
func (s *sendState) hold() (h Hold, blocked bool) {
	now := s.now()
	s.mu.Lock()
	halt, blocked := s.halt, now.Before(s.blockedUntil)
	s.mu.Unlock()
	b := s.breaker.BreakerState()
	switch {
	case blocked:
		return halt, true
	case !b.Since.IsZero():
		h = newHold(HeldByBreaker, "")
		h.Since, h.Until = b.Since, b.Until
		return h, now.Before(b.Until)
	case halt.Reason == HeldForFunds:
		return halt, false
	}
	return Hold{}, false // a halt has ended, or the next reading renews it
}

// mayOrder reports whether an order may be sent.
func (s *sendState) mayOrder() bool {
	_, blocked := s.hold()
	return !blocked
}

// MayAsk reports whether a look-up may be sent. Look-ups go on if only orders fail.
func (s *sendState) MayAsk() bool {
	h, blocked := s.hold()
	return !blocked || (h.Reason == HeldByBreaker && s.breaker.BreakerState().OrdersOnly)
}

// observeOrder records whether an order was answered.
func (s *sendState) observeOrder(kind filing.AnswerKind) {
	switch kind {
	case filing.NotSent, filing.NoAnswer, filing.ServerError, filing.Unreadable, filing.Busy:
		s.observe(false)
	case filing.Accepted, filing.HasItem, filing.Refused, filing.NoFunds, filing.KeyRefused:
		s.observe(true)
	}
}

// ObserveLookup records whether a look-up was answered.
func (s *sendState) ObserveLookup(err error) {
	switch {
	case errors.Is(err, filingapi.ErrKeyRefused), errors.Is(err, filingapi.ErrBusy),
		errors.Is(err, filingapi.ErrUnavailable):
		s.observe(false)
	case err == nil, errors.Is(err, filingapi.ErrNotFound), errors.Is(err, filingapi.ErrRefused),
		errors.Is(err, filingapi.ErrConflict):
		s.observe(true)
	}
}

func (s *sendState) observe(answered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastRequest = s.now()
	switch {
	case answered:
		s.firstFailure = time.Time{}
	case s.firstFailure.IsZero():
		s.firstFailure = s.lastRequest
	}
}

// silence returns for how long requests have failed: from the first failed request to the last
// one or, while the breaker is open, to now. A process that sends no requests, because of a slow
// throttle, queue or ledger, knows nothing about the service.
func (s *sendState) silence() time.Duration {
	h, _ := s.hold()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.firstFailure.IsZero():
		return 0
	case h.Reason == HeldByBreaker:
		return s.now().Sub(s.firstFailure)
	}
	return s.lastRequest.Sub(s.firstFailure)
}
