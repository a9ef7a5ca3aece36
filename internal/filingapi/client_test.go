package filingapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
)

var discard = log.New(io.Discard, "", 0)

func TestNewRefuses(t *testing.T) {
	const live = "sk_live_4eC39HqLyjWDarjtT1zdp7dc"
	for _, tc := range []struct {
		name, base, key string
		live            bool
		says            string // empty: accepted
	}{
		{"an address without the version", "https://api.example.com", testKey, false, "must end in /v1"},
		{"no address", "", testKey, false, "FILING_BASE_URL"},
		{"no web address", "api.example.com/v1", testKey, false, "not a web address"},
		{"the key in the address", "https://" + testKey + "@api.example.com/v1", testKey, false, "must not carry"},
		{"the key in a query", "https://api.example.com/v1?key=" + testKey, testKey, false, "must not carry"},
		{"an address that begins like loopback", "http://127.0.0.1.example.com/v1", live, true, "use https"},
		{"no key", "https://api.example.com/v1", "", false, "FILING_API_KEY"},
		{"a key with a line break", "https://api.example.com/v1", testKey + "\n", false, "line break"},
		{"a key of no known prefix", "https://api.example.com/v1", "prod_abc", true, "neither sk_test_ nor sk_live_"},
		{"a live key by itself", "https://api.example.com/v1", live, false, "--live"},
		{"a live key in the clear", "http://api.example.com/v1", live, true, "use https"},

		{"not: a test key in the clear", "http://sandbox:4010/v1", testKey, false, ""},
		{"not: a live key on purpose", "https://api.example.com/v1", live, true, ""},
		{"not: a trailing slash", "https://api.example.com/filing/v1/", testKey, false, ""},
		{"not: loopback by name", "http://localhost:8090/v1", live, true, ""},
		{"not: loopback by number", "http://127.3.2.1/v1", live, true, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := filingapi.New(filingapi.Config{BaseURL: tc.base, Key: tc.key, Live: tc.live})
			if tc.says == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, want something with %q", err, tc.says)
			}
			if err != nil && (strings.Contains(err.Error(), testKey) || strings.Contains(err.Error(), live)) {
				t.Errorf("the key is in %v", err)
			}
		})
	}
}

// call is one call of each kind, and the error that it came to.
func calls(ctx context.Context, c *filingapi.Client) map[string]error {
	errs := map[string]error{}
	_, errs["company"] = c.Company(ctx, "comp_1")
	_, errs["update"] = c.UpdateCompany(ctx, "comp_1", filing.Company{EntityType: filing.LLC})
	_, errs["user"] = c.User(ctx, "ann@example.com")
	_, errs["create"] = c.CreateUser(ctx, filing.User{FullName: "Ann Lee", Email: "ann@example.com"})
	_, errs["prices"] = c.Prices(ctx)
	_, errs["organization"] = c.Organization(ctx)
	_, errs["magic link"] = c.MagicLink(ctx, "user_1", "comp_1")
	_, errs["document"] = c.Document(ctx, "doc_1")
	_, errs["endpoint"] = c.CreateEndpoint(ctx, "https://a.example.com", filing.EventTypes)
	return errs
}

