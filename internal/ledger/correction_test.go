package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
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
	r.Cost.Amount = cost
	r.Request = &filing.Request{
		Product: filing.AnnualReport,
		User:    filing.UserRef{ID: "user_1"},
		Company: filing.CompanyRef{Ref: company},
		Order:   filing.Order{FilingState: "DE", AnnualReport: &filing.AnnualReportItem{FilingYear: "2026"}},
	}
	return r
}

func (s *suite) numbers(l *ledger.Ledger, batch string) map[int]filing.Result {
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

func (s *suite) wantRows(l *ledger.Ledger, batch string, want map[int]filing.Result) {
	s.Helper()
	if got := s.numbers(l, batch); fmt.Sprint(got) != fmt.Sprint(want) {
		s.Errorf("batch %s is %v, want %v", batch, got, want)
	}
}

// resultsOf are the rows of a batch as its results show them, by their numbers.
func (s *suite) resultsOf(l *ledger.Ledger, batch string) map[int]ledger.Row {
	s.Helper()
	all := make(map[int]ledger.Row)
	for r, err := range l.Results(s.Context(), batch) {
		s.must(err)
		if _, twice := all[r.Number]; twice || r.Batch != batch {
			s.Errorf("the results of batch %s have row %d of %s", batch, r.Number, r.Batch)
		}
		all[r.Number] = r
	}
	return all
}

func (s *suite) wantResults(l *ledger.Ledger, batch string, want map[int]filing.Result) {
	s.Helper()
	got := make(map[int]filing.Result)
	counts := make(ledger.Counts)
	for n, r := range s.resultsOf(l, batch) {
		got[n] = r.Result
		counts[r.Result]++
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		s.Errorf("the results of batch %s are %v, want %v", batch, got, want)
	}
	f, err := l.ResultFigures(s.Context(), batch)
	if s.must(err); fmt.Sprint(f.Counts) != fmt.Sprint(counts) {
		s.Errorf("the figures of batch %s are %v, and its results %v", batch, f.Counts, counts)
	}
}

// correct creates a batch that corrects another one.
func (s *suite) correct(l *ledger.Ledger, id, of string, rows ...ledger.Row) {
	s.Helper()
	_, err := l.CreateBatch(s.Context(), ledger.Batch{
		ID:       id,
		File:     of + ".results.xlsx",
		Product:  filing.AnnualReport,
		Columns:  []string{"Company ID", "Note"},
		Corrects: of,
	})
	s.must(err)
	s.must(l.AddRows(s.Context(), id, rows))
}

// A corrected row is a row of its own batch. With the approval and not before, the results
// of the corrected batch show it; what was placed stays placed, and added rows are added.
func TestCorrection_ShowsInTheResultsOfItsOriginal(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		l, ctx := s.open(), s.Context()
		s.add(l, "whole", filed(2, "comp_2"), fix(3, 0, "comp_x", filing.Invalid), fix(4, 0, "comp_y", filing.Invalid),
			fix(5, 0, "comp_z", filing.Invalid))
		s.place(l, s.rows(l, "whole")[0])
		s.correct(l, "fixes", "whole", fix(2, 3, "comp_3", filing.Ready), fix(3, 4, "comp_y", filing.Invalid),
			fix(4, 2, "comp_2", filing.Ready), fix(5, 0, "comp_new", filing.Ready),
			fix(6, 5, "comp_still", filing.Invalid))
		before := map[int]filing.Result{2: filing.Placed, 3: filing.Invalid, 4: filing.Invalid, 5: filing.Invalid}
		s.wantResults(l, "whole", before)

		s.must(approval.New(l).Request(ctx, "fixes", "plan"))
		s.must(l.OpenBatch(ctx, "fixes"))
		s.wantResults(l, "whole", before) // it waits for its approval
		s.must(approve(ctx, l, "fixes", "plan", "Ana"))
		s.wantResults(l, "whole", map[int]filing.Result{2: filing.Placed, 3: filing.Ready, 4: filing.Invalid,
			5: filing.Invalid, 6: filing.Ready})
		s.wantRows(l, "whole", map[int]filing.Result{2: filing.Placed, 3: filing.Skipped, 4: filing.Invalid,
			5: filing.Skipped, 6: filing.Skipped})
		s.wantRows(l, "fixes", map[int]filing.Result{2: filing.Ready, 3: filing.Skipped, 4: filing.Skipped,
			5: filing.Ready, 6: filing.Invalid})
		b, err := l.Batch(ctx, "whole")
		if s.must(err); b.Rows != 5 || len(b.Columns) != 2 {
			s.Errorf("%+v", b)
		}
		shown := s.resultsOf(l, "whole")
		still := ledger.BatchRow{Batch: "fixes", Number: 6}
		if r := shown[5]; string(r.Cells) != `["comp_still"]` || *r.Correction != still {
			s.Errorf("row 5 is shown as %s of %+v", r.Cells, r.Correction)
		}
		for _, n := range []int{3, 6} {
			s.place(l, shown[n])
		}
		s.wantResults(l, "whole", map[int]filing.Result{2: filing.Placed, 3: filing.Placed, 4: filing.Invalid,
			5: filing.Invalid, 6: filing.Placed})
		whole, err1 := l.ResultFigures(ctx, "whole")
		own, err2 := l.Figures(ctx, "whole")
		fixes, err3 := l.Figures(ctx, "fixes")
		if s.must(errors.Join(err1, err2, err3)); whole.Spent.Amount != own.Spent.Amount+fixes.Spent.Amount ||
			own.Spent.Amount == 0 || fixes.Spent.Amount != 2*own.Spent.Amount {
			s.Errorf("spent %s in all: %s and %s", whole.Spent, own.Spent, fixes.Spent)
		}
		if newest, err := l.Batch(ctx, ""); err != nil || newest.ID != "whole" {
			s.Errorf("the newest batch is %q, %v", newest.ID, err)
		}

		// Nothing that was replaced is ever sent.
		if n, err := l.RetryBatch(ctx, "whole"); n != 0 || err != nil {
			s.Errorf("%d rows are ready again, %v", n, err)
		}
		s.sendable(l)
		s.must(l.Audit(ctx))
	})
}

