package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// post is one delivery as an endpoint saw it.
type post struct {
	after  time.Duration // since the endpoint was made
	id     string
	body   string
	status string // filingStatus
	good   bool   // its signature
	data   map[string]any
}

// inbox is an endpoint without a network, for tests on a made-up clock. It is
// the Client's transport.
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
	var e heard
	_ = json.Unmarshal(body, &e) // rubbish has no id
	p := post{time.Since(in.made), e.ID, string(body), "", r.Header.Get(SignatureHeader) == Sign(in.hook.Secret, body),
		e.Data}
	p.status, _ = e.Data["filingStatus"].(string)
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
	in.hook = in.service.AddWebhook("http://inbox.example/in")
	return in.service, in
}

// place orders without a network and returns the ids of the items.
func place(t *testing.T, s *Service, fields string) orderReply {
	t.Helper()
	r := httptest.NewRequest("POST", "/v1/orders", strings.NewReader(orderBody(fields))).WithContext(t.Context())
	r.Header.Set("X-Api-Key", testKey)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	if w.Code != 201 {
		t.Fatalf("order %s: %d %s", fields, w.Code, w.Body)
	}
	var o orderReply
	if err := json.Unmarshal(w.Body.Bytes(), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

const heldReport = `"companyId":"comp_held",` + report2026

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
		if n := len(s.Deliveries()); n != 1 {
			t.Errorf("it returned after %d tries", n)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		posts := in.take()
		if len(posts) != len(tt.waits)+1 {
			t.Fatalf("%d tries, want %d", len(posts), len(tt.waits)+1)
		}
		for i, p := range posts {
			if p.id != e.ID || p.body != string(e.Body) || !p.good {
				t.Errorf("try %d: %+v", i+1, p)
			}
			if i > 0 {
				if got, want := p.after-posts[i-1].after, tt.waits[i-1]; got < want || got > want*5/4 {
					t.Errorf("wait %d was %s, want from %s on", i, got, want)
				}
			}
		}
		got := s.deliveryReport().Endpoints[0]
		if got.Waiting != 0 || got.Lost != tt.lost || got.Taken != 1-tt.lost || got.Attempts != len(posts) ||
			s.Waiting() != 0 {
			t.Errorf("the books say %+v", got)
		}
	})
}

// TestDeliveriesAreBounded: an endpoint that hangs is sent eight events and no
// more, and delays no other.
func TestDeliveriesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, in := withInbox(t, Config{})
		quick := s.AddWebhook("http://quick.example/in")
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
		toldQuick := 0
		for _, d := range s.Deliveries() {
			if d.EndpointID == quick.ID && d.Taken() {
				toldQuick++
			}
		}
		if toldQuick != 100 {
			t.Errorf("the other endpoint was told %d of 100", toldQuick)
		}
		close(hang)
		synctest.Wait()
		if n := s.Waiting(); n != 0 {
			t.Errorf("%d deliveries wait", n)
		}
	})
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The names of the events that are sent. "!" in front marks a bad signature, and
// "-" is a body that is no event.
const first, second = "1", "2"

// webhookFaultCase is a case of TestWebhookFaults.
type webhookFaultCase struct {
	name   string
	faults []WebhookFault
	want   []string
	at     []time.Duration // of each, with what jitter adds; nil: at once
}

