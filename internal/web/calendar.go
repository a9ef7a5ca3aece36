package web

import (
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

// calendarHandler handles the due dates of the companies of all schedules.
type calendarHandler struct {
	ledger  *ledger.Ledger
	seasons *schedule.Scheduler
}

func (h *calendarHandler) routes() []route {
	return []route{
		{pattern: "GET /calendar", may: viewer, serve: h.calendarPage},
		{pattern: "GET /calendar.csv", may: exporter, serve: h.calendarFile},
	}
}

// calendarAsk is the filter of the calendar.
type calendarAsk struct {
	// Season is the name of a schedule, and State a state. Empty selects all.
	Season   string
	State    filing.State
	From, To season.Date
	// Rest selects the companies without a due date instead of those with one.
	Rest  bool
	Today season.Date
}

// longestSpan is the maximum length of a calendar in days.
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
	Ask calendarAsk
	// Seasons are the choices of the filter.
	Seasons []ledger.Schedule
	// States are the states of the companies.
	States []filing.State
	Broken map[string]string
	// Due are the reports that are due in the period.
	Due   []schedule.CalendarEntry
	Rest  []schedule.CalendarEntry
	Tabs  tabs
	Lines []calendarLine
	Pager pager
	CSV   string
}

func (h *calendarHandler) calendar(v *request, a calendarAsk) (*calendarPage, error) {
	view := &calendarPage{Ask: a, Broken: make(map[string]string)}
	var err error
	if view.Seasons, err = h.ledger.Schedules().List(v.ctx()); err != nil {
		return nil, err
	}
	chosen := view.Seasons
	if a.Season != "" {
		one, err := schedule.Find(v.ctx(), h.ledger, a.Season)
		if err != nil {
			return nil, err
		}
		chosen = []ledger.Schedule{one}
	}
	c, err := h.seasons.Calendar(v.ctx(), chosen, a.From, a.To)
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

// dueStatus is the state of a due report, such as covered, placed or placing.
type dueStatus struct {
	Text, Class, Path string
}

const dueOnPage = 100

func (h *calendarHandler) calendarPage(v *request) error {
	a, err := v.calendarAsk()
	if err != nil {
		return err
	}
	p, err := h.calendar(v, a)
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
	bought, err := schedule.FindBought(v.ctx(), h.ledger, shown)
	if err != nil {
		return err
	}
	for i, e := range shown {
		p.Lines = append(p.Lines, calendarLine{e, dueStatusOf(e, bought, i, a.Today)})
	}
	return v.show(nil, "calendar.html", "Due dates", p)
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

// calendarFile sends the calendar as CSV. Due reports come before the rest.
func (h *calendarHandler) calendarFile(v *request) error {
	a, err := v.calendarAsk()
	if err != nil {
		return err
	}
	view, err := h.calendar(v, a)
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
