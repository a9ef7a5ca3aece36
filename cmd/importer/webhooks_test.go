package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/webhook"
)

// endpointStore keeps endpoints in memory, or fails to.
type endpointStore struct {
	endpoints
	kept   webhook.Endpoint
	secret string
	err    error
}

func (s *endpointStore) Secrets(context.Context) ([]string, error) { return nil, nil }

func (s *endpointStore) List(context.Context) ([]webhook.Endpoint, error) { return nil, nil }

func (s *endpointStore) Set(_ context.Context, e webhook.Endpoint, secret string) error {
	s.kept, s.secret = e, secret
	return s.err
}

// secretCase is an answer to the registration of an endpoint.
type secretCase struct {
	name, answer string
	err          error // of the ledger
	shown, fails bool
	id           string // the beginning of it
}

// The filing service shows a secret once. It is stored or printed, for every form
// of answer and every failure.
func TestASecretIsKeptOrShown(t *testing.T) {
	for _, tc := range []secretCase{
		{name: "kept", answer: `{"id":"we_1","signingSecret":"whsec_1"}`, id: "we_1"},
		{name: "without an id", answer: `{"data":{"signing_secret":"whsec_1"}}`, id: "local_"},
		{
			name:   "not kept",
			answer: `{"id":"we_1","secret":"whsec_1"}`,
			err:    errors.New("the disk is full"),
			shown:  true,
			fails:  true,
			id:     "we_1",
		},
		{
			name:   "under an unknown name",
			answer: `{"id":"we_1","sesame":"whsec_1"}`,
			shown:  true,
			fails:  true,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			srv := httptest.NewServer(
				http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, tc.answer) }))
			defer srv.Close()
			client, err := filingapi.New(filingapi.Config{BaseURL: srv.URL + "/v1", Key: scriptKey})
			must(t, err)
			defer client.Close()
			checkSecret(t, client, tc)
		})
	}
}

func checkSecret(t *testing.T, client *filingapi.Client, tc secretCase) {
	t.Helper()
	var out, told strings.Builder
	s := &endpointStore{err: tc.err}
	o := webhooksCreateOptions{url: "https://a.example.com", eventTypes: filing.EventTypes, yes: true}
	err := runWebhooksCreate(t.Context(), o, &terminal{out: &out, err: &told}, client, s)
	if (err != nil) != tc.fails || strings.Contains(out.String(), "whsec_1") != tc.shown {
		t.Errorf("%v\n%s", err, out.String())
	}
	if strings.Contains(told.String(), "whsec_1") || (err != nil && strings.Contains(err.Error(), "whsec_1")) {
		t.Errorf("the secret is printed beside the results: %s, %v", told.String(), err)
	}
	if err != nil && !strings.Contains(err.Error(),
		"importer webhooks add --id we_1 --url https://a.example.com --secret-file FILE") {
		t.Errorf("no way out: %v", err)
	}
	if tc.id != "" && (s.secret != "whsec_1" || !strings.HasPrefix(s.kept.ID, tc.id) ||
		s.kept.URL != "https://a.example.com") {
		t.Errorf("stored %+v, %q", s.kept, s.secret)
	}
}
