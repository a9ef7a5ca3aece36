package schedule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/cache"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/outbox"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/season"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// Config configures a Scheduler.
type Config struct {
	Ledger *ledger.Ledger
	// Quoter loads the prices of the filing service.
	Quoter pricing.Source
	// By is recorded as the creator of the batches.
	By string
	// Every is the time between two checks. The default is 15 s.
	Every time.Duration
	Now   func() time.Time
	Log   *slog.Logger
}

// Scheduler runs the due schedules of a ledger. Any number of schedulers, in any number of
// processes, start each run once. The ID of a run consists of the schedule and the day, the ledger
// lets one process claim it, and another process continues if that one dies. If runs were due while
// no process was running, one run at the first check replaces them.
type Scheduler struct {
	c Config
	// mu allows one check at a time.
	mu      sync.Mutex
	claimed map[string]bool

	// reminded is the hour of the last reminders. Only Run uses it.
	reminded time.Time

	times *cache.Cache[string, *season.Schedule]
	// lists are for pages and plans. A run that buys reads the list itself.
	lists *cache.Cache[string, *CompanyList]
	// A nil entry in problems means that the schedule has no problem.
	problems  *cache.Cache[string, *Problem]
	forecasts *cache.Cache[string, plannedRuns]
}

const (
	// timesTTL is the lifetime of cached run times. The due dates of a company list depend on the
	// filing service's records of the companies, which may change.
	timesTTL = 6 * time.Hour
	maxTimes = 10_000

	// listTTL spares a page that shows 100,000 companies from reading their spreadsheet on every
	// click.
	listTTL     = 10 * time.Minute
	maxListRows = 300_000
)

// New returns a scheduler.
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
	return &Scheduler{
		c:       c,
		claimed: make(map[string]bool),
		times:   cache.New[string](cache.Options[*season.Schedule]{TTL: cache.For(timesTTL), Max: maxTimes}),
		lists: cache.New[string](cache.Options[*CompanyList]{
			TTL:  cache.For(listTTL),
			Max:  maxListRows,
			Cost: func(l *CompanyList) int { return len(l.Rows) },
		}),
		forecasts: cache.New[string](cache.Options[plannedRuns]{
			TTL:  cache.For(listTTL),
			Max:  maxListRows,
			Cost: func(p plannedRuns) int { return 1 + len(p.runs) },
		}),
		problems: cache.New[string](cache.Options[*Problem]{TTL: cache.For(problemsTTL), Max: maxTimes}),
	}
}