// The results of a batch are read in pages of 1,000 rows. The last row of a page and the first one of
// the next may be corrected.
func TestCorrection_AtTheEndOfAPage(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		l := s.open()
		var rows []ledger.Row
		for n := 2; n < 1004; n++ {
			rows = append(rows, fix(n, 0, fmt.Sprintf("comp_%d", n), filing.Invalid))
		}
		s.add(l, "a", rows...)
		s.correct(l, "b", "a", fix(2, 1001, "comp_new1", filing.Ready), fix(3, 1002, "comp_new2", filing.Ready))
		s.must(l.OpenBatch(s.Context(), "b"))
		all := s.resultsOf(l, "a")
		if len(all) != len(rows) || all[1001].Result != filing.Ready || all[1002].Result != filing.Ready {
			s.Errorf("%d results, row 1001 is %s, row 1002 is %s", len(all), all[1001].Result, all[1002].Result)
		}
	})
}

// A correction of a correction leads to the last one, from each batch.
func TestCorrection_OfACorrection(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		l, ctx := s.open(), s.Context()
		s.add(l, "whole", fix(2, 0, "comp_x", filing.Invalid), filed(3, "comp_3"))
		s.correct(l, "first", "whole", fix(2, 2, "comp_y", filing.Invalid), fix(3, 0, "comp_4", filing.Ready))
		s.must(l.OpenBatch(ctx, "first"))
		s.correct(l, "second", "whole", fix(2, 2, "comp_2", filing.Ready))
		s.must(l.OpenBatch(ctx, "second"))
		s.correct(l, "third", "first", fix(2, 3, "comp_5", filing.Ready))
		s.must(l.OpenBatch(ctx, "third"))
		last := map[int]ledger.BatchRow{2: {Batch: "second", Number: 2}, 4: {Batch: "third", Number: 2}}
		for n, r := range s.resultsOf(l, "whole") {
			if n != 3 && r.InBatch() != last[n] {
				s.Errorf("row %d is corrected by %+v", n, r.Correction)
			}
		}
		s.wantResults(l, "whole", map[int]filing.Result{2: filing.Ready, 3: filing.Ready, 4: filing.Ready})
		s.wantResults(l, "first", map[int]filing.Result{2: filing.Ready, 3: filing.Ready})

		// What is done to the batch is done to all that its results show.
		if n, err := l.CancelBatch(ctx, "whole"); n != 3 || err != nil {
			s.Errorf("%d rows were canceled, %v", n, err)
		}
		s.wantResults(l, "whole", map[int]filing.Result{2: filing.Canceled, 3: filing.Canceled, 4: filing.Canceled})
		if n, left, err := l.ReviveBatch(ctx, "whole"); n != 3 || left != 0 || err != nil {
			s.Errorf("%d rows are ready again, and %d are not, %v", n, left, err)
		}
		s.must(l.PauseBatch(ctx, "whole"))
		if ids, err := l.Backlog().ListSendable(ctx, "", 100); err != nil || len(ids) > 0 {
			s.Errorf("%v may be sent, %v", ids, err)
		}
		s.must(l.ResumeBatch(ctx, "whole"))
		if ids, err := l.Backlog().ListSendable(ctx, "", 100); err != nil || len(ids) != 3 {
			s.Errorf("%v may be sent, %v", ids, err)
		}
		s.must(l.Audit(ctx))
	})
}

