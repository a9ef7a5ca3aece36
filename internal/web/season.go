package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"bulkfiling/internal/importer"
	"bulkfiling/internal/ledger"
	"bulkfiling/internal/schedule"
	"bulkfiling/internal/season"
)

var seasonRoutes = []route{
	{pattern: "GET /seasons", may: viewer, serve: (*Site).seasonList},
	{pattern: "GET /seasons/{season}", may: viewer, serve: (*Site).seasonPage},
	{pattern: "POST /seasons/{season}/pause", may: operator, serve: (*Site).pauseSeason},
	{pattern: "POST /seasons/{season}/resume", may: operator, serve: (*Site).resumeSeason},
	{pattern: "POST /seasons/{season}/remove", may: operator, serve: (*Site).removeSeason},
	{pattern: "POST /seasons/{season}/roster", may: hands, serve: (*Site).newRoster, upload: true},
	{pattern: "GET /seasons/{season}/fire", may: operator, serve: (*Site).rehearseSeason},
	{pattern: "POST /seasons/{season}/fire", may: operator, serve: (*Site).fireSeason},
}

// listedSeason is a season as the list of them shows it.
type listedSeason struct {
	schedule.Summary
	Path   string
	Words  string // its schedule
	Broken string // why its roster cannot be filed
	Last   *listedFiring
}

// listedFiring is one time that a season fired.
type listedFiring struct {
	ledger.Run
	Day    season.Date // it stands for
	ByHand bool
	State  string
	Class  string // the look of the state
	Stack  stack  // of its batch
	Plan   *schedule.Plan
}

func seasonPath(name string) string { return "/seasons/" + url.PathEscape(name) }

func (s *Site) seasonList(v *request) error {
	seasons, err := s.Ledger.Schedules().List(v.ctx())
	if err != nil {
		return err
	}
	var p struct {
		Seasons []listedSeason
		Pager   pager
	}
	p.Pager, seasons = paged(v, seasons, seasonsOnPage)
	for _, se := range seasons {
		listed, err := s.listedSeason(v.ctx(), se)
		if err != nil {
			return err
		}
		p.Seasons = append(p.Seasons, listed)
	}
	return v.show("seasons.html", "Schedules", p)
}

const seasonsOnPage = 25

func (s *Site) listedSeason(ctx context.Context, se ledger.Schedule) (listedSeason, error) {
	line, err := s.Seasons.Summary(ctx, se)
	if err != nil {
		return listedSeason{}, err
	}
	o, err := schedule.DecodeOptions(se)
	if err != nil {
		return listedSeason{}, err
	}
	listed := listedSeason{Summary: line, Path: seasonPath(se.Name), Words: o.Words()}
	if line.Last == "" {
		listed.Broken = line.State
		return listed, nil
	}
	firings, err := s.Ledger.Schedules().ListRuns(ctx, se.Name)
	if err != nil || len(firings) == 0 {
		return listed, err
	}
	last, err := s.listedFiring(ctx, firings[0])
	listed.Last = &last
	return listed, err
}

// listedFiring says what became of a firing.
func (s *Site) listedFiring(ctx context.Context, f ledger.Run) (listedFiring, error) {
	listed := listedFiring{Run: f}
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
	counts, err := s.Ledger.Counts(ctx, b.ID)
	listed.State, listed.Class = standing(b, counts)
	listed.Stack = stackOf(b, counts)
	return listed, err
}

// seasonPage is all there is to a season.
type seasonPage struct {
	Season   ledger.Schedule
	Path     string
	Options  schedule.Options
	Next     []season.Firing
	Broken   string // why its roster cannot be filed
	Plan     *schedule.Plan
	Unasked  bool // the plan is worked out where somebody asks for it
	Firings  []listedFiring
	Pager    pager
	Versions []ledger.CompanyList
	Against  *ledger.CompanyList // the version that the present one is held against
	Changes  *comparison
	Roster   *rosterTrouble // of the present version
	Refused  *rosterTrouble // of one that was not taken in
	MiB      int64
}