// Run checks for due runs now and then every Config.Every, until ctx ends.
func (s *Scheduler) Run(ctx context.Context) {
	ctx = sheet.WithUnlimitedWait(ctx)
	tick := time.NewTicker(s.c.Every)
	defer tick.Stop()
	for {
		if err := s.RunDue(ctx); err != nil && ctx.Err() == nil {
			s.c.Log.Error("schedules postponed", "err", err)
		}
		s.remind(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// RunDue executes the runs that are due now and completes the runs of dead processes. The failure
// of one schedule does not stop the others.
func (s *Scheduler) RunDue(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	schedules, err := NewRecords(s.c.Ledger).List(ctx)
	if err != nil {
		return err
	}
	runs, err := NewRecords(s.c.Ledger).ListRunsInBrief(ctx)
	if err != nil {
		return err
	}
	var all []error
	for _, run := range runs {
		if run.State == RunBegun {
			all = append(all, s.resume(ctx, run, schedules))
		}
	}
	for _, schedule := range schedules {
		if !schedule.Paused {
			all = append(all, s.executeDue(ctx, schedule, runs))
		}
	}
	return errors.Join(all...)
}

// resume continues a run that was begun. If its schedule was deleted since, the run ends as failed.
// If its schedule is paused, the run waits.
func (s *Scheduler) resume(ctx context.Context, run Run, schedules []Schedule) error {
	i := slices.IndexFunc(schedules, func(other Schedule) bool { return other.Name == run.Schedule })
	switch {
	case i < 0:
		claimed, err := NewRecords(s.c.Ledger).ClaimRun(ctx, run)
		if err != nil || !claimed {
			return err
		}
		run.State, run.Note = RunFailed, "the schedule was deleted before its batch was made"
		return NewRecords(s.c.Ledger).EndRun(ctx, run)
	case schedules[i].Paused:
		return nil
	}
	_, err := s.execute(ctx, schedules[i], run)
	return err
}

// executeDue executes the due run of a schedule, if any.
func (s *Scheduler) executeDue(ctx context.Context, schedule Schedule, runs []Run) error {
	run, due, err := s.findDue(ctx, schedule, runs)
	if err == nil && due {
		_, err = s.execute(ctx, schedule, run)
	}
	if errors.Is(err, ErrCompanyList) {
		// Notify once a day. The schedule runs when the list can be read again.
		id := RunID(schedule.Name, season.DateOf(s.c.Now().UTC()))
		err = errors.Join(err, s.notify(ctx, id, fmt.Sprintf("the schedule %s is postponed", schedule.Name),
			fmt.Sprintf("No orders are placed for it until its company list can be read: %s", err)))
	}
	return err
}

// findDue finds the run that has become due since the last one.
func (s *Scheduler) findDue(ctx context.Context, schedule Schedule,
	runs []Run) (Run, bool, error) {
	times, err := s.loadTimes(ctx, schedule)
	if errors.Is(err, sheet.ErrBusy) {
		// A page was loading the times, and gave up sooner than a schedule does.
		times, err = loadTimes(ctx, s.c.Ledger, schedule)
	}
	if err != nil {
		return Run{}, false, err
	}
	next, due := times.Between(lastScheduled(schedule, runs), s.c.Now())
	run := newRun(schedule, next)
	run.Missed = next.Missed
	return run, due, nil
}

// newRun returns the run of a schedule at one of its times.
func newRun(schedule Schedule, at season.Run) Run {
	return Run{
		ID:          RunID(schedule.Name, at.Date),
		Schedule:    schedule.Name,
		Due:         at.At,
		CompanyList: schedule.CompanyList,
	}
}

// lastScheduled returns the time of the last run that was not started manually, or else the time
// the schedule was added.
func lastScheduled(schedule Schedule, runs []Run) time.Time {
	last := schedule.Since
	for _, run := range runs {
		if run.Schedule == schedule.Name && !run.IsManual() && run.Due.After(last) {
			last = run.Due
		}
	}
	return last
}

// loadTimes returns the run times of a schedule. It uses the cache if the company list and options
// are unchanged.
func (s *Scheduler) loadTimes(ctx context.Context, schedule Schedule) (*season.Schedule, error) {
	key := fmt.Sprint(schedule.Name, schedule.CompanyList, schedule.Options.text(), schedule.Since.UnixMilli(),
		schedule.Changed.UnixMilli())
	return s.times.Get(ctx, key, func(ctx context.Context) (*season.Schedule, error) {
		return loadTimes(ctx, s.c.Ledger, schedule)
	})
}

// loadTimes loads the run times of a schedule. For a schedule ahead of the due dates it reads the
// company list, and may return ErrCompanyList.
func loadTimes(ctx context.Context, l *ledger.Ledger, schedule Schedule) (*season.Schedule, error) {
	o := schedule.Options
	if o.At != "" {
		return o.Schedule(season.CompanyList{})
	}
	zone, err := season.LoadZone(o.Zone)
	if err != nil {
		return nil, err
	}
	since := season.DateOf(schedule.Since.In(zone))
	list, err := loadCompanyList(ctx, l, schedule.CompanyList, o, since)
	if err != nil {
		return nil, fmt.Errorf("read the company list of the schedule %s: %w", schedule.Name, err)
	}
	list.Since, list.Changed = since, season.DateOf(schedule.Changed.In(zone))
	return o.Schedule(list.CompanyList)
}

// Next returns the next run at the schedule's times. It returns false if there is no next run.
func (s *Scheduler) Next(ctx context.Context, schedule Schedule) (Run, bool, error) {
	times, err := s.loadTimes(ctx, schedule)
	if err != nil {
		return Run{}, false, err
	}
	next, ok := times.Next(s.c.Now())
	return newRun(schedule, next), ok, nil
}

// ManualRun returns the run that a person would start today. The same company list on the same day
// gives the same run.
func (s *Scheduler) ManualRun(schedule Schedule) (Run, error) {
	zone, err := season.LoadZone(schedule.Options.Zone)
	if err != nil {
		return Run{}, err
	}
	now := s.c.Now()
	return Run{
		ID:          ManualRunID(schedule.Name, season.DateOf(now.In(zone)), schedule.CompanyList),
		Schedule:    schedule.Name,
		Due:         now,
		CompanyList: schedule.CompanyList,
	}, nil
}

// Execute executes a run now. It returns false if another process executes or has executed the run.
// The returned run is then the stored one.
func (s *Scheduler) Execute(ctx context.Context, schedule Schedule,
	run Run) (stored Run, done bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if done, err = s.execute(ctx, schedule, run); err != nil {
		return run, false, err
	}
	stored, err = s.loadRun(ctx, run)
	return stored, done, err
}

// execute claims a run and makes its batch. A failure that may be temporary is retried at the next
// check. A company list that cannot be filed ends the run as failed.
func (s *Scheduler) execute(ctx context.Context, schedule Schedule, run Run) (done bool, err error) {
	if !s.claimed[run.ID] {
		claimed, err := NewRecords(s.c.Ledger).ClaimRun(ctx, run)
		if err != nil || !claimed {
			return false, err
		}
		s.claimed[run.ID] = true
	}
	if run, err = s.loadRun(ctx, run); err != nil {
		return false, err
	}
	if run.Batch == "" {
		// The list may have been replaced since the run began.
		run.CompanyList = schedule.CompanyList
	}
	err = s.makeBatch(ctx, schedule, &run)
	switch {
	case err == nil:
		run.State = RunDone
	case errors.Is(err, ErrCompanyList):
		s.c.Log.Error("schedule failed", "schedule", run.Schedule, "run", run.ID, "err", err)
		run.State, run.Note = RunFailed, err.Error()
		err = s.notify(ctx, run.ID, fmt.Sprintf("the schedule %s failed", run.Schedule),
			fmt.Sprintf("No orders were placed: %s\nFix it, then run: importer schedule run-now %s", run.Note,
				run.Schedule))
	}
	if err != nil {
		return false, fmt.Errorf("run the schedule %s: %w", run.Schedule, err)
	}
	if err := NewRecords(s.c.Ledger).EndRun(ctx, run); err != nil {
		return false, err
	}
	delete(s.claimed, run.ID)
	return true, nil
}

// loadRun loads the stored run, because another process may have begun it from another company
// list.
func (s *Scheduler) loadRun(ctx context.Context, run Run) (Run, error) {
	runs, err := NewRecords(s.c.Ledger).ListRuns(ctx, run.Schedule)
	if err != nil {
		return run, err
	}
	i := slices.IndexFunc(runs, func(other Run) bool { return other.ID == run.ID })
	if i < 0 {
		return run, fmt.Errorf("the run %s: %w", run.ID, ledger.ErrNotFound)
	}
	return runs[i], nil
}

// notify adds a lasting notification. about is the batch or the run, and prevents two processes
// from adding it twice.
func (s *Scheduler) notify(ctx context.Context, about, subject, body string) error {
	_, err := s.c.Ledger.Notifications().Add(ctx, outbox.Notification{
		Kind:    outbox.KindSchedule,
		Batch:   about,
		Lasts:   true,
		Subject: subject,
		Body:    body,
	})
	return err
}