func TestWebhookFaults(t *testing.T) {
	for _, tt := range []webhookFaultCase{
		{"none", nil, []string{first, second}, nil},
		{"duplicate", []WebhookFault{{Kind: WebhookDuplicate, Times: 1}}, []string{first, first, second}, nil},
		{"reorder", []WebhookFault{{Kind: WebhookReorder, Times: 1}}, []string{second, first}, nil},
		{"reorder the last", []WebhookFault{{Kind: WebhookReorder}}, []string{second, first},
			[]time.Duration{time.Second, time.Second}},
		{"delay", []WebhookFault{{Kind: WebhookDelay, Times: 1}}, []string{second, first},
			[]time.Duration{0, 5 * time.Second}},
		{"delay for", []WebhookFault{{Kind: WebhookDelay, For: time.Minute, Times: 1}}, []string{second, first},
			[]time.Duration{0, time.Minute}},
		{"bad signature", []WebhookFault{{Kind: WebhookBadSignature, Times: 1}}, []string{"!" + first, second, first},
			[]time.Duration{0, 0, time.Second}},
		{"garbage", []WebhookFault{{Kind: WebhookGarbage, Times: 1}}, []string{"-", first, second}, nil},
		{"huge", []WebhookFault{{Kind: WebhookHuge, Times: 1}}, []string{"-", first, second}, nil},
		{"all at once", []WebhookFault{{Kind: WebhookDuplicate, Times: 1}, {Kind: WebhookGarbage, Times: 1},
			{Kind: WebhookReorder, Times: 1}},
			[]string{"-", first, second, first}, nil},
		{"early has no part in it", []WebhookFault{{Kind: WebhookEarly}}, []string{first, second}, nil},
	} {
		t.Run(tt.name, tt.run)
	}
}

func (tt webhookFaultCase) run(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, in := withInbox(t, Config{DeliveriesAtOnce: 1, WebhookFaults: tt.faults})
		names := map[string]string{s.TestDelivery(t.Context()).ID: first,
			s.TestDelivery(t.Context()).ID: second}
		time.Sleep(time.Hour)
		synctest.Wait()
		var got []string
		for i, p := range in.take() {
			name := names[p.id]
			if name == "" {
				name = "-"
			}
			if !p.good {
				name = "!" + name
			}
			got = append(got, name)
			var at time.Duration
			if i < len(tt.at) {
				at = tt.at[i]
			}
			if p.after < at || p.after > at*5/4 {
				t.Errorf("delivery %d came after %s, want %s", i+1, p.after, at)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("told %q, want %q", got, tt.want)
		}
		if s.Waiting() != 0 || len(s.Violations()) != 0 {
			t.Errorf("waiting %d, violations %v", s.Waiting(), s.Violations())
		}
	})
}

func TestWebhookFaultRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, in := withInbox(t, Config{WebhookFaults: []WebhookFault{{Kind: WebhookDuplicate, Rate: 0.2}}})
		for range 300 {
			s.TestDelivery(t.Context())
		}
		synctest.Wait()
		if n := len(in.take()) - 300; n < 30 || n > 90 || s.Books().Faults["webhook duplicate"] != n {
			t.Errorf("%d of 300 came twice", n)
		}
		s.ClearWebhookFaults()
		s.TestDelivery(t.Context())
		if n := len(in.take()); n != 1 {
			t.Errorf("cleared, and yet %d", n)
		}
	})
}

func TestBadSignatureTakenIsAViolation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, in := withInbox(t, Config{WebhookFaults: []WebhookFault{{Kind: WebhookBadSignature, Times: 1}}})
		in.answer = func(int, post) (int, error) { return 200, nil }
		s.TestDelivery(t.Context())
		time.Sleep(time.Hour)
		if v := s.Violations(); len(v) != 1 || v[0].Rule != "5.5" {
			t.Errorf("violations %v", v)
		}
		if n := len(in.take()); n != 2 {
			t.Errorf("%d deliveries: the right one has to follow", n)
		}
	})
}

// earlyCase is an order of TestEventsBeforeTheAnswer.
type earlyCase struct {
	name, fields string
	told         []string // statuses, before the answer
}

