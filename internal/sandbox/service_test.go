package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/goldentest"
)

// bench is a seeded service on a socket.
type bench struct {
	*Service
	t      testing.TB
	url    string
	client *http.Client
}

const testKey = "sk_test_bench"

// seeded is a service with a user and companies that orders can name.
func seeded(t testing.TB, cfg Config) *Service {
	if cfg.OpeningBalance == 0 {
		cfg.OpeningBalance = 10_000_00
	}
	s := New(cfg)
	t.Cleanup(s.Close)
	s.AddUser(User{ID: "user_1", Email: "ann@example.com", PhoneNumber: "+13025550100"})
	s.AddUser(User{ID: "user_else", Email: "else@example.com", PhoneNumber: "+13025550199", Elsewhere: true})
	de := func(id string) Company {
		return Company{
			ID:             id,
			LegalName:      id,
			EntityType:     "LLC",
			FormationState: "DE",
			UserID:         "user_1",
		}
	}
	held := de("comp_held")
	held.Agents = map[string]Agent{"DE": ActiveService}
	s.AddCompany(held)
	s.AddCompany(de("comp_bare"))
	filed := de("comp_filed")
	filed.Agents = map[string]Agent{"DE": OtherAgent, "CA": OtherAgent}
	filed.EIN, filed.Qualified = "12-3456789", []string{"CA"}
	s.AddCompany(filed)
	s.AddCompany(Company{
		ID:        "comp_blank",
		LegalName: "comp_blank",
		UserID:    "user_1",
		Agents:    map[string]Agent{"DE": ActiveService},
	})
	s.AddCompany(Company{ID: "comp_else", EntityType: "LLC", FormationState: "DE", Elsewhere: true})
	return s
}

func newBench(t testing.TB, cfg Config) *bench {
	t.Helper()
	s := seeded(t, cfg)
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	// One connection a request: the transport must not send a request again by itself.
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	return &bench{Service: s, t: t, url: server.URL, client: client}
}

type reply struct {
	status int
	header http.Header
	body   []byte
}

func (r reply) message(t testing.TB) string {
	t.Helper()
	var e struct{ Message string }
	if err := json.Unmarshal(r.body, &e); err != nil {
		t.Fatalf("error body %q: %v", r.body, err)
	}
	return e.Message
}

func (r reply) decode(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal(r.body, v); err != nil {
		t.Fatalf("decode %q: %v", r.body, err)
	}
}

// header has a key and the content type of a request with a body.
var header = http.Header{"X-Api-Key": {testKey}, "Content-Type": {"application/json"}}

// try sends a request with a header, and returns what came until the end and how that came.
func (b *bench) try(ctx context.Context, method, path, body string, header http.Header) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, method, b.url+path, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	req.Header = header
	res, err := b.client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	return reply{res.StatusCode, res.Header, raw}, err
}

func (b *bench) do(method, path, body string) reply {
	b.t.Helper()
	r, err := b.try(b.t.Context(), method, path, body, header)
	if err != nil {
		b.t.Fatalf("%s %s: %v", method, path, err)
	}
	return r
}

// order posts an order for DE of user_1 with the fields given.
func (b *bench) order(fields string) reply {
	b.t.Helper()
	return b.do("POST", "/v1/orders", orderBody(fields))
}

func orderBody(fields string) string {
	return `{"userId":"user_1","filingState":"DE",` + fields + `}`
}

func (b *bench) mustOrder(fields string) orderReply {
	b.t.Helper()
	r := b.order(fields)
	if r.status != 201 {
		b.t.Fatalf("order %s: %d %s", fields, r.status, r.body)
	}
	var o orderReply
	r.decode(b.t, &o)
	return o
}

type orderReply struct {
	CompanyID string
	Items     []orderItem
}

type orderItem struct {
	OrderType, OrderID, CreatedAt, FilingStatus string
	FilingDate, SubscriptionStatus              *string
}