// rosterTrouble is what is wrong with a roster.
type rosterTrouble struct {
	File     string
	Text     string // why it was not taken in; "" for one that was
	Tally    importer.Tally
	Problems []importer.Problem // the first
	More     int
	Notes    []string
}

// shownProblems is how many problems of a roster are listed.
const shownProblems = 50

func troubleOf(file string, r *schedule.CompanyList, err error) *rosterTrouble {
	t := &rosterTrouble{File: file}
	if err != nil {
		t.Text = sentence(err.Error())
	}
	if r != nil {
		n := min(len(r.Problems), shownProblems)
		t.Tally, t.Problems, t.More, t.Notes = r.Tally, r.Problems[:n], len(r.Problems)-n, r.Notes
	}
	return t
}

// comparison is how a roster differs from an earlier version.
type comparison struct {
	Parts     []comparedPart
	Unchanged int
}

type comparedPart struct {
	Name string
	Rows []season.Row
	More int
}

// shownRows is how many companies of a kind a comparison names.
const shownRows = 50

func compared(p season.Plan) *comparison {
	changed := make([]season.Row, len(p.Changed))
	for i, c := range p.Changed {
		changed[i] = c.Row
	}
	c := &comparison{Unchanged: len(p.Unchanged)}
	for _, part := range []struct {
		name string
		rows []season.Row
	}{{"New", p.New}, {"Changed", changed}, {"Missing", p.Missing}} {
		n := min(len(part.rows), shownRows)
		c.Parts = append(c.Parts, comparedPart{part.name, part.rows[:n], len(part.rows) - n})
	}
	return c
}

// Count is how many companies a part has.
func (p comparedPart) Count() int { return len(p.Rows) + p.More }

func (s *Site) theSeason(v *request) (ledger.Schedule, error) {
	return schedule.Find(v.ctx(), s.Ledger, v.r.PathValue("season"))
}

func (s *Site) seasonPage(v *request) error {
	se, err := s.theSeason(v)
	if err != nil {
		return err
	}
	return s.showSeason(v, se, nil)
}

const firingsOnPage = 10

// showSeason shows a season; refused is the roster that was just not taken in.
func (s *Site) showSeason(v *request, se ledger.Schedule, refused *rosterTrouble) error {
	ctx := v.ctx()
	p := &seasonPage{Season: se, Path: seasonPath(se.Name), Refused: refused, MiB: s.MaxUpload >> 20}
	var err error
	if p.Options, err = schedule.DecodeOptions(se); err != nil {
		return err
	}
	if err := s.lookAhead(ctx, p, v.r.URL.Query().Has("plan")); err != nil {
		return err
	}
	firings, err := s.Ledger.Schedules().ListRuns(ctx, se.Name)
	if err != nil {
		return err
	}
	if p.Versions, err = schedule.ListVersions(ctx, s.Ledger, se, firings); err != nil {
		return err
	}
	if err := s.holdAgainst(v, p); err != nil {
		return err
	}
	p.Pager, firings = paged(v, firings, firingsOnPage)
	for _, f := range firings {
		listed, err := s.listedFiring(ctx, f)
		if err != nil {
			return err
		}
		p.Firings = append(p.Firings, listed)
	}
	status := http.StatusOK
	if refused != nil {
		status = http.StatusUnprocessableEntity
	}
	return v.showStatus(status, "season.html", se.Name, p)
}

// plannedRows is how large a roster may be for its plan to be worked out before
// anybody asks for it.
const plannedRows = 5000

// lookAhead says when a season fires next, and what it would do then.
func (s *Site) lookAhead(ctx context.Context, p *seasonPage, asked bool) error {
	roster, err := s.Seasons.Roster(ctx, p.Season)
	if err == nil {
		p.Roster = troubleOf(p.Season.File, roster, nil)
		p.Next, err = s.Seasons.Upcoming(ctx, p.Season, 3)
	}
	p.Unasked = err == nil && !asked && len(p.Next) > 0 && p.Roster.Tally.Rows > plannedRows
	if err == nil && len(p.Next) > 0 && !p.Unasked {
		p.Plan, err = s.Seasons.NextPlan(ctx, p.Season)
	}
	if errors.Is(err, schedule.ErrCompanyList) {
		p.Broken, err = sentence(err.Error()), nil
	}
	return err
}

