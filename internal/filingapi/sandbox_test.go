package filingapi_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

func serve(t *testing.T, cfg sandbox.Config) (*sandbox.Service, *filingapi.Client) {
	t.Helper()
	cfg.Keys = []string{testKey}
	service := sandbox.New(cfg)
	srv := httptest.NewServer(service.Handler())
	t.Cleanup(srv.Close)
	return service, client(t, filingapi.Config{BaseURL: srv.URL + "/v1", Timeout: 500 * time.Millisecond})
}

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
		service, c := serve(t, cfg)
		checkResources(t, c, service.AddCompany(sandbox.Company{LegalName: "Blue Heron LLC"}))
		document := service.AddDocument(sandbox.Document{CompanyID: "comp_1", OrderID: "order_1", Type: "ein_letter"})
		if d, err := c.Document(t.Context(), document.ID); err != nil || d.Type != "ein_letter" ||
			d.ExpiresAt.IsZero() {
			t.Errorf("%+v, %v", d, err)
		}
		if v := service.Violations(); len(v) > 0 {
			t.Errorf("%v", v)
		}
	}
}

// checkResources makes each call that is not an order and checks its answer.
func checkResources(t *testing.T, c *filingapi.Client, company sandbox.Company) {
	t.Helper()
	ctx := t.Context()
	user, err := c.CreateUser(ctx,
		filing.User{FullName: "Ann Lee", Email: "ann+x@example.com", PhoneNumber: "+13125550100"})
	if err != nil || !filing.IsUserID(user.ID) {
		t.Fatalf("%+v, %v", user, err)
	}
	if _, err := c.CreateUser(ctx, filing.User{FullName: "Ann Lee", Email: "ann+x@example.com"}); !errors.Is(err,
		filingapi.ErrConflict) {
		t.Error(err)
	}
	if found, err := c.User(ctx, "ann+x@example.com"); err != nil || found != user {
		t.Errorf("%+v, %v", found, err)
	}
	if _, err := c.User(ctx, "nobody@example.com"); !errors.Is(err, filingapi.ErrNotFound) {
		t.Error(err)
	}
	if found, err := c.Company(ctx, company.Slug); err != nil || found.ID != company.ID || found.EntityType != "" {
		t.Errorf("%+v, %v", found, err)
	}
	if changed, err := c.UpdateCompany(ctx, company.ID,
		filing.Company{EntityType: filing.LLC, FormationState: "DE"}); err != nil ||
		changed.FormationState != "DE" {
		t.Errorf("%+v, %v", changed, err)
	}
	if org, err := c.Organization(ctx); err != nil || org.Name == "" {
		t.Errorf("%+v, %v", org, err)
	}
	if prices, err := c.Prices(ctx); err != nil || len(prices) < 6 || prices[0].WholesaleAmount == "" {
		t.Errorf("%+v, %v", prices, err)
	}
	if _, err := c.Call(ctx, http.MethodPatch, "/organization", map[string]any{"name": "Firm"}); err != nil {
		t.Error(err)
	}
	if _, err := c.Call(ctx, http.MethodPut, "/organization/prices/ein",
		map[string]any{"retailAmount": 99}); err != nil {
		t.Error(err)
	}
	if e, err := c.CreateEndpoint(ctx, "https://a.example.com/webhooks/filing", filing.EventTypes); err != nil ||
		e.ID == "" || e.Secret == "" {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := c.Document(ctx, "doc_none"); !errors.Is(err, filingapi.ErrNotFound) {
		t.Error(err)
	}
	if link, err := c.MagicLink(ctx, user.ID, company.ID); err != nil || !strings.HasPrefix(link, "http://") {
		t.Errorf("%q, %v", link, err)
	}
}