// Each call is sent once, whatever comes of it, and its error tells what may have been done
// from what was not.
func TestErrorsOfLookUps(t *testing.T) {
	all := []error{filingapi.ErrNotFound, filingapi.ErrKeyRefused, filingapi.ErrBusy, filingapi.ErrUnavailable,
		filingapi.ErrConflict, filingapi.ErrRefused}
	for _, tc := range []struct {
		status int
		body   string
		want   error
	}{
		{200, "", filingapi.ErrUnavailable},
		{200, "null", filingapi.ErrUnavailable},
		{200, "[]", filingapi.ErrUnavailable},
		{200, "<html>", filingapi.ErrUnavailable},
		{302, "", filingapi.ErrUnavailable},
		{400, "", filingapi.ErrRefused},
		{401, "", filingapi.ErrKeyRefused},
		{402, "", filingapi.ErrRefused},
		{403, "", filingapi.ErrKeyRefused},
		{404, "", filingapi.ErrNotFound},
		{409, "", filingapi.ErrConflict},
		{422, "", filingapi.ErrRefused},
		{429, "", filingapi.ErrBusy},
		{500, "", filingapi.ErrUnavailable},
		{502, "", filingapi.ErrUnavailable},
		{503, "", filingapi.ErrBusy},
	} {
		sent := 0
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			sent++
			w.Header().Set("Retry-After", "3")
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(tc.status)
			_, _ = io.WriteString(w, tc.body)
		}))
		errs := calls(t.Context(), client(t, filingapi.Config{BaseURL: srv.URL + "/v1"}))
		srv.Close()
		if sent != len(errs) {
			t.Errorf("%d: %d requests for %d calls", tc.status, sent, len(errs))
		}
		for name, err := range errs {
			if got := errors.Is(err, filingapi.ErrUncertain); got != (tc.want == filingapi.ErrUnavailable) {
				t.Errorf("%d %q, %s: %v is uncertain: %t", tc.status, tc.body, name, err, got)
			}
			for _, target := range all {
				if got := errors.Is(err, target); got != (target == tc.want) {
					t.Errorf("%d %q, %s: %v is %v: %t", tc.status, tc.body, name, err, target, got)
				}
			}
			e, ok := errors.AsType[*filingapi.Error](err)
			if !ok || e.Status != tc.status || e.Op == "" {
				t.Errorf("%d, %s: %#v", tc.status, name, err)
			}
			if tc.want == filingapi.ErrBusy && e.RetryAfter != 3*time.Second {
				t.Errorf("%d, %s: Retry-After %s", tc.status, name, e.RetryAfter)
			}
		}
	}
}

