package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

var scheduleRoutes = []route{
	{pattern: "GET /seasons", may: viewer, serve: (*Site).scheduleList},
	{pattern: "GET /seasons/{season}", may: viewer, serve: ofSchedule((*Site).schedulePage)},
	{pattern: "POST /seasons/{season}/pause", may: operator, serve: ofSchedule((*Site).pauseSchedule)},
	{pattern: "POST /seasons/{season}/resume", may: operator, serve: ofSchedule((*Site).resumeSchedule)},
	{pattern: "POST /seasons/{season}/remove", may: operator, serve: ofSchedule((*Site).removeSchedule)},
	{pattern: "POST /seasons/{season}/roster", may: hands, serve: (*Site).replaceCompanyList, upload: true},
	{pattern: "GET /seasons/{season}/fire", may: operator, serve: ofSchedule((*Site).showRunPreview)},
	{pattern: "POST /seasons/{season}/fire", may: operator, serve: ofSchedule((*Site).runSchedule)},
	{pattern: "GET /calendar", may: viewer, serve: (*Site).calendarPage},
	{pattern: "GET /calendar.csv", may: exporter, serve: (*Site).calendarFile},
}

// listedSchedule is a schedule in the list of schedules.
type listedSchedule struct {
	schedule.Summary
	// Words describes when the schedule runs.
	Words string
	// Broken is the reason why its company list cannot be filed. Empty if it can.
	Broken string
	// Problem is the reason why the next run files no rows. Nil if there is no problem, or if the
	// company list is long.
	Problem *schedule.Problem
	Last    *listedRun
}

// listedRun is a run of a schedule.
type listedRun struct {
	ledger.Run
	// Day is the day that the run is for.
	Day    season.Date
	ByHand bool
	State  string
	// Class is the CSS class of the state.
	Class string
	// Stack is the bar chart of its batch.
	Stack stack
	Plan  *schedule.Plan
}

func schedulePath(name string) string { return "/seasons/" + url.PathEscape(name) }

func (s *Site) scheduleList(v *request) error {
	var seasons []ledger.Schedule
	var problems []schedule.Problem
	err := errors.Join(
		load(&seasons)(s.Ledger.Schedules().List(v.ctx())),
		load(&problems)(s.Seasons.Problems(v.ctx())))
	if err != nil {
		return err
	}
	var p struct {
		Seasons []listedSchedule
		Pager   pager
	}
	p.Pager, seasons = paged(v, seasons, schedulesOnPage)
	for _, se := range seasons {
		listed, err := s.loadListedSchedule(v.ctx(), se)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(problems, func(p schedule.Problem) bool { return p.Schedule == se.Name }); i >= 0 {
			listed.Problem = &problems[i]
		}
		p.Seasons = append(p.Seasons, listed)
	}
	return v.show("schedules.html", "Schedules", p)
}

const schedulesOnPage = 25

func (s *Site) loadListedSchedule(ctx context.Context, se ledger.Schedule) (listedSchedule, error) {
	line, err := s.Seasons.Summary(ctx, se)
	if err != nil {
		return listedSchedule{}, err
	}
	o, err := schedule.DecodeOptions(se)
	if err != nil {
		return listedSchedule{}, err
	}
	listed := listedSchedule{Summary: line, Words: o.Words()}
	if line.Last == "" {
		listed.Broken = line.State
		return listed, nil
	}
	runs, err := s.Ledger.Schedules().ListRuns(ctx, se.Name)
	if err != nil || len(runs) == 0 {
		return listed, err
	}
	last, err := s.loadListedRun(ctx, runs[0])
	listed.Last = &last
	return listed, err
}

// loadListedRun loads the state of a run's batch.
func (s *Site) loadListedRun(ctx context.Context, f ledger.Run) (listedRun, error) {
	listed := listedRun{Run: f}
	var err error
	if listed.Day, err = f.Date(); err != nil {
		return listed, err
	}
	listed.ByHand = f.IsManual()
	if listed.Plan, err = schedule.DecodePlan(f); err != nil {
		return listed, err
	}
	switch {
	case f.State == ledger.RunFailed:
		listed.State, listed.Class = "failed", "failed"
		return listed, nil
	case f.State == ledger.RunBegun:
		listed.State, listed.Class = "making its batch", "running"
		return listed, nil
	case f.Batch == "":
		listed.State, listed.Class = "nothing to file", "off"
		return listed, nil
	}
	b, err := s.Ledger.Batch(ctx, f.Batch)
	if err != nil {
		return listed, err
	}
	st, err := s.loadStatus(ctx, b)
	listed.State, listed.Class = st.Word, st.Class
	listed.Stack = stackOf(st.Headline.String(), st.Headline.Counts)
	return listed, err
}

// schedulePage is the page of a schedule.
type schedulePage struct {
	Season  ledger.Schedule
	Options schedule.Options
	Next    []season.Run
	// Broken is the reason why its company list cannot be filed. Empty if it can.
	Broken string
	Plan   *schedule.Plan
	// Problem is the problem of that plan, or nil.
	Problem *schedule.Problem
	// OnDemand reports whether the plan is computed only if the reader asks for it.
	OnDemand bool
	Runs     []listedRun
	Pager    pager
	// List has the errors of the current company list.
	List *companyListErrors
	// Refused has the errors of a company list that was just rejected.
	Refused *companyListErrors
	MiB     int64
}

