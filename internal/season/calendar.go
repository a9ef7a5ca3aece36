package season

import (
	"cmp"
	"slices"
)

// CompanyList is the companies of a schedule, with the rules of their due dates.
type CompanyList struct {
	Rows  []Row
	Rules *Rules
	Since Date // the day the schedule was added: it does not file what was due before

	Changed Date // the day it got this company list; the zero Date for that of Since
}

// Entry is what is due of a row.
type Entry struct {
	Row Row
	Due Due
}

// EarliestFirst orders what to file when money is short: by due date, sure dates
// before estimates of the same day, and what has no date last. Sort stably with
// it, so that the rest stays in the order of the company list.
func EarliestFirst(a, b Entry) int {
	return cmp.Or(
		slices.Index(verdicts, a.Due.Verdict)-slices.Index(verdicts, b.Due.Verdict),
		a.Due.Date.Compare(b.Due.Date),
		order(a.Due.Estimate)-order(b.Due.Estimate),
	)
}

func order(later bool) int {
	if later {
		return 1
	}
	return 0
}

// Calendar returns what falls due from one day to another, both of them included, by
// day and company. Every row without anything in that time is in rest, with
// what falls due next or why nothing does.
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

// ByDay orders a calendar: by day, company and state. Sort stably with it.
func ByDay(a, b Entry) int {
	return cmp.Or(EarliestFirst(a, b), cmp.Compare(a.Row.LegalName, b.Row.LegalName),
		cmp.Compare(a.Row.Facts.State, b.Row.Facts.State))
}
