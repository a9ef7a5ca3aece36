package filingapi_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// The client against a second reading of the service's document, which is
// strict about every field.
func TestTheServiceFindsNothingToObjectTo(t *testing.T) {
	for _, cfg := range []sandbox.Config{
		{OpeningBalance: 1_000_000},
		{
			OpeningBalance: 1_000_000,
			OrderTypes:     sandbox.Camel,
			Success:        http.StatusOK,
			NestedErrors:   true,
			Invalid:        422,
			ShuffleItems:   true,
		},
	} {
		cfg.Keys = []string{testKey}
		service := sandbox.New(cfg)
		srv := httptest.NewServer(service.Handler())
		t.Cleanup(srv.Close)
		c := client(t, filingapi.Config{BaseURL: srv.URL + "/v1"})
		service.AddUser(sandbox.User{ID: "user_1"})
		service.AddCompany(sandbox.Company{ID: "comp_1", UserID: "user_1"})
		service.AddDocument(sandbox.Document{ID: "doc_1", CompanyID: "comp_1", Type: "ein_letter"})
		for _, want := range []map[string]error{
			{"user": filingapi.ErrNotFound}, // it is created then
			{"create": filingapi.ErrConflict},
		} {
			for name, err := range calls(t.Context(), c) {
				if !errors.Is(err, want[name]) {
					t.Errorf("%s: %v, want %v", name, err, want[name])
				}
			}
		}
		if prices, err := c.Prices(t.Context()); err != nil || len(prices) < 6 || prices[0].WholesaleAmount == "" {
			t.Errorf("%+v, %v", prices, err)
		}
		endpoint, err := c.CreateEndpoint(t.Context(), "https://a.example.com/webhooks", filing.EventTypes)
		if err != nil || endpoint.ID == "" || endpoint.Secret == "" {
			t.Errorf("%+v, %v", endpoint, err)
		}
		if v := service.Violations(); len(v) > 0 {
			t.Errorf("%v", v)
		}
	}
}