// TestEventsBeforeTheAnswer: the endpoint hears of an order before the client
// has its answer, and of more than it says.
func TestEventsBeforeTheAnswer(t *testing.T) {
	for _, tt := range []earlyCase{
		{"annual report", heldReport, []string{"submitted", "pending"}},
		{"formation", llc(), []string{"submitted"}},
		{"EIN", `"companyId":"comp_bare",` + einOrder, []string{"submitted"}},
		{"foreign qualification", `"companyId":"comp_filed","foreignQualification":true`, []string{"submitted"}},
		{"change of agent", `"companyId":"comp_bare","registeredAgent":{"isChangeOfAgent":true}`,
			[]string{"submitted"}},
		{"new appointment", `"companyId":"comp_bare",` + newAgent, nil},
		{"agent that is there already", `"companyId":"comp_held",` + newAgent, nil},
		{"two products", `"companyId":"comp_bare",` + newAgent + `,` + report2026, []string{"submitted", "pending"}},
	} {
		for name, cfg := range map[string]Config{
			"by configuration": {EventsFirst: true},
			"by fault":         {WebhookFaults: []WebhookFault{{Kind: WebhookEarly}}},
		} {
			t.Run(tt.name+" "+name, func(t *testing.T) { tt.run(t, cfg) })
		}
	}
}

func (tt earlyCase) run(t *testing.T, cfg Config) {
	synctest.Test(t, func(t *testing.T) {
		cfg.DeliveriesAtOnce, cfg.Latency = 1, 10*time.Second
		s, in := withInbox(t, cfg)
		o := place(t, s, tt.fields)
		var got []string
		for _, p := range in.take() {
			got = append(got, p.status)
			if p.after != 5*time.Second ||
				!slices.ContainsFunc(o.Items, func(i orderItem) bool {
					return i.OrderID == p.data["orderId"]
				}) {
				t.Errorf("told after %s: %s", p.after, p.body)
			}
		}
		if !slices.Equal(got, tt.told) {
			t.Errorf("told %q, want %q", got, tt.told)
		}
		if tt.name != "agent that is there already" {
			for _, item := range o.Items {
				if item.FilingStatus != "submitted" {
					t.Errorf("the answer says %s", item.FilingStatus)
				}
			}
		}
	})
}

func TestEarlyEventsToAHangingEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, in := withInbox(t, Config{EventsFirst: true})
		in.answer = func(int, post) (int, error) { time.Sleep(time.Minute); return 200, nil }
		start := time.Now()
		place(t, s, heldReport)
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("the order took %s", took)
		}
		time.Sleep(time.Hour)
	})
}

// TestRedirectsAreNotFollowed: the body would go to an address that is not registered, or become a GET.
func TestRedirectsAreNotFollowed(t *testing.T) {
	var strayed bool
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed = true }))
	defer elsewhere.Close()
	redirect := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusFound))
	defer redirect.Close()
	b := newBench(t, Config{Retries: -1})
	b.AddWebhook(redirect.URL)
	b.TestDelivery(t.Context())
	if got := b.Deliveries(); len(got) != 1 || got[0].Status != 302 || got[0].Taken() || strayed {
		t.Errorf("strayed %v, deliveries %+v", strayed, got)
	}
}

func TestRedeliverAll(t *testing.T) {
	b := newBench(t, Config{DeliveriesAtOnce: 1})
	e := b.listen(t, `"filing.status_changed","document.uploaded"`)
	id := b.mustOrder(heldReport).Items[0].OrderID
	for range 2 {
		if _, err := b.Advance(t.Context(), id, ""); err != nil {
			t.Fatal(err)
		}
	}
	first := e.take()
	if len(first) != 3 {
		t.Fatalf("told %+v", first)
	}
	for body, want := range map[string][]int{
		`{"all":true}`:                                   {0, 1, 2},
		`{"all":true,"reverse":true}`:                    {2, 1, 0},
		`{"all":true,"reverse":true,"twice":true}`:       {2, 2, 1, 1, 0, 0},
		`{"eventId":"` + first[1].ID + `"}`:              {1},
		`{"eventId":"` + first[1].ID + `","twice":true}`: {1, 1},
	} {
		if r := b.do("POST", "/admin/redeliver", body); r.status != 200 {
			t.Fatalf("%s: %d %s", body, r.status, r.body)
		}
		var got []int
		for _, one := range e.take() {
			got = append(got, slices.IndexFunc(first, func(f heard) bool { return f.ID == one.ID }))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: told %v, want %v", body, got, want)
		}
	}
}
