package schedule

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"bulkfiling/internal/balance"
	"bulkfiling/internal/filing"
	"bulkfiling/internal/importer"
	"bulkfiling/internal/ledger"
	"bulkfiling/internal/pricing"
	"bulkfiling/internal/season"
	"bulkfiling/internal/sheet"
)

// Config is what fires seasons.
type Config struct {
	Ledger *ledger.Ledger
	Quoter pricing.Source // asks the service for its prices
	By     string         // who the batches are said to be made by
	Every  time.Duration  // between two looks; 0 for 15 s
	Now    func() time.Time
	Log    *slog.Logger
}

// Scheduler fires what is due of the seasons that the ledger holds. Any number of
// them, in as many processes, fire each once: a firing goes by the season and
// the day, the ledger lets one process claim it, and where that one dies over it
// another takes it from there. What was due while nothing ran fires at the first
// look, once for all.
type Scheduler struct {
	c    Config
	mu   sync.Mutex // one look at a time
	ours map[string]bool

	planning sync.Mutex
	plans    map[string]schedule // by season

	rosters   shelf[*CompanyList] // for looking at
	calendars shelf[Calendar]
}

// schedule is when a season fires, as long as its roster and options are these.
type schedule struct {
	roster, options      string
	since, changed, read time.Time
	*season.Schedule
}

// rereadRoster is how long the due dates of a roster are trusted: what the
// service says of the companies adds to them.
const rereadRoster = 6 * time.Hour

