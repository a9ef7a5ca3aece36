package ledger_test

import (
	"testing"
)

// A statement whose text differs each time would be parsed each time, and kept.
func TestStatementsAreParsedOnce(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		s.config.Clock = nil // the time of a commit must not be in its text
		l, ctx := s.open(), s.Context()
		place := func(batch string) int {
			for _, row := range s.add(l, batch, reports(batch, 4)...) {
				s.place(l, row)
				_, err := l.Row(ctx, row.ID)
				s.must(err)
			}
			return l.Parsed()
		}
		place("a")
		if first, later := place("b"), place("c"); later > first {
			s.Errorf("%d statements after two batches, %d after three", first, later)
		}
	})
}
