package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/retry"
)

// Delivery is one attempt to deliver an event to an endpoint.
type Delivery struct {
	At         time.Time
	EventID    string
	EndpointID string
	URL        string
	Try        int           // from 1; 0 for a stray body, which is not an event
	Status     int           // 0 when there was no answer
	Err        error         // of the transport
	Took       time.Duration // until the answer's end
	Forged     bool          // under a wrong signature
}

// Taken reports whether the endpoint answered 2xx, which ends the attempts.
func (d Delivery) Taken() bool { return d.Err == nil && d.Status >= 200 && d.Status <= 299 }

const maxDeliveries = 10_000

// Deliveries returns the attempts so far, oldest first, up to the last 10,000.
func (s *Service) Deliveries() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.deliveries)
}

// Waiting returns the number of unfinished deliveries: queued, in flight, delayed
// by a fault, or waiting for the next attempt.
func (s *Service) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, hook := range s.webhooks {
		n += hook.waiting
	}
	return n
}

// parcel is an event that is being delivered to one endpoint.
type parcel struct {
	event *Event
	body  []byte
	stray bool // not an event, but correctly signed; sent once
	tries int
	wait  time.Duration // before the latest retry, without jitter
	first *receipt      // of the first attempt; nil if no caller waits for it
	then  *parcel       // sent after this one, which overtook it
}

// receipt is done when each of its parcels was attempted once. Service.mu
// guards open.
type receipt struct {
	open int
	done chan struct{}
}

func (r *receipt) tick() {
	if r == nil {
		return
	}
	if r.open--; r.open == 0 {
		close(r.done)
	}
}

// send queues events for every endpoint that subscribes to them, and returns at
// once. The caller holds s.mu.
func (s *Service) send(events ...*Event) *receipt {
	r := &receipt{open: 1, done: make(chan struct{})}
	for _, e := range events {
		for _, hook := range s.webhooks {
			if slices.Contains(hook.types, e.Type) {
				s.dispatch(hook, e, r)
			}
		}
	}
	r.tick()
	return r
}

// wait returns when r is done, ctx ends, or the service is closed.
func (s *Service) wait(ctx context.Context, r *receipt) {
	select {
	case <-r.done:
	case <-ctx.Done():
	case <-s.life.Done():
	}
}

// dispatch queues one event for one endpoint and applies the active faults.
func (s *Service) dispatch(hook *webhook, e *Event, r *receipt) {
	for _, kind := range []WebhookKind{WebhookGarbage, WebhookHuge} {
		if f := s.pickWebhookFault(kind); f != nil {
			hook.waiting++
			s.enqueue(hook, &parcel{event: e, body: f.stray(), stray: true})
		}
	}
	p := &parcel{event: e, body: e.Body}
	hook.waiting++
	overtaken := hook.held
	hook.held = nil
	if overtaken != nil {
		p.then = overtaken
	}
	if f := s.pickWebhookFault(WebhookDelay); f != nil {
		s.enqueueLater(hook, p, f.wait())
	} else if f := s.pickWebhookFault(WebhookReorder); f != nil {
		hook.held = p
		time.AfterFunc(f.wait(), func() { s.release(hook, p) }) // no later event overtook it
	} else {
		p.first = r
		r.open++
		s.enqueue(hook, p)
	}
	if s.pickWebhookFault(WebhookDuplicate) != nil {
		hook.waiting++
		s.enqueue(hook, &parcel{event: e, body: e.Body})
	}
}

// release queues a parcel that is still delayed.
func (s *Service) release(hook *webhook, p *parcel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if hook.held == p {
		hook.held = nil
		s.enqueue(hook, p)
	}
}

func (s *Service) enqueueLater(hook *webhook, p *parcel, after time.Duration) {
	time.AfterFunc(after, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.enqueue(hook, p)
	})
}

// enqueue queues a parcel and starts a goroutine for it, up to
// DeliveriesAtOnce. The caller holds s.mu.
func (s *Service) enqueue(hook *webhook, p *parcel) {
	hook.queue = append(hook.queue, p)
	if hook.carriers < s.cfg.DeliveriesAtOnce {
		hook.carriers++
		go s.deliver(hook)
	}
}

// deliver delivers parcels until the queue is empty.
func (s *Service) deliver(hook *webhook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { hook.carriers-- }()
	for len(hook.queue) > 0 && s.life.Err() == nil {
		p := hook.queue[0]
		hook.queue = hook.queue[1:]
		d := Delivery{At: s.cfg.Now(), EventID: p.event.ID, EndpointID: hook.id, URL: hook.url}
		if !p.stray {
			p.tries++
			d.Try, d.Forged = p.tries, s.pickWebhookFault(WebhookBadSignature) != nil
		}
		s.mu.Unlock()
		s.post(hook, p.body, &d)
		s.mu.Lock()
		s.recordAttempt(hook, p, d)
	}
}

// recordAttempt records an attempt, and finishes its parcel or queues the next
// attempt.
func (s *Service) recordAttempt(hook *webhook, p *parcel, d Delivery) {
	if len(s.deliveries) == maxDeliveries {
		s.deliveries = slices.Delete(s.deliveries, 0, maxDeliveries/2)
	}
	s.deliveries = append(s.deliveries, d)
	hook.attempts++
	if d.Forged && d.Taken() && len(s.violations) < maxViolations {
		s.violations = append(s.violations, Violation{
			At:      d.At,
			Rule:    "5.5",
			Message: "A delivery with a bad signature was accepted",
			Status:  d.Status,
			Method:  http.MethodPost,
			Path:    hook.url,
			Body:    p.body,
		})
	}
	p.first.tick()
	p.first = nil
	if p.then != nil {
		s.enqueue(hook, p.then)
		p.then = nil
	}
	switch {
	case p.stray:
		hook.waiting--
	case d.Taken() && !d.Forged:
		hook.taken++
		hook.waiting--
	case p.tries > s.cfg.Retries:
		hook.lost++
		hook.waiting--
	default:
		p.wait = retry.After(p.wait, s.cfg.RetryAfter, time.Minute)
		s.enqueueLater(hook, p, p.wait+jitter(p))
	}
}

// jitter adds up to a quarter to the wait of a parcel. It depends only on the
// event and the attempt, so that it changes no other random choice.
func jitter(p *parcel) time.Duration {
	return time.Duration(share(fmt.Sprint(p.event.ID, p.tries)) * float64(p.wait) / 4)
}

// post makes one attempt and records its outcome in d.
func (s *Service) post(hook *webhook, body []byte, d *Delivery) {
	began := time.Now()
	defer func() { d.Took = time.Since(began) }()
	req, err := http.NewRequestWithContext(s.life, http.MethodPost, hook.url, bytes.NewReader(body))
	if err != nil {
		d.Err = fmt.Errorf("deliver to %s: %w", hook.id, err)
		return
	}
	secret := hook.secret
	if d.Forged {
		secret += " of another"
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(SignatureHeader, Sign(secret, body))
	res, err := s.cfg.Client.Do(req)
	if err != nil {
		d.Err = fmt.Errorf("deliver to %s: %w", hook.id, err)
		return
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<20)) // so that the connection is reused
	d.Status = res.StatusCode
}
