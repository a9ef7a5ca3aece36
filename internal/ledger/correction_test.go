package ledger_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// fix is a row of a batch of corrections.
func fix(number, of int, company string, result filing.Result) ledger.Row {
	r := filed(number, company)
	r.Corrects, r.Result = of, result
	if result != filing.Ready {
		r.Request, r.Message = nil, "wrong"
	}
	return r
}

func filed(number int, company string) ledger.Row {
	r := ledger.Row{Number: number, Cells: fmt.Appendf(nil, "[%q]", company), Result: filing.Ready}
	r.Request = &filing.Request{
		Product: filing.AnnualReport,
		User:    filing.UserRef{ID: "user_1"},
		Company: filing.CompanyRef{Ref: company},
		Order:   filing.Order{FilingState: "DE", AnnualReport: &filing.AnnualReportItem{FilingYear: "2026"}},
	}
	return r
}

func (s *store) numbers(l *ledger.Ledger, batch string) map[int]filing.Result {
	s.Helper()
	all := make(map[int]filing.Result)
	for r, err := range l.Rows(s.Context(), batch) {
		s.must(err)
		if _, twice := all[r.Number]; twice {
			s.Errorf("batch %s has two rows %d", batch, r.Number)
		}
		all[r.Number] = r.Result
	}
	return all
}

func (s *store) wantRows(l *ledger.Ledger, batch string, want map[int]filing.Result) {
	s.Helper()
	if got := s.numbers(l, batch); fmt.Sprint(got) != fmt.Sprint(want) {
		s.Errorf("batch %s is %v, want %v", batch, got, want)
	}
}

// Corrected rows take the places of those that they correct, with the yes and not
// before; what was placed stays placed, and rows that were added are added.
func TestCorrectedRowsTakeTheirPlaces(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		l, ctx := s.open(), s.Context()
		s.add(l, "whole", filed(2, "comp_2"), fix(3, 0, "comp_x", filing.Invalid), fix(4, 0, "comp_y", filing.Invalid),
			fix(5, 0, "comp_z", filing.Invalid))
		s.place(l, s.rows(l, "whole")[0])
		create := func(id string, rows ...ledger.Row) {
			s.Helper()
			_, err := l.CreateBatch(ctx, ledger.Batch{
				ID:       id,
				File:     "whole.results.xlsx",
				Product:  filing.AnnualReport,
				Columns:  []string{"Company ID", "Note"},
				Corrects: "whole",
			})
			s.must(err)
			s.must(l.AddRows(ctx, id, rows))
		}
		create("fixes", fix(2, 3, "comp_3", filing.Ready), fix(3, 4, "comp_y", filing.Invalid),
			fix(4, 2, "comp_2", filing.Ready), fix(5, 0, "comp_new", filing.Ready),
			fix(6, 5, "comp_still", filing.Invalid))
		before := map[int]filing.Result{2: filing.Placed, 3: filing.Invalid, 4: filing.Invalid, 5: filing.Invalid}
		s.wantRows(l, "whole", before)

		s.must(l.Approvals().Request(ctx, "fixes", "plan"))
		s.must(l.OpenBatch(ctx, "fixes"))
		s.wantRows(l, "whole", before) // it waits for its yes
		s.must(l.Approvals().Approve(ctx, "fixes", "plan", "Ana"))
		s.wantRows(l, "whole", map[int]filing.Result{2: filing.Placed, 3: filing.Ready, 4: filing.Invalid,
			5: filing.Invalid, 6: filing.Ready})
		s.wantRows(l, "fixes", map[int]filing.Result{2: filing.Skipped, 3: filing.Skipped, 4: filing.Skipped,
			6: filing.Skipped})
		b, err := l.Batch(ctx, "whole")
		if s.must(err); b.Rows != 5 || len(b.Columns) != 2 {
			s.Errorf("%+v", b)
		}
		for _, r := range s.rows(l, "whole") {
			if r.Number == 5 && string(r.Cells) != `["comp_still"]` {
				s.Errorf("the latest words on row 5 are %s", r.Cells)
			}
			if r.Result == filing.Ready {
				s.place(l, r)
			}
		}
		if newest, err := l.Batch(ctx, ""); err != nil || newest.ID != "whole" {
			s.Errorf("the newest batch is %q, %v", newest.ID, err)
		}

		// Nothing that was replaced is ever sent.
		if n, err := l.RetryBatch(ctx, "fixes"); n != 0 || err != nil {
			s.Errorf("%d rows are ready again, %v", n, err)
		}
		if ids, err := l.Sendable(ctx, "", 100); err != nil || len(ids) > 0 {
			s.Errorf("%v may be sent, %v", ids, err)
		}
		s.must(l.Audit(ctx))
	})
}