// companyListErrors are the errors of a company list.
type companyListErrors struct {
	File string
	// Text is the reason for the rejection. Empty if the list was accepted.
	Text  string
	Tally importer.Tally
	// Problems are the first problems.
	Problems []importer.Problem
	More     int
	Notes    []string
}

// shownProblems is the maximum number of problems that the page shows.
const shownProblems = 50

func errorsOf(file string, r *schedule.CompanyList, err error) *companyListErrors {
	t := &companyListErrors{File: file}
	if err != nil {
		t.Text = sentence(err.Error())
	}
	if r != nil {
		n := min(len(r.Problems), shownProblems)
		t.Tally, t.Problems, t.More, t.Notes = r.Tally, r.Problems[:n], len(r.Problems)-n, r.Notes
	}
	return t
}

func (s *Site) findSchedule(v *request) (ledger.Schedule, error) {
	return schedule.Find(v.ctx(), s.Ledger, v.r.PathValue("season"))
}

func (s *Site) schedulePage(v *request, se ledger.Schedule) error { return s.showSchedule(v, se, nil) }

const runsOnPage = 10

// showSchedule shows a schedule. refused has the errors of a company list that was just rejected,
// or is nil.
func (s *Site) showSchedule(v *request, se ledger.Schedule, refused *companyListErrors) error {
	ctx := v.ctx()
	p := &schedulePage{Season: se, Refused: refused, MiB: s.MaxUpload >> 20}
	var err error
	if p.Options, err = schedule.DecodeOptions(se); err != nil {
		return err
	}
	if err := s.loadNext(ctx, p, v.r.URL.Query().Has("plan")); err != nil {
		return err
	}
	runs, err := s.Ledger.Schedules().ListRuns(ctx, se.Name)
	if err != nil {
		return err
	}
	p.Pager, runs = paged(v, runs, runsOnPage)
	for _, f := range runs {
		listed, err := s.loadListedRun(ctx, f)
		if err != nil {
			return err
		}
		p.Runs = append(p.Runs, listed)
	}
	status := http.StatusOK
	if refused != nil {
		status = http.StatusUnprocessableEntity
	}
	return v.showStatus(status, "schedule.html", se.Name, p)
}

// plannedRows is the maximum number of rows of a company list whose plan is computed on every
// visit.
const plannedRows = 5000

// loadNext loads the next runs of a schedule and the plan of the first run.
func (s *Site) loadNext(ctx context.Context, p *schedulePage, asked bool) error {
	roster, err := s.Seasons.LoadCompanyList(ctx, p.Season)
	if err == nil {
		p.List = errorsOf(p.Season.File, roster, nil)
		p.Next, err = s.Seasons.Upcoming(ctx, p.Season, 3)
	}
	p.OnDemand = err == nil && !asked && len(p.Next) > 0 && p.List.Tally.Rows > plannedRows
	if err == nil && len(p.Next) > 0 && !p.OnDemand {
		p.Plan, err = s.Seasons.NextPlan(ctx, p.Season)
	}
	if err == nil && !p.OnDemand {
		p.Problem, err = s.Seasons.Problem(ctx, p.Season)
	}
	if errors.Is(err, schedule.ErrCompanyList) {
		p.Broken, err = sentence(err.Error()), nil
	}
	return err
}

func (s *Site) pauseSchedule(v *request, se ledger.Schedule) error  { return s.setPaused(v, se, true) }
func (s *Site) resumeSchedule(v *request, se ledger.Schedule) error { return s.setPaused(v, se, false) }

func (s *Site) setPaused(v *request, se ledger.Schedule, paused bool) (err error) {
	what, said := "season-resume", "The schedule is resumed. Runs missed in the meantime are not made up."
	if paused {
		what, said = "season-pause", "The schedule is paused. Existing batches continue."
	}
	// Pausing or resuming twice would reset the time from which runs count.
	if se.Paused != paused {
		err = s.Ledger.Schedules().SetPaused(v.withAudit(what, se.Name, ""), se.Name, paused)
	}
	return v.done(err, schedulePath(se.Name), "%s", said)
}

func (s *Site) removeSchedule(v *request, se ledger.Schedule) error {
	err := s.Ledger.Schedules().Remove(v.withAudit("season-remove", se.Name, ""), se.Name)
	return v.done(err, "/seasons", "Deleted the schedule %s. Its batches stay and continue.", se.Name)
}

