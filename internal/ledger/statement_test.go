package ledger_test

import (
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// A statement is parsed once, and a row takes few statements and little memory. The numbers are those
// of a row that is committed alone, which is the most that a row takes.
func TestStatementsOfARow(t *testing.T) {
	const (
		rows             = 20
		mostStatements   = 20
		mostAllocations  = 1300
		mostOnPostgreSQL = 2100
	)
	onBothDatabases(t, func(s *suite) {
		s.config.Clock = nil // the time of a commit must not be in its text
		l, most := s.open(), float64(mostAllocations)
		if s.config.DatabaseURL != "" {
			most = mostOnPostgreSQL
		}
		place := func(batch string) (parsed, run int, allocations float64) {
			left := s.add(l, batch, reports(batch, rows+1)...)
			parsed, run = l.Statements()
			allocations = testing.AllocsPerRun(rows, func() {
				row := left[0]
				left = left[1:]
				s.begin(l, intent(row))
				s.must(l.RecordOutcome(s.Context(), outcome(row, 1, filing.Accepted)))
			})
			parsedLater, runLater := l.Statements()
			return parsedLater - parsed, (runLater - run) / (rows + 1), allocations
		}
		place("a")
		if parsed, run, allocations := place("b"); parsed > 0 || run > mostStatements || allocations > most {
			s.Errorf("%d statements are parsed again; a row takes %d statements and %.0f allocations, and may take %d "+
				"and %.0f", parsed, run, allocations, mostStatements, most)
		}
	})
}
