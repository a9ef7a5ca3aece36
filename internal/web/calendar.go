package web

import (
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

var calendarRoutes = []route{
	{pattern: "GET /calendar", may: viewer, serve: (*Site).calendarPage},
	{pattern: "GET /calendar.csv", may: exporter, serve: (*Site).calendarFile},
}

// calendarAsk is what of the calendar is asked for.
type calendarAsk struct {
	Season   string // "" for all
	State    filing.State
	From, To season.Date
	Month    season.Date // its first day; zero for the whole span
	Rest     bool        // what has nothing due, in place of what has
	Today    season.Date
}

// longestSpan is how many days a calendar may have.
const longestSpan = 3 * 366

func (v *request) calendarAsk() (calendarAsk, error) {
	ask := v.r.URL.Query()
	a := calendarAsk{
		Season: ask.Get("season"),
		State:  filing.State(ask.Get("state")),
		Rest:   ask.Get("show") == "rest",
		Today:  season.DateOf(time.Now()),
	}
	var err error
	if a.From, a.To, err = season.ParseSpan(ask.Get("from"), ask.Get("to"), a.Today); err != nil {
		return a, fmt.Errorf("%w: give days such as %s", err, a.Today)
	}
	if a.To.After(a.From.AddDays(longestSpan)) {
		return a, fmt.Errorf("from %s to %s is too long: ask for three years at most", a.From, a.To)
	}
	if month := ask.Get("month"); month != "" {
		if a.Month, err = season.ParseDate(month + "-01"); err != nil {
			return a, err
		}
	}
	return a, nil
}

// path returns the address of a page of the calendar with the filter.
func (a calendarAsk) path(page string) string {
	ask := url.Values{"from": {a.From.String()}, "to": {a.To.String()}}
	for name, value := range map[string]string{"season": a.Season, "state": string(a.State)} {
		if value != "" {
			ask.Set(name, value)
		}
	}
	if !a.Month.IsZero() {
		ask.Set("month", a.Month.String()[:len("2006-01")])
	}
	if a.Rest {
		ask.Set("show", "rest")
	}
	return page + "?" + ask.Encode()
}

// calendarView is the calendar with a filter.
type calendarView struct {
	Ask     calendarAsk
	Seasons []ledger.Schedule // that there are to choose from
	States  []filing.State    // that have a company
	Broken  map[string]string
	Due     []schedule.CalendarEntry // of the span
	Rest    []schedule.CalendarEntry
}

func (s *Site) calendar(v *request, a calendarAsk) (*calendarView, error) {
	view := &calendarView{Ask: a, Broken: make(map[string]string)}
	var err error
	if view.Seasons, err = s.Ledger.Schedules().List(v.ctx()); err != nil {
		return nil, err
	}
	chosen := view.Seasons
	if a.Season != "" {
		one, err := schedule.Find(v.ctx(), s.Ledger, a.Season)
		if err != nil {
			return nil, err
		}
		chosen = []ledger.Schedule{one}
	}
	c, err := s.Seasons.Calendar(v.ctx(), chosen, a.From, a.To)
	if err != nil {
		return nil, err
	}
	for name, err := range c.Broken {
		view.Broken[name] = sentence(err.Error())
	}
	states := make(map[filing.State]bool)
	ours := func(all []schedule.CalendarEntry) (kept []schedule.CalendarEntry) {
		for _, e := range all {
			state := e.Row.Facts.State
			states[state] = true
			if a.State == "" || a.State == state {
				kept = append(kept, e)
			}
		}
		return kept
	}
	view.Due, view.Rest = ours(c.Due), ours(c.Rest)
	for state := range states {
		view.States = append(view.States, state)
	}
	slices.Sort(view.States)
	return view, nil
}

// chosen are the entries of the month, or of those that have none.
func (c *calendarView) chosen() []schedule.CalendarEntry {
	switch {
	case c.Ask.Rest:
		return c.Rest
	case c.Ask.Month.IsZero():
		return c.Due
	}
	return slices.DeleteFunc(slices.Clone(c.Due),
		func(e schedule.CalendarEntry) bool { return e.Due.Date.FirstOfMonth() != c.Ask.Month })
}

// calendarPage is the calendar as it is shown.
type calendarPage struct {
	*calendarView
	Months []calendarMonth
	Tabs   tabs
	Days   []calendarDay
	Pager  pager
	CSV    string
	Clear  string // the whole span
	Error  string
}

type calendarMonth struct {
	Name, Path string
	Year       int
	Count      int
	Share      float64 // of the fullest month, in percent
	Current    bool
}

type calendarDay struct {
	Date    season.Date
	Count   int  // on this page
	Today   bool // it is the first that is not past
	Entries []calendarLine
}

type calendarLine struct {
	schedule.CalendarEntry
	Status dueStatus
}

// dueStatus says whether a due report is covered, placed or being placed.
type dueStatus struct {
	Text, Class, Path string
}

const dueOnPage = 100

func (s *Site) calendarPage(v *request) error {
	a, err := v.calendarAsk()
	status, p := http.StatusOK, &calendarPage{}
	if err != nil {
		status, p.Error = http.StatusUnprocessableEntity, sentence(err.Error())
		a = calendarAsk{From: a.Today, To: a.Today.AddMonths(12), Today: a.Today}
	}
	if p.calendarView, err = s.calendar(v, a); err != nil {
		return err
	}
	p.CSV = a.path("/calendar.csv")
	whole := a
	whole.Month, whole.Rest = season.Date{}, false
	p.Clear = whole.path("/calendar")
	p.Months = p.months()
	rest := whole
	rest.Rest = true
	p.Tabs = tabs{Label: "Companies with and without due dates", Tabs: []tab{
		{Path: p.Clear, Name: "Due", Count: len(p.Due), Current: !a.Rest},
		{Path: rest.path("/calendar"), Name: "Nothing due in this period", Count: len(p.Rest), Current: a.Rest},
	}}
	var shown []schedule.CalendarEntry
	p.Pager, shown = paged(v, p.chosen(), dueOnPage)
	if p.Days, err = s.days(v, a, shown); err != nil {
		return err
	}
	return v.showStatus(status, "calendar.html", "Due dates", p)
}

// months are those of the span, with or without something due.
func (p *calendarPage) months() []calendarMonth {
	counts := make(map[season.Date]int)
	most := 1
	for _, e := range p.Due {
		month := e.Due.Date.FirstOfMonth()
		counts[month]++
		most = max(most, counts[month])
	}
	var all []calendarMonth
	first := p.Ask.From.FirstOfMonth()
	for month := first; !month.After(p.Ask.To); month = month.AddMonths(1) {
		a := p.Ask
		a.Month, a.Rest = month, false
		name := fmt.Sprintf("%.3s", month.Month)
		switch {
		case month.Year == p.Ask.Today.Year && month.Month == p.Ask.Today.Month:
			name += " · now"
		case month == first || month.Month == time.January:
			name += fmt.Sprintf(" %d", month.Year)
		}
		all = append(all, calendarMonth{
			Name:    name,
			Year:    month.Year,
			Path:    a.path("/calendar") + "#due",
			Count:   counts[month],
			Share:   100 * float64(counts[month]) / float64(most),
			Current: !p.Ask.Rest && month == p.Ask.Month,
		})
	}
	return all
}

// days groups the entries of a page by day, each with its status.
func (s *Site) days(v *request, a calendarAsk, entries []schedule.CalendarEntry) ([]calendarDay, error) {
	bought, err := schedule.FindBought(v.ctx(), s.Ledger, entries)
	if err != nil {
		return nil, err
	}
	var days []calendarDay
	past := false
	for i, e := range entries {
		if n := len(days); n == 0 || days[n-1].Date != e.Due.Date {
			was := past
			past = e.Due.Date.Before(a.Today)
			days = append(days, calendarDay{Date: e.Due.Date, Today: e.Due.Date == a.Today || was && !past})
		}
		day := &days[len(days)-1]
		day.Count++
		day.Entries = append(day.Entries, calendarLine{e, dueStatusOf(e, bought, i, a.Today)})
	}
	return days, nil
}

func dueStatusOf(e schedule.CalendarEntry, bought map[int]ledger.PriorPurchase, i int, today season.Date) dueStatus {
	h, held := bought[i]
	path := fmt.Sprintf("/batches/%s/rows/%d", h.Batch, h.Number)
	switch {
	case held && h.Covers:
		return dueStatus{"Covered by subscription", "exists", path}
	case held && h.Bought:
		return dueStatus{"Placed", "placed", path}
	case held:
		return dueStatus{"Placing", "placing", path}
	case e.Due.Verdict != season.Dated:
		return dueStatus{}
	case e.Due.Date.Before(today):
		return dueStatus{"Past due, not ordered here", "attention", ""}
	}
	return dueStatus{"Not ordered yet", "ready", ""}
}

// calendarFile sends the calendar as CSV: the due reports first, then the rest.
func (s *Site) calendarFile(v *request) error {
	a, err := v.calendarAsk()
	if err != nil {
		return badRequest("%s", sentence(err.Error()))
	}
	view, err := s.calendar(v, a)
	if err != nil {
		return err
	}
	entries := view.chosen()
	if a.Month.IsZero() && !a.Rest {
		entries = slices.Concat(entries, view.Rest)
	}
	plain := make([]season.Entry, len(entries))
	for i, e := range entries {
		plain[i] = e.Entry
	}
	return v.export("", "calendar", fmt.Sprintf("due-%s-to-%s.csv", a.From, a.To), func(path string) error {
		file, err := os.Create(path)
		if err != nil {
			return fmt.Errorf("make the calendar's file: %w", err)
		}
		if err := season.WriteCSV(file, plain); err != nil {
			file.Close()
			return fmt.Errorf("write the calendar's file: %w", err)
		}
		return file.Close()
	})
}

// dateElement is a day of the calendar: the same in every zone.
func dateElement(d season.Date) template.HTML {
	if d.IsZero() {
		return "–"
	}
	return template.HTML(`<time datetime="` + d.String() + `" data-local="date">` + d.American() + `</time>`)
}