// replaceCompanyList replaces the company list of a schedule and reports how many rows changed.
func (s *Site) replaceCompanyList(v *request) error {
	// Read the file first, so that a rejected request learns nothing about the schedule.
	file, err := v.file(s.MaxUpload)
	if err != nil {
		return err
	}
	defer file.Close()
	se, err := s.findSchedule(v)
	if err != nil {
		return err
	}
	if v.r.PostForm.Get("version") != strconv.Itoa(se.Version) {
		return ledger.ErrStale
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return file.readError(err)
	}
	done, err := schedule.Update(v.withAudit("season-update", se.Name, file.name), s.Ledger, se, file.name, content,
		v.who())
	switch {
	case errors.Is(err, schedule.ErrCompanyList), errors.Is(err, schedule.ErrSchedule):
		return s.showSchedule(v, se, errorsOf(file.name, done.CompanyList, err))
	case err != nil:
		return err
	case done.Same:
		return v.leadTo(schedulePath(se.Name), "note",
			"%s is already the company list of this schedule. Nothing was changed.", file.name)
	}
	return v.done(nil, schedulePath(se.Name), "%s is now the company list, with %s to file: %d added, %d removed.",
		file.name, count(done.CompanyList.Tally.Ready, "row"), done.Added, done.Removed)
}

// runPreview is a manual run that waits for confirmation.
type runPreview struct {
	schedule.Preview
	Season ledger.Schedule
	// Waits reports whether the batch of the run will wait for approval.
	Waits bool
	// Look identifies the shown plan.
	Look string
	// Why is the reason why it cannot run now. Empty if it can.
	Why string
}

// describeRun returns a text that identifies the orders of a manual run. A confirmation covers
// exactly these.
func describeRun(r schedule.Preview) string {
	if r.Plan == nil {
		return ""
	}
	return fmt.Sprintf("%s: %d for %s", r.Run.ID, r.Plan.Filings, r.Plan.Total())
}

func (s *Site) previewRun(v *request, se ledger.Schedule) (*runPreview, error) {
	p := &runPreview{Season: se, Waits: se.Approval}
	var policy ledger.Policy
	err := errors.Join(
		load(&policy)(s.Ledger.Approvals().Policy(v.ctx())),
		load(&p.Preview)(s.Seasons.Preview(v.ctx(), se)))
	if err != nil {
		return nil, err
	}
	if p.Plan != nil {
		p.Waits = p.Waits || policy.Covers(p.Plan.Total())
	}
	p.Look = describeRun(p.Preview)
	switch {
	case p.Plan == nil:
	case !p.Plan.Priced:
		p.Why = "The filing service does not give its prices now, so the cost is unknown. Try again in a few minutes."
		if _, err := s.Service(); err != nil {
			p.Why = "No filing service is set up. An operator must set FILING_BASE_URL and FILING_API_KEY."
		}
	case p.Plan.Filings == 0:
		p.Why = cmp.Or(p.Plan.Problem(), "Nothing to file: everything that is due was already ordered or filed.")
	}
	return p, nil
}

func (s *Site) showRunPreview(v *request, se ledger.Schedule) error {
	p, err := s.previewRun(v, se)
	if err != nil {
		return err
	}
	return v.show("run-schedule.html", "Run "+se.Name+" now", p)
}

// runSchedule runs a schedule manually if its plan has not changed since it was shown.
func (s *Site) runSchedule(v *request, se ledger.Schedule) error {
	p, err := s.previewRun(v, se)
	if err != nil {
		return err
	}
	switch {
	case p.Done != nil:
		return v.leadTo(runPath(se.Name, *p.Done), "note",
			"This schedule already ran by hand today, with this company list.")
	case p.Why != "":
		return badRequest("%s The schedule did not run.", p.Why)
	case v.r.PostForm.Get("look") != p.Look:
		return v.leadTo(schedulePath(se.Name)+"/fire", "warn",
			"The plan changed: now %s for %s. The schedule did not run. Review the plan, then run it.",
			count(p.Plan.Filings, "order"), p.Plan.Total())
	}
	// A run that has started finishes even if the browser disconnects.
	f, err := s.Seasons.RunNow(context.WithoutCancel(v.withAudit("season-run", se.Name, p.Look)), se, p.Run)
	switch {
	case errors.Is(err, schedule.ErrRunning) && f.State != ledger.RunBegun:
		return v.leadTo(runPath(se.Name, f), "note", "Someone else just ran this schedule.")
	case errors.Is(err, schedule.ErrRunning):
		return badRequest("Another process is making the batch of this schedule now. Refresh the page of the schedule.")
	case p.Waits:
		return v.done(err, runPath(se.Name, f),
			"The schedule ran. Its batch waits for approval; nothing is sent before.")
	}
	return v.done(err, runPath(se.Name, f), "The schedule ran. The orders are being placed.")
}

// runPath returns the address of the results of a run.
func runPath(name string, f ledger.Run) string {
	if f.Batch == "" {
		return schedulePath(name)
	}
	return "/batches/" + f.Batch
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

// dueStatus is the state of a due report, such as covered, placed or placing.
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

// calendarFile sends the calendar as CSV. Due reports come before the rest.
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

// dateElement returns a date as HTML. It is the same in every zone.
func dateElement(d season.Date) template.HTML {
	if d.IsZero() {
		return "–"
	}
	return template.HTML(`<time datetime="` + d.String() + `" data-local="date">` + d.American() + `</time>`)
}