const (
	report2026   = `"annualReport":{"filingYear":"2026"}`
	heldReport   = `"companyId":"comp_held",` + report2026
	newAgent     = `"registeredAgent":{"isChangeOfAgent":false}`
	agentAddress = `"addressStreet":"1 Main St","addressCity":"Dover","addressZip":"19901"`
	deAgent      = `"registeredAgent":{"type":"COMPANY","companyName":"Agents Inc",` + agentAddress +
		`,"addressState":"DE"}`
	address = `{"line1":"1 Main St","city":"Dover","state":"DE","postalCode":"19901","country":"US"}`
	member  = `{"type":"PERSON","firstName":"Ann","lastName":"Lee","title":"Member","isPrimary":true,"address":` +
		address + `}`
	einFields = `"businessCategory":"Consulting","businessPurpose":"advice","applicationReason":"Banking purposes",
		"vehicle55kPounds":false,"gamblingWagering":false,"fileForm720":false,"alcoholTobaccoFirearms":false,
		"fileForm944":false,
		"responsiblePartyFirstName":"Ann","responsiblePartyLastName":"Lee","responsiblePartyTitle":"Member"`
	einParty = `"responsiblePartySsn":"123456789","responsiblePartyPhoneNumber":"3025550100"`
	einIdle  = `"isW2Expected":false,"agricultureEmployeesCount":0,"otherEmployeesCount":0,"firstWagesDate":null`
	einOrder = `"ein":{` + einFields + `,` + einIdle + `,` + einParty + `}`
)

// llc is a formation object of a valid LLC with replacements made, in pairs of old and new.
func llc(replace ...string) string {
	f := `"formation":{"expedited":false,` + deAgent +
		`,"company":{"legalName":"Blue Heron LLC","entityType":"LLC","structureType":"MEMBER",
		"principalAddress":` + address + `,"mailingAddress":` + address + `,"officers":[` + member + `]}}`
	return edit(f, replace...)
}

func edit(s string, replace ...string) string {
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(s, replace[i]) {
			panic(fmt.Sprintf("%q is not in %q", replace[i], s))
		}
		s = strings.Replace(s, replace[i], replace[i+1], 1)
	}
	return s
}

// generated are the parts of an answer that differ from run to run.
var generated = regexp.MustCompile(`([a-z]_)[0-9a-f]{12,}|"[-0-9]{10}T[0-9:.]+Z"|127\.0\.0\.1:[0-9]+`)

// TestRequests compares the answers of each endpoint of section 4.
func TestRequests(t *testing.T) {
	b := newBench(t, Config{})
	goldentest.Lines(t, "testdata/requests.txt", func(t *testing.T, fields []string) string {
		method, path, _ := strings.Cut(fields[0], " ")
		r := b.do(method, path, strings.Join(fields[1:], ""))
		return fmt.Sprintf("%d %s", r.status, generated.ReplaceAllString(strings.TrimSpace(string(r.body)), "$1*"))
	})
}

// TestStrict sends what a lenient decoder would let through.
func TestStrict(t *testing.T) {
	send := func(t *testing.T, body string, header http.Header) string {
		b := newBench(t, Config{})
		r, err := b.try(t.Context(), "POST", "/v1/orders", body, header)
		if err != nil {
			t.Fatal(err)
		}
		refused := r.status >= 400
		if refused != (len(b.Violations()) > 0) || refused != (len(b.Books().Orders) == 0) {
			t.Errorf("violations %v, orders %d", b.Violations(), len(b.Books().Orders))
		}
		if !refused {
			return strconv.Itoa(r.status)
		}
		return fmt.Sprintf("%d %s", r.status, r.message(t))
	}
	goldentest.Lines(t, "testdata/strict.txt", func(t *testing.T, fields []string) string {
		return send(t, fields[1], header)
	})
	good := orderBody(heldReport)
	for _, tt := range []struct{ name, body, contentType, want, says string }{
		{"too large", edit(good, "{", "{"+strings.Repeat(" ", maxBody)), "application/json", "413 ", "larger than"},
		{"wrong content type", good, "text/plain", "415 ", "application/json"},
		{"no content type", good, "", "415 ", "application/json"},
		{"content type with charset", good, "application/json; charset=utf-8", "201", ""},
	} {
		header := header.Clone()
		header.Set("Content-Type", tt.contentType)
		if got := send(t, tt.body, header); !strings.HasPrefix(got, tt.want) || !strings.Contains(got, tt.says) {
			t.Errorf("%s: %s, want %s with %q", tt.name, got, tt.want, tt.says)
		}
	}
	t.Run("query and body where none belongs", func(t *testing.T) {
		b := newBench(t, Config{})
		for _, r := range []reply{b.do("GET", "/v1/users/user_1?x=1", ""), b.do("GET", "/v1/users/user_1", "{}")} {
			if r.status != 400 {
				t.Errorf("got %d %s", r.status, r.body)
			}
		}
	})
}

