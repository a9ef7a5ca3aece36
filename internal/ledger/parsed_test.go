package ledger_test

import (
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// A statement whose text differs each time would be parsed each time, and kept.
func TestStatementsAreParsedOnce(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		s.config.Clock = nil // the time of a commit must not be in its text
		l, ctx := s.open(), s.Context()
		place := func(batch string) int {
			for _, row := range s.add(l, batch, reports(batch, 4)...) {
				s.place(l, row)
				_, err := l.Row(ctx, row.ID)
				s.must(err)
			}
			return l.PreparedStatements()
		}
		place("a")
		if first, later := place("b"), place("c"); later > first {
			s.Errorf("%d statements after two batches, %d after three", first, later)
		}
	})
}

// SQLite parses a statement anew for each value of an argument that it has to compare
// with the WHERE of an index: a plus before the argument hides the value.
func TestArgumentsAreHiddenFromThePlan(t *testing.T) {
	const query = `UPDATE rows SET blocked_on = v.key {{v}} WHERE rows.id = v.id AND rows.blocked_on = v.key`
	want := `UPDATE rows SET blocked_on = +$2  WHERE rows.id = +$1 AND rows.blocked_on = +$2`
	if got := ledger.SQLiteText(query, "id", "key"); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	const joined = `SELECT v.key, p.row {{v,}} purchases p JOIN rows o ON o.id = p.row WHERE p.key = v.key`
	want = `SELECT +$1, p.row FROM purchases p JOIN rows o ON o.id = p.row WHERE p.key = +$1`
	if got := ledger.SQLiteText(joined, "key"); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
