package resolve

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
)

// reportAndAgent orders a company's report of a year, and an agent.
func reportAndAgent(company, year string) filing.Request {
	return filing.Request{
		Product: filing.AnnualReport,
		User:    filing.UserRef{ID: "user_1"},
		Company: filing.CompanyRef{Ref: company},
		Order: filing.Order{
			FilingState:     "DE",
			AnnualReport:    &filing.AnnualReportItem{FilingYear: year},
			RegisteredAgent: &filing.RegisteredAgentItem{},
		},
	}
}

// noPrices is an empty price list.
func noPrices(context.Context) (pricing.Quoter, error) {
	book, err := pricing.NewPriceBook(nil, "")
	return pricing.NewRates(book, pricing.BuiltinFees()), err
}

// addReady adds a batch of ready rows.
func addReady(t *testing.T, l *ledger.Ledger, requests ...filing.Request) []ledger.Row {
	t.Helper()
	rows := make([]ledger.Row, len(requests))
	for i := range requests {
		rows[i] = ledger.Row{Number: i + 2, Cells: []byte(`["x"]`), Result: filing.Ready, Request: &requests[i]}
	}
	ledgertest.Submit(t, l, ledger.Batch{ID: "b", Product: filing.AnnualReport}, rows...)
	must(t, l.Restores().Begin(t.Context(), time.Now().Add(-time.Hour)))
	return mustUnchecked(t, l)
}

func mustUnchecked(t *testing.T, l *ledger.Ledger) []ledger.Row {
	t.Helper()
	rows, err := l.Restores().Unchecked(t.Context())
	must(t, err)
	return rows
}

// Two reports of a company may both have been sent, with the agent that both order. While
// one is uncertain the other is not checked: without the agent it may be bought as well.
func TestMarkRestored_SharedItem(t *testing.T) {
	ledgertest.OnBoth(t, func(t *testing.T, database string) {
		l := ledgertest.Open(t, ledger.Config{DatabaseURL: database})
		rows := addReady(t, l, reportAndAgent("comp_1", "2025"), reportAndAgent("comp_1", "2026"))
		service := &Service{Ledger: l, Prices: noPrices, By: "Ana"}
		did, err := service.MarkRestored(t.Context(), rows, time.Now().Add(-time.Hour))
		if err != nil || did.Uncertain != 1 || did.Waiting != 1 || did.Unsent != 0 {
			t.Fatalf("%+v, %v", did, err)
		}
		must(t, l.Resolutions().MarkPlaced(t.Context(), rows[0].ID, 0, []string{"order_1", "order_2"},
			"Ana saw it"))
		if err := l.Restores().End(t.Context()); !errors.Is(err, ledger.ErrUnchecked) {
			t.Errorf("the check ends: %v", err)
		}
		if did, err = service.MarkRestored(t.Context(), mustUnchecked(t, l), time.Now().Add(-time.Hour)); err != nil ||
			did.Uncertain != 1 {
			t.Errorf("the rest of the order: %+v, %v", did, err)
		}
		if err := l.Restores().End(t.Context()); err != nil {
			t.Error(err)
		}
		row, err := l.Row(t.Context(), rows[1].ID)
		if err != nil || row.Result != filing.Uncertain {
			t.Fatalf("%+v, %v", row, err)
		}
		begun, err := l.Begin(t.Context(), jobs.IntentFor(row, ledger.Batch{}, "user_1", "comp_1"))
		if err != nil || begun.Attempt != 0 {
			t.Errorf("it is sent: %+v, %v", begun, err)
		}
	})
}

// A look-up that the service refuses for good does not keep the check from ending: the row
// cannot have been sent.
func TestMarkRestored_RefusedLookUp(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":"invalid slug"}`, http.StatusUnprocessableEntity)
	}))
	defer api.Close()
	client, err := filingapi.New(filingapi.Config{BaseURL: api.URL + "/v1", Key: "sk_test_1"})
	must(t, err)
	defer client.Close()
	l := ledgertest.Open(t, ledger.Config{})
	rows := addReady(t, l, reportAndAgent("harbor light", "2026"))
	service := &Service{
		Ledger: l,
		Client: func() (*filingapi.Client, error) { return client, nil },
		Prices: noPrices,
		By:     "Ana",
	}
	did, err := service.MarkRestored(t.Context(), rows, time.Now().Add(-time.Hour))
	if err != nil || did.Unsent != 1 || len(did.Failed) != 0 {
		t.Errorf("%+v, %v", did, err)
	}
	if err := l.Restores().End(t.Context()); err != nil {
		t.Error(err)
	}
}
