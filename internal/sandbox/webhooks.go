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
)

const (
	statusChanged    = "filing.status_changed"
	documentUploaded = "document.uploaded"
)

var eventTypes = []string{statusChanged, documentUploaded}

// SignatureHeader carries the lower-case hex HMAC-SHA256 of the raw body under the endpoint's signing secret.
// Source: spec section 5, rule 5 (the name). Assumption: the algorithm is not shown.
const SignatureHeader = "Service-Signature"

type webhook struct {
	id, url, secret string
	types           []string
}

type webhookAnswer struct {
	ID            string   `json:"id"`
	URL           string   `json:"url"`
	EventTypes    []string `json:"eventTypes"`
	CreatedAt     stamp    `json:"createdAt"`
	SigningSecret string   `json:"signingSecret"`
}

func (s *Service) createWebhook(c *call) (any, error) {
	hook := &webhook{url: c.body.text("url")}
	u, err := url.Parse(hook.url)
	if hook.url != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		c.body.fail("url", "must be an http or https address")
	}
	hook.types, _ = c.body.texts("eventTypes")
	if len(hook.types) == 0 {
		c.body.fail("eventTypes", "must name at least one event type")
	}
	for _, t := range hook.types {
		if !slices.Contains(eventTypes, t) {
			c.body.fail("eventTypes", "must be of %s, not %q", strings.Join(eventTypes, ", "), t)
		}
	}
	c.body.done()
	if err := s.invalid(c.found); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	hook.id = s.id("we")
	hook.secret = fmt.Sprintf("whsec_%016x%016x", s.rand.Uint64(), s.rand.Uint64())
	s.webhooks = append(s.webhooks, hook)
	return webhookAnswer{hook.id, hook.url, hook.types, stamp(s.cfg.Now()), hook.secret}, nil
}

// Delivery is one attempt to hand an event to an endpoint.
type Delivery struct {
	At      time.Time
	EventID string
	URL     string
	Status  int   // 0 when there was no answer
	Err     error // of the transport
}

const maxDeliveries = 10_000

// Deliveries returns the attempts so far, oldest first, up to the last 10,000.
func (s *Service) Deliveries() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.deliveries)
}

// deliver hands events to all endpoints that want them, one after the other, and returns when each has answered.
// Assumption: an event is delivered once; the retry policy is not shown in the spec, and Redeliver does it on demand.
func (s *Service) deliver(ctx context.Context, events ...*Event) {
	s.mu.Lock()
	hooks := slices.Clone(s.webhooks)
	s.mu.Unlock()
	for _, e := range events {
		for _, hook := range hooks {
			if !slices.Contains(hook.types, e.Type) {
				continue
			}
			status, err := s.post(ctx, hook, e.Body)
			s.mu.Lock()
			if len(s.deliveries) == maxDeliveries {
				s.deliveries = slices.Delete(s.deliveries, 0, maxDeliveries/2)
			}
			s.deliveries = append(s.deliveries, Delivery{s.cfg.Now(), e.ID, hook.url, status, err})
			s.mu.Unlock()
		}
	}
}

func (s *Service) post(ctx context.Context, hook *webhook, body []byte) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, hook.url, bytes.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("deliver to %s: %w", hook.id, err)
	}
	mac := hmac.New(sha256.New, []byte(hook.secret))
	mac.Write(body)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(SignatureHeader, hex.EncodeToString(mac.Sum(nil)))
	res, err := s.cfg.Client.Do(req)
	if err != nil {
		return 0, fmt.Errorf("deliver to %s: %w", hook.id, err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<20)) // so that the connection can be used again
	return res.StatusCode, nil
}
