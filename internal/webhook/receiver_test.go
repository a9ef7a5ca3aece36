package webhook_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
	"github.com/bulkfiling/bulkfiling/internal/webhook"
)

// memory is a store whose failures are set by hand.
type memory struct {
	mu      sync.Mutex
	events  map[string]string // bodies by id
	garbled []string
	secrets []string
	reads   int   // of the secrets
	unread  error // why secrets cannot be read
	unkept  error // why nothing can be stored
	apply   func() (int, error)
}

func (m *memory) Keep(_ context.Context, e filing.Event, body []byte) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.unkept != nil {
		return false, m.unkept
	}
	if _, found := m.events[e.ID]; found {
		return false, nil
	}
	if m.events == nil {
		m.events = make(map[string]string)
	}
	m.events[e.ID] = string(body)
	return true, nil
}

func (m *memory) KeepUnreadable(_ context.Context, body []byte, _ string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.garbled = append(m.garbled, string(body))
	return true, m.unkept
}

func (m *memory) Apply(context.Context) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.apply == nil {
		return 0, nil
	}
	return m.apply()
}

func (m *memory) Secrets(context.Context) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads++
	return m.secrets, m.unread
}

func (m *memory) set(change func(*memory)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(m)
}

func newReceiver(m *memory) (*webhook.Receiver, *bytes.Buffer) {
	said := new(bytes.Buffer)
	rc, _ := webhook.Handler(m, webhook.NewHMAC(webhook.Secrets(m, nil)), slog.New(slog.NewTextHandler(said, nil)))
	return rc, said
}

const (
	secret = "whsec_do_not_show"
	event  = `{"id":"evt_1","type":"filing.status_changed","createdAt":"2026-03-01T09:00:00.000Z",` +
		`"data":{"orderId":"order_1","orderType":"annual_report","filingStatus":"filed"}}`
)

// sign is the service's side, made apart from the verifier.
func sign(secret, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	io.WriteString(mac, body)
	return hex.EncodeToString(mac.Sum(nil))
}

func delivery(body, signature string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, webhook.Path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if signature != "" {
		r.Header.Set(webhook.SignatureHeader, signature)
	}
	return r
}

func answer(h http.Handler, r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func TestWhatADeliveryIsAnswered(t *testing.T) {
	good := sign(secret, event)
	signed := func(body string) *http.Request { return delivery(body, sign(secret, body)) }
	unlike := func(change func(*http.Request)) *http.Request {
		r := delivery(event, good)
		change(r)
		return r
	}
	failing := func(err error) *http.Request {
		return unlike(func(r *http.Request) { r.Body = io.NopCloser(iotest.ErrReader(err)) })
	}
	tests := []struct {
		name    string
		request *http.Request
		status  int
	}{
		{"signed", delivery(event, good), 200},
		{"upper case", delivery(event, strings.ToUpper(good)), 200},
		{"with the algorithm in front", delivery(event, "sha256="+good), 200},
		{"signed by the secret before", delivery(event, sign("whsec_before", event)), 200},
		{"any content type", unlike(func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }), 200},
		{"without a content type", unlike(func(r *http.Request) { r.Header.Del("Content-Type") }), 200},
		{"unknown type and fields", signed(`{"id":"evt_2","type":"moon.risen","v":9,"data":[1]}`), 200},
		{"largest", signed(large(1 << 20)), 200},

		{"unsigned", delivery(event, ""), 401},
		{"empty signature", unlike(func(r *http.Request) { r.Header[webhook.SignatureHeader] = []string{""} }), 401},
		{"wrong signature", delivery(event, sign("whsec_other", event)), 401},
		{"signature of another body", delivery(event+" ", good), 401},
		{"signed by the empty secret", delivery(event, sign("", event)), 401},
		{"no hexadecimal", delivery(event, "whsec"), 401},
		{"half a signature", delivery(event, good[:32]), 401},
		{"a signature and more", delivery(event, good+good), 401},
		{"another algorithm in front", delivery(event, "sha1="+good), 401},
		{"unsigned rubbish", delivery("{", ""), 401},

		{"GET", unlike(func(r *http.Request) { r.Method = http.MethodGet }), 405},
		{"PUT", unlike(func(r *http.Request) { r.Method = http.MethodPut }), 405},
		{"one byte too large", signed(large(1<<20 + 1)), 413},
		{"too large, its length not told",
			unlike(func(r *http.Request) { r.Body, r.ContentLength = io.NopCloser(zeros{}), -1 }), 413},
		{"too slow", failing(os.ErrDeadlineExceeded), 408},
		{"the sender hangs up", failing(io.ErrUnexpectedEOF), 400},

		{"signed and empty", signed(""), 400},
		{"signed and no JSON", signed("<event/>"), 400},
		{"signed and cut", signed(event[:90]), 400},
		{"signed and without an id", signed(`{"type":"filing.status_changed"}`), 400},
		{"signed and binary", signed("\x00\xff\x1f\x8b"), 400},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			m := &memory{secrets: []string{secret, "whsec_before", ""}}
			rc, said := newReceiver(m)
			w := &dated{ResponseRecorder: httptest.NewRecorder()}
			if rc.ServeHTTP(w, c.request); w.Code != c.status ||
				w.deadline.IsZero() && c.request.Method == http.MethodPost {
				t.Errorf("status %d, want %d, with the deadline %s", w.Code, c.status, w.deadline)
			}
			if (len(m.events) == 1) != (c.status == 200) ||
				(len(m.garbled) == 1) != strings.HasPrefix(c.name, "signed and") {
				t.Errorf("%d kept and %d garbled", len(m.events), len(m.garbled))
			}
			if strings.Contains(said.String(), secret) {
				t.Errorf("a secret is logged: %s", said)
			}
		})
	}
}

