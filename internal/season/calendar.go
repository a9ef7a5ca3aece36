package season

import (
	"cmp"
	"slices"
)

// CompanyList has the companies of a schedule and the rules of their due dates.
type CompanyList struct {
	Rows  []Row
	Rules *Rules
	// Since is the day on which the schedule was added. The schedule files no report that was due
	// earlier.
	Since Date

	// Changed is the day of the last change of the company list. It is zero if the list is
	// unchanged since Since.
	Changed Date
}

// Entry is a row with the report that is due.
type Entry struct {
	Row Row
	Due Due
}

// EarliestFirst orders the reports to file when funds are short. It compares due dates, and places
// a verified date before an estimate of the same day and an unknown date last. Use it with a stable
// sort to keep the rest in the order of the company list.
func EarliestFirst(a, b Entry) int {
	return cmp.Or(slices.Index(verdicts, a.Due.Verdict)-slices.Index(verdicts, b.Due.Verdict),
		a.Due.Date.Compare(b.Due.Date), order(a.Due.Estimate)-order(b.Due.Estimate))
}

func order(later bool) int {
	if later {
		return 1
	}
	return 0
}

// Calendar returns in due the reports that are due from one day through another, by day and
// company. rest has every other row, with its next report or the reason why none is due.
func (r CompanyList) Calendar(from, to Date) (due, rest []Entry) {
	for _, row := range r.Rows {
		n := len(due)
		for year := from.Year; year <= to.Year; year++ {
			if d, ok := r.Rules.Due(row.Facts, year); ok && !d.Date.Before(from) && !d.Date.After(to) {
				due = append(due, Entry{row, d})
			}
		}
		if len(due) == n {
			next, _ := r.Rules.Next(row.Facts, from)
			rest = append(rest, Entry{row, next})
		}
	}
	slices.SortStableFunc(due, ByDay)
	slices.SortStableFunc(rest, ByDay)
	return due, rest
}

// ByDay orders a calendar by day, company and state. Use it with a stable sort.
func ByDay(a, b Entry) int {
	return cmp.Or(EarliestFirst(a, b), cmp.Compare(a.Row.LegalName, b.Row.LegalName),
		cmp.Compare(a.Row.Facts.State, b.Row.Facts.State))
}
