package schedule

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bulkfiling/bulkfiling/internal/intake"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
)

// makeBatch makes the batch of a run and opens it, or requests approval for it. It can be
// interrupted at any point and called again. A batch that is not open yet is made again from the
// start, and an open one is left alone.
func (s *Scheduler) makeBatch(ctx context.Context, schedule Schedule, run *Run) error {
	if s.hasOpenBatch(ctx, run) {
		return nil
	}
	if s.c.Quoter == nil {
		return errors.New("the filing service cannot be asked for its prices: there is no client")
	}
	quoter, err := s.c.Quoter(ctx)
	if err != nil {
		return fmt.Errorf("ask the filing service for its prices: %w", err)
	}
	plan, created, err := s.recordBatch(ctx, schedule, run, quoter)
	if err != nil {
		return err
	}
	switch {
	case run.Batch == "":
		run.Note = "nothing is due that an earlier run has not filed"
		run.Plan = plan
		return nil
	case !created:
		run.Note = "its batch was there already"
		return nil
	}
	// Store the run first, because the ledger finds the contributors to a batch by its run.
	run.State = RunBegun
	if err := NewRecords(s.c.Ledger).EndRun(ctx, *run); err != nil {
		return err
	}
	if plan.Filings > 0 {
		plan.Approval, err = intake.RequestApproval(ctx, s.c.Ledger, run.Batch, schedule.Approval)
		if err != nil {
			return err
		}
	}
	run.Plan, run.Note = plan, plan.Nothing()
	// Store the plan before the batch opens. Afterwards its rows change, and the plan can no longer
	// be made.
	if err := NewRecords(s.c.Ledger).EndRun(ctx, *run); err != nil {
		return err
	}
	if err := s.reportRun(ctx, run, plan); err != nil {
		return err
	}
	if err := s.c.Ledger.OpenBatch(ctx, run.Batch); err != nil {
		return err
	}
	s.c.Log.Info("schedule run", "schedule", run.Schedule, "run", run.ID, "batch", run.Batch,
		"filings", plan.Filings, "missed", run.Missed, "approval", plan.Approval != "")
	return nil
}

// hasOpenBatch reports whether another process opened the batch of the run before it died.
func (s *Scheduler) hasOpenBatch(ctx context.Context, run *Run) bool {
	if run.Batch == "" {
		return false
	}
	b, err := s.c.Ledger.Batch(ctx, run.Batch)
	return err == nil && b.ID == run.Batch && b.Open
}

// recordBatch plans a run and records its rows as the batch run.Batch. run.Batch is empty if
// nothing is due.
func (s *Scheduler) recordBatch(ctx context.Context, schedule Schedule, run *Run,
	quoter pricing.Quoter) (plan *Plan, created bool, err error) {
	rc, err := s.newRunContext(ctx, schedule, *run, s.readList)
	if err != nil {
		return nil, false, err
	}
	selected, planner, err := s.prepare(ctx, rc, quoter)
	if err != nil {
		return nil, false, err
	}
	recorder := &batchRecorder{planRecorder: planner}
	if run.Batch, created, err = rc.record(ctx, selected, recorder, s.c.By); err != nil {
		return nil, false, err
	}
	if plan, err = planner.finish(ctx); err != nil {
		return nil, false, err
	}
	if created {
		err = recorder.saveQuote(ctx)
	}
	return plan, created, err
}

// reportRun adds the notification of a run. It lists the filings, or explains why nothing is filed.
// A run that waits for approval has the notification of its batch instead, which goes to the
// approvers.
func (s *Scheduler) reportRun(ctx context.Context, run *Run, plan *Plan) error {
	if plan.Approval != "" {
		return nil
	}
	what := fmt.Sprintf("the schedule %s ran: %d filings", run.Schedule, plan.Filings)
	next := "Follow it: importer status " + run.Batch
	if reason := plan.Nothing(); reason != "" {
		what = fmt.Sprintf("the schedule %s files nothing", run.Schedule)
		next = reason + "\nFix the company list on the page of the schedule."
		s.c.Log.Error("schedule files nothing", "schedule", run.Schedule, "run", run.ID, "reason", reason)
	}
	return s.notify(ctx, run.Batch, what, plan.Text()+next)
}

// Plan returns what a run would do now, and writes nothing. The cost is unknown if the filing
// service does not return its prices.
func (s *Scheduler) Plan(ctx context.Context, schedule Schedule, run Run) (*Plan, error) {
	return s.plan(ctx, schedule, run, s.loadQuoter(ctx))
}

// loadQuoter loads the prices of the filing service. It returns nil if they are unavailable.
func (s *Scheduler) loadQuoter(ctx context.Context) pricing.Quoter {
	if s.c.Quoter == nil {
		return nil
	}
	quoter, err := s.c.Quoter(ctx)
	if err != nil {
		s.c.Log.Info("prices not loaded", "err", err)
		return nil
	}
	return quoter
}

// plan is Plan with known prices. The cost is unknown if quoter is nil.
func (s *Scheduler) plan(ctx context.Context, schedule Schedule, run Run,
	quoter pricing.Quoter) (*Plan, error) {
	rc, err := s.newRunContext(ctx, schedule, run, s.loadList)
	if err != nil {
		return nil, err
	}
	return s.planOf(ctx, rc, quoter)
}

func (s *Scheduler) planOf(ctx context.Context, rc *runContext, quoter pricing.Quoter) (*Plan, error) {
	selected, planner, err := s.prepare(ctx, rc, quoter)
	if err != nil {
		return nil, err
	}
	if _, _, err := rc.record(ctx, selected, planner, s.c.By); err != nil {
		return nil, err
	}
	return planner.finish(ctx)
}

// prepare selects the rows of a run and begins its plan.
func (s *Scheduler) prepare(ctx context.Context, rc *runContext,
	quoter pricing.Quoter) (*selection, *planRecorder, error) {
	selected, err := rc.selectRows(ctx)
	if err != nil {
		return nil, nil, err
	}
	plan := rc.newPlan(selected)
	if late := s.c.Now().Sub(rc.run.Due); late > 2*s.c.Every+lateGrace {
		plan.Late = rc.run.Due.In(rc.zone).Format("2006-01-02 15:04 MST")
	}
	return selected, newPlanRecorder(rc, plan, quoter), nil
}

// LoadPlanOfBatch loads the plan of the run that made a batch. It returns nil if no run made it.
func LoadPlanOfBatch(ctx context.Context, l *ledger.Ledger, batch string) (*Plan, error) {
	runs, err := NewRecords(l).ListRuns(ctx, "")
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(runs, func(run Run) bool { return run.Batch == batch })
	if i < 0 {
		return nil, nil
	}
	return runs[i].Plan, nil
}
