package sandbox

import (
	"bytes"
	"slices"
	"sync"
	"time"
)

// WebhookKind is a way in which the delivery of an event goes wrong.
type WebhookKind string

const (
	WebhookDuplicate    WebhookKind = "duplicate"     // delivered twice at once
	WebhookReorder      WebhookKind = "reorder"       // after the next event to the endpoint, or For (one second) later
	WebhookDelay        WebhookKind = "delay"         // For (five seconds) later
	WebhookBadSignature WebhookKind = "bad-signature" // under another secret; tried again like one that was refused
	WebhookEarly        WebhookKind = "early"         // an order's first events come before its answer
	WebhookGarbage      WebhookKind = "garbage"       // before the event comes a signed body that is no event
	WebhookHuge         WebhookKind = "huge"          // before the event comes a signed body of 10 MB
	WebhookOddText      WebhookKind = "odd-text"      // texts hold NUL, half surrogates and bytes that are not UTF-8
)

var webhookKinds = []WebhookKind{WebhookDuplicate, WebhookReorder, WebhookDelay, WebhookBadSignature, WebhookEarly,
	WebhookGarbage, WebhookHuge, WebhookOddText}

// Known reports whether k is one of the kinds above.
func (k WebhookKind) Known() bool { return slices.Contains(webhookKinds, k) }

// WebhookKindNames lists the kinds as a person may write them.
func WebhookKindNames() []string {
	names := make([]string, len(webhookKinds))
	for i, k := range webhookKinds {
		names[i] = string(k)
	}
	return names
}

// WebhookFault makes deliveries go wrong. Faults of different kinds add up; of
// one kind the first that fires counts.
type WebhookFault struct {
	Kind WebhookKind
	// the share that is hit: of events to an endpoint, of attempts, of orders,
	// or of all events; 0: all
	Rate  float64
	Times int           // how often it fires at most; 0: no limit
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

// stray is a body that is no event.
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

type armedWebhook struct {
	WebhookFault
	fired int
}

// InjectWebhook puts faults of deliveries in force.
func (s *Service) InjectWebhook(faults ...WebhookFault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range faults {
		s.webhookFaults = append(s.webhookFaults, &armedWebhook{WebhookFault: f})
	}
}

// ClearWebhookFaults takes all faults of deliveries back. What is held back
// already comes when its time is up.
func (s *Service) ClearWebhookFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.webhookFaults = nil
}

// strike returns the fault of a kind that fires now, or nil. The caller holds s.mu.
func (s *Service) strike(kind WebhookKind) *WebhookFault {
	for _, f := range s.webhookFaults {
		if f.Kind != kind || f.Times > 0 && f.fired >= f.Times || f.Rate > 0 && s.webhookRand.Float64() >= f.Rate {
			continue
		}
		f.fired++
		s.faultsFired["webhook "+string(kind)]++
		return &f.WebhookFault
	}
	return nil
}
