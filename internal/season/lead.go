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

// Lead is the number of days before the due date on which a report is filed.
type Lead int

// maxLead is the longest lead. A lead of a year would reach the previous due date.
const maxLead = 364

var leadText = regexp.MustCompile(`^(\d{1,3}) days?( before)?$`)

// ParseLead parses "30 days before". Each company is filed that many days before its own due date.
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

// opening is the day on which an entry enters the window of the schedule.
type opening struct {
	Entry
	on Date
}

// openings returns when the reports that are due in a year can be filed. A report enters its window
// on the latest of these days:
//
//   - the lead before the due date
//   - the day on which the state begins to accept the report, if its rule has one
//   - the day after CompanyList.Since and CompanyList.Changed, so that a person can review a report that
//     is already near or overdue before it is filed
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

// Schedule returns a schedule that runs on each day on which a report of the company list enters
// its window. See openings. It is safe for concurrent use and valid until the company list changes.
func (l Lead) Schedule(r CompanyList, zone *time.Location) *Schedule {
	var mu sync.Mutex
	memo := make(map[int][]Date)
	// days returns the days on which the reports due in the year enter their windows.
	days := func(year int) []Date {
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
		// A report due in a year enters its window in the same year or the year before. On the day
		// after r.Since or r.Changed, it may also be in the year after.
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

// Ready returns the reports that a run files, by due date. They are the reports that entered the
// window after the day of the previous run and up to the day of this one. They include reports that
// fell due while no process was running. After a change of the company list, they also include
// reports that earlier runs have filed. Without a previous run, after is r.Since.
//
// If after is the zero Date, Ready returns all reports in the window that are not overdue. These
// are the reports to file when a person runs the schedule.
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

// Report is a row's report with its due date.
type Report struct {
	Row int
	Due Date
}

// RunDays returns the day of the run that files each report, which is the day on which the report
// enters its window. It covers the reports that are due in the years from first through last.
func (l Lead) RunDays(r CompanyList, first, last int) map[Report]Date {
	days := make(map[Report]Date)
	for year := first; year <= last; year++ {
		for _, o := range l.openings(r, year) {
			days[Report{o.Row.Number, o.Due.Date}] = o.on
		}
	}
	return days
}
