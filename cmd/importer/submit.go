package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/report"
)

func (a *app) submitCommand() *cobra.Command {
	var f runFlags
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
		RunE: func(c *cobra.Command, args []string) error {
			r, err := a.newFilingRun("submit", args[0], f)
			if err != nil {
				return err
			}
			return r.openAndRun(c.Context(), r.submit)
		},
	}
	f.register(c)
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, "submit without asking")
	c.Flags().BoolVar(&f.approve, "approve", false, "wait for: importer approve BATCH")
	return c
}

// submit imports the file and submits its batch.
func (r *filingRun) submit(ctx context.Context) error {
	ending, err := r.placeBatches(ctx)
	switch {
	case err != nil:
		return err
	case ending.Reason == jobs.Finished, ending.Reason == jobs.NotApproved:
		return r.printSubmitted(ctx)
	}
	return r.endUnsubmitted(ctx, ending)
}

// endUnsubmitted explains why nothing was submitted.
func (r *filingRun) endUnsubmitted(ctx context.Context, ending jobs.RunResult) error {
	if err := r.printUnchanged(ctx); err != nil {
		return err
	}
	if err := r.explainOutcome(context.WithoutCancel(ctx), ending); err != nil {
		return err
	}
	if ending.Reason == jobs.Interrupted {
		return exit(exitInterrupted)
	}
	r.say("%s", r.nothing())
	return exit(exitStopped)
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
	if r.flags.asJSON {
		if err := r.printSummary(s); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(r.out, "Batch %s: %s\n", b.ID, report.BatchState(b, s.Counts))
	}
	r.sayCanceled(b, s.Counts)
	if s.Left() == 0 {
		return nil
	}
	return r.sayWhoPlaces(ctx, r.ledger, b, r.path)
}
