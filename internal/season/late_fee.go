package season

import (
	_ "embed"
	"fmt"
	"slices"
	"sync"

	"github.com/bulkfiling/bulkfiling/internal/money"
)

// late_fees.csv has the late fees with a source, without interest and what grows by the month.
//
//go:embed late_fees.csv
var lateFeesCSV []byte

var lateFees = sync.OnceValues(func() (map[lineKey]*Line, error) {
	used := []string{"state", "entityType", "company", "fee", "source", "basis"}
	own := slices.DeleteFunc(slices.Clone(columns), func(c Column[Line]) bool { return !slices.Contains(used, c.Name) })
	own = append(own, Column[Line]{Name: "graceDays", Set: func(l *Line, s string) bool {
		n, _ := fmt.Sscan(s, &l.grace)
		return n == 1
	}})
	return readRules("late_fees.csv", lateFeesCSV, own)
})

// LateFeeOf returns what a state charges once for a report that is filed from a day on, with its source.
// reportYear is as in DueOf. The amount is zero if it is unknown, or depends on an unknown fact.
func LateFeeOf(f Facts, due Date, reportYear int) (amount money.Cents, from Date, source string) {
	var found *Line
	lines, _ := lateFees() // the file is embedded, and a test reads it
	for _, foreign := range residences(f) {
		line := lines[lineKey{f.State, f.EntityType, foreign}]
		if line == nil || found != nil && !slices.Equal(line.Fee, found.Fee) {
			return 0, Date{}, ""
		}
		found = line
	}
	amount, _ = found.Fee.At(reportYear, due)
	return amount, due.AddDays(found.grace + 1), SourceText(found.Source, found.Basis)
}