// holdAgainst compares the present roster with the version that the address
// names.
func (s *Site) holdAgainst(v *request, p *seasonPage) error {
	hash := v.r.URL.Query().Get("against")
	if hash == "" || hash == p.Season.CompanyList {
		return nil
	}
	now, err := s.Seasons.Roster(v.ctx(), p.Season)
	if err != nil {
		return asTrouble(err)
	}
	before, err := s.Seasons.Version(v.ctx(), p.Season, hash)
	if err != nil {
		return asTrouble(err)
	}
	version, err := s.Ledger.Schedules().FindCompanyList(v.ctx(), hash)
	if err != nil {
		return err
	}
	version.Content = nil
	p.Against, p.Changes = &version, compared(season.Compare(now.Rows, before.Rows))
	return nil
}

// asTrouble is what a person can put right of a season or its roster, in its own
// words; any other error is left as it is.
func asTrouble(err error) error {
	if errors.Is(err, schedule.ErrSchedule) || errors.Is(err, schedule.ErrCompanyList) {
		return badRequest("%s", sentence(err.Error()))
	}
	return err
}

func (s *Site) pauseSeason(v *request) error  { return s.setPaused(v, true) }
func (s *Site) resumeSeason(v *request) error { return s.setPaused(v, false) }

func (s *Site) setPaused(v *request, paused bool) error {
	se, err := s.theSeason(v)
	if err != nil {
		return err
	}
	what, said := "season-resume", "The schedule is resumed. Runs missed in the meantime are not made up."
	if paused {
		what, said = "season-pause", "The schedule is paused. Existing batches continue."
	}
	if se.Paused != paused { // again would move the time from which it counts
		if err := s.Ledger.Schedules().SetPaused(v.withAudit(what, se.Name, ""), se.Name, paused); err != nil {
			return err
		}
	}
	v.flash("ok", "%s", said)
	return v.redirect(seasonPath(se.Name))
}

func (s *Site) removeSeason(v *request) error {
	se, err := s.theSeason(v)
	if err != nil {
		return err
	}
	if err := s.Ledger.Schedules().Remove(v.withAudit("season-remove", se.Name, ""), se.Name); err != nil {
		return err
	}
	v.flash("ok", "Deleted the schedule %s. Its batches stay and continue.", se.Name)
	return v.redirect("/seasons")
}

// newRoster gives a season another version of its roster, and shows what that
// changes.
func (s *Site) newRoster(v *request) error {
	file, err := v.file(s.MaxUpload) // first: who may not is told nothing else
	if err != nil {
		return err
	}
	defer file.Close()
	se, err := s.theSeason(v)
	if err != nil {
		return err
	}
	if v.r.PostForm.Get("version") != strconv.Itoa(se.Version) {
		return ledger.ErrStale
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return file.trouble(err)
	}
	done, err := schedule.Update(v.withAudit("season-update", se.Name, file.name), s.Ledger, se, file.name, content,
		v.who())
	switch {
	case errors.Is(err, schedule.ErrCompanyList), errors.Is(err, schedule.ErrSchedule):
		return s.showSeason(v, se, troubleOf(file.name, done.Roster, err))
	case err != nil:
		return err
	case done.Same:
		v.flash("note", "%s is already the company list of this schedule. Nothing was changed.", file.name)
		return v.redirect(seasonPath(se.Name))
	}
	v.flash("ok", "%s is now the company list, with %s to file. The changes are listed below.", file.name,
		count(done.Roster.Tally.Ready, "row"))
	return v.redirect(seasonPath(se.Name) + "?against=" + se.CompanyList + "#changes")
}

