package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
)

func (a *app) scheduleRunNowCommand() *cobra.Command {
	var dry, yes bool
	c := a.oneScheduleCommand("run-now NAME", "Run a schedule now",
		"  importer schedule run-now florida --dry-run\n  importer schedule run-now florida",
		func(ctx context.Context, l *ledger.Ledger, s ledger.Schedule) error {
			return a.withScheduler(ctx, l, func(scheduler *schedule.Scheduler, client *filingapi.Client) error {
				return a.runSchedule(ctx, l, scheduler, client, s, dry, yes)
			})
		})
	c.Long = `run-now creates the batch of a schedule now. A schedule with --at files the whole
company list. A schedule with --due files what is due soon and was not filed by an
earlier run. The same list can be run by hand once a day. --dry-run shows the plan
and creates nothing.`
	c.Flags().BoolVar(&dry, "dry-run", false, "show the plan; create nothing")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

func (a *app) runSchedule(ctx context.Context, l *ledger.Ledger, scheduler *schedule.Scheduler,
	client *filingapi.Client,
	s ledger.Schedule, dry, yes bool) error {
	r, err := scheduler.Preview(ctx, s)
	if err != nil {
		return err
	}
	if r.Done != nil {
		fmt.Fprintf(a.out, "This company list was already run by hand today: %s\n", schedule.RunText(*r.Done))
		return nil
	}
	if r.Today != nil {
		a.say("Today's run already exists: %s", schedule.RunText(*r.Today))
	}
	fmt.Fprint(a.out, r.Plan.Text())
	if dry {
		a.say("Nothing was created (--dry-run).")
		return nil
	}
	if client == nil {
		_, err := a.env.Client()
		return err
	}
	if err := a.ask(ctx, yes || s.Approval || !a.terminal(a.in), fmt.Sprintf("Approve %s? Filings cannot be undone.",
		count(r.Plan.Filings, "order")), "Nothing was created."); err != nil {
		return err
	}
	f, err := scheduler.RunNow(withAudit(ctx, "season-run", s.Name, ""), s, r.Run)
	switch {
	case errors.Is(err, schedule.ErrRunning):
		return fmt.Errorf("%w. To see the schedule: importer schedule show %s", err, s.Name)
	case err != nil:
		return err
	}
	fmt.Fprintln(a.out, schedule.RunText(f))
	if f.Batch == "" {
		return nil
	}
	b, err := l.Batch(ctx, f.Batch)
	if err != nil {
		return err
	}
	return a.sayWhoPlaces(ctx, l, b, "")
}
