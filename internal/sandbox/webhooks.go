package sandbox

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
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

// SignatureHeader carries the lower-case hex HMAC-SHA256 of the raw body under
// the endpoint's signing secret. Source: spec section 5, rule 5 (the name).
// Assumption: the algorithm is not shown.
const SignatureHeader = "Service-Signature"

// Webhook is a registered endpoint.
type Webhook struct {
	ID, URL, Secret string
	Types           []string
	At              time.Time
}

type webhook struct {
	id, url, secret string
	types           []string
	at              time.Time

	queue    []*parcel
	held     *parcel // until the next event has overtaken it
	carriers int     // goroutines that work the queue off
	waiting  int     // parcels that are not at their end
	attempts int
	taken    int // deliveries that ended with a 2xx
	lost     int // deliveries that were given up
}

func (h *webhook) copy() Webhook { return Webhook{h.id, h.url, h.secret, slices.Clone(h.types), h.at} }

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
	if err := s.finish(c); err != nil {
		return nil, err
	}
	s.register(hook)
	return webhookAnswer{hook.id, hook.url, hook.types, stamp(hook.at), hook.secret}, nil
}

// typesOrAll are the types of events of an endpoint, which are all where none is
// named.
func typesOrAll(types []string) []string {
	if len(types) == 0 {
		return eventTypes
	}
	return types
}

// register gives an endpoint an id, and a secret if it has none. The same address
// may be registered more than once.
func (s *Service) register(hook *webhook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	hook.id, hook.at = s.id("we"), s.cfg.Now()
	if hook.secret == "" {
		hook.secret = fmt.Sprintf("whsec_%016x%016x", s.rand.Uint64(), s.rand.Uint64())
	}
	s.webhooks = append(s.webhooks, hook)
}

// AddWebhook registers an endpoint as POST /webhook-endpoints does. No types: all of them.
func (s *Service) AddWebhook(url string, types ...string) Webhook {
	hook := &webhook{url: url, types: typesOrAll(types)}
	s.register(hook)
	return hook.copy()
}

// Sign returns the signature of a body for SignatureHeader.
func Sign(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}