// A row that may have been ordered is not replaced.
func TestCorrection_LeavesWhatMayBeOrdered(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		l, ctx := s.open(), s.Context()
		s.add(l, "whole", filed(2, "comp_2"), filed(3, "comp_3"), filed(4, "comp_4"))
		rows := s.rows(l, "whole")
		s.lost(l, rows[0])
		s.send(l, rows[1])
		s.correct(l, "fixes", "whole", fix(2, 2, "comp_20", filing.Ready), fix(3, 3, "comp_30", filing.Ready),
			fix(4, 4, "comp_40", filing.Ready))
		s.must(l.OpenBatch(ctx, "fixes"))
		s.wantRows(l, "fixes", map[int]filing.Result{2: filing.Skipped, 3: filing.Skipped, 4: filing.Ready})
		s.wantResults(l, "whole", map[int]filing.Result{2: filing.Uncertain, 3: filing.Placing, 4: filing.Ready})
	})
}

// A person who marks a row as not placed may be wrong, and a part of a row may be bought: such a
// row stays, so that it and its correction are never both sent, and what was spent is shown.
func TestCorrection_LeavesWhatWasSent(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		l, ctx := s.open(), s.Context()
		both := filed(3, "comp_3")
		both.Request.Order.RegisteredAgent = &filing.RegisteredAgentItem{}
		s.add(l, "whole", filed(2, "comp_2"), both)
		rows := s.rows(l, "whole")
		late := s.notPlaced(l, rows[0])
		part := outcome(s.row(l, rows[1].ID), s.send(l, rows[1]), filing.Accepted)
		part.Items = part.Items[:1]
		s.must(l.RecordOutcome(ctx, part))
		s.must(l.Resolutions().MarkNotPlaced(ctx, rows[1].ID, 0, "not on the dashboard"))
		before, err := l.ResultFigures(ctx, "whole")
		if s.must(err); before.Spent.Amount == 0 {
			s.Fatal("nothing was spent")
		}
		s.correct(l, "fixes", "whole", fix(2, 2, "comp_20", filing.Ready), fix(3, 3, "comp_30", filing.Ready))
		s.must(l.OpenBatch(ctx, "fixes"))
		s.wantRows(l, "fixes", map[int]filing.Result{2: filing.Skipped, 3: filing.Skipped})
		s.wantResults(l, "whole", map[int]filing.Result{2: filing.Canceled, 3: filing.Canceled})
		if f, err := l.ResultFigures(ctx, "whole"); err != nil || f.Spent != before.Spent {
			s.Errorf("spent %s, then %s, %v", before.Spent, f.Spent, err)
		}
		if m := s.rows(l, "fixes")[0].Message; !strings.Contains(m, "may exist") {
			s.Error(m)
		}
		s.must(l.RecordOutcome(ctx, late))
		s.wantResults(l, "whole", map[int]filing.Result{2: filing.Placed, 3: filing.Canceled})
		s.must(l.Audit(ctx))
	})
}

