package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"bulkfiling/internal/filingapi"
	"bulkfiling/internal/ledger"
	"bulkfiling/internal/schedule"
)

func (a *app) seasonRunNowCommand() *cobra.Command {
	var dry, yes bool
	c := a.onSeason("run-now NAME", "Fire a season now, whatever its schedule",
		"  importer season run-now florida --dry-run\n  importer season run-now florida",
		func(ctx context.Context, l *ledger.Ledger, s ledger.Schedule) error {
			return a.withSeasons(ctx, l, func(seasons *schedule.Scheduler, client *filingapi.Client) error {
				return a.runSeason(ctx, l, seasons, client, s, dry, yes)
			})
		})
	c.Long = `run-now makes the batch of a season at once: of --at the whole roster, of --due
what is near today and was not filed by an earlier firing. The same roster on the
same day is fired by hand once. --dry-run shows the plan and makes nothing.`
	c.Flags().BoolVar(&dry, "dry-run", false, "show the plan, make nothing")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask, at a terminal either")
	return c
}

func (a *app) runSeason(ctx context.Context, l *ledger.Ledger, seasons *schedule.Scheduler, client *filingapi.Client,
	s ledger.Schedule, dry, yes bool) error {
	r, err := seasons.Preview(ctx, s)
	if err != nil {
		return err
	}
	if r.Fired != nil {
		fmt.Fprintf(a.out, "It was run by hand today already, with this roster: %s\n", schedule.RunText(*r.Fired))
		return nil
	}
	if r.Today != nil {
		a.say("Today's firing is there already: %s", schedule.RunText(*r.Today))
	}
	fmt.Fprint(a.out, r.Plan.Text())
	if dry {
		a.say("Nothing was made (--dry-run).")
		return nil
	}
	if client == nil {
		_, err := a.env.Client()
		return err
	}
	if !yes && !s.Approval && a.terminal(a.in) {
		if err := a.confirm(ctx, fmt.Sprintf("Place %s now?", count(r.Plan.Filings, "filing")),
			"Nothing was made."); err != nil {
			return err
		}
	}
	f, err := seasons.RunNow(acting(ctx, "season-run", s.Name, ""), s, r.Firing)
	switch {
	case errors.Is(err, schedule.ErrRunning):
		return fmt.Errorf("%w: importer season show %s", err, s.Name)
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
	return a.whoPlaces(ctx, l, b, "")
}
