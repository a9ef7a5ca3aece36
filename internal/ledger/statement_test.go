package ledger_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/reconcile"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// plan compares a statement, a text of comma-separated values, with the ledger.
func (s *store) plan(l *ledger.Ledger, content string, complete bool) *reconcile.Plan {
	s.Helper()
	f, err := sheet.OpenReader("march.csv", strings.NewReader(content), int64(len(content)), sheet.Limits{})
	s.must(err)
	defer f.Close()
	day := s.clock().UTC().Truncate(24 * time.Hour)
	statement, err := reconcile.ReadStatement(f,
		reconcile.Options{Complete: complete, From: day.AddDate(0, 0, -2), To: day.AddDate(0, 0, 2)})
	s.must(err)
	book, err := l.Statements().LoadBook(s.Context(), statement)
	s.must(err)
	p, err := reconcile.NewPlan(statement, book, nil)
	s.must(err)
	return p
}

// reconcile carries a plan out.
func (s *store) reconcile(l *ledger.Ledger, p *reconcile.Plan) *reconcile.Plan {
	s.Helper()
	service := &reconcile.Service{
		Store: l.Statements(),
		By:    "Ben",
		Audit: func(ctx context.Context, _, _, _ string) context.Context { return ctx },
	}
	done, err := service.Apply(s.Context(), p)
	s.must(err)
	return done
}

// Of two processes that reconcile one statement at once, one records what it lacks.
func TestOneStatementIsReconciledByOne(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		l := s.open()
		rows := s.add(l, "a", reports("a", 2)...)
		for _, r := range rows {
			s.send(l, r)
			s.answer(l, r, filing.Accepted)
		}
		first := s.row(l, rows[0].ID)
		content := "Order ID,Amount\n" + first.Items[0].OrderID + ",-" + first.Spent.Amount.String() + "\n"
		s.must(l.Statements().Record(s.Context(), s.plan(l, content, false), "Ana"))
		one, other := s.plan(l, content, true), s.plan(l, content, true)
		if len(one.Adjustments) != 1 || one.Adjustments[0].Reason != reconcile.NotCharged {
			s.Fatalf("%+v", one.Adjustments)
		}
		s.must(l.Statements().Record(s.Context(), one, "Ana"))
		if err := l.Statements().Record(s.Context(), other, "Ben"); !errors.Is(err, ledger.ErrStale) {
			s.Errorf("recorded twice: %v", err)
		}
		if b := s.book(l); b.Adjustments != first.Spent.Amount {
			s.Errorf("adjusted by %s", b.Adjustments.Dollars())
		}
		s.must(l.Audit(s.Context()))
	})
}

// A row that a person marked as not placed, and that a statement charges all the same, is
// placed, whether it was sent again or not; where it was, it says that it was bought twice.
func TestStatementChargesWhatWasMarkedAsNotPlaced(t *testing.T) {
	for _, again := range []bool{false, true} {
		onBothDatabases(t, func(s *store) {
			l := s.open()
			row := s.add(l, "a", report("comp_1", "2026"))[0]
			s.send(l, row)
			s.answer(l, row, filing.NoAnswer)
			s.must(l.Resolutions().MarkNotPlaced(s.Context(), row.ID, 0, "not on the dashboard, says Ana"))
			content := "Date,Order ID,Company ID,Product,Amount\n" + s.clock().UTC().Format(time.DateOnly) +
				",order_late,comp_1,annual_report,-31.00\n"
			bought := 1
			if again {
				s.send(l, s.row(l, row.ID))
				s.answer(l, row, filing.Accepted)
				order := s.row(l, row.ID).Items[0]
				content += s.clock().UTC().Format(time.DateOnly) + "," + order.OrderID + ",comp_1,annual_report,-" +
					order.Cost.Amount.String() + "\n"
				bought = 2
			}
			p := s.plan(l, content, false)
			if len(p.Settlements) != 1 || !p.Settlements[0].Late || p.Groups[0] != reconcile.Settle ||
				!strings.Contains(p.Notes[0], "marked as not placed") {
				s.Fatalf("%+v %v %q", p.Settlements, p.Groups, p.Notes)
			}
			done := s.reconcile(l, p)
			if done.Counts.Settled != 1 || len(done.Adjustments) > 0 {
				s.Errorf("%+v %+v", done.Counts, done.Adjustments)
			}
			got := s.row(l, row.ID)
			if got.Result != filing.Placed || len(got.Items) != bought ||
				strings.Contains(got.Message, "bought twice") != again {
				s.Errorf("%s, %d items: %s", got.Result, len(got.Items), got.Message)
			}
			if begun := s.begin(l, intent(got)); begun.Try != 0 {
				s.Errorf("sent again: %+v", begun)
			}
			other := s.add(l, "b", report("comp_1", "2026"))
			if begun := s.begin(l, intent(s.row(l, other[0].ID))); len(begun.Taken) == 0 {
				s.Errorf("sent by another row: %+v", begun)
			}
			if p := s.plan(l, content, false); p.Changes() {
				s.Errorf("once more: %+v %+v", p.Settlements, p.Adjustments)
			}
			s.must(l.Audit(s.Context()))
		})
	}
}
