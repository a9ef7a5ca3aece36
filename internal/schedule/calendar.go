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

// CalendarEntry is a due date of a company, with the schedules that file it.
type CalendarEntry struct {
	season.Entry
	// Year is the filing year of the report that is due.
	Year int
	// Seasons are the names of the schedules that file it.
	Seasons []string
}

// Calendar has the due dates in the company lists of schedules within a span of days. A company in
// several lists has one entry for each due date.
type Calendar struct {
	// Due and Rest are described at season.CompanyList.Calendar.
	Due, Rest []CalendarEntry
	// Broken has an ErrCompanyList by schedule. The companies of these schedules are not included.
	Broken map[string]error
}

// Calendar returns the calendar of schedules. Their company lists are at most listTTL old.
func (s *Scheduler) Calendar(ctx context.Context, schedules []Schedule,
	from, to season.Date) (Calendar, error) {
	c := Calendar{Broken: make(map[string]error)}
	var due, rest register
	for _, se := range schedules {
		list, err := s.LoadCompanyList(ctx, se)
		if errors.Is(err, ErrCompanyList) {
			c.Broken[se.Name] = err
			continue
		}
		if err != nil {
			return c, err
		}
		falls, others := list.Calendar(from, to)
		for _, e := range falls {
			year, files := list.report(e, se.Options)
			due.entry(e).addReport(se.Name, year, files)
		}
		for _, e := range others {
			rest.entry(e)
		}
	}
	c.Due, c.Rest = due.entries, rest.entries
	if len(schedules) > 1 {
		byDay := func(a, b CalendarEntry) int { return season.ByDay(a.Entry, b.Entry) }
		slices.SortStableFunc(c.Due, byDay)
		slices.SortStableFunc(c.Rest, byDay)
	}
	return c, nil
}

// addReport adds the filing year of a schedule, and its name if it files the report. The year of a
// schedule that files it takes precedence.
func (e *CalendarEntry) addReport(schedule string, year int, files bool) {
	if e.Year == 0 || (files && len(e.Seasons) == 0) {
		e.Year = year
	}
	if files && !slices.Contains(e.Seasons, schedule) {
		e.Seasons = append(e.Seasons, schedule)
	}
}

// register has each entry once.
type register struct {
	entries []CalendarEntry
	at      map[registered]int
}

type registered struct {
	// company is the key of the company and state.
	company string
	due     season.Date
}

// entry returns the entry of a company and a due date, and adds it if it is new. Entries without ID
// and name are always new.
func (r *register) entry(e season.Entry) *CalendarEntry {
	if r.at == nil {
		r.at = make(map[registered]int)
	}
	key := registered{e.Row.Key(), e.Due.Date}
	i, known := r.at[key]
	if !known || (e.Row.CompanyID == "" && e.Row.LegalName == "") {
		i = len(r.entries)
		r.at[key] = i
		r.entries = append(r.entries, CalendarEntry{Entry: e})
	}
	return &r.entries[i]
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

// FindBought finds the entries of a calendar that are already bought or being bought, by their
// index.
func FindBought(ctx context.Context, l *ledger.Ledger, entries []CalendarEntry) (map[int]ledger.PriorPurchase, error) {
	keys := make([]filing.Key, len(entries))
	var claims []ledger.Claim
	for i, e := range entries {
		if e.Due.Verdict != season.Dated || e.Row.CompanyID == "" {
			continue
		}
		order := filing.Order{
			CompanyID:    e.Row.CompanyID,
			FilingState:  e.Row.Facts.State,
			AnnualReport: &filing.AnnualReportItem{FilingYear: strconv.Itoa(e.Year)},
		}
		for _, c := range ledger.ClaimsOf(&order, "") {
			keys[i] = c.Key
			claims = append(claims, c)
		}
	}
	held, err := l.FindPriorPurchases(ctx, claims)
	if err != nil {
		return nil, err
	}
	bought := make(map[int]ledger.PriorPurchase)
	for i, key := range keys {
		if h, ok := held[key]; ok && key != "" {
			bought[i] = h
		}
	}
	return bought, nil
}
