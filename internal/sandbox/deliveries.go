package sandbox

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/retry"
)

const (
	statusChanged    = "filing.status_changed"
	documentUploaded = "document.uploaded"
)

var eventTypes = []string{statusChanged, documentUploaded}

// SignatureHeader carries the lower-case hex HMAC-SHA256 of the raw body under the endpoint's
// signing secret.
// Source: spec section 5, rule 5 (the name).
// Assumption: the spec does not show the algorithm.
const SignatureHeader = "Service-Signature"

// Webhook is a registered endpoint.
type Webhook struct {
	ID, URL, Secret string
	Types           []string
	At              time.Time
}

// webhooks delivers events to the registered endpoints.
type webhooks struct {
	*core
	hooks []*webhook
}

// webhook is an endpoint with its deliveries.
type webhook struct {
	Webhook
	queue []*parcel
	// carriers is the number of goroutines that process the queue.
	carriers int
	counts   deliveryCounts
}

// deliveryCounts counts the deliveries to an endpoint.
type deliveryCounts struct {
	Attempts int `json:"attempts"`
	// Taken counts the deliveries that ended with a 2xx.
	Taken int `json:"taken"`
	// Waiting counts the deliveries that are queued, in flight, or waiting for the next attempt.
	Waiting int `json:"waiting"`
	// Lost counts the deliveries without further attempts.
	Lost int `json:"lost"`
}

type webhookAnswer struct {
	ID            string   `json:"id"`
	URL           string   `json:"url"`
	EventTypes    []string `json:"eventTypes"`
	CreatedAt     stamp    `json:"createdAt"`
	SigningSecret string   `json:"signingSecret"`
}

func (w *webhooks) createWebhook(c *call) (any, error) {
	hook := Webhook{URL: c.body.text("url")}
	u, err := url.Parse(hook.URL)
	if hook.URL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		c.body.fail("url", "must be an http or https address")
	}
	hook.Types, _ = c.body.texts("eventTypes")
	if len(hook.Types) == 0 {
		c.body.fail("eventTypes", "must name at least one event type")
	}
	for _, t := range hook.Types {
		if !slices.Contains(eventTypes, t) {
			c.body.fail("eventTypes", "must be of %s, not %q", strings.Join(eventTypes, ", "), t)
		}
	}
	if err := w.finish(c); err != nil {
		return nil, err
	}
	hook = w.AddWebhook(hook)
	return webhookAnswer{hook.ID, hook.URL, hook.Types, stamp(hook.At), hook.Secret}, nil
}

// AddWebhook registers an endpoint and returns it with an id, and with a secret if it has none. An
// endpoint without types gets all events. The same address may be registered more than once.
func (w *webhooks) AddWebhook(hook Webhook) Webhook {
	w.mu.Lock()
	defer w.mu.Unlock()
	hook.ID, hook.At = w.id("we"), w.cfg.Now()
	if hook.Secret == "" {
		hook.Secret = fmt.Sprintf("whsec_%016x%016x", w.rand.Uint64(), w.rand.Uint64())
	}
	if len(hook.Types) == 0 {
		hook.Types = eventTypes
	}
	w.hooks = append(w.hooks, &webhook{Webhook: hook})
	return hook
}

// Sign returns the signature of a body for SignatureHeader.
func Sign(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// parcel is an event that is being delivered to one endpoint.
type parcel struct {
	event *Event
	tries int
	// wait is the wait before the latest retry.
	wait time.Duration
	// first is the receipt of the first attempt. It is nil afterwards.
	first *receipt
}

// receipt is done when each of its parcels has been attempted once. Service.mu guards open.
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

// send queues events for every endpoint that subscribes to them, and returns at once. The caller
// holds s.mu.
func (w *webhooks) send(events ...*Event) *receipt {
	r := &receipt{open: 1, done: make(chan struct{})}
	for _, e := range events {
		for _, hook := range w.hooks {
			if slices.Contains(hook.Types, e.Type) {
				r.open++
				hook.counts.Waiting++
				w.enqueue(hook, &parcel{event: e, first: r})
			}
		}
	}
	r.tick()
	return r
}

// wait returns when r is done, ctx ends, or the service is closed.
func (w *webhooks) wait(ctx context.Context, r *receipt) {
	select {
	case <-r.done:
	case <-ctx.Done():
	case <-w.life.Done():
	}
}

// enqueue queues a parcel and starts a goroutine for it, up to
// DeliveriesAtOnce. The caller holds s.mu.
func (w *webhooks) enqueue(hook *webhook, p *parcel) {
	hook.queue = append(hook.queue, p)
	if hook.carriers < w.cfg.DeliveriesAtOnce {
		hook.carriers++
		go w.deliver(hook)
	}
}

// deliver delivers parcels until the queue is empty.
func (w *webhooks) deliver(hook *webhook) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { hook.carriers-- }()
	for len(hook.queue) > 0 && w.life.Err() == nil {
		p := hook.queue[0]
		hook.queue = hook.queue[1:]
		w.mu.Unlock()
		taken := w.post(hook, p.event.Body)
		w.mu.Lock()
		w.recordAttempt(hook, p, taken)
	}
}

// recordAttempt finishes the parcel of an attempt, or queues the next attempt.
func (w *webhooks) recordAttempt(hook *webhook, p *parcel, taken bool) {
	n := &hook.counts
	n.Attempts++
	p.tries++
	p.first.tick()
	p.first = nil
	switch {
	case taken:
		n.Taken++
		n.Waiting--
	case p.tries > w.cfg.Retries:
		n.Lost++
		n.Waiting--
	default:
		p.wait = retry.After(p.wait, w.cfg.RetryAfter, time.Minute)
		time.AfterFunc(p.wait, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.enqueue(hook, p)
		})
	}
}

// post makes one attempt, and reports whether the endpoint answered 2xx.
func (w *webhooks) post(hook *webhook, body []byte) (taken bool) {
	req, err := http.NewRequestWithContext(w.life, http.MethodPost, hook.URL, bytes.NewReader(body))
	if err != nil {
		return false
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(SignatureHeader, Sign(hook.Secret, body))
	res, err := w.cfg.Client.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	// Drain the body, so that the connection is reused.
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<20))
	return res.StatusCode >= 200 && res.StatusCode <= 299
}
