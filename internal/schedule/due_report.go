package schedule

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

// dueReport is a report that falls due.
type dueReport struct {
	season.Entry
	// year is the filing year of the report.
	year int
	// schedules are the names of the schedules that file it.
	schedules []string
}

// companyDue identifies a report that falls due.
type companyDue struct {
	// company is the key of the company and state.
	company string
	due     season.Date
}

// listDueReports lists the reports in the company lists of all schedules that fall due in a span of
// days, by day. A company in several lists has one for each due date. The lists are at most listTTL
// old. A list that cannot be read is left out, because its schedule has a Problem.
func (s *Scheduler) listDueReports(ctx context.Context, from, to season.Date) ([]*dueReport, error) {
	schedules, err := NewRecords(s.c.Ledger).List(ctx)
	if err != nil {
		return nil, err
	}
	var all []*dueReport
	known := make(map[companyDue]*dueReport)
	for _, se := range schedules {
		list, err := s.LoadCompanyList(ctx, se)
		if errors.Is(err, ErrCompanyList) {
			continue
		}
		if err != nil {
			return nil, err
		}
		due, _ := list.Calendar(from, to)
		for _, e := range due {
			key := companyDue{e.Row.Key(), e.Due.Date}
			report := known[key]
			// Two companies without ID and name are never the same.
			if report == nil || (e.Row.CompanyID == "" && e.Row.LegalName == "") {
				report = &dueReport{Entry: e}
				known[key], all = report, append(all, report)
			}
			year, files := list.report(e, se.Options)
			report.addSchedule(se.Name, year, files)
		}
	}
	slices.SortStableFunc(all, func(a, b *dueReport) int { return season.ByDay(a.Entry, b.Entry) })
	return all, nil
}

// Unscheduled are reports in the company lists that fall due soon, are not bought, and that no
// schedule files.
type Unscheduled struct {
	Reports int
	// First is the first day on which one is due.
	First season.Date
}

// FindUnscheduled finds the reports due within the days of the first reminder.
func (s *Scheduler) FindUnscheduled(ctx context.Context) (u Unscheduled, err error) {
	zone, err := FirmZone(ctx, s.c.Ledger)
	if err != nil {
		return u, err
	}
	today := season.DateOf(s.c.Now().In(zone))
	due, err := s.listDueReports(ctx, today, today.AddDays(remindBefore[len(remindBefore)-1]))
	if err != nil {
		return u, err
	}
	due = slices.DeleteFunc(due, func(r *dueReport) bool { return len(r.schedules) > 0 })
	open, err := removeBought(ctx, s.c.Ledger, due)
	if len(open) > 0 {
		u = Unscheduled{len(open), open[0].Due.Date}
	}
	return u, err
}

// addSchedule adds the filing year of a schedule, and its name if it files the report. The year of a
// schedule that files it takes precedence.
func (r *dueReport) addSchedule(name string, year int, files bool) {
	if r.year == 0 || (files && len(r.schedules) == 0) {
		r.year = year
	}
	if files && !slices.Contains(r.schedules, name) {
		r.schedules = append(r.schedules, name)
	}
}

// report returns the filing year of a due date, and whether a schedule with these options files it.
//
// Assumption: a report is named after the year in which it falls due, unless the schedule has
// another year. The spec does not show after which year the states name it.
func (r *CompanyList) report(e season.Entry, o Options) (year int, files bool) {
	year = e.Due.Date.Year
	switch strings.ToLower(strings.TrimSpace(o.FilingYear)) {
	case "last":
		year--
	case "next":
		// The year is counted from the due date.
		if o.Due != "" {
			year++
		}
	case "this":
	default:
		switch fixed, given := r.years[e.Row.Number]; {
		case given && o.Due != "":
			// The year is fixed for any due date.
			year = fixed
		case !given || fixed != year:
			return year, false
		}
	}
	return year, r.Product == filing.AnnualReport
}

// removeBought returns the reports that are neither bought nor being bought.
func removeBought(ctx context.Context, l *ledger.Ledger, reports []*dueReport) (open []*dueReport, err error) {
	keys := make([]filing.Key, len(reports))
	var claims []ledger.Claim
	for i, r := range reports {
		if r.Row.CompanyID == "" {
			continue
		}
		order := filing.Order{
			CompanyID:    r.Row.CompanyID,
			FilingState:  r.Row.Facts.State,
			AnnualReport: &filing.AnnualReportItem{FilingYear: strconv.Itoa(r.year)},
		}
		for _, c := range ledger.ClaimsOf(&order, "") {
			keys[i] = c.Key
			claims = append(claims, c)
		}
	}
	bought, err := l.FindPriorPurchases(ctx, claims)
	if err != nil {
		return nil, err
	}
	for i, r := range reports {
		if _, ok := bought[keys[i]]; !ok {
			open = append(open, r)
		}
	}
	return open, nil
}
