package sandbox

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// heard is an event as an endpoint reads it.
type heard struct {
	ID, Type, CreatedAt string
	Data                map[string]any
}

// post is one delivery as an endpoint saw it.
type post struct {
	heard
	after  time.Duration // since the endpoint was made
	body   string
	status string // filingStatus
	good   bool   // its signature
}

// inbox is an endpoint. As the Client's transport it needs no network, for tests on a
// made-up clock.
type inbox struct {
	service *Service
	hook    Webhook
	made    time.Time
	answer  func(n int, p post) (int, error) // to the nth delivery, from 1; nil: 200, and 401 to a bad signature

	mu    sync.Mutex
	posts []post
}

func (in *inbox) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, []byte(in.hook.Secret))
	mac.Write(body)
	p := post{after: time.Since(in.made), body: string(body)}
	p.good = r.Header.Get("Service-Signature") == hex.EncodeToString(mac.Sum(nil))
	_ = json.Unmarshal(body, &p.heard) // rubbish has no id
	p.status, _ = p.Data["filingStatus"].(string)
	in.mu.Lock()
	in.posts = append(in.posts, p)
	n := len(in.posts)
	in.mu.Unlock()
	status := http.StatusOK
	switch {
	case in.answer != nil:
		if status, err = in.answer(n, p); err != nil {
			return nil, err
		}
	case !p.good:
		status = http.StatusUnauthorized
	}
	return &http.Response{StatusCode: status, Body: http.NoBody, Request: r}, nil
}

// take returns what came since it was asked last.
func (in *inbox) take() []post {
	in.mu.Lock()
	defer in.mu.Unlock()
	posts := in.posts
	in.posts = nil
	return posts
}

// withInbox is a seeded service and the only endpoint of it, for a test within a bubble.
func withInbox(t *testing.T, cfg Config) (*Service, *inbox) {
	in := &inbox{made: time.Now()}
	cfg.Client = &http.Client{Transport: in}
	in.service = seeded(t, cfg)
	in.hook = in.service.AddWebhook(Webhook{URL: "http://inbox.example/in"})
	return in.service, in
}

// place orders without a network.
func place(t *testing.T, s *Service, fields string) {
	t.Helper()
	r := httptest.NewRequest("POST", "/v1/orders", strings.NewReader(orderBody(fields))).WithContext(t.Context())
	r.Header = header
	w := httptest.NewRecorder()
	if s.Handler().ServeHTTP(w, r); w.Code != 201 {
		t.Fatalf("order %s: %d %s", fields, w.Code, w.Body)
	}
}

// deliveryCase is a case of TestAnEventIsTriedUntilItIsTaken.
type deliveryCase struct {
	name    string
	cfg     Config
	answers []int // then 200; 0: no answer
	waits   []time.Duration
	lost    int
}

func TestAnEventIsTriedUntilItIsTaken(t *testing.T) {
	for _, tt := range []deliveryCase{
		{"taken at once", Config{}, nil, nil, 0},
		{"taken with any 2xx", Config{}, []int{204}, nil, 0},
		{"refused", Config{}, []int{500, 401}, []time.Duration{time.Second, 2 * time.Second}, 0},
		{"redirected", Config{}, []int{302}, []time.Duration{time.Second}, 0},
		{"away", Config{}, []int{0, 0, 0}, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}, 0},
		{"away for long", Config{RetryAfter: 20 * time.Second}, []int{0, 0, 0, 0},
			[]time.Duration{20 * time.Second, 40 * time.Second, time.Minute, time.Minute}, 0},
		{"given up", Config{Retries: 2}, []int{500, 500, 500}, []time.Duration{time.Second, 2 * time.Second}, 1},
		{"never again", Config{Retries: -1}, []int{500}, nil, 1},
	} {
		t.Run(tt.name, tt.run)
	}
}

func (tt deliveryCase) run(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, in := withInbox(t, tt.cfg)
		in.answer = func(n int, _ post) (int, error) {
			switch {
			case n > len(tt.answers):
				return 200, nil
			case tt.answers[n-1] == 0:
				return 0, errors.New("connection refused")
			}
			return tt.answers[n-1], nil
		}
		e := s.TestDelivery(t.Context())
		if n := s.endpoints()[0].Attempts; n != 1 {
			t.Errorf("it returned after %d attempts", n)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		posts := in.take()
		if len(posts) != len(tt.waits)+1 {
			t.Fatalf("%d attempts, want %d", len(posts), len(tt.waits)+1)
		}
		for i, p := range posts {
			if p.ID != e.ID || p.body != string(e.Body) || !p.good {
				t.Errorf("attempt %d: %+v", i+1, p)
			}
			if i > 0 {
				if got, want := p.after-posts[i-1].after, tt.waits[i-1]; got != want {
					t.Errorf("wait %d was %s, want %s", i, got, want)
				}
			}
		}
		if got := s.endpoints()[0]; got.Waiting != 0 || got.Lost != tt.lost || got.Taken != 1-tt.lost ||
			got.Attempts != len(posts) {
			t.Errorf("the books say %+v", got)
		}
	})
}

// TestDeliveriesAreBounded: an endpoint that hangs is sent eight events and no
// more, and delays no other.
func TestDeliveriesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, in := withInbox(t, Config{})
		s.AddWebhook(Webhook{URL: "http://quick.example/in"})
		hang := make(chan struct{})
		s.cfg.Client = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host != "quick.example" {
				in.RoundTrip(r)
				<-hang
			}
			return &http.Response{StatusCode: 200, Body: http.NoBody, Request: r}, nil
		})}
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // no caller waits
		for range 100 {
			s.TestDelivery(ctx)
		}
		place(t, s, heldReport)
		synctest.Wait()
		if n := len(in.take()); n != 8 {
			t.Errorf("%d deliveries at once", n)
		}
		if n := s.endpoints()[1].Taken; n != 100 {
			t.Errorf("the other endpoint was told %d of 100", n)
		}
		close(hang)
		synctest.Wait()
		if n := s.endpoints()[0].Waiting; n != 0 {
			t.Errorf("%d deliveries wait", n)
		}
	})
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestRedirectsAreNotFollowed: the body would go to an address that is not registered, or become a GET.
func TestRedirectsAreNotFollowed(t *testing.T) {
	var strayed bool
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed = true }))
	defer elsewhere.Close()
	redirect := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusFound))
	defer redirect.Close()
	b := newBench(t, Config{Retries: -1})
	b.AddWebhook(Webhook{URL: redirect.URL})
	b.TestDelivery(t.Context())
	if got := b.endpoints()[0]; got.Lost != 1 || got.Taken != 0 || strayed {
		t.Errorf("strayed %v, %+v", strayed, got)
	}
}
