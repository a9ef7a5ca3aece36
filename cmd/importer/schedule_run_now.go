package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
)

// scheduleRunNowOptions are the options of schedule run-now.
type scheduleRunNowOptions struct{ dryRun, yes bool }

func newScheduleRunNowCommand(g *global) *cobra.Command {
	var o scheduleRunNowOptions
	c := &cobra.Command{
		Use:   "run-now NAME",
		Short: "Run a schedule now",
		Long: `run-now creates the batch of a schedule now. A schedule with --at files the whole
company list. A schedule with --due files what is due soon and was not filed by an
earlier run. The same list can be run by hand once a day. --dry-run shows the plan
and creates nothing.`,
		Example: "  importer schedule run-now florida --dry-run\n  importer schedule run-now florida",
		Args:    oneSchedule,
		RunE: onSchedule(g, func(ctx context.Context, l openLedger, s ledger.Schedule) error {
			return runScheduleRunNow(ctx, o, g.terminal, l, s)
		}),
	}
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "show the plan; create nothing")
	addYesFlag(c, &o.yes, "do not ask")
	return c
}

func runScheduleRunNow(ctx context.Context, o scheduleRunNowOptions, t *terminal, l openLedger,
	s ledger.Schedule) error {
	scheduler, why := newScheduler(l)
	r, err := scheduler.Preview(ctx, s)
	if err != nil {
		return err
	}
	if r.Done != nil {
		t.print("This company list was already run by hand today: %s", schedule.RunText(*r.Done))
		return nil
	}
	if r.Today != nil {
		t.say("Today's run already exists: %s", schedule.RunText(*r.Today))
	}
	fmt.Fprint(t.out, r.Plan.Text())
	if o.dryRun {
		t.say("Nothing was created (--dry-run).")
		return nil
	}
	if why != nil {
		return why
	}
	question := fmt.Sprintf("Approve %s? Filings cannot be undone.", count(r.Plan.Filings, "order"))
	if err := t.ask(ctx, o.yes || s.Approval || !isTerminal(t.in), question, "Nothing was created."); err != nil {
		return err
	}
	f, err := scheduler.RunNow(withAudit(ctx, "season-run", s.Name, ""), s, r.Run)
	switch {
	case errors.Is(err, schedule.ErrRunning):
		return fmt.Errorf("%w. To see the schedule: importer schedule show %s", err, s.Name)
	case err != nil:
		return err
	}
	t.print("%s", schedule.RunText(f))
	if f.Batch == "" {
		return nil
	}
	b, err := l.Batch(ctx, f.Batch)
	if err != nil {
		return err
	}
	return sayWhoPlaces(ctx, t, l.Ledger, b, "")
}
