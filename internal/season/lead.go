package season

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Lead is how long before its due date a report is to be filed.
type Lead struct {
	n     int
	unit  string
	first bool
}

// leadUnits are the units of a lead and the most of each: a lead of a year would
// reach the due date before.
var leadUnits = map[string]int{"day": 364, "week": 52, "month": 11}

var leadText = regexp.MustCompile(`^(\d{1,3}) (day|week|month)s?( before)?( the first)?$`)

// ParseLead reads "30 days before", "6 weeks before" or "2 months before": each
// company is filed when its own due date is that near. With "the first" behind
// it ("30 days before the first") the whole company list is filed when the year's
// earliest due date is that near.
func ParseLead(text string) (Lead, error) {
	m := leadText.FindStringSubmatch(strings.ToLower(strings.Join(strings.Fields(text), " ")))
	if m == nil {
		return Lead{}, fmt.Errorf(
			"%w: %q is not a time before a due date: use 30 days before, 6 weeks before, 2 months before, or 30 "+
				"days before the first", ErrSchedule, text)
	}
	n, _ := strconv.Atoi(m[1]) // three digits
	if most := leadUnits[m[2]]; n > most {
		return Lead{}, fmt.Errorf("%w: %q is too long before: at most %d %ss", ErrSchedule, text, most, m[2])
	}
	return Lead{n, m[2], m[4] != ""}, nil
}

// before is the day that is the lead before another.
func (l Lead) before(d Date) Date {
	switch l.unit {
	case "month":
		return d.AddMonths(-l.n)
	case "week":
		return d.AddDays(-7 * l.n)
	}
	return d.AddDays(-l.n)
}

// opening is the day on which an entry comes into the season's window.
type opening struct {
	Entry
	on Date
}

// openings returns when the reports that are due in a year can be filed:
//
//   - the lead before the due date, or before the year's first due date;
//   - not before the state takes the report, where its rule says when;
//   - not before the day after CompanyList.Since and CompanyList.Changed: a report
//     that is near already, or even overdue, on such a day is filed on the next
//     one, so that a person can look before.
//
// Reports that were due before CompanyList.Since are not filed.
func (l Lead) openings(r CompanyList, year int) []opening {
	var all []opening
	var first Date
	for _, row := range r.Rows {
		due, ok := r.Rules.Due(row.Facts, year)
		if !ok || due.Date.Before(r.Since) {
			continue
		}
		all = append(all, opening{Entry: Entry{row, due}})
		if first.IsZero() || due.Date.Before(first) {
			first = due.Date
		}
	}
	earliest := slices.MaxFunc([]Date{r.Since, r.Changed}, Date.Compare).AddDays(1)
	for i := range all {
		o := &all[i]
		near := o.Due.Date
		if l.first {
			near = first
		}
		o.on = slices.MaxFunc([]Date{l.before(near), o.Due.Opens, earliest}, Date.Compare)
	}
	return all
}

// Schedule returns a schedule that runs at the start of each day on which a report
// of the company list comes into its window: its due date less the lead, but not
// before the state takes it, nor before the day after r.Since or r.Changed. It is
// safe for use by several goroutines, and holds as long as the company list does.
func (l Lead) Schedule(r CompanyList, zone *time.Location) *Schedule {
	var mu sync.Mutex
	memo := make(map[int][]Date)
	days := func(year int) []Date { // on which those due in the year open
		if d, ok := memo[year]; ok {
			return d
		}
		var d []Date
		for _, o := range l.openings(r, year) {
			d = append(d, o.on)
		}
		slices.SortFunc(d, Date.Compare)
		memo[year] = slices.Compact(d)
		return memo[year]
	}
	return &Schedule{zone, func(wall time.Time) time.Time {
		mu.Lock()
		defer mu.Unlock()
		tomorrow, next := DateOf(wall).AddDays(1), Date{}
		// What falls due in a year opens in it, in the year before or, on the day
		// after r.Since or r.Changed, in the year behind.
		for year := tomorrow.Year - 1; year <= tomorrow.Year+longest; year++ {
			if !next.IsZero() && year > next.Year+1 {
				break
			}
			d := days(year)
			if i, _ := slices.BinarySearchFunc(d, tomorrow, Date.Compare); i < len(d) &&
				(next.IsZero() || d[i].Before(next)) {
				next = d[i]
			}
		}
		if next.IsZero() {
			return time.Time{}
		}
		return next.wall()
	}}
}

// Ready returns the reports that a run files, the earliest due first: those that
// came into the window after the day of the run before, and up to the day of this
// one. A report that fell due while no process was running is among them; after a
// change of the company list so is what earlier runs have filed. Without a run
// before, after is r.Since.
//
// With no day (the zero Date) for after, they are all that are in the window
// and not past their due date: what to file when the schedule is run by hand.
func (l Lead) Ready(r CompanyList, after, on Date) []Entry {
	from := after.Year
	if after.IsZero() {
		from, r.Since, r.Changed = on.Year, on.AddDays(-1), Date{}
	}
	var ready []Entry
	for year := from; year <= on.Year+1; year++ {
		for _, o := range l.openings(r, year) {
			if o.on.After(on) || !o.on.After(after) || after.IsZero() && o.Due.Date.Before(on) {
				continue
			}
			ready = append(ready, o.Entry)
		}
	}
	slices.SortStableFunc(ready, EarliestFirst)
	return ready
}

// Report is a row's report that is due on a day.
type Report struct {
	Row int
	Due Date
}

// RunDays returns the day on which each report comes into its window: the day of the run
// that files it. They are the reports that are due in the years from first to last.
func (l Lead) RunDays(r CompanyList, first, last int) map[Report]Date {
	days := make(map[Report]Date)
	for year := first; year <= last; year++ {
		for _, o := range l.openings(r, year) {
			days[Report{o.Row.Number, o.Due.Date}] = o.on
		}
	}
	return days
}
