package schedule

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/season"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// lateGrace is how much later than two checks a run may start without its plan
// saying so.
const lateGrace = time.Minute

// runContext is everything that a run is planned from. It is built once and not
// changed afterwards.
type runContext struct {
	ledger *ledger.Ledger
	read   listReader

	schedule    ledger.Schedule
	run         ledger.Run
	options     Options
	zone        *time.Location
	on          season.Date        // the day that the run stands for
	file        ledger.CompanyList // with its content
	companyList *CompanyList
	lists       []ledger.ListSince // that the schedule has had, the oldest first
	previous    []ledger.Run       // completed runs of the schedule, the newest first
}

// listReader reads a version of a company list as it is on a day. It returns
// ErrCompanyList.
type listReader func(ctx context.Context, hash string, o Options, on season.Date) (*CompanyList, error)

// readList reads a version of a company list from the ledger, for a run that
// buys.
func (s *Scheduler) readList(ctx context.Context, hash string, o Options, on season.Date) (*CompanyList, error) {
	return loadCompanyList(ctx, s.c.Ledger, hash, o, on)
}

// loadList loads a version of a company list that may have been read up to listTTL
// ago, for pages and plans. It is shared and not to be changed.
func (s *Scheduler) loadList(ctx context.Context, hash string, o Options, on season.Date) (*CompanyList, error) {
	options, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("read the company list %s: %w", hash, err)
	}
	return s.lists.Get(ctx, fmt.Sprintf("%s %s %s", hash, on, options),
		func(ctx context.Context) (*CompanyList, error) { return s.readList(ctx, hash, o, on) })
}

// newRunContext loads what a run is planned from.
func (s *Scheduler) newRunContext(ctx context.Context, schedule ledger.Schedule, run ledger.Run,
	read listReader) (*runContext, error) {
	rc := &runContext{ledger: s.c.Ledger, read: read, schedule: schedule, run: run}
	var err error
	if rc.options, err = DecodeOptions(schedule); err != nil {
		return nil, err
	}
	if rc.zone, err = season.LoadZone(rc.options.Zone); err != nil {
		return nil, err
	}
	if rc.on, err = run.Date(); err != nil {
		return nil, err
	}
	if rc.file, err = loadVersion(ctx, s.c.Ledger, run.CompanyList); err != nil {
		return nil, err
	}
	if rc.lists, err = s.c.Ledger.Schedules().ListsOf(ctx, run.Schedule); err != nil {
		return nil, err
	}
	if rc.previous, err = rc.loadCompletedRuns(ctx); err != nil {
		return nil, err
	}
	list, err := read(ctx, run.CompanyList, rc.options, rc.on)
	if err != nil {
		return nil, err
	}
	own := *list // which may be shared
	own.Since = season.DateOf(schedule.Since.In(rc.zone))
	own.Changed = season.DateOf(schedule.Changed.In(rc.zone))
	rc.companyList = &own
	return rc, nil
}

// loadCompletedRuns loads the other runs of the schedule that are done, the newest
// first.
func (rc *runContext) loadCompletedRuns(ctx context.Context) ([]ledger.Run, error) {
	runs, err := rc.ledger.Schedules().ListRuns(ctx, rc.run.Schedule)
	return slices.DeleteFunc(runs, func(other ledger.Run) bool {
		return other.ID == rc.run.ID || other.State != ledger.RunDone
	}), err
}

// newPlan begins the plan of a run.
func (rc *runContext) newPlan(selected *selection) *Plan {
	plan := &Plan{
		Schedule:    rc.schedule.Name,
		Date:        rc.on,
		Missed:      rc.run.Missed,
		File:        rc.file.File,
		CompanyList: rc.file.Hash,
		Rows:        rc.companyList.Tally.Rows,
		Product:     rc.companyList.Product,
		Beyond:      selected.beyond,
	}
	for _, row := range selected.undated {
		plan.Undated.Add(company(row))
	}
	for _, row := range selected.notDue {
		plan.NotDue.Add(company(row))
	}
	return plan
}

// record reads the company list and hands the selected rows to a recorder. A run
// ahead of the due dates without any due rows has no batch.
func (rc *runContext) record(ctx context.Context, selected *selection, to importer.Recorder,
	by string) (batch string, created bool, err error) {
	if rc.options.Due != "" && len(selected.rows) == 0 {
		return "", false, nil
	}
	options, err := rc.options.importerOptions(rc.on, &importer.ScheduleRun{ID: rc.run.ID, RowOf: selected.find})
	if err != nil {
		return "", false, err
	}
	release, err := sheet.AcquireReader(ctx)
	if err != nil {
		return "", false, err
	}
	defer release()
	im, err := rc.options.open(rc.file.File, rc.file.Content, options)
	if err != nil {
		return "", false, fmt.Errorf("%w: %w", ErrCompanyList, err)
	}
	defer im.Close()
	return im.Record(ctx, to, by)
}
