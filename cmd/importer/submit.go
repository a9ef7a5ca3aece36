package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/jobs"
	"bulkfiling/internal/pricing"
	"bulkfiling/internal/report"
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
covers the terminal (importer firm), a second person must approve it.

Running submit again on the same file finds the same batch and submits nothing
twice.`,
		Example: `  importer submit roster.csv --yes
  importer submit roster.xlsx --state DE --filing-year 2027 --yes --json
  importer submit roster.xlsx --approve --yes`,
		Args: oneFile,
		RunE: func(c *cobra.Command, args []string) error {
			r, err := a.filingRun(args[0], f)
			if err != nil {
				return err
			}
			return r.do(c.Context(), func(ctx context.Context) error { return r.submit(ctx, approve) })
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

// submit brings the file into the ledger and opens its batch.
func (r *filingRun) submit(ctx context.Context, approve bool) error {
	if err := r.record(ctx); err != nil {
		return err
	}
	if err := r.correct(ctx); err != nil {
		return err
	}
	if !r.batch.Open && !r.batch.Canceled {
		ready, err := r.agreeToSubmit(ctx, approve)
		if err != nil || !ready {
			return err
		}
		if none, err := r.nothingReady(ctx); err != nil || none {
			return errors.Join(err, r.handedOver(ctx))
		}
		ctx := acting(ctx, "submit", r.batch.ID, r.batch.File)
		second, err := r.ledger.Approvals().NeedsSecond(ctx, r.batch.ID)
		if err != nil {
			return err
		}
		if approve || second {
			if err := r.wantApproval(ctx); err != nil {
				return err
			}
		}
		if err := r.open(ctx, "submit"); err != nil {
			return err
		}
	} else if err := r.submitHeldBack(ctx); err != nil {
		return err
	}
	return r.handedOver(ctx)
}

// wantApproval has the batch wait for the approval of what it holds now.
func (r *filingRun) wantApproval(ctx context.Context) error {
	plan, _, err := pricing.ApprovalHash(ctx, r.ledger, r.batch.ID)
	if err != nil {
		return err
	}
	return r.ledger.Approvals().Request(ctx, r.batch.ID, plan)
}

// submitHeldBack looks once more at the rows of an open batch that were held
// back, where a person accepts the names as the filing service has them.
func (r *filingRun) submitHeldBack(ctx context.Context) error {
	held, err := r.ledger.CountHeldBack(ctx, r.batch.ID)
	if err != nil || held == 0 || !r.flags.accept || r.batch.Canceled {
		return err
	}
	quoter, ending, err := r.prices(ctx)
	if err != nil {
		return err
	}
	if quoter == nil {
		return r.putOff(ctx, ending)
	}
	queue, ending, err := r.queue(ctx)
	if err != nil {
		return err
	}
	if queue == nil {
		return r.putOff(ctx, ending)
	}
	defer queue.Close()
	_, err = r.reconsider(ctx, r.env.Throttle(queue), quoter)
	return err
}

// agreeToSubmit quotes and asks, where there is anything to place.
func (r *filingRun) agreeToSubmit(ctx context.Context, approve bool) (bool, error) {
	counts, err := r.ledger.Counts(ctx, r.batch.ID)
	if err != nil {
		return false, err
	}
	held, err := r.ledger.CountHeldBack(ctx, r.batch.ID)
	if err != nil || counts[filing.Ready]+held == 0 {
		return err == nil, err
	}
	if r.early.Reason != jobs.Finished {
		return false, r.putOff(ctx, r.unrecognized(ctx))
	}
	quoter, ending, err := r.prices(ctx)
	if err != nil {
		return false, err
	}
	if quoter == nil {
		return false, r.putOff(ctx, ending)
	}
	var pace jobs.Throttle
	// Where nobody looks at the quote the workers compare each row before they
	// send it, and this returns at once.
	if r.leavesLooking = r.flags.yes && !r.flags.accept && !approve; !r.leavesLooking {
		// At the fleet's pace.
		queue, ending, err := r.queue(ctx)
		if err != nil {
			return false, err
		}
		if queue == nil {
			return false, r.putOff(ctx, ending)
		}
		defer queue.Close()
		pace = r.env.Throttle(queue)
	}
	return r.agree(ctx, pace, quoter, "Nothing was submitted.")
}

// putOff says why nothing was handed over, and how the batch stands.
func (r *filingRun) putOff(ctx context.Context, ending jobs.Outcome) error {
	if err := r.stands(ctx); err != nil {
		return err
	}
	r.explain(ending)
	if ending.Reason == jobs.Interrupted {
		return exit(exitInterrupted)
	}
	r.say("Nothing was submitted.")
	return exit(exitStopped)
}

// handedOver says how the batch stands and who goes on with it.
func (r *filingRun) handedOver(ctx context.Context) error {
	b, err := r.ledger.Batch(ctx, r.batch.ID)
	if err != nil {
		return err
	}
	s, err := report.Summarize(ctx, r.ledger, b.ID)
	if err != nil {
		return err
	}
	if r.flags.asJSON {
		if err := r.summarise(s); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(r.out, "Batch %s: %s\n", b.ID, report.BatchState(b, s.Counts))
	}
	r.sayCanceled(s.Counts)
	if s.Ready() == 0 {
		return nil
	}
	return r.whoPlaces(ctx, r.ledger, b, r.path)
}