// Corrections take the place of rows once. A second request for their approval is refused: the
// rows would be corrected by themselves, and never be sent.
func TestCorrection_IsAppliedOnce(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		l, ctx := s.open(), s.Context()
		s.add(l, "whole", fix(2, 0, "comp_x", filing.Invalid))
		s.correct(l, "fixes", "whole", fix(2, 2, "comp_2", filing.Ready), fix(3, 0, "comp_3", filing.Ready))
		s.must(l.OpenBatch(ctx, "fixes"))
		if err := approval.New(l).Request(ctx, "fixes", "plan"); !errors.Is(err, approval.ErrSubmitted) {
			s.Error(err)
		}
		s.exec(`UPDATE batches SET approval = 'wanted', plan = 'plan' WHERE id = 'fixes'`)
		s.must(approve(ctx, l, "fixes", "plan", "Ana"))
		s.wantRows(l, "fixes", map[int]filing.Result{2: filing.Ready, 3: filing.Ready})
		s.wantResults(l, "whole", map[int]filing.Result{2: filing.Ready, 3: filing.Ready})
	})
}

// A correction follows the batch that it corrects: it is paused, and needs a second person, if
// that does, and replaces nothing of it that may have been sent before a restore.
func TestCorrection_FollowsItsOriginal(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		l, ctx := s.open(), s.Context()
		s.add(l, "whole", fix(2, 0, "comp_x", filing.Invalid))
		s.must(l.PauseBatch(ctx, "whole"))
		s.correct(l, "first", "whole", fix(2, 2, "comp_2", filing.Ready))
		s.must(l.OpenBatch(ctx, "first"))
		s.sendable(l)
		s.exec(`UPDATE batches SET second = 1 WHERE id = 'whole'`)
		s.correct(l, "second", "whole", fix(2, 2, "comp_20", filing.Ready))
		if needed, err := approval.New(l).NeedsSecond(ctx, "second"); !needed || err != nil {
			s.Errorf("%t, %v", needed, err)
		}
		s.exec(`UPDATE batches SET second = 0 WHERE id = 'whole'`)
		s.must(l.Restores().Begin(ctx, time.Now().Add(-time.Hour)))
		s.wantErr(l.OpenBatch(ctx, "second"), ledger.ErrUnchecked)
		unchecked, err := l.Restores().Unchecked(ctx)
		if s.must(err); len(unchecked) != 1 {
			s.Fatalf("%+v", unchecked)
		}
		s.must(l.Restores().MarkChecked(ctx, unchecked[0].ID))
		s.must(l.OpenBatch(ctx, "second"))
		s.wantErr(l.Restores().End(ctx), ledger.ErrUnchecked) // the correction may have been sent, too
	})
}

// After a restore, a row is assumed to have been sent. If a person finds no order of it, its
// correction may have been sent in its place.
func TestCorrection_OfARowAssumedSent(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		l, ctx := s.open(), s.Context()
		row := s.add(l, "whole", fix(2, 0, "comp_2", filing.Ready))[0]
		s.must(l.Restores().Begin(ctx, time.Now().Add(-time.Hour)))
		s.suppose(l, time.Now().Add(-time.Hour), row)
		s.correct(l, "fixes", "whole", fix(2, 2, "comp_20", filing.Ready))
		s.wantErr(l.OpenBatch(ctx, "fixes"), ledger.ErrUnchecked)
		s.must(l.Resolutions().MarkNotPlaced(ctx, row.ID, 1, "not there"))
		s.must(l.OpenBatch(ctx, "fixes"))
		s.wantRows(l, "whole", map[int]filing.Result{2: filing.Skipped})
		s.wantRows(l, "fixes", map[int]filing.Result{2: filing.Ready})
		s.wantErr(l.Restores().End(ctx), ledger.ErrUnchecked)
	})
}

