package ledger

import (
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/season"
)

// manualMark separates the day from the company list in the id of a run that a
// person started.
const manualMark = "+"

// RunID returns the id of the run that a schedule has on a day. It is the same on
// every machine and at every try, whatever their zones, so that a ledger which
// claims an id once lets the schedule run once.
func RunID(schedule string, day season.Date) string { return schedule + "@" + day.String() }

// ManualRunID returns the id of a run that a person starts: the same company list
// on the same day is the same run.
func ManualRunID(schedule string, day season.Date, companyList string) string {
	return RunID(schedule, day) + manualMark + companyList[:min(8, len(companyList))]
}

// Date returns the day that the run stands for, in the schedule's zone. It is read
// from the stored id, which has no column of its own for it: this and IsManual
// are the only places that read an id.
func (r *Run) Date() (season.Date, error) {
	_, text, _ := strings.Cut(r.ID, "@")
	text, _, _ = strings.Cut(text, manualMark)
	d, err := season.ParseDate(text)
	return d, wrap("read the day of the run "+r.ID, err)
}

// IsManual reports whether a person started the run. Manual runs do not count as
// runs at the schedule's times. Like Date it is read from the stored id.
func (r *Run) IsManual() bool { return strings.Contains(r.ID, manualMark) }