func TestLookUps(t *testing.T) {
	type seen struct{ method, path, body, key, contentType string }
	var got seen
	var reply string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = seen{r.Method, r.URL.EscapedPath(), string(body), r.Header.Get("x-api-key"), r.Header.Get("Content-Type")}
		_, _ = io.WriteString(w, reply)
	}))
	defer srv.Close()
	c := client(t, filingapi.Config{BaseURL: srv.URL + "/v1/"})

	for _, tc := range []struct {
		name, reply string
		call        func() (any, error)
		want        any
		sent        seen
	}{
		{"company", `{"id":"comp_1","legalName":"A LLC","entityType":"LLC","formationState":null,` +
			`"principalAddress":{"line1":"1 Main"},"new":1,"officers":"?"}`,
			func() (any, error) { return c.Company(t.Context(), "a-llc") },
			filing.Company{
				ID:               "comp_1",
				LegalName:        "A LLC",
				EntityType:       "LLC",
				PrincipalAddress: &filing.Address{Line1: "1 Main"},
			},
			seen{"GET", "/v1/companies/a-llc", "", testKey, ""}},
		{"update", `{"id":"comp_1"}`,
			func() (any, error) {
				return c.UpdateCompany(t.Context(), "comp_1", filing.Company{ID: "comp_1", FormationState: "DE"})
			},
			filing.Company{ID: "comp_1"},
			seen{"PATCH", "/v1/companies/comp_1", `{"formationState":"DE"}`, testKey, "application/json"}},
		{"user", `{"id":"user_1","email":"a+b/c@example.com"}`,
			func() (any, error) { return c.User(t.Context(), "a+b/c@example.com") },
			filing.User{ID: "user_1", Email: "a+b/c@example.com"},
			seen{"GET", "/v1/users/a+b%2Fc@example.com", "", testKey, ""}},
		{"create user", `{"id":"user_1"}`,
			func() (any, error) {
				return c.CreateUser(t.Context(), filing.User{ID: "x", FullName: "Ann", Email: "ann@example.com"})
			},
			filing.User{ID: "user_1"},
			seen{"POST", "/v1/users", `{"fullName":"Ann","email":"ann@example.com"}`, testKey, "application/json"}},
		{"prices", `{"prices":[{"type":"ein","name":"EIN","wholesaleAmount":103.75,"enabled":true},` +
			`{"type":"x","wholesaleAmount":25.0},{"type":"y","wholesaleAmount":null},` +
			`{"type":"z","wholesaleAmount":"12.50"},{"type":"w","wholesaleAmount":"free"}]}`,
			func() (any, error) { return c.Prices(t.Context()) },
			[]filing.Price{{Type: "ein", Name: "EIN", WholesaleAmount: "103.75", Enabled: true},
				{Type: "x", WholesaleAmount: "25.0"}, {Type: "y"}, {Type: "z", WholesaleAmount: "12.50"}, {Type: "w"}},
			seen{"GET", "/v1/organization/prices", "", testKey, ""}},
		{"organization", `{"name":"Firm","notifications":{"x":true}}`,
			func() (any, error) { return c.Organization(t.Context()) },
			filingapi.Organization{Name: "Firm"},
			seen{"GET", "/v1/organization", "", testKey, ""}},
		{"any", `{"name":"Firm", "echo":"` + testKey + `"}`,
			func() (any, error) {
				return c.Call(t.Context(), "PUT", "/organization/prices/ein", map[string]any{"enabled": false})
			},
			json.RawMessage(`{"name":"Firm","echo":"[key]"}`),
			seen{"PUT", "/v1/organization/prices/ein", `{"enabled":false}`, testKey, "application/json"}},
		{"endpoint", `{"data":{"id":"we_1","url":"https://a.example.com/x","signing_secret":"whsec_1","new":[1]}}`,
			func() (any, error) {
				return c.CreateEndpoint(t.Context(), "https://a.example.com/x", []string{"document.uploaded"})
			},
			filingapi.Endpoint{ID: "we_1", URL: "https://a.example.com/x", Secret: "whsec_1", Answer: json.RawMessage(
				`{"data":{"id":"we_1","url":"https://a.example.com/x","signing_secret":"whsec_1","new":[1]}}`)},
			seen{
				"POST", "/v1/webhook-endpoints",
				`{"url":"https://a.example.com/x","eventTypes":["document.uploaded"]}`, testKey, "application/json",
			}},
		{"document", `{"id":"doc_1","documentType":"ein_letter","fileName":"a.pdf",` +
			`"thumbnail":"https://t.example.com","downloadUrl":"https://a.example.com/x?y=1",` +
			`"expiresAt":"2026-01-02T03:04:05.678Z"}`,
			func() (any, error) { return c.Document(t.Context(), "doc_1") },
			filingapi.Download{
				URL:       "https://a.example.com/x?y=1",
				Name:      "a.pdf",
				Type:      "ein_letter",
				ExpiresAt: time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC),
			},
			seen{"GET", "/v1/documents/doc_1", "", testKey, ""}},
		{"magic link", `{"expires":"2026","data":{"at":"https://b.example.com/x","url":"https://a.example.com/x"}}`,
			func() (any, error) { return c.MagicLink(t.Context(), "user_1", "comp_1") },
			"https://a.example.com/x",
			seen{"POST", "/v1/auth/magic-link", `{"userId":"user_1","companyId":"comp_1"}`, testKey,
				"application/json"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			reply = tc.reply
			v, err := tc.call()
			if err != nil {
				t.Fatal(err)
			}
			if got != tc.sent {
				t.Errorf("sent %+v\nwant %+v", got, tc.sent)
			}
			have, _ := json.Marshal(v)
			want, _ := json.Marshal(tc.want)
			if string(have) != string(want) {
				t.Errorf("got %s\nwant %s", have, want)
			}
		})
	}
}

func TestIDsThatWouldMeanAnotherPathAreRefused(t *testing.T) {
	c := client(t, filingapi.Config{BaseURL: answers(200, nil, `{"id":"comp_1"}`)(t)})
	for _, id := range []string{"", ".", ".."} {
		_, company := c.Company(t.Context(), id)
		_, user := c.User(t.Context(), id)
		_, document := c.Document(t.Context(), id)
		for _, err := range []error{company, user, document} {
			if !errors.Is(err, filingapi.ErrRefused) {
				t.Errorf("%q: %v", id, err)
			}
		}
	}
	if _, err := c.UpdateCompany(t.Context(), "comp_1", filing.Company{ID: "comp_1"}); !errors.Is(err,
		filingapi.ErrRefused) {
		t.Errorf("an update of nothing: %v", err)
	}
}