// A correction that is canceled before it is approved changes nothing; one that is canceled
// afterwards shows.
func TestCorrection_Canceled(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		l, ctx := s.open(), s.Context()
		s.add(l, "whole", fix(2, 0, "comp_x", filing.Invalid))
		s.correct(l, "no", "whole", fix(2, 2, "comp_2", filing.Ready))
		s.must(approval.New(l).Request(ctx, "no", "plan"))
		s.must(l.OpenBatch(ctx, "no"))
		_, err := l.CancelBatch(ctx, "no")
		s.must(err)
		s.wantResults(l, "whole", map[int]filing.Result{2: filing.Invalid})
		s.correct(l, "yes", "whole", fix(2, 2, "comp_2", filing.Ready))
		s.must(l.OpenBatch(ctx, "yes"))
		_, err = l.CancelBatch(ctx, "yes")
		s.must(err)
		s.wantResults(l, "whole", map[int]filing.Result{2: filing.Canceled})
	})
}

// The rows of a correction that is approved after its original was canceled are sent.
func TestCorrection_OfACanceledBatchIsSent(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		l, ctx := s.open(), s.Context()
		s.add(l, "whole", fix(2, 0, "comp_x", filing.Invalid), filed(3, "comp_3"))
		s.correct(l, "fixes", "whole", fix(2, 2, "comp_2", filing.Ready))
		s.must(approval.New(l).Request(ctx, "fixes", "plan"))
		s.must(l.OpenBatch(ctx, "fixes"))
		_, err := l.CancelBatch(ctx, "whole")
		s.must(err)
		s.must(approve(ctx, l, "fixes", "plan", "Ana"))
		if ids, err := l.Backlog().ListSendable(ctx, "", 100); err != nil || len(ids) != 1 {
			s.Errorf("%v may be sent, %v: every ready row can be sent", ids, err)
		}
		s.wantResults(l, "whole", map[int]filing.Result{2: filing.Ready, 3: filing.Canceled})
	})
}

// An answer that comes after its row was marked as not placed, and a correction was left out, is
// recorded, also by a process that has seen a restore: the results show the order that exists.
func TestCorrection_LateAnswerOfItsOriginal(t *testing.T) {
	onRestorable(t, func(s *suite, place *ledgertest.Restorable) {
		l, ctx := s.open(), s.Context()
		s.add(l, "whole", filed(2, "comp_2"))
		place.Keep()
		s.await(l)
		s.add(l, "lost", filed(2, "comp_7"))
		place.Restore()
		s.await(l)
		s.halted(l)
		s.must(l.Restores().EndUnsent(ctx))
		s.exec(`UPDATE control SET restart_wait_until = 0`)
		s.must(l.Fleet().AllowProbe(ctx))
		row := s.rows(l, "whole")[0]
		late := s.notPlaced(l, row)
		late.Of = row.InBatch()
		s.correct(l, "fixes", "whole", fix(2, 2, "comp_20", filing.Ready))
		s.must(l.OpenBatch(ctx, "fixes"))
		s.wantResults(l, "whole", map[int]filing.Result{2: filing.Canceled})
		s.must(l.RecordOutcome(ctx, late))
		s.wantResults(l, "whole", map[int]filing.Result{2: filing.Placed})
		s.must(l.Audit(ctx))
	})
}

