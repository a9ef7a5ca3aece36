package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/report"
)

func newSubmitCommand(g *global) *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use:   "submit FILE",
		Short: "Check a spreadsheet, show the cost, and submit it to the workers",
		Long: `submit does what run does up to the approval, and leaves the orders to the workers
that share the ledger. It returns at once. Any machine can follow the batch.

With --approve, the batch waits for: importer approve BATCH. If the approval policy
covers the terminal (the page Settings), a second person must approve it.

Running submit again on the same file finds the same batch and submits nothing
twice.`,
		Example: `  importer submit companies.csv --yes
  importer submit companies.xlsx --state DE --filing-year 2027 --yes --json
  importer submit companies.xlsx --approve --yes`,
		Args: oneFile,
		RunE: func(c *cobra.Command, args []string) error { return runSubmit(c.Context(), o, g, args[0]) },
	}
	addRunFlags(c, &o)
	addYesFlag(c, &o.yes, "submit without asking")
	c.Flags().BoolVar(&o.approve, "approve", false, "wait for: importer approve BATCH")
	return c
}

// runSubmit imports the file and submits its batch.
func runSubmit(ctx context.Context, o runOptions, g *global, path string) error {
	r, err := newFilingRun(o, g, path)
	if err != nil {
		return err
	}
	r.submits = true
	return r.withLedger(ctx, func(ctx context.Context) error {
		ending, err := r.placeBatches(ctx)
		switch {
		case err != nil:
			return err
		case ending.Reason == jobs.Finished, ending.Reason == jobs.NotApproved:
			return r.printSubmitted(ctx)
		}
		if err := r.printUnchanged(ctx); err != nil {
			return err
		}
		if err := r.explainOutcome(context.WithoutCancel(ctx), ending); err != nil {
			return err
		}
		if ending.Reason == jobs.Interrupted {
			return exit(exitInterrupted)
		}
		r.terminal.say("%s", r.nothingDone())
		return exit(exitStopped)
	})
}

// printSubmitted prints the state of the batch and who places its orders.
func (r *filingRun) printSubmitted(ctx context.Context) error {
	b, err := r.shown(ctx)
	if err != nil {
		return err
	}
	s, err := report.Summarize(ctx, r.ledger, b.ID)
	if err != nil {
		return err
	}
	if r.opts.asJSON {
		r.terminal.printJSON(s)
	} else {
		r.terminal.print("Batch %s: %s", b.ID, report.BatchState(b, s.Counts))
	}
	r.sayCanceled(b, s.Counts)
	if s.Left() == 0 {
		return nil
	}
	return sayWhoPlaces(ctx, r.terminal, r.ledger, b.ID)
}