// rehearsal is a firing by hand before somebody's yes.
type rehearsal struct {
	schedule.Preview
	Season ledger.Schedule
	Path   string
	Waits  bool   // its batch waits for somebody's approval
	Look   string // names what is looked at
	Why    string // why it cannot be fired now
}

// lookOf names what a firing by hand would buy: whoever says yes says it to this.
func lookOf(r schedule.Preview) string {
	if r.Plan == nil {
		return ""
	}
	return fmt.Sprintf("%s: %d for %s", r.Firing.ID, r.Plan.Filings, r.Plan.Total())
}

func (s *Site) rehearse(v *request) (*rehearsal, error) {
	se, err := s.theSeason(v)
	if err != nil {
		return nil, err
	}
	policy, err := s.Ledger.Policy(v.ctx())
	if err != nil {
		return nil, err
	}
	p := &rehearsal{Season: se, Path: seasonPath(se.Name), Waits: se.Approval}
	if p.Preview, err = s.Seasons.Preview(v.ctx(), se); err != nil {
		return nil, asTrouble(err)
	}
	if p.Plan != nil {
		p.Waits = p.Waits || policy.Covers(p.Plan.Product, p.Plan.Total())
	}
	p.Look = lookOf(p.Preview)
	switch {
	case p.Plan == nil:
	case !p.Plan.Priced:
		p.Why = "The filing service does not give its prices now, so the cost is unknown. Try again in a few minutes."
		if _, err := s.Service(); err != nil {
			p.Why = "No filing service is set up. An operator must set FILING_BASE_URL and FILING_API_KEY."
		}
	case p.Plan.Filings == 0:
		p.Why = "Nothing to file: everything that is due was already ordered or filed."
	}
	return p, nil
}

func (s *Site) rehearseSeason(v *request) error {
	p, err := s.rehearse(v)
	if err != nil {
		return err
	}
	return v.show("fire.html", "Run "+p.Season.Name+" now", p)
}

// fireSeason does what was rehearsed, where it is still the same.
func (s *Site) fireSeason(v *request) error {
	p, err := s.rehearse(v)
	if err != nil {
		return err
	}
	switch {
	case p.Fired != nil:
		v.flash("note", "This schedule already ran by hand today, with this company list.")
		return v.redirect(firedPath(p.Season.Name, *p.Fired))
	case p.Why != "":
		return badRequest("%s The schedule did not run.", p.Why)
	case v.r.PostForm.Get("look") != p.Look:
		v.flash("warn", "The plan changed: now %s for %s. The schedule did not run. Review the plan, then run it.",
			count(p.Plan.Filings, "order"), p.Plan.Total())
		return v.redirect(p.Path + "/fire")
	}
	ctx := v.withAudit("season-run", p.Season.Name, p.Look)
	// Once begun it is brought to its end, whether the browser stays or not.
	f, err := s.Seasons.RunNow(context.WithoutCancel(ctx), p.Season, p.Firing)
	switch {
	case errors.Is(err, schedule.ErrRunning) && f.State != ledger.RunBegun:
		v.flash("note", "Someone else just ran this schedule.")
	case errors.Is(err, schedule.ErrRunning):
		return badRequest("Another process is making the batch of this schedule now. Refresh the page of the schedule.")
	case err != nil:
		return asTrouble(err)
	default:
		b, err := s.Ledger.Batch(v.ctx(), f.Batch)
		if f.Batch != "" && err == nil && b.Approval.State == ledger.ApprovalWanted {
			v.flash("ok", "The schedule ran. Its batch waits for approval; nothing is sent before.")
		} else {
			v.flash("ok", "The schedule ran. The orders are being placed.")
		}
	}
	return v.redirect(firedPath(p.Season.Name, f))
}

// firedPath is where what became of a firing is seen.
func firedPath(name string, f ledger.Run) string {
	if f.Batch == "" {
		return seasonPath(name)
	}
	return "/batches/" + f.Batch
}
