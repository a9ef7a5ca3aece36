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
	"slices"
	"strconv"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

// scheduleHandler handles the schedules.
type scheduleHandler struct {
	*Config
	overview *overview
}

func (h *scheduleHandler) routes() []route {
	return []route{
		{pattern: "GET /schedules", may: viewer, serve: h.scheduleList},
		{pattern: "GET /schedules/new", may: operator, serve: h.showScheduleForm},
		{pattern: "POST /schedules", may: operator, serve: h.addSchedule, upload: true},
		{pattern: "GET /schedules/{schedule}", may: viewer, serve: of(h.findSchedule,
			func(v *request, se schedule.Schedule) error { return h.showSchedule(v, se, nil) })},
		{pattern: "POST /schedules/{schedule}/pause", may: operator, serve: of(h.findSchedule, h.setPaused(true))},
		{pattern: "POST /schedules/{schedule}/resume", may: operator, serve: of(h.findSchedule, h.setPaused(false))},
		{pattern: "POST /schedules/{schedule}/remove", may: operator, serve: of(h.findSchedule, h.removeSchedule)},
		{pattern: "POST /schedules/{schedule}/companies", may: hands, serve: h.replaceCompanyList, upload: true},
		{pattern: "GET /schedules/{schedule}/run", may: operator, serve: of(h.findSchedule, h.showRunPreview)},
		{pattern: "POST /schedules/{schedule}/run", may: operator, serve: of(h.findSchedule, h.runSchedule)},
	}
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
	schedule.Run
	// Day is the day that the run is for.
	Day    season.Date
	ByHand bool
	State  string
	// Class is the CSS class of the state.
	Class string
	// Stack is the bar chart of its batch.
	Stack stack
}

func schedulePath(name string) string { return "/schedules/" + url.PathEscape(name) }

func (h *scheduleHandler) scheduleList(v *request) error {
	var schedules []schedule.Schedule
	var problems []schedule.Problem
	err := errors.Join(
		load(&schedules)(schedule.NewRecords(h.Ledger).List(v.ctx())),
		load(&problems)(h.Scheduler.Problems(v.ctx())))
	if err != nil {
		return err
	}
	var p struct {
		Schedules []listedSchedule
		Pager     pager
	}
	p.Pager, schedules = paged(v, schedules, schedulesOnPage)
	for _, se := range schedules {
		listed, err := h.loadListedSchedule(v.ctx(), se)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(problems, func(p schedule.Problem) bool { return p.Schedule == se.Name }); i >= 0 {
			listed.Problem = &problems[i]
		}
		p.Schedules = append(p.Schedules, listed)
	}
	return v.show(nil, "schedules.html", "Schedules", p)
}

const schedulesOnPage = 25

func (h *scheduleHandler) loadListedSchedule(ctx context.Context, se schedule.Schedule) (listed listedSchedule,
	err error) {
	var runs []schedule.Run
	err = errors.Join(
		load(&listed.Summary)(h.Scheduler.Summary(ctx, se)),
		load(&runs)(schedule.NewRecords(h.Ledger).ListRuns(ctx, se.Name)))
	listed.Words = se.Options.Words()
	switch {
	case listed.Summary.Last == "":
		listed.Broken = listed.State
	case err == nil && len(runs) > 0:
		listed.Last, err = h.loadListedRun(ctx, runs[0])
	}
	return listed, err
}

// loadListedRun loads the state of a run's batch.
func (h *scheduleHandler) loadListedRun(ctx context.Context, f schedule.Run) (*listedRun, error) {
	listed := &listedRun{Run: f, ByHand: f.IsManual()}
	err := load(&listed.Day)(f.Date())
	switch {
	case err != nil:
	case f.State == schedule.RunFailed:
		listed.State, listed.Class = "failed", "failed"
	case f.State == schedule.RunBegun:
		listed.State, listed.Class = "making its batch", "running"
	case f.Batch == "":
		listed.State, listed.Class = "nothing to file", "off"
	default:
		var b ledger.Batch
		var facts actionFacts
		var st batchStatus
		err = errors.Join(load(&b)(h.Ledger.Batch(ctx, f.Batch)), load(&facts)(h.overview.facts(ctx)))
		if err == nil {
			st, err = h.overview.status(ctx, b, facts)
		}
		listed.State, listed.Class, listed.Stack = st.Word, st.Class, st.Stack
	}
	return listed, err
}