// A number that was typed again is sealed to the place that its row takes.
func TestSecretsMoveWithTheirCorrectedRows(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		l, ctx := s.open(), s.Context()
		s.add(l, "whole", fix(2, 0, "comp_1", filing.Invalid), filed(3, "comp_2"))
		ein := filed(2, "comp_1")
		ein.Corrects = 2
		ein.Request.Order = filing.Order{FilingState: "DE", EIN: &filing.EINItem{ResponsiblePartySSN: "219099999"}}
		_, err := l.CreateBatch(ctx, ledger.Batch{
			ID:       "fixes",
			File:     "f",
			Product:  filing.AnnualReport,
			Corrects: "whole",
		})
		s.must(err)
		s.must(l.AddRows(ctx, "fixes", []ledger.Row{ein}))
		s.must(l.OpenBatch(ctx, "fixes"))
		for _, r := range s.rows(l, "whole") {
			if r.Number != 2 {
				continue
			}
			if secret, err := l.Unseal(ctx, r); err != nil || secret != "219099999" {
				s.Errorf("%q, %v", secret, err)
			}
		}
		if n := s.count(`SELECT COUNT(*) FROM secrets`); n != 1 {
			s.Errorf("%d numbers are kept", n)
		}
	})
}

// A batch that was canceled before it began stays canceled.
func TestCanceledBeforeItBegan(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		l, ctx := s.open(), s.Context()
		batch := ledger.Batch{ID: "b", File: "b.csv", Product: filing.AnnualReport}
		begin := func() bool {
			created, err := l.CreateBatch(ctx, batch)
			s.must(err)
			if created {
				s.must(l.AddRows(ctx, "b", []ledger.Row{filed(2, "comp_1")}))
			}
			return created
		}
		begin()
		by := ledger.WithAudit(ctx, ledger.AuditEvent{By: "Ana", What: "cancel", Of: "b"})
		if n, err := l.CancelBatch(by, "b"); n != 1 || err != nil {
			s.Errorf("%d, %v", n, err)
		}
		if begin() {
			s.Error("the batch began anew")
		}
		b, err := l.Batch(ctx, "b")
		if s.must(err); !b.Canceled || b.CanceledBy != "Ana" || b.CanceledAt.IsZero() {
			s.Errorf("%+v", b)
		}
		if err := l.OpenBatch(ctx, "b"); !errors.Is(err, ledger.ErrCanceled) {
			s.Error(err)
		}
		if n, _, err := l.ReviveBatch(ctx, "b"); n != 1 || err != nil {
			s.Errorf("%d, %v", n, err)
		}
		if !begin() {
			s.Error("it is not read anew after it was revived")
		}
		s.must(l.OpenBatch(ctx, "b"))
		s.place(l, s.rows(l, "b")[0])
	})
}

// One database belongs to one organization and one mode.
func TestALedgerBelongsToOneOrganization(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		l, ctx := s.open(), s.Context()
		harbor := ledger.Organization{Name: "Harbor", CreatedAt: "2024-01-01T00:00:00Z", Domain: "harbor.example"}
		tern := ledger.Organization{Name: "Tern", CreatedAt: "2025-01-01T00:00:00Z", Domain: "tern.example"}
		for _, c := range []struct {
			client ledger.Client
			want   error
		}{
			{ledger.Client{Mode: "test", Unnamed: "key1"}, ledger.ErrOrganization}, // nobody has decided
			{ledger.Client{Mode: "test", Organization: harbor}, nil},
			{ledger.Client{Mode: "test", Organization: ledger.Organization{CreatedAt: "2024-01-01T01:00:00+01:00"}},
				nil},
			{ledger.Client{Mode: "live", Organization: harbor}, ledger.ErrMode},
			{ledger.Client{Mode: "test", Organization: tern}, ledger.ErrOrganization},
			{ledger.Client{Mode: "test", Unnamed: "key1"}, ledger.ErrOrganization},
			{ledger.Client{Mode: "test", Unnamed: "key1", Decided: true}, nil},
			{ledger.Client{Mode: "test", Unnamed: "key1"}, nil},
			{ledger.Client{Mode: "test", Unnamed: "key2"}, ledger.ErrOrganization},
			{ledger.Client{Mode: "test", Organization: tern, Decided: true}, nil},
			{ledger.Client{Mode: "test", Organization: tern}, nil},
		} {
			if err := l.Organizations().BindClient(ctx, c.client); !errors.Is(err, c.want) ||
				(err == nil) != (c.want == nil) {
				s.Errorf("%+v: %v, want %v", c.client, err, c.want)
			}
		}
		if all, err := l.Organizations().List(ctx); err != nil || len(all) != 2 {
			s.Errorf("%v, %v", all, err)
		}
	})
}