// The service quotes whatever it was sent; nothing of it may come out here.
func TestNoErrorHoldsASecret(t *testing.T) {
	const ssn = "123-45-6789"
	for _, body := range []string{
		`{"message":"bad key ` + testKey + ` and ` + ssn + ` and 123456789 and 123 45 6789"}`,
		`{"error":{"message":"` + strings.Repeat("x", 380) + " " + testKey + `"}}`,
		`{"errors":["\u0000key\u0000 ` + testKey + `"]}`,
		testKey,
		`{"companyId":"` + testKey + `","items":[` + testKey + `]}`,
	} {
		for _, status := range []int{200, 302, 400, 401, 402, 409, 429, 500} {
			c := over(t, func(*http.Request) (*http.Response, error) { return response(status, body), nil })
			texts := []string{c.PlaceOrder(t.Context(), report()).Message}
			for _, err := range calls(t.Context(), c) {
				texts = append(texts, fmt.Sprintf("%v %+v", err, err))
			}
			for _, text := range texts {
				for _, secret := range []string{testKey, testKey[8:], "45-6789", "45 6789", "456789", "\x00"} {
					if strings.Contains(text, secret) {
						t.Fatalf("%d %s: %q", status, body, text)
					}
				}
				if len(text) > 1000 {
					t.Fatalf("%d: %d bytes", status, len(text))
				}
			}
		}
	}
	broken := over(t, func(r *http.Request) (*http.Response, error) { return nil, fmt.Errorf("%v", r.Header) })
	for _, text := range []string{broken.PlaceOrder(t.Context(), report()).Message,
		fmt.Sprintf("%v %+v %#v", broken, broken, broken)} {
		if strings.Contains(text, testKey) {
			t.Errorf("the key is in %q", text)
		}
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// over returns a client whose requests a function answers, without a network.
func over(t *testing.T, answer transport) *filingapi.Client {
	t.Helper()
	return client(t, filingapi.Config{BaseURL: "https://api.example.com/v1", Transport: answer})
}

func response(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
}

func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for text, want := range map[string]time.Duration{
			"":                      0,
			"0":                     0,
			"7":                     7 * time.Second,
			" 7 ":                   7 * time.Second,
			"-7":                    0,
			"1.5":                   0,
			"soon":                  0,
			"86400":                 time.Hour,
			"999999999999999999999": time.Hour,
			time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat): 90 * time.Second,
			time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat):       0,
			time.Now().Add(48 * time.Hour).UTC().Format(http.TimeFormat):   time.Hour,
		} {
			c := over(t, func(*http.Request) (*http.Response, error) {
				answer := response(503, "")
				answer.Header.Set("Retry-After", text)
				return answer, nil
			})
			if got := c.PlaceOrder(t.Context(), report()).RetryAfter; got != want {
				t.Errorf("%q: got %s, want %s", text, got, want)
			}
		}
	})
}

func TestTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent []string
		status := 500
		c := over(t, func(r *http.Request) (*http.Response, error) {
			sent = append(sent, r.Method+" "+r.URL.Path)
			return response(status, made), nil
		})
		place := func(n int, want filing.AnswerKind) {
			t.Helper()
			for range n {
				if got := c.PlaceOrder(t.Context(), report()); got.Kind != want {
					t.Fatalf("got %+v, want %s", got, want)
				}
			}
		}
		requests := func(want ...string) {
			t.Helper()
			if strings.Join(sent, ", ") != strings.Join(want, ", ") {
				t.Fatalf("sent %v, want %v", sent, want)
			}
			sent = nil
		}

		place(9, filing.ServerError)
		for _, healthy := range []int{429, 402, 409, 404} { // a service that answers so is well
			status = healthy
			c.PlaceOrder(t.Context(), report())
			status = 500
			place(9, filing.ServerError)
		}
		if c.State() != "closed" {
			t.Fatalf("the breaker is %s", c.State())
		}
		place(1, filing.ServerError)
		if c.State() != "open" {
			t.Fatalf("the breaker is %s", c.State())
		}
		sent = nil
		place(5, filing.NotSent)
		if _, err := c.Company(t.Context(), "comp_1"); !errors.Is(err, filingapi.ErrUnavailable) {
			t.Fatal(err)
		}
		requests()

		// An order is never the one to find out: it would end in doubt.
		time.Sleep(2*time.Second + 1)
		place(3, filing.NotSent)
		requests("GET /v1/organization")

		time.Sleep(2*time.Second + 1)
		status = 200
		place(2, filing.Accepted)
		requests("GET /v1/organization", "POST /v1/orders", "POST /v1/orders")
	})
}

