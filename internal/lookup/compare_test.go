package lookup_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
	"github.com/bulkfiling/bulkfiling/internal/lookup"
)

// records knows a company for every ID.
type records struct{}

func (records) Company(_ context.Context, id string) (filing.Company, error) {
	name := "Company " + id + " LLC"
	if id == "comp_near" {
		name = "Harbor Light Bakery LLC"
	}
	return filing.Company{ID: id, LegalName: name, EntityType: filing.LLC, FormationState: "DE"}, nil
}

func (records) User(context.Context, string) (filing.User, error) {
	return filing.User{ID: "user_1"}, nil
}

// A new company is compared with the companies of all rows, also of those on later pages.
func TestCompare_NewCompanyBeforeItsNeighbor(t *testing.T) {
	const page = 1000
	l := ledgertest.Open(t, ledger.Config{})
	var rows []ledger.Row
	add := func(c filing.CompanyRef) {
		rows = append(rows, ledger.Row{Number: len(rows) + 2, Cells: []byte(`["x"]`), Result: filing.Ready,
			Request: &filing.Request{
				Product: filing.AnnualReport,
				User:    filing.UserRef{ID: "user_1"},
				Company: c,
				Order:   filing.Order{FilingState: "DE", AnnualReport: &filing.AnnualReportItem{FilingYear: "2026"}},
			}})
	}
	add(filing.CompanyRef{Sheet: filing.Company{LegalName: "Harbor Light Bakery Inc.", EntityType: filing.LLC,
		FormationState: "DE", FormationDate: "2021-05-04"}})
	for i := range page {
		add(filing.CompanyRef{Ref: fmt.Sprintf("comp_%d", i)})
	}
	add(filing.CompanyRef{Ref: "comp_near"})
	ledgertest.Submit(t, l, ledger.Batch{ID: "b", File: "b.csv", Product: filing.AnnualReport}, rows...)
	if _, err := lookup.Compare(t.Context(), "b", lookup.Comparison{
		Config:  lookup.Config{Ledger: l, Concurrency: 4},
		Records: records{},
	}); err != nil {
		t.Fatal(err)
	}
	for row, err := range l.Rows(t.Context(), "b") {
		if err != nil {
			t.Fatal(err)
		}
		if row.Number == 2 && (len(row.Faults) != 1 || !strings.Contains(row.Faults[0].Message, "comp_near")) {
			t.Errorf("the new company is near no company: %+v", row.Faults)
		}
	}
}