// large is an event of n bytes.
func large(n int) string {
	const head, tail = `{"id":"evt_large","type":"filing.status_changed","note":"`, `"}`
	return head + strings.Repeat("x", n-len(head)-len(tail)) + tail
}

// zeros never ends.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// A body is kept byte for byte, and once however often it comes. A sender that has gone
// has still been heard.
func TestBodyIsKept(t *testing.T) {
	m := &memory{secrets: []string{secret}}
	rc, _ := newReceiver(m)
	ctx, gone := context.WithCancel(t.Context())
	gone()
	body := " \n" + event + "\r\n"
	for range 3 {
		got := answer(rc, delivery(body, sign(secret, body)).WithContext(ctx))
		if got.StatusCode != 200 || len(m.events) != 1 || m.events["evt_1"] != body {
			t.Errorf("%d: %q", got.StatusCode, m.events)
		}
	}
}

func TestWhatCannotBeStoredIsSentAgain(t *testing.T) {
	m := &memory{secrets: []string{secret}, unkept: errors.New("the disk is full")}
	rc, said := newReceiver(m)
	for _, body := range []string{event, "no event"} {
		if got := answer(rc, delivery(body, sign(secret, body))); got.StatusCode != 503 ||
			got.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d, %v", body, got.StatusCode, got.Header)
		}
	}
	if !strings.Contains(said.String(), "the disk is full") {
		t.Errorf("said: %s", said)
	}
	m.set(func(m *memory) { m.unkept = nil })
	if got := answer(rc, delivery(event, sign(secret, event))); got.StatusCode != 200 || len(m.events) != 1 {
		t.Errorf("%d with %d events", got.StatusCode, len(m.events))
	}
}

