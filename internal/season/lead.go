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

// Lead is how many days before its due date a report is to be filed.
type Lead int

// maxLead is the most: a lead of a year would reach the due date before.
const maxLead = 364

var leadText = regexp.MustCompile(`^(\d{1,3}) days?( before)?$`)

// ParseLead reads "30 days before": each company is filed when its own due date is
// that near.
func ParseLead(text string) (Lead, error) {
	m := leadText.FindStringSubmatch(strings.ToLower(strings.Join(strings.Fields(text), " ")))
	if m == nil {
		return 0, fmt.Errorf("%w: %q is not a time before a due date, such as 30 days before", ErrSchedule, text)
	}
	n, _ := strconv.Atoi(m[1]) // three digits
	if n > maxLead {
		return 0, fmt.Errorf("%w: %q is too long before: at most %d days", ErrSchedule, text, maxLead)
	}
	return Lead(n), nil
}

// opening is the day on which an entry comes into the season's window.
type opening struct {
	Entry
	on Date
}

// openings returns when the reports that are due in a year can be filed:
//
//   - the lead before the due date;
//   - not before the state takes the report, where its rule says when;
//   - not before the day after CompanyList.Since and CompanyList.Changed: a report
//     that is near already, or even overdue, on such a day is filed on the next
//     one, so that a person can look before.
//
// Reports that were due before CompanyList.Since are not filed.
func (l Lead) openings(r CompanyList, year int) []opening {
	var all []opening
	earliest := slices.MaxFunc([]Date{r.Since, r.Changed}, Date.Compare).AddDays(1)
	for _, row := range r.Rows {
		due, ok := r.Rules.Due(row.Facts, year)
		if !ok || due.Date.Before(r.Since) {
			continue
		}
		near := due.Date.AddDays(-int(l))
		all = append(all, opening{Entry{row, due}, slices.MaxFunc([]Date{near, due.Opens, earliest}, Date.Compare)})
	}
	return all
}

// Schedule returns a schedule that runs on each day on which a report of the company
// list comes into its window: see openings. It is safe for use by several goroutines,
// and holds as long as the company list does.
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
	return &Schedule{zone, func(after Date) Date {
		mu.Lock()
		defer mu.Unlock()
		tomorrow, next := after.AddDays(1), Date{}
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
		return next
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
