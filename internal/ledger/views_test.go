package ledger_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// What pages and idle workers ask for again and again is found by an index: read whole,
// a table of a hundred thousand rows takes SQLite a tenth of a second each time.
func TestViewsReadByIndex(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		if s.config.DatabaseURL != "" {
			return // PostgreSQL plans by its statistics
		}
		plans, err := s.open().PlansOfViews(s.Context())
		s.must(err)
		for name, plan := range plans {
			// One walks from the batches of corrections to their rows, another reads a page.
			ofFew := name == "pending correction" || name == "results"
			whole := func(line string) bool {
				return (line == "SCAN r" || line == "SCAN rows") && !slices.Contains(plan, "CO-ROUTINE r") &&
					!slices.Contains(plan, "CO-ROUTINE result_rows") ||
					strings.Contains(line, "rows_of_batch (batch=?)") && !ofFew
			}
			if len(plan) == 0 || slices.ContainsFunc(plan, whole) {
				s.Errorf("%s: reads all rows:\n%s", name, strings.Join(plan, "\n"))
			}
		}
	})
}

// How certain the balance is, is computed again after a commit, and after none.
func TestCertaintyOfBalanceFollowsCommits(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.add(l, "a", reports("a", 1)...)
		certainty := func() money.Certainty {
			b, err := l.Balance(ctx)
			s.must(err)
			return b.Certainty
		}
		if c := certainty(); c != money.Known {
			s.Fatalf("certainty %v of a ledger without orders", c)
		}
		_, err := s.sql().Exec(`UPDATE rows SET spent_certainty = 1`)
		s.must(err)
		if c := certainty(); c != money.Known {
			s.Errorf("certainty %v without a commit of the ledger", c)
		}
		s.must(l.Entries().Adjust(ctx, money.Cents(1), "a correction"))
		if c := certainty(); c != money.Estimated {
			s.Errorf("certainty %v after a commit, want estimated", c)
		}
	})
}