// A number that was entered again stays sealed in its row, and that of the corrected row is
// deleted.
func TestCorrection_KeepsItsSecret(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		l, ctx := s.open(), s.Context()
		ein := func(number int, company string) ledger.Row {
			r := filed(number, company)
			r.Request.Order = filing.Order{FilingState: "DE", EIN: &filing.EINItem{ResponsiblePartySSN: "219099999"}}
			return r
		}
		s.add(l, "whole", ein(2, "comp_x"), filed(3, "comp_2"))
		again := ein(2, "comp_1")
		again.Corrects = 2
		s.correct(l, "fixes", "whole", again)
		s.must(l.OpenBatch(ctx, "fixes"))
		if secret, err := l.Unseal(ctx, s.resultsOf(l, "whole")[2]); err != nil || secret != "219099999" {
			s.Errorf("%q, %v", secret, err)
		}
		if n := s.count(`SELECT COUNT(*) FROM secrets`); n != 1 {
			s.Errorf("%d numbers are kept", n)
		}
	})
}

// A batch that was canceled before it began stays canceled.
func TestCanceledBeforeItBegan(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
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
		by := audit.With(ctx, audit.Event{By: "Ana", What: "cancel", Of: "b"})
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
	onBothDatabases(t, func(s *suite) {
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

// What was sent keeps a corrected row from taking its place, and is not sent again as it was: if
// no order comes of it, it is canceled.
func TestCorrection_WithdrawsWhatWasSent(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		l, ctx := s.open(), s.Context()
		s.add(l, "whole", filed(2, "comp_2"), filed(3, "comp_3"), filed(4, "comp_4"), filed(5, "comp_5"))
		rows := s.rows(l, "whole")
		s.lost(l, rows[0])
		s.send(l, rows[1])
		s.notPlaced(l, rows[2])
		s.notPlaced(l, rows[3])
		s.correct(l, "fixes", "whole", fix(2, 2, "comp_20", filing.Ready), fix(3, 3, "comp_30", filing.Ready),
			fix(4, 4, "comp_40", filing.Ready), fix(5, 5, "comp_5", filing.Ready))
		s.must(l.OpenBatch(ctx, "fixes"))
		s.must(l.Resolutions().MarkNotPlaced(ctx, rows[0].ID, 0, "not on the dashboard"))
		s.answer(l, rows[1], filing.NoFunds)
		s.wantResults(l, "whole", map[int]filing.Result{2: filing.Canceled, 3: filing.Canceled, 4: filing.Canceled,
			5: filing.Ready})
		for _, r := range s.rows(l, "whole")[:3] {
			if !strings.Contains(r.Message, "corrected") {
				s.Error(r.Number, r.Message)
			}
		}
		for _, again := range []func(context.Context, string) (int, error){l.RetryBatch,
			func(ctx context.Context, b string) (int, error) { n, _, err := l.ReviveBatch(ctx, b); return n, err }} {
			if n, err := again(ctx, "whole"); n != 0 || err != nil {
				s.Errorf("%d rows are sent again, %v", n, err)
			}
		}
		s.sendable(l, s.rows(l, "whole")[3])
		s.must(l.Audit(ctx))
	})
}

// A row that a correction leaves out is not sent any more, nor one that it makes a repeat of
// another one. A repeat that was there before stays as it is.
func TestCorrection_LeavesOutRows(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		l, ctx := s.open(), s.Context()
		s.add(l, "whole", filed(2, "comp_2"), filed(3, "comp_3"), filed(4, "comp_4"), filed(5, "comp_2"),
			filed(6, "comp_6"))
		rows := s.rows(l, "whole")
		s.lost(l, rows[1])
		repeats := func(row int, r ledger.Row) ledger.Row {
			r.Repeats = row
			return r
		}
		out := fix(2, 2, "comp_2", filing.Skipped)
		s.correct(l, "fixes", "whole", out, fix(3, 3, "comp_3", filing.Skipped),
			repeats(6, fix(4, 4, "comp_6", filing.Skipped)), repeats(6, fix(5, 5, "comp_2", filing.Skipped)),
			fix(6, 6, "comp_6", filing.Ready))
		s.must(l.OpenBatch(ctx, "fixes"))
		s.wantResults(l, "whole", map[int]filing.Result{2: filing.Skipped, 3: filing.Uncertain, 4: filing.Skipped,
			5: filing.Ready, 6: filing.Ready})
		s.must(l.Resolutions().MarkNotPlaced(ctx, rows[1].ID, 0, "not on the dashboard"))
		s.wantResults(l, "whole", map[int]filing.Result{2: filing.Skipped, 3: filing.Canceled, 4: filing.Skipped,
			5: filing.Ready, 6: filing.Ready})
		s.must(l.Audit(ctx))
	})
}

