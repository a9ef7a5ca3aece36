package ledger

import (
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/store"

	"github.com/bulkfiling/bulkfiling/internal/season"
)

// manualMark separates the day from the company list in the ID of a run that a person started.
const manualMark = "+"

// RunID returns the ID of a schedule's run on a day. The ID is the same on every machine and at
// every attempt, regardless of their time zones. The schedule runs once because the ledger claims
// an ID once.
func RunID(schedule string, day season.Date) string { return schedule + "@" + day.String() }

// ManualRunID returns the ID of a run that a person starts. Runs with the same company list on the
// same day have the same ID.
func ManualRunID(schedule string, day season.Date, companyList string) string {
	return RunID(schedule, day) + manualMark + companyList[:min(8, len(companyList))]
}

// Date returns the day of the run in the schedule's time zone. It parses the stored ID, because no
// column has the day. Only Date and IsManual parse an ID.
func (r *Run) Date() (season.Date, error) {
	_, text, _ := strings.Cut(r.ID, "@")
	text, _, _ = strings.Cut(text, manualMark)
	d, err := season.ParseDate(text)
	return d, store.Wrap("read the day of the run "+r.ID, err)
}

// IsManual reports whether a person started the run. Manual runs do not count as scheduled runs.
// Like Date, it parses the stored ID.
func (r *Run) IsManual() bool { return strings.Contains(r.ID, manualMark) }
