package web

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

// calendarAsk is the filter of the calendar.
type calendarAsk struct {
	// Schedule is the name of a schedule, and State a state. Empty selects all.
	Schedule string
	State    filing.State
	From, To season.Date
	// Rest selects the companies without a due date instead of those with one.
	Rest  bool
	Today season.Date
}

// longestSpan is the maximum length of a calendar in days.
const longestSpan = 3 * 366

func parseCalendarAsk(v *request) (a calendarAsk, err error) {
	a = calendarAsk{
		Schedule: v.query("season"),
		State:    filing.State(v.query("state")),
		Rest:     v.query("show") == "rest",
		Today:    season.DateOf(time.Now()),
	}
	if a.From, a.To, err = season.ParseSpan(v.query("from"), v.query("to"), a.Today); err != nil {
		return a, badRequest("%s", sentence(fmt.Sprintf("%s: give days such as %s", err, a.Today)))
	}
	if a.To.After(a.From.AddDays(longestSpan)) {
		return a, badRequest("From %s to %s is too long. Choose three years at most.", a.From, a.To)
	}
	return a, nil
}

// calendarPage is the calendar with a filter.
type calendarPage struct {
	Ask calendarAsk
	// Schedules are the choices of the filter.
	Schedules []schedule.Schedule
	// States are the states of the companies.
	States []filing.State
	// Broken maps names of schedules to the errors of their company lists.
	Broken map[string]error
	// Due are the reports that are due in the period.
	Due   []schedule.CalendarEntry
	Rest  []schedule.CalendarEntry
	Tabs  tabs
	Lines []calendarLine
	Pager pager
	CSV   string
}

// loadCalendar loads the calendar that the address selects.
func (h *scheduleHandler) loadCalendar(v *request) (*calendarPage, error) {
	a, err := parseCalendarAsk(v)
	if err != nil {
		return nil, err
	}
	p := &calendarPage{Ask: a}
	if p.Schedules, err = schedule.NewRecords(h.Ledger).List(v.ctx()); err != nil {
		return nil, err
	}
	chosen := p.Schedules
	if a.Schedule != "" {
		one, err := schedule.Find(v.ctx(), h.Ledger, a.Schedule)
		if err != nil {
			return nil, err
		}
		chosen = []schedule.Schedule{one}
	}
	c, err := h.Scheduler.Calendar(v.ctx(), chosen, a.From, a.To)
	if err != nil {
		return nil, err
	}
	p.Broken = c.Broken
	ours := func(all []schedule.CalendarEntry) (kept []schedule.CalendarEntry) {
		for _, e := range all {
			state := e.Row.Facts.State
			p.States = append(p.States, state)
			if a.State == "" || a.State == state {
				kept = append(kept, e)
			}
		}
		return kept
	}
	p.Due, p.Rest = ours(c.Due), ours(c.Rest)
	slices.Sort(p.States)
	p.States = slices.Compact(p.States)
	return p, nil
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

func (h *scheduleHandler) calendarPage(v *request) error {
	p, err := h.loadCalendar(v)
	if err != nil {
		return err
	}
	a := p.Ask
	p.CSV = v.with("/calendar.csv", "page", "")
	p.Tabs.Label = "Companies with and without due dates"
	p.Tabs.add(v.with("/calendar", "show", "", "page", ""), "Due", len(p.Due), !a.Rest)
	p.Tabs.add(v.with("/calendar", "show", "rest", "page", ""), "Nothing due in this period", len(p.Rest), a.Rest)
	shown := p.Due
	if a.Rest {
		shown = p.Rest
	}
	p.Pager, shown = paged(v, shown, dueOnPage)
	bought, err := schedule.FindBought(v.ctx(), h.Ledger, shown)
	for i, e := range shown {
		p.Lines = append(p.Lines, calendarLine{e, dueStatusOf(e, bought, i, a.Today)})
	}
	return v.show(err, "calendar.html", "Due dates", p)
}

func dueStatusOf(e schedule.CalendarEntry, bought map[int]ledger.PriorPurchase, i int, today season.Date) dueStatus {
	h, held := bought[i]
	path := batchRowPath(h.Batch, h.Number)
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
func (h *scheduleHandler) calendarFile(v *request) error {
	p, err := h.loadCalendar(v)
	if err != nil {
		return err
	}
	var plain []season.Entry
	for _, e := range slices.Concat(p.Due, p.Rest) {
		plain = append(plain, e.Entry)
	}
	return v.export("", "calendar", fmt.Sprintf("due-%s-to-%s.csv", p.Ask.From, p.Ask.To), func(path string) error {
		f, err := os.Create(path)
		if err != nil {
			return fmt.Errorf("write the calendar's file: %w", err)
		}
		return errors.Join(season.WriteCSV(f, plain), f.Close())
	})
}
