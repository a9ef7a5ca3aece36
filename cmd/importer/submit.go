package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/report"
)

func (a *app) submitCommand() *cobra.Command {
	var f runFlags
	var approve bool
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
			r, err := a.newFilingRun(args[0], f)
			if err != nil {
				return err
			}
			return r.openAndRun(c.Context(), func(ctx context.Context) error { return r.submit(ctx, approve) })
		},
	}
	f.sheet.register(c)
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, "submit without asking")
	c.Flags().BoolVar(&approve, "approve", false, "wait for: importer approve BATCH")
	f.registerAccept(c)
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON lines; the last one is the summary")
	c.Flags().DurationVar(&f.patience, "patience", time.Minute,
		"give up if the filing service has not responded for this long")
	c.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "print more about problems along the way")
	return c
}

// submit imports the file and submits its batch.
func (r *filingRun) submit(ctx context.Context, approve bool) error {
	if err := r.importFile(ctx); err != nil {
		return err
	}
	all, err := r.related(ctx)
	if err != nil {
		return err
	}
	for _, r.batch = range all {
		if submitted, err := r.submitRows(ctx, approve); err != nil || !submitted {
			return err
		}
	}
	return r.printSubmitted(ctx)
}

// submitRows submits the batch, or what was held back of it since. It reports false if nothing
// was submitted, and has said why.
func (r *filingRun) submitRows(ctx context.Context, approve bool) (bool, error) {
	if r.batch.Open || r.batch.Canceled {
		return true, r.submitHeldBack(ctx)
	}
	if confirmed, err := r.confirmSubmit(ctx, approve); err != nil || !confirmed {
		return false, err
	}
	if none, err := r.allHeldBack(ctx); err != nil || none {
		return true, err
	}
	_, err := r.submitBatch(ctx, "submit", approve)
	return true, err
}

// submitHeldBack compares the rows of a submitted batch that were held back once
// more, if --accept-names accepts the names of the filing service.
func (r *filingRun) submitHeldBack(ctx context.Context) error {
	f, err := r.ledger.Figures(ctx, r.batch.ID)
	if err != nil || f.HeldBack == 0 || !r.flags.accept || r.batch.Canceled {
		return err
	}
	quoter, queue, ending, err := r.connect(ctx)
	if err != nil {
		return err
	}
	if queue == nil {
		return r.endUnsubmitted(ctx, ending)
	}
	defer queue.Close()
	if err := r.releaseHeldBack(ctx, r.env.Throttle(queue), quoter); err != nil {
		return err
	}
	return r.approveIncrease(ctx)
}

// confirmSubmit shows the quote and asks, if the batch has rows to send.
func (r *filingRun) confirmSubmit(ctx context.Context, approve bool) (bool, error) {
	f, err := r.ledger.Figures(ctx, r.batch.ID)
	if err != nil || f.Counts[filing.Ready]+f.HeldBack == 0 {
		return err == nil, err
	}
	if r.recognized.Reason != jobs.Finished {
		return false, r.endUnsubmitted(ctx, r.recordUnrecognized(ctx))
	}
	const otherwise = "Nothing was submitted."
	// If no one reads the quote, the workers look up each company before they send
	// its row, and submit returns at once.
	if r.skipLookup = r.flags.yes && !r.flags.accept && !approve; r.skipLookup {
		quoter, ending, err := r.loadPrices(ctx)
		if err != nil {
			return false, err
		}
		if quoter == nil {
			return false, r.endUnsubmitted(ctx, ending)
		}
		return true, r.confirmOrders(ctx, nil, quoter, otherwise)
	}
	quoter, queue, ending, err := r.connect(ctx)
	if err != nil {
		return false, err
	}
	if queue == nil {
		return false, r.endUnsubmitted(ctx, ending)
	}
	defer queue.Close()
	return true, r.confirmOrders(ctx, r.env.Throttle(queue), quoter, otherwise)
}

// endUnsubmitted explains why nothing was submitted.
func (r *filingRun) endUnsubmitted(ctx context.Context, ending jobs.Outcome) error {
	if err := r.printUnchanged(ctx); err != nil {
		return err
	}
	r.explainOutcome(ending)
	if ending.Reason == jobs.Interrupted {
		return exit(exitInterrupted)
	}
	r.say("Nothing was submitted.")
	return exit(exitStopped)
}

// printSubmitted prints the state of the batch and says who places its orders.
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
