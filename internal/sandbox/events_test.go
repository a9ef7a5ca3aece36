package sandbox

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// listen registers an endpoint that a server stands for.
func (b *bench) listen(t *testing.T, types string) *inbox {
	in := &inbox{made: time.Now()}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer, err := in.RoundTrip(r); err != nil || answer.StatusCode != http.StatusOK {
			t.Errorf("a delivery with a wrong signature: %v", err)
		}
	}))
	t.Cleanup(server.Close)
	var hook struct{ ID, SigningSecret string }
	b.do("POST", "/v1/webhook-endpoints", `{"url":"`+server.URL+`","eventTypes":[`+types+`]}`).decode(t, &hook)
	if !strings.HasPrefix(hook.SigningSecret, "whsec_") {
		t.Fatalf("got %+v", hook)
	}
	in.hook.Secret = hook.SigningSecret
	return in
}

// bothTypes are the event types that an endpoint can ask for.
const bothTypes = `"filing.status_changed","document.uploaded"`

// eventCase is a case of TestEvents.
type eventCase struct {
	name, fields string
	steps        []string // statuses told, one Advance each; "" when nothing is told
	document     string
	filingType   any
}

func TestEvents(t *testing.T) {
	for _, tt := range []eventCase{
		{"annual report", heldReport, []string{"pending", "filed"}, "annual_report", nil},
		{"formation", llc(), []string{"filed"}, "articles", nil},
		{"EIN", `"companyId":"comp_bare",` + einOrder, []string{"filed"}, "ein_letter", nil},
		{"foreign qualification", `"companyId":"comp_filed","foreignQualification":true`, []string{"filed"},
			"certificate", nil},
		{"change of agent", `"companyId":"comp_bare","registeredAgent":{"isChangeOfAgent":true}`, []string{"filed"},
			"state_confirmation", "change_of_agent"},
		{"new appointment", `"companyId":"comp_bare",` + newAgent, []string{""}, "", nil},
	} {
		t.Run(tt.name, tt.run)
	}
}

func (tt eventCase) run(t *testing.T) {
	b := newBench(t, Config{})
	all, documents := b.listen(t, bothTypes), b.listen(t, `"document.uploaded"`)
	id := b.mustOrder(tt.fields).Items[0].OrderID
	if got := all.take(); len(got) != 0 {
		t.Errorf("ordering told %+v", got)
	}
	for _, status := range tt.steps {
		if _, err := b.Advance(t.Context(), id, ""); err != nil {
			t.Fatal(err)
		}
		got := all.take()
		slices.SortFunc(got, func(a, b post) int { return strings.Compare(b.Type, a.Type) }) // the status is first
		if status == "" {
			if len(got) != 0 {
				t.Errorf("told %+v", got)
			}
			continue
		}
		d := got[0].Data
		if _, err := time.Parse("2006-01-02T15:04:05.000Z", got[0].CreatedAt); err != nil ||
			!strings.HasPrefix(got[0].ID, "evt_") {
			t.Errorf("envelope %+v: %v", got[0], err)
		}
		if got[0].Type != statusChanged || d["orderId"] != id || d["filingStatus"] != status ||
			d["filingType"] != tt.filingType ||
			(d["filingDate"] != nil) != (status == "filed") {
			t.Errorf("told %+v", got[0])
		}
		if status != "filed" {
			continue
		}
		if len(got) != 2 || got[1].Type != documentUploaded || got[1].Data["orderId"] != id ||
			got[1].Data["documentType"] != tt.document {
			t.Errorf("told %+v", got)
		}
	}
	if got := documents.take(); (len(got) == 1) != (tt.document != "") {
		t.Errorf("the endpoint for documents was told %+v", got)
	}
	if _, err := b.Advance(t.Context(), id, ""); !errors.Is(err, ErrAtEnd) {
		t.Errorf("past the end: %v", err)
	}
}

func TestOtherEvents(t *testing.T) {
	b := newBench(t, Config{})
	e := b.listen(t, bothTypes)
	id := b.mustOrder(heldReport).Items[0].OrderID
	events, err := b.Raise(t.Context(), id, 482)
	if err != nil || len(events) != 1 {
		t.Fatal(events, err)
	}
	first := e.take()
	if len(first) != 1 || first[0].Data["exceptionCode"] != 482.0 {
		t.Errorf("told %+v", first)
	}
	b.TestDelivery(t.Context())
	if got := e.take(); len(got) != 1 || got[0].Data["orderId"] != "order_test" {
		t.Errorf("test delivery told %+v", got)
	}
	if _, err := b.AgentMail(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if got := e.take(); len(got) != 1 || got[0].Data["documentType"] != "registered_agent" {
		t.Errorf("agent mail told %+v", got)
	}
	if _, err := b.Advance(t.Context(), "order_none", ""); !errors.Is(err, ErrNoOrder) {
		t.Errorf("got %v", err)
	}
	if got := b.endpoints()[0]; got.Taken != 3 || got.Attempts != 3 {
		t.Errorf("deliveries %+v", got)
	}
}

// TestLinks: download and magic links lead somewhere for as long as section 8 says.
func TestLinks(t *testing.T) {
	var mu sync.Mutex
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	pass := func(d time.Duration) { mu.Lock(); defer mu.Unlock(); now = now.Add(d) }
	b := newBench(t, Config{Now: clock})
	b.mustOrder(heldReport)
	d := b.AddDocument(Document{CompanyID: "comp_held", OrderID: "order_1", Type: "articles"})
	for _, tt := range []struct {
		name, method, path, body, shows string
		life                            time.Duration
		expired                         int
	}{
		{"document", "GET", "/v1/documents/" + d.ID, "", "comp_held", time.Hour, 403},
		{"magic link", "POST", "/v1/auth/magic-link", `{"userId":"user_1","companyId":"comp_held"}`,
			"annual_report", 7 * 24 * time.Hour, 410},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var link struct{ URL, ExpiresAt string }
			b.do(tt.method, tt.path, tt.body).decode(t, &link)
			if want := clock().Add(tt.life).Format("2006-01-02T15:04:05.000Z"); link.ExpiresAt != want {
				t.Errorf("expires %s, want %s", link.ExpiresAt, want)
			}
			path := strings.TrimPrefix(link.URL, b.url)
			if r := b.do("GET", path, ""); r.status != 200 || !bytes.Contains(r.body, []byte(tt.shows)) {
				t.Errorf("%s: %d %s", path, r.status, r.body)
			}
			pass(tt.life + time.Second)
			if r := b.do("GET", path, ""); r.status != tt.expired {
				t.Errorf("expired, and yet %d", r.status)
			}
		})
	}
	if r := b.do("GET", "/files/"+d.ID+"?expires=99999999999&signature=00", ""); r.status != 403 {
		t.Errorf("forged link: %d", r.status)
	}
	if r := b.do("GET", "/dashboard/link_none", ""); r.status != 404 {
		t.Errorf("unknown link: %d", r.status)
	}
}