// A row that was corrected after it was sent is not released with the other rows of its batch.
func TestCorrection_OfAHeldRow(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		l, ctx := s.open(), s.Context()
		s.add(l, "whole", filed(2, "comp_2"))
		row := s.rows(l, "whole")[0]
		s.notPlaced(l, row)
		review := func(r filing.Result) {
			s.must(l.RecordReview(ctx, "whole", []ledger.Reviewed{{Row: row.ID, Result: r, Request: row.Request}}))
		}
		review(filing.Invalid)
		s.correct(l, "fixes", "whole", fix(2, 2, "comp_3", filing.Ready))
		s.must(l.OpenBatch(ctx, "fixes"))
		review(filing.Ready)
		s.want(l, row, filing.Invalid, 0)
		s.sendable(l)
	})
}

// A row that repeats a corrected row is left out with it: it would be skipped for an order that
// is never sent. A repeat of another row is skipped.
func TestCorrection_LeavesOutARepeat(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		l := s.open()
		s.add(l, "whole", filed(2, "comp_2"), fix(3, 0, "comp_x", filing.Invalid), filed(4, "comp_4"),
			fix(5, 0, "comp_x", filing.Invalid))
		s.lost(l, s.rows(l, "whole")[0])
		repeats := func(row int, r ledger.Row) ledger.Row {
			r.Repeats = row
			return r
		}
		s.correct(l, "fixes", "whole", fix(2, 2, "comp_20", filing.Ready),
			repeats(2, fix(3, 3, "comp_20", filing.Skipped)), fix(4, 4, "comp_4", filing.Ready),
			repeats(4, fix(5, 5, "comp_4", filing.Skipped)))
		s.must(l.OpenBatch(s.Context(), "fixes"))
		s.wantResults(l, "whole", map[int]filing.Result{2: filing.Uncertain, 3: filing.Invalid, 4: filing.Ready,
			5: filing.Skipped})
	})
}

// A row that repeats a canceled row is left out with it.
func TestCorrection_RepeatsACanceledRow(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		l := s.open()
		s.add(l, "whole", filed(2, "comp_2"), fix(3, 0, "comp_x", filing.Invalid))
		_, err := l.CancelBatch(s.Context(), "whole")
		s.must(err)
		repeat := fix(3, 3, "comp_2", filing.Skipped)
		repeat.Repeats = 2
		s.correct(l, "fixes", "whole", fix(2, 2, "comp_2", filing.Ready), repeat)
		s.must(l.OpenBatch(s.Context(), "fixes"))
		s.wantResults(l, "whole", map[int]filing.Result{2: filing.Canceled, 3: filing.Invalid})
	})
}

// Two years of one company in one file are both intended, also if one of them was corrected.
func TestCorrection_OfAnotherYear(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		l := s.open()
		s.add(l, "whole", filed(2, "comp_1"), fix(3, 0, "comp_1", filing.Invalid))
		next := fix(2, 3, "comp_1", filing.Ready)
		next.Request.Order.AnnualReport.FilingYear = "2027"
		s.correct(l, "first", "whole", fix(2, 3, "comp_x", filing.Invalid))
		s.must(l.OpenBatch(s.Context(), "first"))
		next.Corrects = 2
		s.correct(l, "second", "first", next)
		s.must(l.OpenBatch(s.Context(), "second"))
		s.place(l, s.rows(l, "whole")[0])
		s.place(l, s.rows(l, "second")[0])
		s.wantResults(l, "whole", map[int]filing.Result{2: filing.Placed, 3: filing.Placed})
	})
}