// Without a secret, or where some cannot be read, nothing is accepted but what those that
// there are vouch for. What is signed may be the service's own, and is asked for again;
// what is not is refused as ever.
func TestMissingSecretsFailClosed(t *testing.T) {
	unread := errors.New("the sealing key is gone")
	for _, c := range []struct {
		secrets, given []string
		unread         error
		signed         int // the status of what is signed by the secret
		says           string
	}{
		{nil, nil, nil, 503, "importer webhooks create --url"},
		{[]string{""}, nil, nil, 503, "importer webhooks create --url"},
		{nil, nil, unread, 503, "the sealing key is gone"},
		{nil, []string{secret}, unread, 200, "the sealing key is gone"},
	} {
		m, said := &memory{secrets: c.secrets, unread: c.unread}, new(bytes.Buffer)
		read := webhook.Secrets(m, func() ([]string, error) { return c.given, nil })
		rc, _ := webhook.Handler(m, webhook.NewHMAC(read), slog.New(slog.NewTextHandler(said, nil)))
		for signature, status := range map[string]int{"": 401, "00": 401, sign("", event): 503,
			sign("whsec_other", event): 503, sign(secret, event): c.signed} {
			if got := answer(rc, delivery(event, signature)); got.StatusCode != status {
				t.Errorf("%+v: signature %q: %d, want %d", c, signature, got.StatusCode, status)
			}
		}
		if (len(m.events) > 0) != (c.signed == 200) || !strings.Contains(said.String(), c.says) {
			t.Errorf("%+v: %d events; said: %s", c, len(m.events), said)
		}
	}
}

// A crowd that comes at once reads the secrets once, whether it is let in or
// not.
func TestSecretsAreNotReadForEveryDelivery(t *testing.T) {
	for who, signature := range map[string]string{"friends": sign(secret, event),
		"strangers": sign("whsec_other", event)} {
		synctest.Test(t, func(t *testing.T) {
			m := &memory{secrets: []string{secret}}
			rc, said := newReceiver(m)
			var crowd sync.WaitGroup
			for range 200 {
				crowd.Go(func() { answer(rc, delivery(event, signature)) })
			}
			crowd.Wait()
			if m.reads != 1 {
				t.Errorf("%d readings for %s", m.reads, who)
			}
			if n := strings.Count(said.String(), "\n"); n > 1 {
				t.Errorf("%d lines about %s", n, who)
			}
		})
	}
}

// A running receiver accepts a new secret at once, and refuses a removed one soon.
func TestSecretsTurnWhileItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		rc, _ := newReceiver(m)
		for i, step := range []struct {
			secrets []string
			after   time.Duration
			signed  string
			want    int
		}{
			{[]string{"whsec_old"}, 0, "whsec_old", 200},
			{[]string{"whsec_new", "whsec_old"}, time.Millisecond, "whsec_new", 200},
			{[]string{"whsec_new", "whsec_old"}, 0, "whsec_old", 200},
			{[]string{"whsec_new"}, 3 * time.Second, "whsec_old", 401},
		} {
			m.set(func(m *memory) { m.secrets = step.secrets })
			time.Sleep(step.after)
			body := strings.Replace(event, "evt_1", fmt.Sprint("evt_", i), 1)
			if got := answer(rc, delivery(body, sign(step.signed, body))).StatusCode; got != step.want {
				t.Errorf("step %d: %d, want %d", i, got, step.want)
			}
		}
	})
}

func TestStrangersDoNotFillTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rc, said := newReceiver(&memory{secrets: []string{secret}})
		for range 600 { // a minute
			answer(rc, delivery(event, ""))
			time.Sleep(100 * time.Millisecond)
		}
		answer(rc, delivery(event, ""))
		if n := strings.Count(said.String(), "\n"); n < 6 || n > 8 {
			t.Errorf("%d lines", n)
		}
	})
}

// The sandbox reads the spec by itself; its deliveries have to get in.
func TestTheSandboxGetsIn(t *testing.T) {
	service := sandbox.New(sandbox.Config{})
	m := new(memory)
	rc, _ := newReceiver(m)
	server := httptest.NewServer(rc)
	defer server.Close()

	hook := service.AddWebhook(sandbox.Webhook{URL: server.URL, Types: []string{filing.StatusChanged}})
	m.set(func(m *memory) { m.secrets = []string{hook.Secret} })
	told := service.TestDelivery(t.Context())
	if m.events[told.ID] != string(told.Body) {
		t.Errorf("kept %v", m.events)
	}
}

// dated is a connection that has deadlines.
type dated struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (d *dated) SetReadDeadline(t time.Time) error { d.deadline = t; return nil }
