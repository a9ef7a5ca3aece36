package lookup_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
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

// report is a row that orders an annual report.
func report(number int, c filing.CompanyRef) ledger.Row {
	return ledger.Row{Number: number, Cells: []byte(`["x"]`), Result: filing.Ready, Request: &filing.Request{
		Product: filing.AnnualReport,
		User:    filing.UserRef{ID: "user_1"},
		Company: c,
		Order:   filing.Order{FilingState: "DE", AnnualReport: &filing.AnnualReportItem{FilingYear: "2026"}},
	}}
}

// compare compares rows with the records of a filing service.
func compare(t *testing.T, l *ledger.Ledger, r lookup.Records, rows ...ledger.Row) lookup.Review {
	t.Helper()
	ledgertest.Submit(t, l, ledger.Batch{ID: "b", File: "b.csv", Product: filing.AnnualReport}, rows...)
	return compareAgain(t, l, lookup.Comparison{Records: r})
}

func compareAgain(t *testing.T, l *ledger.Ledger, c lookup.Comparison) lookup.Review {
	t.Helper()
	c.Config = lookup.Config{Ledger: l, Concurrency: 4}
	review, err := lookup.Compare(t.Context(), "b", c)
	if err != nil {
		t.Fatal(err)
	}
	return review
}

// answers are records of a filing service that answers for some companies with an error.
type answers struct {
	records
	// err returns the error of the nth request for a company, from 1. Nil is an answer.
	err func(id string, nth int) error

	mu    sync.Mutex
	asked map[string]int
}

func (a *answers) Company(ctx context.Context, id string) (filing.Company, error) {
	a.mu.Lock()
	a.asked[id]++
	err := a.err(id, a.asked[id])
	a.mu.Unlock()
	if err != nil {
		return filing.Company{}, err
	}
	return a.records.Company(ctx, id)
}

// If the filing service asks to wait, the rest of the companies is compared after that time, and not
// left to the time at which the orders are sent.
func TestCompare_WaitsForBusyService(t *testing.T) {
	a := &answers{asked: map[string]int{}, err: func(id string, nth int) error {
		if id == "comp_3" && nth == 1 {
			return filingapi.ErrBusy
		}
		return nil
	}}
	var rows []ledger.Row
	for i := range 20 {
		rows = append(rows, report(i+2, filing.CompanyRef{Ref: fmt.Sprintf("comp_%d", i),
			Sheet: filing.Company{LegalName: "Another Company LLC"}}))
	}
	l := ledgertest.Open(t, ledger.Config{})
	ledgertest.Submit(t, l, ledger.Batch{ID: "b", File: "b.csv", Product: filing.AnnualReport}, rows...)
	waits := 0
	review := compareAgain(t, l, lookup.Comparison{Records: a, Waiting: func(until time.Time) {
		if !time.Now().Before(until) {
			t.Errorf("Compare waits until %s, which is in the past", until)
		}
		waits++
	}})
	if len(review.HeldBack) != len(rows) || review.NotCompared != 0 || waits != 1 {
		t.Errorf("%d rows of %d are held back, %d were not compared, %d waits were reported", len(review.HeldBack),
			len(rows), review.NotCompared, waits)
	}
}

// Compare gives up if the filing service only asks to wait. The rows are compared later.
func TestCompare_GivesUpWaiting(t *testing.T) {
	a := &answers{asked: map[string]int{}, err: func(string, int) error { return filingapi.ErrBusy }}
	l := ledgertest.Open(t, ledger.Config{})
	ledgertest.Submit(t, l, ledger.Batch{ID: "b", File: "b.csv", Product: filing.AnnualReport},
		report(2, filing.CompanyRef{Ref: "comp_1"}), report(3, filing.CompanyRef{Ref: "comp_2"}))
	review := compareAgain(t, l, lookup.Comparison{Records: a, Patience: 1})
	halted, err := l.Fleet().Halt(t.Context())
	if err != nil || review.NotCompared != 2 || halted.Reason != filing.HaltRate {
		t.Errorf("%+v, the fleet is halted by %q, %v", review, halted.Reason, err)
	}
}

// The approval warns of a row whose company does not exist, which the filing service will refuse, and
// of companies that could not be looked up.
func TestCompare_NoRecord(t *testing.T) {
	a := &answers{asked: map[string]int{}, err: func(id string, _ int) error {
		return map[string]error{"comp_1": filingapi.ErrNotFound, "comp_2": filingapi.ErrUnavailable}[id]
	}}
	var rows []ledger.Row
	for i := range 4 {
		rows = append(rows, report(i+2, filing.CompanyRef{Ref: fmt.Sprintf("comp_%d", i)}))
	}
	l := ledgertest.Open(t, ledger.Config{})
	if review := compare(t, l, a, rows...); len(review.HeldBack) != 0 || review.NotCompared != 1 ||
		!strings.Contains(review.Note(), "The companies of 1 row ") {
		t.Errorf("%+v: %s", review, review.Note())
	}
	warnings := func() (all []string) {
		for row, err := range l.Rows(t.Context(), "b") {
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range row.Faults {
				all = append(all, fmt.Sprintf("%d %s %t: %s", row.Number, row.Result, f.Warning, f.Message))
			}
		}
		return all
	}
	want := []string{"3 ready true: the filing service has no company comp_1: correct the Company ID"}
	if got := warnings(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	// A warning stays while nothing is known, and is removed once the company exists.
	a.err = func(string, int) error { return filingapi.ErrUnavailable }
	if review := compareAgain(t, l, lookup.Comparison{Records: a}); review.NotCompared != 2 || len(warnings()) != 1 {
		t.Errorf("%+v, %q", review, warnings())
	}
	a.err = func(string, int) error { return nil }
	if review := compareAgain(t, l, lookup.Comparison{Records: a}); review.NotCompared != 0 || len(warnings()) != 0 {
		t.Errorf("%+v, %q", review, warnings())
	}
}

// A new company is compared with the companies of all rows, also of those on later pages.
func TestCompare_NewCompanyBeforeItsNeighbor(t *testing.T) {
	const page = 1000
	var rows []ledger.Row
	add := func(c filing.CompanyRef) { rows = append(rows, report(len(rows)+2, c)) }
	add(filing.CompanyRef{Sheet: filing.Company{LegalName: "Harbor Light Bakery Inc.", EntityType: filing.LLC,
		FormationState: "DE", FormationDate: "2021-05-04"}})
	for i := range page {
		add(filing.CompanyRef{Ref: fmt.Sprintf("comp_%d", i)})
	}
	add(filing.CompanyRef{Ref: "comp_near"})
	l := ledgertest.Open(t, ledger.Config{})
	compare(t, l, records{}, rows...)
	for row, err := range l.Rows(t.Context(), "b") {
		if err != nil {
			t.Fatal(err)
		}
		if row.Number == 2 && (len(row.Faults) != 1 || !strings.Contains(row.Faults[0].Message, "comp_near")) {
			t.Errorf("the new company is near no company: %+v", row.Faults)
		}
	}
}
