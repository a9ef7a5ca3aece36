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
	"sync"
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
	ID     string   `json:"id"`
	URL    string   `json:"url"`
	Types  []string `json:"eventTypes"`
	At     stamp    `json:"createdAt"`
	Secret string   `json:"signingSecret,omitempty"`
}

// webhooks delivers events to the registered endpoints.
type webhooks struct {
	*core
	hooks []*webhook
}

// deliveriesAtOnce is the number of concurrent deliveries to one endpoint.
const deliveriesAtOnce = 8

// webhook is an endpoint with its deliveries.
type webhook struct {
	Webhook
	// slots limits the deliveries in flight.
	slots  chan struct{}
	counts deliveryCounts
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
	return w.addWebhook(hook), nil
}

// AddWebhook registers an endpoint and returns it with an id, and with a secret if it has none. An
// endpoint without types gets all events. The same address may be registered more than once.
func (w *webhooks) AddWebhook(hook Webhook) Webhook {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.addWebhook(hook)
}

func (w *webhooks) addWebhook(hook Webhook) Webhook {
	hook.ID, hook.At = w.id("we"), stamp(w.cfg.Now())
	if hook.Secret == "" {
		hook.Secret = fmt.Sprintf("whsec_%016x%016x", w.rand.Uint64(), w.rand.Uint64())
	}
	if len(hook.Types) == 0 {
		hook.Types = eventTypes
	}
	w.hooks = append(w.hooks, &webhook{Webhook: hook, slots: make(chan struct{}, deliveriesAtOnce)})
	return hook
}

// Sign returns the signature of a body for SignatureHeader.
func Sign(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// send delivers events to every endpoint that subscribes to them, and returns at once. The channel
// is closed when each delivery was attempted once. The caller holds the lock.
func (w *webhooks) send(events ...Event) (attempted <-chan struct{}) {
	var first sync.WaitGroup
	for _, e := range events {
		for _, hook := range w.hooks {
			if slices.Contains(hook.Types, e.Type) {
				hook.counts.Waiting++
				first.Add(1)
				go w.deliver(hook, e, sync.OnceFunc(first.Done))
			}
		}
	}
	done := make(chan struct{})
	go func() {
		first.Wait()
		close(done)
	}()
	return done
}

// wait returns when attempted is closed, ctx ends, or the service is closed.
func (w *webhooks) wait(ctx context.Context, attempted <-chan struct{}) {
	select {
	case <-attempted:
	case <-ctx.Done():
	case <-w.life.Done():
	}
}

// deliver attempts to deliver an event until the endpoint takes it or no attempts remain. It calls
// attempted after the first attempt.
func (w *webhooks) deliver(hook *webhook, e Event, attempted func()) {
	defer attempted()
	var wait time.Duration
	for retries := 0; ; retries++ {
		taken := w.post(hook, e.Body)
		lost := !taken && retries >= w.cfg.Retries
		w.mu.Lock()
		hook.counts.Attempts++
		switch {
		case taken:
			hook.counts.Taken++
		case lost:
			hook.counts.Lost++
		}
		if taken || lost {
			hook.counts.Waiting--
		}
		w.mu.Unlock()
		attempted()
		wait = retry.After(wait, w.cfg.RetryAfter, time.Minute)
		if taken || lost || retry.Sleep(w.life, wait) != nil {
			return
		}
	}
}

// post makes one attempt, and reports whether the endpoint answered 2xx.
func (w *webhooks) post(hook *webhook, body []byte) (taken bool) {
	hook.slots <- struct{}{}
	defer func() { <-hook.slots }()
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
