package intake_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/intake"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
)

// service has one company, and charges the same for every order.
type service struct{ company filing.Company }

func (s *service) Company(_ context.Context, ref string) (filing.Company, error) {
	if ref != s.company.ID {
		return filing.Company{}, filingapi.ErrNotFound
	}
	return s.company, nil
}

func (s *service) User(context.Context, string) (filing.User, error) {
	return filing.User{}, filingapi.ErrNotFound
}

func (s *service) Basis() string { return "" }

func (s *service) Quote(*filing.Order, pricing.Facts) pricing.Quote {
	return pricing.Quote{Total: money.Cost{Amount: 75_00}}
}

// A spreadsheet is recorded once. Its row is held back as long as the service has another
// company under its ID, and is quoted again once the record is corrected, although no other row
// can be sent. Nothing may be sent before the requested approval is given.
func TestIntake(t *testing.T) {
	l, err := ledger.Open(t.Context(), ledger.Config{Dir: t.TempDir(), Gate: approval.Gate{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	const list = "Company ID,Legal Name,Filing State,Filing Year,User ID\ncomp_1,Acme LLC,DE,2026,user_1\n"
	record := func() intake.Recorded {
		t.Helper()
		im, err := importer.OpenReader("list.csv", strings.NewReader(list), int64(len(list)),
			importer.Options{Product: filing.AnnualReport, Now: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		defer im.Close()
		rows := 0
		r, err := intake.Record(t.Context(), l, im, intake.Recording{By: "ana", Counted: func(n int) { rows = n }})
		if err != nil || r.Waited || r.Created != (rows == 1) {
			t.Fatalf("%+v, %d rows: %v", r, rows, err)
		}
		return r
	}
	first := record()
	if err := l.PrepareBatch(t.Context(), first.Batch); err != nil {
		t.Fatal(err)
	}
	second := record()
	if !first.Created || second.Created || first.Batch != second.Batch {
		t.Fatalf("recorded as %+v and %+v", first, second)
	}

	s := &service{filing.Company{ID: "comp_1", LegalName: "Apex Inc.", FormationState: "DE"}}
	quoting := intake.Quoting{
		Ledger:      l,
		Prices:      func(context.Context) (pricing.Quoter, error) { return s, nil },
		Records:     s,
		Concurrency: 1,
		Secret:      true,
	}
	quote := func(rows, held, released int) intake.Quote {
		t.Helper()
		q, err := quoting.Quote(t.Context(), first.Batch)
		if err != nil || q.Rows != rows || len(q.Review.HeldBack) != held || q.Review.Released != released {
			t.Fatalf("%d rows, review %+v: %v", q.Rows, q.Review, err)
		}
		return q
	}
	nothing := quote(0, 1, 0)
	s.company.LegalName = "Acme, L.L.C."
	q := quote(1, 0, 1)
	if q.Total.Amount != 75_00 || q.Plan == nothing.Plan || q.Endpoint != "" {
		t.Errorf("%+v", q)
	}
	quoting.Secret = false
	if q := quote(1, 0, 0); !strings.Contains(q.Endpoint, "No webhook endpoint") {
		t.Errorf("no warning: %q", q.Endpoint)
	}

	if plan, err := intake.RequestApproval(t.Context(), l, first.Batch, false); plan != "" || err != nil {
		t.Errorf("an approval that no one asks for: %q, %v", plan, err)
	}
	if plan, err := intake.RequestApproval(t.Context(), l, first.Batch, true); plan != q.Plan || err != nil {
		t.Errorf("the approval is for %q, not %q: %v", plan, q.Plan, err)
	}
	if b, err := l.Batch(t.Context(), first.Batch); err != nil || b.Approval.State != ledger.ApprovalNeeded {
		t.Errorf("%+v, %v", b.Approval, err)
	}
}