func TestAuthentication(t *testing.T) {
	for _, tt := range []struct {
		name       string
		keys       []string
		sent       []string
		status     int
		violations int
	}{
		{"5.1 any test key", nil, []string{"sk_test_a"}, 200, 0},
		{"5.1 no key", nil, nil, 401, 1},
		{"5.1 empty key", nil, []string{""}, 401, 1},
		{"5.1 two keys", nil, []string{"sk_test_a", "sk_test_b"}, 401, 1},
		{"5.2 live key here", nil, []string{"sk_live_a"}, 401, 0},
		{"5.3 key of the list", []string{"sk_live_a"}, []string{"sk_live_a"}, 200, 0},
		{"5.3 key not of the list", []string{"sk_live_a"}, []string{"sk_test_a"}, 401, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, Config{Keys: tt.keys})
			r, err := b.try(t.Context(), "GET", "/v1/organization", "", http.Header{"X-Api-Key": tt.sent})
			if err != nil || r.status != tt.status || len(b.Violations()) != tt.violations {
				t.Errorf("got %d, %v and %v, want %d and %d violations", r.status, err, b.Violations(), tt.status,
					tt.violations)
			}
		})
	}
	t.Run("revoked", func(t *testing.T) {
		b := newBench(t, Config{})
		b.SetKeys("sk_test_other")
		if r := b.order(heldReport); r.status != 401 || len(b.Books().Orders) != 0 {
			t.Errorf("got %d %s", r.status, r.body)
		}
	})
}

// TestClientLeaves: an order is made although no client waits for its answer.
func TestClientLeaves(t *testing.T) {
	b := newBench(t, Config{Latency: 200 * time.Millisecond})
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	left := make(chan error)
	go func() {
		_, err := b.try(ctx, "POST", "/v1/orders", orderBody(heldReport), header)
		left <- err
	}()
	eventually(t, func() bool { return b.Books().Requests["POST /orders"] == 1 })
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	eventually(t, func() bool { return len(b.Books().Orders) == 1 })
}

// eventually waits for what another goroutine of the server does in its own time.
func eventually(t testing.TB, done func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for limit := time.After(2 * time.Minute); !done(); {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal("waited two minutes in vain")
		}
	}
}

// TestServe: an outage under Serve refuses connections for real, and ends on
// the same address.
func TestServe(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := New(Config{})
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, ln) }()
	get := func() (int, error) {
		req, _ := http.NewRequest("GET", "http://"+ln.Addr().String()+"/v1/organization", nil)
		req.Header.Set("X-Api-Key", testKey)
		res, err := (&http.Client{Timeout: 5 * time.Second}).Do(req)
		if err != nil {
			return 0, err
		}
		res.Body.Close()
		return res.StatusCode, nil
	}
	up := func() bool { status, err := get(); return err == nil && status == 200 }
	eventually(t, up)
	s.SetOutage(OutageRefuse)
	eventually(t, func() bool { _, err := get(); return errors.Is(err, syscall.ECONNREFUSED) })
	s.SetOutage(Outage503)
	eventually(t, func() bool { status, _ := get(); return status == 503 })
	s.SetOutage(OutageNone)
	eventually(t, up)
	cancel()
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestAutoSeed(t *testing.T) {
	b := newBench(t, Config{AutoSeed: true, AutoFormationState: "NV"})
	for _, tt := range []struct {
		path   string
		status int
		want   string
	}{
		{"/v1/companies/comp_mine", 200, `"formationState":"NV"`},
		{"/v1/companies/my-own-slug", 200, `"entityType":"LLC"`},
		{"/v1/companies/comp_else", 404, "not found"},
		{"/v1/companies/Not%20One", 404, "neither"},
		{"/v1/users/user_mine", 200, `"email":"user_mine@users.example"`},
		{"/v1/users/me@example.com", 200, `"id":"user_`},
	} {
		first, second := b.do("GET", tt.path, ""), b.do("GET", tt.path, "")
		if first.status != tt.status || !strings.Contains(string(first.body), tt.want) ||
			!bytes.Equal(first.body, second.body) {
			t.Errorf("%s: got %d %s, then %s", tt.path, first.status, first.body, second.body)
		}
	}
	b.mustOrder(`"companyId":"comp_fresh",` + report2026)
	b.mustOrder(`"companyId":"comp_fresh2","registeredAgent":{"isChangeOfAgent":true}`)
	if items := b.Books().Items(); len(items) != 2 || items[1].Amount() != 50_00 {
		t.Errorf("got %+v", items)
	}
}
