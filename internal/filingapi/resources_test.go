package filingapi_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
)

// Call returns the body of every answer, and an error unless it is 2xx. What is not JSON
// is left out.
func TestCall(t *testing.T) {
	for _, tc := range []struct {
		status     int
		body, want string
		fails      error
	}{
		{200, `{"url": "https://a.example.com/x"}`, `{"url":"https://a.example.com/x"}`, nil},
		{204, ``, ``, nil},
		{409, `{"message":"taken ` + testKey + `"}`, `{"message":"taken [key]"}`, filingapi.ErrConflict},
		{422, `{"message":"too low","minimumAmount":103.750}`, `{"message":"too low","minimumAmount":103.750}`,
			filingapi.ErrRefused},
		{500, `<html>`, ``, filingapi.ErrUncertain},
	} {
		c := client(t, filingapi.Config{BaseURL: answers(tc.status, nil, tc.body)(t)})
		body, err := c.Call(t.Context(), http.MethodPost, "/users", map[string]any{"fullName": "Ana"})
		if string(body) != tc.want || !errors.Is(err, tc.fails) {
			t.Errorf("%d %s: %s, %v", tc.status, tc.body, body, err)
		}
	}
}

// Whatever may have been done and was not answered for is told apart from what
// was not done.
func TestWhatWasSentWithoutAnAnswerIsUncertain(t *testing.T) {
	for _, tc := range []struct {
		name   string
		server func(*testing.T) string
		doubt  bool
	}{
		{"nobody listens", nobodyListens, false},
		{"a reset", afterReading(t, reset), true},
		{"no answer in time", afterReading(t, hang), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := client(t, filingapi.Config{BaseURL: tc.server(t), Timeout: 200 * time.Millisecond})
			for name, err := range calls(t.Context(), c) {
				if err == nil || errors.Is(err, filingapi.ErrUncertain) != tc.doubt {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

func TestEndpointsInWhateverWordsTheyCome(t *testing.T) {
	for body, want := range map[string]filingapi.Endpoint{
		`{"id":"we_1","signingSecret":"s"}`:                                {ID: "we_1", Secret: "s"},
		`{"id":"we_1","secret":"s","url":"https://elsewhere.example.com"}`: {ID: "we_1", Secret: "s"},
		`{"endpointId":"we_1","signing_secret":" s "}`:                     {ID: "we_1", Secret: "s"},
		`{"endpoint":{"id":"we_1"},"secret":"s"}`:                          {ID: "we_1", Secret: "s"},
		`{"webhookEndpoint":{"id":17,"signing":{"secret":"s"}}}`:           {ID: "17", Secret: "s"},
		`{"secret":"other","signingSecret":"s"}`:                           {Secret: "s"},
		`{"id":"we_1","secret":{"id":"sec_1"},"inner":{"secret":"s"}}`:     {ID: "we_1", Secret: "s"},
		`{"id":"we_1"}`: {ID: "we_1"},
		`{"owner":{"id":"user_1"},"id":"we_1","signingSecret":null,"secret":5}`: {ID: "we_1", Secret: "5"},
	} {
		c := client(t, filingapi.Config{BaseURL: answers(201, nil, body)(t)})
		want.URL = "https://a.example.com/x"
		got, err := c.CreateEndpoint(t.Context(), want.URL, filing.EventTypes)
		if err != nil || got.ID != want.ID || got.URL != want.URL || got.Secret != want.Secret ||
			string(got.Answer) != body {
			t.Errorf("%s: %+v, %v, want %+v", body, got, err, want)
		}
	}
}

func TestDownloadsInWhateverWordsTheyCome(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for body, want := range map[string]filingapi.Download{
		`{"url":"https://a.example.com/x"}`: {URL: "https://a.example.com/x"},
		`"https://a.example.com/x"`:         {URL: "https://a.example.com/x"},
		`{"data":{"signed_url":"https://a.example.com/x","expires":"2026-01-02T03:04:05Z"}}`: {
			URL: "https://a.example.com/x", ExpiresAt: at,
		},
		`{"url":"https://dashboard.example.com","download_url":"https://a.example.com/x"}`: {
			URL: "https://a.example.com/x",
		},
		`{"href":"https://a.example.com/x","url":"doc_1","expiresAt":"soon","type":"certificate"}`: {
			URL: "https://a.example.com/x", Type: "certificate",
		},
		`{"document":{"name":"a.pdf","documentType":"mail"},"link":{"u":"https://a.example.com/x"}}`: {
			URL:  "https://a.example.com/x",
			Name: "a.pdf",
			Type: "mail",
		},
	} {
		c := client(t, filingapi.Config{BaseURL: answers(200, nil, body)(t)})
		if got, err := c.Document(t.Context(), "doc_1"); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", body, got, err, want)
		}
	}
	for _, body := range []string{`{"url":"ftp://a.example.com"}`, `{"url":"/files/doc_1"}`,
		`{"url":"javascript:alert(1)"}`, `{}`} {
		c := client(t, filingapi.Config{BaseURL: answers(200, nil, body)(t)})
		if got, err := c.Document(t.Context(), "doc_1"); !errors.Is(err, filingapi.ErrUnavailable) {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
	}
}