// New makes what fires seasons.
func New(c Config) *Scheduler {
	if c.Every == 0 {
		c.Every = 15 * time.Second
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Scheduler{c: c, ours: make(map[string]bool), plans: make(map[string]schedule)}
}

// Run looks at once, and then again and again until ctx ends.
func (s *Scheduler) Run(ctx context.Context) {
	ctx = sheet.WithUnlimitedWait(ctx)
	tick := time.NewTicker(s.c.Every)
	defer tick.Stop()
	for {
		if err := s.RunDue(ctx); err != nil && ctx.Err() == nil {
			s.c.Log.Error("seasons are put off", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// RunDue carries out what is due now, and what a dead process has left half done.
func (s *Scheduler) RunDue(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	seasons, err := s.c.Ledger.Schedules().List(ctx)
	if err != nil {
		return err
	}
	firings, err := s.c.Ledger.Schedules().ListRunsInBrief(ctx)
	if err != nil {
		return err
	}
	var all []error
	for _, f := range firings {
		i := slices.IndexFunc(seasons, func(se ledger.Schedule) bool { return se.Name == f.Schedule })
		switch {
		case f.State != ledger.RunBegun:
		case i < 0:
			all = append(all, s.orphaned(ctx, f))
		case !seasons[i].Paused:
			_, err := s.carryOut(ctx, seasons[i], f)
			all = append(all, err)
		}
	}
	for _, se := range seasons {
		if se.Paused {
			continue
		}
		f, due, err := s.due(ctx, se, firings)
		if err == nil && due {
			_, err = s.carryOut(ctx, se, f)
		}
		if errors.Is(err, ErrCompanyList) {
			err = errors.Join(err, s.tellPutOff(ctx, se, err))
		}
		all = append(all, err)
	}
	return errors.Join(all...)
}

// due is the firing whose time has come since the last one.
func (s *Scheduler) due(ctx context.Context, se ledger.Schedule, firings []ledger.Run) (ledger.Run, bool, error) {
	when, err := s.schedule(ctx, se)
	if err != nil {
		return ledger.Run{}, false, err
	}
	f, due := when.Between(lastLooked(se, firings), s.c.Now())
	return ledger.Run{
		ID:          f.ID(se.Name),
		Schedule:    se.Name,
		Due:         f.At,
		CompanyList: se.CompanyList,
		Missed:      f.Missed,
	}, due, nil
}

// tellPutOff tells once a day that nobody knows when a season fires: its due dates
// are in a roster that cannot be read. It fires when the roster can be read again.
func (s *Scheduler) tellPutOff(ctx context.Context, se ledger.Schedule, why error) error {
	today := season.Firing{Date: season.DateOf(s.c.Now().UTC())}
	return s.tell(ctx, ledger.Notification{Batch: today.ID(se.Name)}, fmt.Sprintf("the season %s is put off", se.Name),
		fmt.Sprintf("Nothing of it is placed until its roster can be read: %s", why))
}

// lastLooked is the time of the last scheduled firing, or of the season's begin.
func lastLooked(se ledger.Schedule, firings []ledger.Run) time.Time {
	last := se.Since
	for _, f := range firings {
		if f.Schedule == se.Name && !byHand(f.ID) && f.Due.After(last) {
			last = f.Due
		}
	}
	return last
}

// schedule is when a season fires. To know the due dates its roster is read.
func (s *Scheduler) schedule(ctx context.Context, se ledger.Schedule) (*season.Schedule, error) {
	s.planning.Lock()
	known, ok := s.plans[se.Name]
	s.planning.Unlock()
	if ok && known.roster == se.CompanyList && known.options == string(se.Options) && known.since.Equal(se.Since) &&
		known.changed.Equal(se.Changed) && s.c.Now().Sub(known.read) < rereadRoster {
		return known.Schedule, nil
	}
	when, err := LoadTimes(ctx, s.c.Ledger, se)
	if err != nil {
		return nil, err
	}
	s.planning.Lock()
	defer s.planning.Unlock()
	s.plans[se.Name] = schedule{se.CompanyList, string(se.Options), se.Since, se.Changed, s.c.Now(), when}
	return when, nil
}

// LoadTimes says when a season fires.
func LoadTimes(ctx context.Context, l *ledger.Ledger, se ledger.Schedule) (*season.Schedule, error) {
	o, err := DecodeOptions(se)
	if err != nil {
		return nil, err
	}
	if o.At != "" {
		return o.Schedule(season.Roster{})
	}
	since, err := o.day(se.Since)
	if err != nil {
		return nil, err
	}
	r, err := LoadVersion(ctx, l, se.CompanyList, o, since)
	if err != nil {
		return nil, fmt.Errorf("read the roster of the season %s: %w", se.Name, err)
	}
	r.Since = since
	if r.Changed, err = o.day(se.Changed); err != nil {
		return nil, err
	}
	return o.Schedule(r.Roster)
}

// day is the day of a time in the season's zone.
func (o *Options) day(t time.Time) (season.Date, error) {
	zone, err := season.LoadZone(o.Zone)
	return season.DateOf(t.In(zone)), err
}

// handMark stands between the day and the roster in the id of a firing that a
// person asked for: it is no turn of the schedule.
const handMark = "+"

func byHand(id string) bool { return strings.Contains(id, handMark) }

// ByHand is the firing that a person asks for today: the same roster on the same
// day is the same firing.
func (s *Scheduler) ManualRun(se ledger.Schedule) (ledger.Run, error) {
	o, err := DecodeOptions(se)
	if err != nil {
		return ledger.Run{}, err
	}
	now := s.c.Now()
	today, err := o.day(now)
	id := season.Firing{Date: today}.ID(se.Name) + handMark + se.CompanyList[:min(8, len(se.CompanyList))]
	return ledger.Run{ID: id, Schedule: se.Name, Due: now, CompanyList: se.CompanyList}, err
}

// dateOf is the day that a firing stands for.
func dateOf(f ledger.Run) (season.Date, error) {
	_, text, _ := strings.Cut(f.ID, "@")
	text, _, _ = strings.Cut(text, handMark)
	d, err := season.ParseDate(text)
	if err != nil {
		return d, fmt.Errorf("read the firing %s: %w", f.ID, err)
	}
	return d, nil
}

// Fire carries out a firing now. It reports false where somebody else does, or
// did: then the firing is as the ledger has it.
func (s *Scheduler) Fire(ctx context.Context, se ledger.Schedule, f ledger.Run) (ledger.Run, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fired, err := s.carryOut(ctx, se, f)
	if err != nil {
		return f, false, err
	}
	f, err = s.stored(ctx, f)
	return f, fired, err
}

// carryOut claims a firing and makes its batch. What fails for a while is tried
// again at the next look; what fails for good ends the firing and says why.
func (s *Scheduler) carryOut(ctx context.Context, se ledger.Schedule, f ledger.Run) (fired bool, err error) {
	if !s.ours[f.ID] {
		claimed, err := s.c.Ledger.Schedules().ClaimRun(ctx, f)
		if err != nil || !claimed {
			return false, err
		}
		s.ours[f.ID] = true
	}
	if f, err = s.stored(ctx, f); err != nil {
		return false, err
	}
	err = s.makeBatch(ctx, se, &f)
	switch {
	case err == nil:
		f.State = ledger.RunDone
	case errors.Is(err, ErrCompanyList):
		s.c.Log.Error("a season failed", "season", f.Schedule, "firing", f.ID, "error", err)
		f.State, f.Note = ledger.RunFailed, err.Error()
		err = s.tell(ctx, ledger.Notification{Batch: f.ID}, fmt.Sprintf("the season %s failed", f.Schedule),
			fmt.Sprintf("Nothing was placed: %s\nCorrect it, then: importer season run-now %s", f.Note, f.Schedule))
	}
	if err != nil {
		return false, fmt.Errorf("fire the season %s: %w", f.Schedule, err)
	}
	if err := s.c.Ledger.Schedules().EndRun(ctx, f); err != nil {
		return false, err
	}
	delete(s.ours, f.ID)
	return true, nil
}

// stored is a firing as the ledger has it: another process may have begun it,
// from another version of the roster.
func (s *Scheduler) stored(ctx context.Context, f ledger.Run) (ledger.Run, error) {
	firings, err := s.c.Ledger.Schedules().ListRuns(ctx, f.Schedule)
	if err != nil {
		return f, err
	}
	i := slices.IndexFunc(firings, func(g ledger.Run) bool { return g.ID == f.ID })
	if i < 0 {
		return f, fmt.Errorf("the firing %s: %w", f.ID, ledger.ErrNotFound)
	}
	return firings[i], nil
}

// orphaned ends a firing whose process died and whose season was removed since.
func (s *Scheduler) orphaned(ctx context.Context, f ledger.Run) error {
	claimed, err := s.c.Ledger.Schedules().ClaimRun(ctx, f)
	if err != nil || !claimed {
		return err
	}
	f.State, f.Note = ledger.RunFailed, "the season was removed before its batch was made"
	return s.c.Ledger.Schedules().EndRun(ctx, f)
}

// makeBatch makes the batch of a firing and opens it, or has it wait for an
// approval. Whatever it is cut short by, the same again ends in the same batch:
// until it is open a batch is made anew, and an open one is left alone.
func (s *Scheduler) makeBatch(ctx context.Context, se ledger.Schedule, f *ledger.Run) error {
	if f.Batch != "" {
		// Another process came this far, and died: before the opening or behind it.
		if b, err := s.c.Ledger.Batch(ctx, f.Batch); err == nil && b.ID == f.Batch && b.Open {
			return nil
		}
	}
	if s.c.Quoter == nil {
		return errors.New("there is no service to ask for its prices")
	}
	quoter, err := s.c.Quoter(ctx)
	if err != nil {
		return fmt.Errorf("ask for the prices: %w", err)
	}
	plan, batch, created, err := s.plan(ctx, se, *f, s.c.Ledger, quoter)
	if err != nil {
		return err
	}
	f.Batch = batch
	switch {
	case batch == "":
		f.Note = "nothing is due that no earlier firing has filed"
		return keepPlan(f, plan)
	case !created:
		f.Note = "its batch was there already"
		return nil
	}
	// Who takes part is known by the firing.
	f.State = ledger.RunBegun
	if err := s.c.Ledger.Schedules().EndRun(ctx, *f); err != nil {
		return err
	}
	second, err := s.c.Ledger.NeedsSecond(ctx, batch)
	if err != nil {
		return err
	}
	if (se.Approval || second) && plan.Filings > 0 {
		if plan.Approval, _, err = pricing.ApprovalHash(ctx, s.c.Ledger, batch); err != nil {
			return err
		}
		if err := s.c.Ledger.RequestApproval(ctx, batch, plan.Approval); err != nil {
			return err
		}
	}
	if err := keepPlan(f, plan); err != nil {
		return err
	}
	f.Note = plan.Nothing()
	// Before the opening: from there on nobody can make the plan any more.
	if err := s.c.Ledger.Schedules().EndRun(ctx, *f); err != nil {
		return err
	}
	what := fmt.Sprintf("the season %s fired: %d filings", f.Schedule, plan.Filings)
	next := "Follow it: importer status " + batch
	if why := plan.Nothing(); why != "" {
		what = fmt.Sprintf("the season %s files nothing", f.Schedule)
		next = why + "\nCorrect the roster: importer season update " + f.Schedule + " --roster FILE"
		s.c.Log.Error("season files nothing", "season", f.Schedule, "firing", f.ID, "why", why)
	}
	if plan.Approval != "" {
		what = fmt.Sprintf("the season %s waits for approval: %d filings", f.Schedule, plan.Filings)
		next = "Look at it and approve: importer approve " + batch
	}
	if err := s.tell(ctx, ledger.Notification{Batch: batch}, what, plan.Text()+next); err != nil {
		return err
	}
	if err := s.c.Ledger.OpenBatch(ctx, batch); err != nil {
		return err
	}
	s.c.Log.Info("a season fired", "season", f.Schedule, "firing", f.ID, "batch", batch, "filings", plan.Filings,
		"missed", f.Missed, "approval", plan.Approval != "")
	return nil
}

// tell keeps a notice for whoever is told such things. Its Batch, and that it
// lasts, keep it from being told twice by two who tried.
func (s *Scheduler) tell(ctx context.Context, n ledger.Notification, subject, body string) error {
	news, err := s.c.Ledger.Notifications().FindReportable(ctx)
	if err != nil {
		return err
	}
	product := "Bulkfiling: "
	if news.Mode == "test" {
		product = "Bulkfiling (test): "
	}
	n.Kind, n.Lasts, n.Subject, n.Body = ledger.NotifySchedule, true, product+subject, body
	_, err = s.c.Ledger.Notifications().Add(ctx, n)
	return err
}

// Plan is what a firing would do now. It writes nothing. Without a quoter the
// cost is not known.
func (s *Scheduler) Plan(ctx context.Context, se ledger.Schedule, f ledger.Run) (*Plan, error) {
	var quoter pricing.Quoter
	if s.c.Quoter != nil {
		var err error
		if quoter, err = s.c.Quoter(ctx); err != nil {
			s.c.Log.Info("the service cannot be asked for its prices", "error", err)
			quoter = nil
		}
	}
	plan, _, _, err := s.plan(ctx, se, f, nil, quoter)
	return plan, err
}

// Next is the firing that the schedule has next.
func (s *Scheduler) Next(ctx context.Context, se ledger.Schedule) (ledger.Run, bool, error) {
	when, err := s.schedule(ctx, se)
	if err != nil {
		return ledger.Run{}, false, err
	}
	f, ok := when.Next(s.c.Now())
	return ledger.Run{ID: f.ID(se.Name), Schedule: se.Name, Due: f.At, CompanyList: se.CompanyList}, ok, nil
}

// plan reads the roster of a firing, weighs its rows and hands them to a batch,
// where there is one to hand them to. Where nothing is due there is no batch.
func (s *Scheduler) plan(ctx context.Context, se ledger.Schedule, f ledger.Run, to importer.Recorder,
	quoter pricing.Quoter) (*Plan, string, bool, error) {
	o, err := DecodeOptions(se)
	if err != nil {
		return nil, "", false, err
	}
	on, err := dateOf(f)
	if err != nil {
		return nil, "", false, err
	}
	version, err := loadVersion(ctx, s.c.Ledger, f.CompanyList)
	if err != nil {
		return nil, "", false, err
	}
	read := LoadVersion
	if to == nil { // nothing is bought by it: one that was read a while ago will do
		read = s.read
	}
	roster, err := read(ctx, s.c.Ledger, f.CompanyList, o, on)
	if err != nil {
		return nil, "", false, err
	}
	zone, err := season.LoadZone(o.Zone)
	if err != nil {
		return nil, "", false, err
	}
	roster.Since = season.DateOf(se.Since.In(zone))
	had, err := s.had(ctx, f, zone)
	if err != nil {
		return nil, "", false, err
	}
	if len(had) > 0 {
		roster.Changed = had[len(had)-1].since
	}
	earlier, err := s.earlier(ctx, f)
	if err != nil {
		return nil, "", false, err
	}
	plan := &Plan{
		Season:  se.Name,
		Date:    on,
		Missed:  f.Missed,
		File:    version.File,
		Roster:  version.Hash,
		Rows:    roster.Tally.Rows,
		Product: roster.Product,
	}
	if s.c.Now().Sub(f.Due) > 2*s.c.Every+time.Minute {
		plan.Late = f.Due.In(zone).Format("2006-01-02 15:04 MST")
	}
	sel, err := s.choose(ctx, o, roster, had, f, on, earlier)
	if err != nil {
		return nil, "", false, err
	}
	sel.remark(plan)
	if err := s.compare(ctx, plan, o, roster, sel, on, earlier); err != nil {
		return nil, "", false, err
	}
	w := &weigher{
		ledger: s.c.Ledger,
		to:     to,
		quoter: quoter,
		plan:   plan,
		names:  make(map[int]string, len(roster.Rows)),
	}
	if o.Due != "" && len(sel.turns) == 0 {
		return plan, "", false, w.settle(ctx)
	}
	for _, r := range roster.Rows {
		w.names[r.Number] = company(r)
	}
	options, err := o.reads(on, &importer.ScheduleRun{ID: f.ID, RowOf: sel.turn})
	if err != nil {
		return nil, "", false, err
	}
	leave, err := sheet.AcquireReader(ctx)
	if err != nil {
		return nil, "", false, err
	}
	im, err := importer.OpenReader(version.File, bytes.NewReader(version.Content), int64(len(version.Content)), options)
	if err != nil {
		leave()
		return nil, "", false, fmt.Errorf("%w: %w", ErrCompanyList, err)
	}
	defer im.Close()
	batch, created, err := im.Record(ctx, w, s.c.By)
	leave()
	if err != nil {
		return nil, "", false, err
	}
	return plan, batch, created, w.settle(ctx)
}

// read is LoadVersion of what may have been read a while ago. The roster is shared
// but for its Since.
func (s *Scheduler) read(ctx context.Context, l *ledger.Ledger, hash string, o Options,
	on season.Date) (*CompanyList, error) {
	options, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("read the roster %s: %w", hash, err)
	}
	roster, err := s.rosters.get(fmt.Sprintf("%s %s %s", hash, on, options), func() (*CompanyList, int, error) {
		r, err := LoadVersion(context.WithoutCancel(ctx), l, hash, o, on) // others may wait for it, too
		if err != nil {
			return nil, 0, err
		}
		return r, len(r.Rows), nil
	})
	if err != nil {
		return nil, err
	}
	own := *roster
	return &own, ctx.Err()
}

// earlier are the other firings of the season that came to an end, the newest
// first: what they took in is theirs.
func (s *Scheduler) earlier(ctx context.Context, f ledger.Run) ([]ledger.Run, error) {
	firings, err := s.c.Ledger.Schedules().ListRuns(ctx, f.Schedule)
	return slices.DeleteFunc(firings, func(g ledger.Run) bool {
		return g.ID == f.ID || g.State != ledger.RunDone
	}), err
}

// selection is which rows of a roster a firing files, and in what order.
type selection struct {
	all     bool // also rows that are no companies get their answer
	turns   map[int]importer.RunRow
	window  map[int]bool // with those that an earlier firing has filed
	undated []season.Row
	notDue  []season.Row
	beyond  int
}

func (sel *selection) turn(row int) (importer.RunRow, bool) {
	t, ok := sel.turns[row]
	return t, ok || sel.all
}

func (sel *selection) remark(p *Plan) {
	for _, r := range sel.undated {
		p.Undated.Add(company(r))
	}
	for _, r := range sel.notDue {
		p.NotDue.Add(company(r))
	}
	p.Beyond = sel.beyond
}

// choose selects the rows of a firing: all of the roster, or those whose due
// date is near and that no earlier firing has filed.
func (s *Scheduler) choose(ctx context.Context, o Options, r *CompanyList, had []version, f ledger.Run,
	on season.Date, earlier []ledger.Run) (*selection, error) {
	sel := &selection{all: o.Due == "", turns: make(map[int]importer.RunRow), window: make(map[int]bool)}
	if o.Due == "" {
		for _, row := range r.Rows {
			t := importer.RunRow{Priority: balance.Undated}
			if r.Product == filing.AnnualReport {
				due := r.due(row, o, on)
				t.Priority = balance.Priority(due)
				if due.Verdict == season.NotThisYear || due.Verdict == season.NotRequired {
					sel.notDue = append(sel.notDue, row)
				}
			}
			sel.turns[row.Number], sel.window[row.Number] = t, true
		}
		return sel, nil
	}
	filed, err := s.filed(ctx, f, earlier)
	if err != nil {
		return nil, err
	}
	entries, err := o.window(r, f, on, earlier)
	if err != nil {
		return nil, err
	}
	if entries, err = s.own(ctx, o, had, on, entries); err != nil {
		return nil, err
	}
	for _, e := range entries {
		n := e.Row.Number
		if _, known := sel.turns[n]; known {
			continue // the earliest first; the next is for the next firing
		}
		sel.window[n] = true
		t := importer.RunRow{Priority: balance.Priority(e.Due)}
		if o.FilingYear != "" {
			year, err := season.FilingYear(o.FilingYear, e.Due.Date)
			if err != nil {
				return nil, err
			}
			t.FilingYear = strconv.Itoa(year)
		}
		year := cmp.Or(t.FilingYear, strconv.Itoa(r.years[n]))
		if !filed.has(e.Row, t.Priority, year) &&
			!(e.Due.Date.Before(r.Changed) && filed.canceled[e.Row.Key()+"|"+year]) {
			sel.turns[n] = t
		}
	}
	for _, row := range r.Rows {
		if _, ours := sel.turns[row.Number]; ours {
			continue
		}
		if d, _ := r.Rules.Next(row.Facts, on); d.Verdict == season.AskState {
			sel.undated = append(sel.undated, row)
		} else {
			sel.beyond++
		}
	}
	return sel, nil
}

// version is a roster that a season had from a day on.
type version struct {
	hash  string
	since season.Date
}

// had are the rosters that a season had until that of a firing, the oldest first.
func (s *Scheduler) had(ctx context.Context, f ledger.Run, zone *time.Location) ([]version, error) {
	rosters, err := s.c.Ledger.Schedules().ListVersions(ctx, f.Schedule)
	var all []version
	last := 0
	for i, r := range rosters {
		all = append(all, version{r.Hash, season.DateOf(r.Since.In(zone))})
		if r.Hash == f.CompanyList {
			last = i + 1 // it may have begun before the next one came
		}
	}
	return all[:last], err
}

// own are the entries without those that fell due before the company came to the
// season: whoever takes one on in autumn does not mean its report of the spring,
// which was somebody else's to file.
func (s *Scheduler) own(ctx context.Context, o Options, had []version, on season.Date,
	entries []season.Entry) ([]season.Entry, error) {
	type report struct {
		row int
		due season.Date
	}
	foreign := make(map[report]bool)
	for i := range had {
		var due []season.Entry // while the season had that roster
		var rows []season.Row
		for _, e := range entries {
			if (i == 0 || !e.Due.Date.Before(had[i].since)) && i+1 < len(had) && e.Due.Date.Before(had[i+1].since) {
				due, rows = append(due, e), append(rows, e.Row)
			}
		}
		if len(rows) == 0 {
			continue
		}
		old, err := LoadVersion(ctx, s.c.Ledger, had[i].hash, o, on)
		if err != nil {
			return nil, fmt.Errorf("read a roster that the season had: %w", err)
		}
		joined := make(map[int]bool)
		for _, row := range season.Compare(rows, old.Rows).New {
			joined[row.Number] = true
		}
		for _, e := range due {
			if joined[e.Row.Number] {
				foreign[report{e.Row.Number, e.Due.Date}] = true
			}
		}
	}
	return slices.DeleteFunc(entries, func(e season.Entry) bool { return foreign[report{e.Row.Number, e.Due.Date}] }),
		nil
}

// window are the reports that are near on a day, and those that came near, or
// even fell due, since the firing before.
func (o *Options) window(r *CompanyList, f ledger.Run, on season.Date,
	earlier []ledger.Run) ([]season.Entry, error) {
	lead, err := season.ParseLead(o.Due)
	if err != nil {
		return nil, err
	}
	near := lead.Ready(r.Roster, season.Date{}, on)
	if !byHand(f.ID) {
		after := r.Since
		for _, g := range earlier {
			if d, err := dateOf(g); err == nil && !byHand(g.ID) && d.After(after) && d.Before(on) {
				after = d
			}
		}
		near = append(lead.Ready(r.Roster, after, on), near...)
	}
	slices.SortStableFunc(near, season.EarliestFirst)
	return near, nil
}

// filed is what earlier firings of a season have taken in.
type filed struct {
	rows map[filedRow]bool // of the same version of the roster
	keys map[string]bool   // of other versions: company, state and filing year

	canceled map[string]bool // of other versions, likewise: what was taken back
}

type filedRow struct {
	number   int
	priority int64 // the due date
}

func (f filed) has(r season.Row, due int64, year string) bool {
	return f.rows[filedRow{r.Number, due}] || r.CompanyID != "" && f.keys[r.Key()+"|"+year]
}

// filedFor is how long ago a report was filed that may still be in the window.
const filedFor = 400 * 24 * time.Hour

// filed looks into the batches of earlier firings. A row that was to be
// corrected, or was taken back, is not filed anew as long as the roster has not
// changed; one that was taken back not even then, once it is overdue.
func (s *Scheduler) filed(ctx context.Context, f ledger.Run, earlier []ledger.Run) (filed, error) {
	all := filed{make(map[filedRow]bool), make(map[string]bool), make(map[string]bool)}
	for _, g := range earlier {
		if g.Batch == "" || f.Due.Sub(g.Due) > filedFor {
			continue
		}
		for row, err := range s.c.Ledger.Rows(ctx, g.Batch) {
			if err != nil {
				return all, err
			}
			if g.CompanyList == f.CompanyList {
				all.rows[filedRow{row.Number, row.Priority}] = true
				continue
			}
			if row.Result == filing.Invalid || row.Result == filing.Rejected || row.Request == nil ||
				row.Request.Order.AnnualReport == nil {
				continue
			}
			key := season.Row{
				CompanyID: cmp.Or(row.Company, row.Request.Company.Ref),
				Facts:     season.Facts{State: row.Request.Order.FilingState},
			}.Key()
			into := all.keys
			if row.Result == filing.Canceled {
				into = all.canceled
			}
			into[key+"|"+row.Request.Order.AnnualReport.FilingYear] = true
		}
	}
	return all, nil
}

// compare says what changed since the roster of the firing before.
func (s *Scheduler) compare(ctx context.Context, p *Plan, o Options, r *CompanyList, sel *selection, on season.Date,
	earlier []ledger.Run) error {
	var this, last []season.Row
	for _, row := range r.Rows {
		if sel.window[row.Number] {
			this = append(this, row)
		}
	}
	if len(earlier) > 0 {
		before := earlier[0]
		p.Before = before.ID
		if last = this; before.CompanyList != p.Roster {
			old, err := LoadVersion(ctx, s.c.Ledger, before.CompanyList, o, on)
			if err != nil {
				return fmt.Errorf("read the roster of %s: %w", before.ID, err)
			}
			last = old.Rows
			if o.Due != "" {
				old.Since = r.Since
				entries, err := o.window(old, ledger.Run{}, on, earlier)
				if err != nil {
					return err
				}
				last = nil
				for _, e := range entries {
					last = append(last, e.Row)
				}
			}
		}
	}
	p.compare(this, last, sel.turns)
	return nil
}

// LoadPlanOfBatch is the plan of the firing that made a batch; nil where none did.
func LoadPlanOfBatch(ctx context.Context, l *ledger.Ledger, batch string) (*Plan, error) {
	firings, err := l.Schedules().ListRuns(ctx, "")
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(firings, func(f ledger.Run) bool { return f.Batch == batch })
	if i < 0 {
		return nil, nil
	}
	return DecodePlan(firings[i])
}

// keepPlan puts a plan into its firing.
func keepPlan(f *ledger.Run, p *Plan) error {
	body, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("keep the plan of %s: %w", f.ID, err)
	}
	f.Plan = body
	return nil
}

// DecodePlan reads the plan that a firing keeps; nil where it has none.
func DecodePlan(f ledger.Run) (*Plan, error) {
	if len(f.Plan) == 0 {
		return nil, nil
	}
	p := new(Plan)
	if err := json.Unmarshal(f.Plan, p); err != nil {
		return nil, fmt.Errorf("read the plan of %s: %w", f.ID, err)
	}
	return p, nil
}
