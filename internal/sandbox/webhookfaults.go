package sandbox

import (
	"bytes"
	"slices"
	"sync"
	"time"
)

// WebhookKind is the way in which the delivery of an event goes wrong.
type WebhookKind string

// The faults of deliveries.
const (
	WebhookDuplicate    WebhookKind = "duplicate"     // delivered twice at once
	WebhookReorder      WebhookKind = "reorder"       // after the next event to the endpoint, or For (one second) later
	WebhookDelay        WebhookKind = "delay"         // For (five seconds) later
	WebhookBadSignature WebhookKind = "bad-signature" // under another secret; tried again like a refused one
	WebhookEarly        WebhookKind = "early"         // an order's first events arrive before its answer
	WebhookGarbage      WebhookKind = "garbage"       // a signed body that is no event precedes the event
	WebhookHuge         WebhookKind = "huge"          // a signed body of 10 MB precedes the event
	WebhookOddText      WebhookKind = "odd-text"      // texts hold NUL, half surrogates and bytes that are not UTF-8
)

var webhookKinds = []WebhookKind{WebhookDuplicate, WebhookReorder, WebhookDelay, WebhookBadSignature, WebhookEarly,
	WebhookGarbage, WebhookHuge, WebhookOddText}

// Known reports whether k is one of the kinds above.
func (k WebhookKind) Known() bool { return slices.Contains(webhookKinds, k) }

// WebhookKindNames lists the kinds in the spelling of the flags.
func WebhookKindNames() []string { return names(webhookKinds) }

// WebhookFault makes deliveries go wrong. Faults of different kinds combine; of
// one kind, the first that is due applies.
type WebhookFault struct {
	Kind WebhookKind
	// share of the attempts, orders or events to which it applies; 0: all
	Rate  float64
	Times int           // maximum number of times it applies; 0: no limit
	For   time.Duration // of WebhookDelay and WebhookReorder
}

func (f WebhookFault) wait() time.Duration {
	switch {
	case f.For > 0:
		return f.For
	case f.Kind == WebhookReorder:
		return time.Second
	}
	return 5 * time.Second
}

// stray returns a body that is no event.
func (f WebhookFault) stray() []byte {
	if f.Kind == WebhookHuge {
		return hugeBody()
	}
	return []byte(`{"id": evt_garbage, "type": filing`)
}

var hugeBody = sync.OnceValue(func() []byte {
	return slices.Concat([]byte(`{"id":"evt_huge","type":"filing.status_changed","data":{"padding":"`),
		bytes.Repeat([]byte("x"), 10<<20), []byte(`"}}`))
})

type activeWebhookFault struct {
	WebhookFault
	tally
}

// InjectWebhook activates faults of deliveries.
func (s *Service) InjectWebhook(faults ...WebhookFault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range faults {
		s.webhookFaults = append(s.webhookFaults, &activeWebhookFault{WebhookFault: f})
	}
}

// ClearWebhookFaults removes all faults of deliveries. Deliveries that are delayed
// already arrive at their time.
func (s *Service) ClearWebhookFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.webhookFaults = nil
}

// pickWebhookFault returns the fault of a kind that applies now, or nil. The
// caller holds s.mu.
func (s *Service) pickWebhookFault(kind WebhookKind) *WebhookFault {
	for _, f := range s.webhookFaults {
		if f.Kind != kind || !f.fires(f.Times, f.Rate, s.webhookRand) {
			continue
		}
		s.faultsFired["webhook "+string(kind)]++
		return &f.WebhookFault
	}
	return nil
}
