package web

import (
	"fmt"
	"html/template"
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

// calendarAsk is the filter of the calendar.
type calendarAsk struct {
	// Season is the name of a schedule, and State a state. They are empty for all.
	Season   string
	State    filing.State
	From, To season.Date
	// Rest selects the companies without a due date instead of those with one.
	Rest  bool
	Today season.Date
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
		return a, badRequest("%s", sentence(fmt.Sprintf("%s: give days such as %s", err, a.Today)))
	}
	if a.To.After(a.From.AddDays(longestSpan)) {
		return a, badRequest("From %s to %s is too long. Choose three years at most.", a.From, a.To)
	}
	return a, nil
}

// path returns the address of a page of the calendar with the filter.
func (a calendarAsk) path(page string) string {
	show := ""
	if a.Rest {
		show = "rest"
	}
	return address(page, "from", a.From.String(), "to", a.To.String(), "season", a.Season, "state", string(a.State),
		"show", show)
}

// calendarPage is the calendar with a filter.
type calendarPage struct {
	Ask     calendarAsk
	Seasons []ledger.Schedule // that there are to choose from
	States  []filing.State    // that have a company
	Broken  map[string]string
	Due     []schedule.CalendarEntry // of the span
	Rest    []schedule.CalendarEntry
	Tabs    tabs
	Lines   []calendarLine
	Pager   pager
	CSV     string
}

func (s *Site) calendar(v *request, a calendarAsk) (*calendarPage, error) {
	view := &calendarPage{Ask: a, Broken: make(map[string]string)}
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
	if err != nil {
		return err
	}
	p, err := s.calendar(v, a)
	if err != nil {
		return err
	}
	p.CSV = a.path("/calendar.csv")
	due, rest := a, a
	due.Rest, rest.Rest = false, true
	p.Tabs = tabs{Label: "Companies with and without due dates", Tabs: []tab{
		{Path: due.path("/calendar"), Name: "Due", Count: len(p.Due), Current: !a.Rest},
		{Path: rest.path("/calendar"), Name: "Nothing due in this period", Count: len(p.Rest), Current: a.Rest},
	}}
	shown := p.Due
	if a.Rest {
		shown = p.Rest
	}
	p.Pager, shown = paged(v, shown, dueOnPage)
	bought, err := schedule.FindBought(v.ctx(), s.Ledger, shown)
	if err != nil {
		return err
	}
	for i, e := range shown {
		p.Lines = append(p.Lines, calendarLine{e, dueStatusOf(e, bought, i, a.Today)})
	}
	return v.show("calendar.html", "Due dates", p)
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
		return err
	}
	view, err := s.calendar(v, a)
	if err != nil {
		return err
	}
	var plain []season.Entry
	for _, e := range slices.Concat(view.Due, view.Rest) {
		plain = append(plain, e.Entry)
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
