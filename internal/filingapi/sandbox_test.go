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
			Errors:         sandbox.NestedErrors,
			Invalid:        422,
			ShuffleItems:   true,
		},
	} {
		service, c := serve(t, cfg)
		company := service.AddCompany(sandbox.Company{LegalName: "Blue Heron LLC"})
		ctx := t.Context()

		user := checkResources(t, c, company)
		for name, order := range ordersOfEachKind(company.ID) {
			order.UserID = user.ID
			a := c.PlaceOrder(ctx, order)
			if a.Kind != filing.Accepted || len(a.Items) != len(order.Products()) || !filing.IsCompanyID(a.CompanyID) {
				t.Errorf("%s: %+v", name, a)
			}
		}
		again := &filing.Order{UserID: user.ID, CompanyID: company.ID, FilingState: "DE", EIN: sampleEIN()}
		if a := c.PlaceOrder(ctx, again); a.Kind != filing.HasItem || a.Has != filing.EIN {
			t.Errorf("%+v", a)
		}
		if v := service.Violations(); len(v) > 0 {
			t.Errorf("%v", v)
		}
	}
}

// checkResources makes each call that is not an order and checks its answer. It
// returns the user that it created.
func checkResources(t *testing.T, c *filingapi.Client, company sandbox.Company) filing.User {
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
	if link, err := c.MagicLink(ctx, user.ID, company.ID); err != nil || !strings.HasPrefix(link, "http://") {
		t.Errorf("%q, %v", link, err)
	}
	return user
}

// sampleEIN is an EIN with every field.
func sampleEIN() *filing.EINItem {
	return &filing.EINItem{
		BusinessCategory:            "Consulting",
		BusinessPurpose:             "Advice",
		ApplicationReason:           "Banking purposes",
		ResponsiblePartyFirstName:   "Ann",
		ResponsiblePartyLastName:    "Lee",
		ResponsiblePartyTitle:       "Manager",
		ResponsiblePartySSN:         "123456789",
		ResponsiblePartyPhoneNumber: "+13125550100",
	}
}

// ordersOfEachKind are orders of each product, and of products together, by what
// they are.
func ordersOfEachKind(company string) map[string]*filing.Order {
	address := &filing.Address{
		Line1:      "1 Main St",
		City:       "Dover",
		State:      "DE",
		PostalCode: "19901",
		Country:    "US",
	}
	supplied := &filing.Agent{
		Type:      filing.Person,
		FirstName: "Ann",
		LastName:  "Lee",
		Street:    "1 Main St",
		City:      "Dover",
		State:     "CA",
		ZIP:       "02134",
	}
	ein := sampleEIN()
	return map[string]*filing.Order{
		"report with an agent": {CompanyID: company, FilingState: "DE",
			AnnualReport:    &filing.AnnualReportItem{FilingYear: "2026"},
			RegisteredAgent: &filing.RegisteredAgentItem{}},
		"report with an agent supplied": {CompanyID: company, FilingState: "CA",
			AnnualReport: &filing.AnnualReportItem{FilingYear: "2026", RegisteredAgent: supplied}},
		"agent change": {
			CompanyID:       company,
			FilingState:     "FL",
			RegisteredAgent: &filing.RegisteredAgentItem{IsChangeOfAgent: true},
		},
		"EIN": {CompanyID: company, FilingState: "DE", EIN: ein},
		"qualification": {CompanyID: company, FilingState: "NY",
			ForeignQualification: &filing.QualificationItem{}, RegisteredAgent: &filing.RegisteredAgentItem{}},
		"qualification with an agent supplied": {CompanyID: company, FilingState: "CA",
			ForeignQualification: &filing.QualificationItem{RegisteredAgent: supplied}},
		"formation with an EIN": {FilingState: "DE", EIN: ein, RegisteredAgent: &filing.RegisteredAgentItem{},
			Formation: &filing.FormationItem{
				Expedited:        true,
				AlternativeNames: []string{"Red Heron LLC"},
				Company: filing.Company{
					LegalName:        "Grey Heron LLC",
					EntityType:       filing.LLC,
					StructureType:    "MEMBER",
					PrincipalAddress: address,
					MailingAddress:   address,
					Officers: []filing.Officer{{
						Type:      filing.Person,
						FirstName: "Ann",
						LastName:  "Lee",
						Title:     "Member",
						Address:   address,
						IsPrimary: true,
					}},
				},
			}},
	}
}