// A service that fails, for orders alone or for everything, makes few orders uncertain,
// however long it lasts, and creations fail by themselves. Once it is well, orders are
// sent again.
func TestAServiceThatFailsForLong(t *testing.T) {
	for name, failing := range map[string]struct {
		status     int
		body       string
		everything bool
	}{
		"500 for orders":                    {500, `{"id":"comp_1"}`, false},
		"an answer to orders without ids":   {200, `{"id":"comp_1"}`, false},
		"503 without an answer of a worker": {503, `{"error":"down for maintenance"}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ill := true
				c := over(t, func(r *http.Request) (*http.Response, error) {
					if ill && (failing.everything || r.URL.Path == "/v1/orders") {
						return response(failing.status, failing.body), nil
					}
					return response(200, `{"id":"comp_1","items":[{"orderId":"order_1"}]}`), nil
				})
				accepted, uncertain := placeEverySecond(t, c, 1800)
				created := c.CreateCompany(t.Context(), filing.NewCompany{}).Kind
				if accepted != 0 || uncertain < 10 || uncertain > 25 || c.State() == "closed" ||
					(created == filing.Accepted) == failing.everything {
					t.Errorf("half an hour: %d accepted, %d uncertain, %s; a creation is %s", accepted, uncertain,
						c.State(), created)
				}
				ill = false
				time.Sleep(5 * time.Minute)
				if accepted, _ := placeEverySecond(t, c, 10); accepted < 8 || c.State() != "closed" {
					t.Errorf("of 10 orders afterwards %d are accepted, %s", accepted, c.State())
				}
			})
		})
	}
}

func placeEverySecond(t *testing.T, c *filingapi.Client, orders int) (accepted, uncertain int) {
	t.Helper()
	for range orders {
		switch c.PlaceOrder(t.Context(), report()).Kind {
		case filing.Accepted:
			accepted++
		case filing.ServerError, filing.Unreadable:
			uncertain++
		}
		time.Sleep(time.Second)
	}
	return accepted, uncertain
}

// What was not sent, or put off, tells nothing of how the next order will fare.
func TestTheBreakerSendsOneAtATimeUntilAnAnswerCanBeTrusted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		status := 500
		c := over(t, func(r *http.Request) (*http.Response, error) {
			switch {
			case r.Method == http.MethodGet:
				return response(200, ""), nil
			case status == 0:
				return nil, &net.OpError{Op: "dial", Err: errors.New("no route")}
			}
			return response(status, made), nil
		})
		for range 10 {
			c.PlaceOrder(t.Context(), report())
		}
		for i, step := range []struct {
			after  time.Duration
			status int
			want   filing.AnswerKind
		}{
			{2*time.Second - 1, 500, filing.NotSent},
			{2, 500, filing.ServerError},
			{4*time.Second - 1, 500, filing.NotSent},
			{1, 429, filing.Busy},
			{0, 0, filing.NotSent},
			{0, 502, filing.ServerError}, // one is enough
			{8*time.Second - 1, 200, filing.NotSent},
			{1, 422, filing.Refused},
			{0, 500, filing.ServerError}, // the service is trusted again
			{0, 200, filing.Accepted},
		} {
			time.Sleep(step.after)
			status = step.status
			if got := c.PlaceOrder(t.Context(), report()); got.Kind != step.want {
				t.Fatalf("step %d: got %+v, want %s", i, got, step.want)
			}
		}
	})
}

func TestCancellationsDoNotTripTheBreaker(t *testing.T) {
	c := over(t, func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	for range 30 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if _, err := c.Company(ctx, "comp_1"); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		cancel()
	}
	if c.State() != "closed" {
		t.Errorf("the breaker is %s", c.State())
	}
}
