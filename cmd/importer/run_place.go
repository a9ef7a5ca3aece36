package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/report"
)

// placeOrders runs a worker until no more orders can be placed for now. It returns an endedError
// unless the batch is finished.
func (r *filingRun) placeOrders(ctx context.Context, queue *jobs.Queue, quoter pricing.Quoter) error {
	// A person who runs the command again may have added funds, so try one order.
	err := r.waiter.throughOutage(ctx, func() error {
		return errors.Join(r.ledger.Fleet().Announce(ctx, "run", true), r.ledger.Fleet().AllowProbe(ctx))
	})
	if err != nil {
		return err
	}
	c := r.env.WorkerConfig(r.ledger, r.client, queue, quoter, r.log)
	c.Batch = r.batch.ID
	c.Unrecorded = func(u *jobs.Unrecorded) {
		r.terminal.say("The answer for row %d is not recorded, the database is not responding: %s", u.Number, idsOf(u))
	}
	worker, err := jobs.Start(ctx, c)
	if err != nil {
		return err
	}
	stopWatching := func() {}
	err = r.waiter.throughOutage(ctx, func() (err error) {
		stopWatching, err = watch(ctx, r.terminal, r.ledger, r.batch.ID, r.client.LastError)
		return err
	})
	if err != nil {
		r.stopWorker(worker)
		return err
	}
	// The worker continues once the database is back.
	var ending jobs.RunResult
	err = r.waiter.throughOutage(ctx, func() (err error) {
		ending, err = worker.Await(ctx, r.batch.ID, jobs.WaitLimits{Silence: r.opts.giveUpAfter, Funds: r.opts.wait})
		return err
	})
	if ending.Reason == jobs.Interrupted {
		r.terminal.say("\nInterrupted. Waiting for answers to orders already sent. Ctrl-C again ends now; that is " +
			"safe, but these orders may become uncertain.")
	}
	r.stopWorker(worker)
	stopWatching()
	if err != nil || ending.Reason == jobs.Finished {
		return err
	}
	return &endedError{ending}
}

// stopWorker stops a worker, and lists the answers that it could not record.
func (r *filingRun) stopWorker(w *jobs.Worker) {
	w.Stop()
	if r.unrecorded = w.Unrecorded(); len(r.unrecorded) == 0 {
		return
	}
	r.terminal.say("%s of the filing service could not be recorded in the database:",
		count(len(r.unrecorded), "answer"))
	for _, u := range r.unrecorded {
		r.terminal.say("  row %d of batch %s: %s", u.Number, u.Batch, idsOf(u))
	}
	r.terminal.say("Write them down. When the database responds, look at these rows: resolve an uncertain one with " +
		"importer resolve.")
}

func idsOf(u *jobs.Unrecorded) string { return cmp.Or(strings.Join(u.IDs(), ", "), "no ID") }

// finish writes the results, prints the summary, and explains the outcome. Before a correction may
// be sent, the workbook with the corrections stays unchanged.
func (r *filingRun) finish(ctx context.Context, ending jobs.RunResult) error {
	// The results are also written after Ctrl-C.
	ctx = context.WithoutCancel(ctx)
	writing := r.terminal.startPhase("Writing the results")
	var s report.Summary
	var b ledger.Batch
	err := r.waiter.throughOutage(ctx, func() (err error) {
		if b, err = r.shown(ctx); err != nil {
			return err
		}
		if b.ID == r.results {
			s, err = writeResults(ctx, r.terminal, r.ledger, b.ID, r.output)
		} else {
			s, err = report.Summarize(ctx, r.ledger, b.ID)
		}
		return err
	})
	writing.end()
	if err != nil {
		return fmt.Errorf("%w\nEvery result is recorded. To write them to another file: importer results %s -o FILE",
			err, r.results)
	}
	if r.opts.asJSON {
		r.terminal.printJSON(s)
	} else {
		r.printSummary(s)
	}
	if err := r.explainOutcome(ctx, ending); err != nil {
		return err
	}
	r.sayCanceled(b, s.Counts)
	switch {
	case ending.Reason == jobs.Interrupted:
		return exit(exitInterrupted)
	case !r.opts.dryRun || ending.Reason != jobs.Finished || s.Left() == 0:
		return exit(s.ExitCode())
	case s.Counts[filing.Invalid] > 0:
		return exit(exitCorrect)
	}
	return nil
}

// sayCanceled reports that rows are canceled, and how to send them after all.
func (r *filingRun) sayCanceled(b ledger.Batch, counts ledger.Counts) {
	if !b.Canceled && counts[filing.Canceled] == 0 {
		return
	}
	text := report.CanceledText(b) + "; its rows are not sent"
	if !b.Canceled {
		text = count(counts[filing.Canceled], "row") + " canceled and not sent"
	}
	r.terminal.say("%s. To send the canceled rows: importer retry %s --canceled, then the same command.",
		r.terminal.yellow(text), b.ID)
}

// explainOutcome explains why the run ended and the next step.
func (r *filingRun) explainOutcome(ctx context.Context, ending jobs.RunResult) error {
	t, orWait := r.terminal, ", or use --wait"
	if r.submits {
		orWait = ""
	}
	switch ending.Reason {
	case jobs.Finished:
	case jobs.ServiceDown:
		why := r.client.LastError()
		if why != "" {
			why = ": " + why
		}
		t.say("%s: no answer from %s%s. Run the same command again later%s.",
			t.yellow("The filing service cannot be reached"), r.env.BaseURL, why, orWait)
	case jobs.QueueDown:
		t.say("%s. No row is lost. Run the same command again later%s.", t.yellow(ending.Redis.Error()), orWait)
	case jobs.Interrupted:
		t.say("Interrupted. Everything is recorded. Run the same command again to resume.")
	// The key may have been refused before that was recorded.
	case jobs.KeyRefused:
		t.say("%s Correct FILING_API_KEY, then run the same command again.",
			t.red(jobs.FleetHold(ending.Halted).Text))
	case jobs.AskedToWait:
		t.say("%s Run the same command again after %s%s.", t.yellow(jobs.FleetHold(ending.Halted).Text),
			ending.Halted.Until.Local().Format("15:04:05"), orWait)
	default:
		_, err := sayHolds(ctx, t, r.ledger, r.batch.ID)
		return err
	}
	return nil
}

// printLines prints the results that occur in a batch.
func (t *terminal) printLines(s report.Summary) {
	tones := map[report.Tone]func(string) string{
		report.Good: t.green, report.Quiet: t.dim, report.Waits: t.yellow, report.Bad: t.red,
	}
	for _, line := range s.Lines() {
		t.print("%s", tones[line.Tone](fmt.Sprintf("%6d  %s", line.Rows, line.Text)))
	}
}

// printSummary prints the summary for a person.
func (r *filingRun) printSummary(s report.Summary) {
	t := r.terminal
	if b := r.before; b != nil && b.Counts[filing.Placed] == s.Counts[filing.Placed] &&
		b.Counts[filing.Uncertain] == s.Counts[filing.Uncertain] && b.Spent == s.Spent {
		t.print("Nothing new was sent. Total:")
	}
	t.printLines(s)
	t.print("%s\n%s  (batch %s)", s.MoneyText(), cmp.Or(s.Output, "no results were written"), s.Batch)
	if s.Counts[filing.Uncertain] > 0 {
		t.print("To resolve the uncertain rows: importer resolve %s", s.Batch)
	}
}