// schedulePage is the page of a schedule.
type schedulePage struct {
	Schedule schedule.Schedule
	Options  schedule.Options
	Next     []season.Run
	// Broken is the reason why its company list cannot be filed. Empty if it can.
	Broken string
	Plan   *schedule.Plan
	// Problem is the problem of that plan, or nil.
	Problem *schedule.Problem
	// OnDemand reports whether the plan is computed only if the reader asks for it.
	OnDemand bool
	Runs     []*listedRun
	Pager    pager
	// List has the errors of the current company list.
	List *companyListErrors
	// Refused has the errors of a company list that was just rejected.
	Refused *companyListErrors
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

func (h *scheduleHandler) findSchedule(v *request) (schedule.Schedule, error) {
	return schedule.Find(v.ctx(), h.Ledger, v.r.PathValue("schedule"))
}

const runsOnPage = 10

// showSchedule shows a schedule. refused has the errors of a company list that was just rejected,
// or is nil.
func (h *scheduleHandler) showSchedule(v *request, se schedule.Schedule, refused *companyListErrors) error {
	ctx := v.ctx()
	p := &schedulePage{Schedule: se, Options: se.Options, Refused: refused}
	var runs []schedule.Run
	err := errors.Join(
		h.loadNext(ctx, p, v.r.URL.Query().Has("plan")),
		load(&runs)(schedule.NewRecords(h.Ledger).ListRuns(ctx, se.Name)))
	if err != nil {
		return err
	}
	p.Pager, runs = paged(v, runs, runsOnPage)
	for _, f := range runs {
		listed, err := h.loadListedRun(ctx, f)
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
func (h *scheduleHandler) loadNext(ctx context.Context, p *schedulePage, asked bool) error {
	list, err := h.Scheduler.LoadCompanyList(ctx, p.Schedule)
	if err == nil {
		p.List = errorsOf(p.Schedule.File, list, nil)
		p.Next, err = h.Scheduler.Upcoming(ctx, p.Schedule, 3)
	}
	p.OnDemand = err == nil && !asked && len(p.Next) > 0 && p.List.Tally.Rows > plannedRows
	if err == nil && len(p.Next) > 0 && !p.OnDemand {
		p.Plan, err = h.Scheduler.NextPlan(ctx, p.Schedule)
	}
	if err == nil && !p.OnDemand {
		p.Problem, err = h.Scheduler.Problem(ctx, p.Schedule)
	}
	if errors.Is(err, schedule.ErrCompanyList) {
		p.Broken, err = sentence(err.Error()), nil
	}
	return err
}

// setPaused returns a handler that pauses or resumes a schedule.
func (h *scheduleHandler) setPaused(paused bool) func(*request, schedule.Schedule) error {
	what, said := "schedule-resume", "The schedule is resumed. Runs missed in the meantime are not made up."
	if paused {
		what, said = "schedule-pause", "The schedule is paused. Existing batches continue."
	}
	return func(v *request, se schedule.Schedule) (err error) {
		// Pausing or resuming twice would reset the time from which runs count.
		if se.Paused != paused {
			err = schedule.NewRecords(h.Ledger).SetPaused(v.withAudit(what, se.Name, ""), se.Name, paused)
		}
		return v.done(err, schedulePath(se.Name), "%s", said)
	}
}

func (h *scheduleHandler) removeSchedule(v *request, se schedule.Schedule) error {
	err := schedule.NewRecords(h.Ledger).Remove(v.withAudit("schedule-remove", se.Name, ""), se.Name)
	return v.done(err, "/schedules", "Deleted the schedule %s. Its batches stay and continue.", se.Name)
}

// replaceCompanyList replaces the company list of a schedule and reports how many rows changed.
func (h *scheduleHandler) replaceCompanyList(v *request) error {
	// Read the file first, so that a rejected request learns nothing about the schedule.
	file, err := v.file()
	if err != nil {
		return err
	}
	defer file.Close()
	se, err := h.findSchedule(v)
	if err != nil {
		return err
	}
	if v.form("version") != strconv.Itoa(se.Version) {
		return ledger.ErrStale
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return file.readError(err)
	}
	done, err := schedule.Update(v.withAudit("schedule-update", se.Name, file.name), h.Ledger, se, file.name, content,
		v.who())
	switch {
	case errors.Is(err, schedule.ErrCompanyList), errors.Is(err, schedule.ErrSchedule):
		return h.showSchedule(v, se, errorsOf(file.name, done.CompanyList, err))
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
	Schedule schedule.Schedule
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

func (h *scheduleHandler) previewRun(v *request, se schedule.Schedule) (*runPreview, error) {
	p := &runPreview{Schedule: se, Waits: se.Approval}
	var policy approval.Policy
	err := errors.Join(
		load(&policy)(approval.New(h.Ledger).Policy(v.ctx())),
		load(&p.Preview)(h.Scheduler.Preview(v.ctx(), se)))
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
		if _, err := h.Service(); err != nil {
			p.Why = "No filing service is set up. An operator must set FILING_BASE_URL and FILING_API_KEY."
		}
	case p.Plan.Filings == 0:
		p.Why = cmp.Or(p.Plan.Problem(), "Nothing to file: everything that is due was already ordered or filed.")
	}
	return p, nil
}

func (h *scheduleHandler) showRunPreview(v *request, se schedule.Schedule) error {
	p, err := h.previewRun(v, se)
	return v.show(err, "run-schedule.html", "Run "+se.Name+" now", p)
}

// runSchedule runs a schedule manually if its plan has not changed since it was shown.
func (h *scheduleHandler) runSchedule(v *request, se schedule.Schedule) error {
	p, err := h.previewRun(v, se)
	if err != nil {
		return err
	}
	switch {
	case p.Done != nil:
		return v.leadTo(runPath(se.Name, *p.Done), "note",
			"This schedule already ran by hand today, with this company list.")
	case p.Why != "":
		return badRequest("%s The schedule did not run.", p.Why)
	case v.form("look") != p.Look:
		return v.leadTo(schedulePath(se.Name)+"/run", "warn",
			"The plan changed: now %s for %s. The schedule did not run. Review the plan, then run it.",
			count(p.Plan.Filings, "order"), p.Plan.Total())
	}
	// A run that has started finishes even if the browser disconnects.
	f, err := h.Scheduler.RunNow(context.WithoutCancel(v.withAudit("schedule-run", se.Name, p.Look)), se, p.Run)
	switch {
	case errors.Is(err, schedule.ErrRunning) && f.State != schedule.RunBegun:
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
func runPath(name string, f schedule.Run) string {
	if f.Batch == "" {
		return schedulePath(name)
	}
	return "/batches/" + f.Batch
}

// dateElement returns a date as HTML. It is the same in every zone.
func dateElement(d season.Date) template.HTML {
	if d.IsZero() {
		return "–"
	}
	return template.HTML(`<time datetime="` + d.String() + `" data-local="date">` + d.American() + `</time>`)
}
