package schedule

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/season"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// lateGrace is the time beyond two checks by which a run may start late before its plan reports it.
const lateGrace = time.Minute

// runContext has all inputs for the plan of a run. It is built once and does not change.
type runContext struct {
	ledger *ledger.Ledger
	read   listReader

	schedule Schedule
	run      Run
	options  Options
	zone     *time.Location
	// on is the day of the run.
	on season.Date
	// file is the stored company list with its content.
	file        ListFile
	companyList *CompanyList
	// lists are the company lists that the schedule has had, the oldest first.
	lists []ListSince
	// previous are the completed runs of the schedule, the newest first.
	previous []Run
}

// listReader reads a version of a company list as of a day. It returns ErrCompanyList.
type listReader func(ctx context.Context, hash string, o Options, on season.Date) (*CompanyList, error)

// readList reads a version of a company list from the ledger, for a run that buys.
func (s *Scheduler) readList(ctx context.Context, hash string, o Options, on season.Date) (*CompanyList, error) {
	return loadCompanyList(ctx, s.c.Ledger, hash, o, on)
}

// loadList loads a version of a company list for pages and plans. The list is at most listTTL old.
// It is shared and must not be changed.
func (s *Scheduler) loadList(ctx context.Context, hash string, o Options, on season.Date) (*CompanyList, error) {
	return s.lists.Get(ctx, fmt.Sprintf("%s %s %s", hash, on, o.text()),
		func(ctx context.Context) (*CompanyList, error) { return s.readList(ctx, hash, o, on) })
}

// newRunContext loads the inputs for the plan of a run.
func (s *Scheduler) newRunContext(ctx context.Context, schedule Schedule, run Run,
	read listReader) (*runContext, error) {
	rc := &runContext{ledger: s.c.Ledger, read: read, schedule: schedule, run: run, options: schedule.Options}
	var err error
	if rc.zone, err = season.LoadZone(rc.options.Zone); err != nil {
		return nil, err
	}
	if rc.on, err = run.Date(); err != nil {
		return nil, err
	}
	if rc.file, err = loadVersion(ctx, s.c.Ledger, run.CompanyList); err != nil {
		return nil, err
	}
	if rc.lists, err = NewRecords(s.c.Ledger).ListsOf(ctx, run.Schedule); err != nil {
		return nil, err
	}
	if rc.previous, err = rc.loadCompletedRuns(ctx); err != nil {
		return nil, err
	}
	list, err := read(ctx, run.CompanyList, rc.options, rc.on)
	if err != nil {
		return nil, err
	}
	// Copy the list, because it may be shared.
	own := *list
	own.Since = season.DateOf(schedule.Since.In(rc.zone))
	own.Changed = season.DateOf(schedule.Changed.In(rc.zone))
	rc.companyList = &own
	return rc, nil
}

// loadCompletedRuns loads the other completed runs of the schedule, the newest first.
func (rc *runContext) loadCompletedRuns(ctx context.Context) ([]Run, error) {
	runs, err := NewRecords(rc.ledger).ListRuns(ctx, rc.run.Schedule)
	return slices.DeleteFunc(runs, func(other Run) bool {
		return other.ID == rc.run.ID || other.State != RunDone
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

// record reads the company list and passes the selected rows to a recorder. A run ahead of the due
// dates without any due rows has no batch.
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
