package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"bulkfiling/internal/filingapi"
	"bulkfiling/internal/jobs"
	"bulkfiling/internal/ledger"

	"github.com/spf13/cobra"
)

func (a *app) seasonRunNowCommand() *cobra.Command {
	var dry, yes bool
	c := a.onSeason("run-now NAME", "Fire a season now, whatever its schedule",
		"  importer season run-now florida --dry-run\n  importer season run-now florida",
		func(ctx context.Context, l *ledger.Ledger, s ledger.Season) error {
			return a.withSeasons(ctx, l, func(seasons *jobs.Seasons, client *filingapi.Client) error {
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

func (a *app) runSeason(ctx context.Context, l *ledger.Ledger, seasons *jobs.Seasons, client *filingapi.Client, s ledger.Season, dry, yes bool) error {
	f, err := seasons.ByHand(s)
	if err != nil {
		return err
	}
	firings, err := l.Firings(ctx, s.Name)
	if err != nil {
		return err
	}
	today, _, _ := strings.Cut(f.ID, "+")
	for _, g := range firings {
		switch {
		case g.ID == f.ID && g.State != ledger.FiringBegun:
			fmt.Fprintf(a.out, "It was run by hand today already, with this roster: %s\n", firingInWords(g))
			return nil
		case g.ID == today:
			a.say("Today's firing is there already: %s", firingInWords(g))
		}
	}
	plan, err := seasons.Plan(ctx, s, f)
	if err != nil {
		return err
	}
	fmt.Fprint(a.out, plan.Text())
	if dry {
		a.say("Nothing was made (--dry-run).")
		return nil
	}
	env, err := a.environment()
	if err != nil {
		return err
	}
	if client == nil {
		_, err := env.Client()
		return err
	}
	if err := l.Bind(ctx, env.Mode()); err != nil {
		return err
	}
	if !yes && !s.Approval && a.terminal(a.in) {
		if sure, err := a.confirm(fmt.Sprintf("Place %s now?", count(plan.Filings, "filing"))); err != nil || !sure {
			return err
		}
	}
	f, fired, err := seasons.Fire(ctx, s, f)
	switch {
	case err != nil:
		return err
	case !fired:
		return errors.New("a worker is at it: importer season show " + s.Name)
	case f.State == ledger.FiringFailed:
		return errors.New(f.Note)
	}
	fmt.Fprintln(a.out, firingInWords(f))
	if f.Batch == "" {
		return nil
	}
	b, err := l.Batch(ctx, f.Batch)
	if err != nil {
		return err
	}
	return a.whoPlaces(ctx, l, b, "")
}

// firingInWords is a firing in a line.
func firingInWords(f ledger.Firing) string {
	text := f.ID + ": "
	if f.Batch != "" {
		text += "batch " + f.Batch
	} else {
		text += string(f.State)
	}
	if f.Note != "" {
		text += ", " + f.Note
	}
	return text
}
