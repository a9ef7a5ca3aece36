package ledger_test

import (
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
