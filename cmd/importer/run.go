package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/config"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/intake"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/lookup"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/report"
)

// runFlags are the options of run and submit.
type runFlags struct {
	sheet  sheetFlags
	output string
	yes    bool
	asJSON bool
	wait   bool
	dryRun bool
	// accept accepts the names of the filing service.
	accept bool
	// approve makes submit wait for importer approve.
	approve  bool
	patience time.Duration
	verbose  bool
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run FILE",
		Short: "Check a spreadsheet, show the cost, and order the filings",
		Long: `run reads a spreadsheet of companies, checks every row, shows the cost, and asks
for your approval. It then submits each filing exactly once and writes the results
back next to each row. Rows with errors are never sent.

Run the same command again after an interruption, a crash, or insufficient funds.
It resumes where it stopped and buys nothing twice.

If the approval policy covers the terminal (the page Settings), run prepares the batch
and ends with exit status 3. After the approval, run the same command again.`,
		Example: `  importer run companies.xlsx
  importer run companies.xlsx --dry-run
  importer run companies.csv --product annual-report --state DE --filing-year 2026 --yes
  importer run companies.xlsx -o answers.xlsx --yes --wait`,
		Args: oneFile,
		RunE: func(c *cobra.Command, args []string) error { return a.run(c.Context(), args[0], f) },
	}
	f.register(c)
	c.Flags().StringVarP(&f.output, "output", "o", "",
		"write the results to this file, .xlsx or .csv (default FILE.results.xlsx)")
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, "order without asking")
	c.Flags().BoolVar(&f.wait, "wait", false, "wait for funds or for the filing service instead of ending")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "check and show the cost; send nothing")
	return c
}

// register adds the flags that run and submit share.
func (f *runFlags) register(c *cobra.Command) {
	f.sheet.register(c)
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON lines; the last one is the summary")
	c.Flags().BoolVar(&f.accept, "accept-names", false,
		"also order for companies whose name at the filing service differs from the spreadsheet")
	c.Flags().DurationVar(&f.patience, "patience", time.Minute,
		"give up if the filing service has not responded for this long (ignored with --wait)")
	c.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "print more about problems along the way")
}

// filingRun is one run of one file.
type filingRun struct {
	*app
	flags runFlags
	path  string
	// command is run or submit.
	command string
	// waitHint explains how to wait instead of ending. Empty if the command cannot wait.
	waitHint string
	env      config.Environment
	client   *filingapi.Client
	ledger   *ledger.Ledger
	batch    ledger.Batch
	// output is nil for submit, which writes no file.
	output *outputFile
	// sheet is nil for a results workbook without corrections.
	sheet *importer.Import
	log   *slog.Logger

	// nothingToCorrect is the reason why sheet is nil.
	nothingToCorrect error
	// before has the results before this run. It is nil if nothing was submitted.
	before *ledger.Figures
	// results is the batch whose results are written. It is the batch of the file, or the batch
	// that it corrects.
	results string
	// correction is the batch of the file if it corrects another batch. Otherwise it is empty.
	correction string
	// newLedgerNote explains that the ledger is new. Empty if the ledger is not new.
	newLedgerNote string
	// recognized is the result of recognizeKey. Nothing is sent unless it is Finished.
	recognized jobs.RunResult
}

func (a *app) run(ctx context.Context, path string, f runFlags) error {
	r, err := a.newFilingRun("run", path, f)
	if err != nil {
		return err
	}
	r.output = &outputFile{
		asked:    f.output,
		input:    path,
		ending:   ".results.xlsx",
		kinds:    resultsEndings,
		consumed: r.mayReplaceInput,
	}
	if err := r.output.check(); err != nil {
		return err
	}
	r.waitHint = ", or use --wait"
	return r.openAndRun(ctx, r.placeBatch)
}

// newFilingRun reads the environment for a run of a file.
func (a *app) newFilingRun(command, path string, f runFlags) (*filingRun, error) {
	r := &filingRun{app: a, flags: f, command: command, path: path}
	var err error
	if r.env, err = a.environment(); err != nil {
		return nil, err
	}
	if r.client, err = r.env.Client(); err != nil {
		return nil, err
	}
	if _, err := r.env.Fees(); err != nil {
		return nil, err
	}
	level := slog.LevelError + 1
	if f.verbose {
		level = slog.LevelInfo
	}
	r.log, err = a.logger(level)
	return r, err
}

// openAndRun opens the file and the ledger of the API key, and runs do.
func (r *filingRun) openAndRun(ctx context.Context, do func(context.Context) error) (err error) {
	r.sheet, err = importer.Open(r.path, r.flags.sheet.options())
	switch {
	case errors.Is(err, importer.ErrNoRowsNeedAttention):
		r.nothingToCorrect = err
	case err != nil:
		return err
	default:
		defer r.sheet.Close()
	}
	if r.recognized, err = r.recognizeKey(ctx); err != nil {
		return err
	}
	ctx = ledger.AtTerminal(ctx, currentUser())
	if r.recognized.Reason == jobs.Interrupted {
		// Nothing is sent, but the results are still written.
		ctx = context.WithoutCancel(ctx)
	}
	err = r.throughOutage(ctx, func() (err error) {
		r.ledger, err = r.env.OpenLedger(ctx)
		return err
	})
	if err != nil {
		return err
	}
	stopNotifying := func() {}
	// A dry run sends no notification.
	if !r.flags.dryRun {
		stopNotifying, err = r.env.SendNotifications(ctx, r.ledger, r.log)
	}
	if err == nil {
		err = do(ctx)
		stopNotifying()
	}
	if closing := r.ledger.Close(); err == nil {
		err = closing
	}
	return err
}

// placeBatch imports the file, has its batch approved, places its orders, and writes the results.
func (r *filingRun) placeBatch(ctx context.Context) error {
	r.output.ours = oursIn(ctx, r.ledger)
	// Without -o, a free name is always found.
	if r.output.asked != "" {
		if _, _, err := r.output.choose(); err != nil {
			return err
		}
	}
	ending, err := r.placeBatches(ctx)
	if err != nil {
		return err
	}
	return r.finish(ctx, ending)
}

// placeBatches imports the file and places the orders of its batch and of the related batches.
// submit leaves the orders to the workers.
func (r *filingRun) placeBatches(ctx context.Context) (ending jobs.RunResult, err error) {
	if err := r.importFile(ctx); err != nil {
		return ending, err
	}
	all, err := r.related(ctx)
	if err != nil {
		return ending, err
	}
	if r.batch.Open {
		f, err := r.ledger.ResultFigures(ctx, r.results)
		if err != nil {
			return ending, err
		}
		r.before = &f
	}
	for _, r.batch = range all {
		if ending, err = r.placeRows(ctx); err != nil || ending.Reason != jobs.Finished {
			break
		}
	}
	// A person stopped the run.
	if errors.Is(err, errDeclined) || (err != nil && ctx.Err() != nil) {
		err = cmp.Or(r.printUnchanged(ctx), err)
	}
	return ending, err
}

// placeRows has the batch approved and places the orders of its rows that can be sent.
func (r *filingRun) placeRows(ctx context.Context) (jobs.RunResult, error) {
	finished := jobs.RunResult{Reason: jobs.Finished}
	f, err := r.ledger.Figures(ctx, r.batch.ID)
	if err != nil {
		return finished, err
	}
	// A canceled batch has only uncertain rows left, which can still be resolved.
	if f.Left() == 0 && (f.HeldBack == 0 || r.batch.Canceled) {
		if (r.batch.ID == r.correction || r.submits()) && !r.batch.Open && !r.batch.Canceled && !r.flags.dryRun {
			// The results and the page show the remaining errors.
			return finished, r.openBatch(ctx, "correct")
		}
		return finished, nil
	}
	if r.submits() && r.batch.Open && (f.HeldBack == 0 || !r.flags.accept) {
		return finished, nil
	}
	if r.recognized.Reason != jobs.Finished {
		return r.recordUnrecognized(ctx), nil
	}
	// Load the prices before the approval, because no one should approve an order that cannot be
	// sent.
	quoter, ending, err := r.loadPrices(ctx)
	if err != nil || quoter == nil {
		return ending, err
	}
	queue, ending, err := r.openQueue(ctx)
	if err != nil || queue == nil {
		return ending, err
	}
	defer queue.Close()
	ending, err = r.approveBatch(ctx, queue, quoter, f.HeldBack)
	if err != nil || ending.Reason != jobs.Finished || r.flags.dryRun || r.submits() {
		return ending, err
	}
	if b, err := r.ledger.Batch(ctx, r.batch.ID); err != nil || !b.Open {
		// Every row is held back.
		return finished, err
	}
	return r.placeOrders(ctx, queue, quoter)
}

// submits reports whether the workers place the orders.
func (r *filingRun) submits() bool { return r.command == "submit" }

// approveBatch has the batch approved. A new batch is approved as a whole. For a batch that was
// submitted before, the held-back rows and the increased costs are approved. The outcome is
// Finished unless the batch waits for the approval of another person.
func (r *filingRun) approveBatch(ctx context.Context, queue *jobs.Queue, quoter pricing.Quoter,
	held int) (jobs.RunResult, error) {
	finished := jobs.RunResult{Reason: jobs.Finished}
	if r.flags.dryRun {
		err := r.confirmOrders(ctx, r.env.Throttle(queue), quoter, "")
		if err == nil {
			r.say("Nothing was sent (--dry-run).")
		}
		return finished, err
	}
	if !r.batch.Open {
		if err := r.confirmOrders(ctx, r.env.Throttle(queue), quoter, r.nothing()); err != nil {
			return finished, err
		}
		if none, err := r.allHeldBack(ctx); err != nil || none {
			return finished, err
		}
		if waits, err := r.submitBatch(ctx); err != nil || waits {
			return jobs.RunResult{Reason: jobs.NotApproved}, err
		}
	}
	if held > 0 && r.batch.Open && !r.batch.Canceled {
		if err := r.releaseHeldBack(ctx, r.env.Throttle(queue), quoter); err != nil {
			return finished, err
		}
	}
	if !r.batch.Open || r.flags.approve {
		return finished, nil
	}
	return finished, r.approveIncrease(ctx)
}

// submitBatch submits the batch to the process that places its orders. It reports whether the batch
// waits for approval, because a policy of the firm or the flag approve requires it.
func (r *filingRun) submitBatch(ctx context.Context) (waits bool, err error) {
	plan, err := intake.RequestApproval(withAudit(ctx, r.command, r.batch.ID, r.batch.File), r.ledger, r.batch.ID,
		r.flags.approve)
	if err != nil {
		return false, err
	}
	return plan != "", r.openBatch(ctx, r.command)
}

// nothing returns the message that a person who declined changed nothing.
func (r *filingRun) nothing() string {
	if r.submits() {
		return "Nothing was submitted."
	}
	return "Nothing was sent."
}

// openBatch releases the batch for sending.
func (r *filingRun) openBatch(ctx context.Context, command string) error {
	return r.ledger.OpenBatch(withAudit(ctx, command, r.batch.ID, r.batch.File), r.batch.ID)
}

// loadPrices asks the filing service for its prices. Without a quoter, ending has the failure.
func (r *filingRun) loadPrices(ctx context.Context) (quoter pricing.Quoter, ending jobs.RunResult, err error) {
	ask := r.env.PriceSource(r.ledger, r.client)
	ending, err = r.askUntilAnswered(ctx, "its prices", func(ctx context.Context) (err error) {
		quoter, err = ask(ctx)
		return err
	})
	return quoter, ending, err
}

// askUntilAnswered asks the filing service until it answers or the patience ends. The outcome is
// Finished once it has answered. These are the first requests of a run, so that a rejected key or
// an unavailable filing service is found before any order.
func (r *filingRun) askUntilAnswered(ctx context.Context, what string,
	ask func(context.Context) error) (jobs.RunResult, error) {
	err := r.patiently(ctx, func(err error) (string, bool) {
		_, ofService := errors.AsType[*filingapi.Error](err)
		passes := ofService && ctx.Err() == nil && !errors.Is(err, filingapi.ErrKeyRefused) &&
			!errors.Is(err, filingapi.ErrNotFound) && !errors.Is(err, filingapi.ErrRefused)
		return fmt.Sprintf("%s is not responding: %s. Retrying%s.", r.env.BaseURL, r.client.LastError(),
			r.retrying()), passes
	}, func() error { return ask(ctx) })
	answered, ofService := errors.AsType[*filingapi.Error](err)
	switch {
	case err == nil:
		return jobs.RunResult{Reason: jobs.Finished}, nil
	case ctx.Err() != nil:
		return jobs.RunResult{Reason: jobs.Interrupted}, nil
	case !ofService:
		return jobs.RunResult{}, err
	case errors.Is(err, filingapi.ErrKeyRefused):
		return jobs.RunResult{
			Reason: jobs.KeyRefused,
			Halted: ledger.Halted{Reason: filing.HaltKey, Note: answered.Message},
		}, nil
	case errors.Is(err, filingapi.ErrNotFound), errors.Is(err, filingapi.ErrRefused):
		return jobs.RunResult{}, fmt.Errorf("ask %s for %s: %w", r.env.BaseURL, what, err)
	}
	return jobs.RunResult{Reason: jobs.ServiceDown}, nil
}

// retrying returns the time for which a request is repeated: " for 1m0s", or "" with --wait.
func (r *filingRun) retrying() string {
	if r.flags.wait {
		return ""
	}
	return " for " + r.flags.patience.String()
}

// openQueue opens the queue. A run waits for Redis if it is down. submit needs the queue only for
// the rate of lookups. Without a queue, the outcome has the reason.
func (r *filingRun) openQueue(ctx context.Context) (queue *jobs.Queue, ending jobs.RunResult, err error) {
	open := r.env.OpenQueue
	if r.submits() {
		open = r.env.NewQueue
	}
	err = r.patiently(ctx, func(err error) (string, bool) {
		return fmt.Sprintf("Waiting: %v", err), errors.Is(err, jobs.ErrQueueDown)
	}, func() (err error) {
		queue, err = open()
		return err
	})
	switch {
	case err == nil || !errors.Is(err, jobs.ErrQueueDown):
		return queue, ending, err
	case ctx.Err() != nil:
		return nil, jobs.RunResult{Reason: jobs.Interrupted}, nil
	}
	return nil, jobs.RunResult{Reason: jobs.QueueDown, Redis: err}, nil
}

// confirmOrders shows the quote and asks for approval. otherwise is the message after a refusal,
// about the things left unchanged.
func (r *filingRun) confirmOrders(ctx context.Context, throttle *lookup.Throttle, quoter pricing.Quoter,
	otherwise string) error {
	q, err := r.quote(ctx, throttle, quoter)
	if err != nil {
		return err
	}
	second, err := r.ledger.Approvals().NeedsSecond(ctx, r.batch.ID)
	if err != nil {
		return err
	}
	question := "Approve %s, %s%s? Filings cannot be undone."
	if second {
		question = "Submit %s for approval, %s%s?"
	}
	return r.showAndConfirm(ctx, q, question, otherwise)
}

// quote looks up and compares the companies of the batch, shows the differences, and calculates the
// cost.
func (r *filingRun) quote(ctx context.Context, throttle *lookup.Throttle, quoter pricing.Quoter) (intake.Quote, error) {
	secrets, err := r.env.WebhookSecrets()
	if err != nil {
		return intake.Quote{}, err
	}
	step := r.phase("Looking up companies")
	o := intake.Quoting{
		Ledger:      r.ledger,
		Prices:      func(context.Context) (pricing.Quoter, error) { return quoter, nil },
		Throttle:    throttle,
		Concurrency: r.env.Concurrency,
		Accept:      r.flags.accept,
		Secret:      len(secrets) > 0,
		LookedUp:    step.at,
		Priced:      func() { step.next("Calculating the cost") },
	}
	// If no one reads the quote, the workers look up each company before they send its row.
	skip := r.submits() && r.flags.yes && !r.flags.accept && !r.flags.approve
	// Otherwise rows may be in flight.
	if !skip && (!r.batch.Open || !r.flags.dryRun) {
		o.Records = r.client
	}
	q, err := o.Quote(ctx, r.batch.ID)
	step.end()
	if err == nil {
		r.showReview(q.Review)
	}
	return q, err
}

// showAndConfirm shows the cost and the warnings of the batch, and asks the question about its
// orders, their cost and the number of warnings.
func (r *filingRun) showAndConfirm(ctx context.Context, q intake.Quote, question, otherwise string) error {
	warnings, err := r.showQuoteAndWarnings(ctx, q)
	if err != nil || r.flags.yes || r.flags.dryRun || q.Rows+q.Before == 0 {
		return err
	}
	return r.confirm(ctx, fmt.Sprintf(question, count(q.Rows, "order"), q.TotalText(), withWarnings(warnings)),
		otherwise)
}

func (r *filingRun) showQuoteAndWarnings(ctx context.Context, q intake.Quote) (jobs.Warnings, error) {
	balance, err := r.ledger.Balance(ctx)
	if err != nil {
		return jobs.Warnings{}, err
	}
	r.showQuote(q.BatchQuote, balance)
	r.sayEndpoint(q.Endpoint)
	return r.sayWarnings(ctx, r.ledger, r.batch)
}

// printUnchanged prints the last line of --json for a batch that was not changed.
func (r *filingRun) printUnchanged(ctx context.Context) error {
	if !r.flags.asJSON {
		return nil
	}
	// The summary is also printed after Ctrl-C.
	s, err := report.Summarize(context.WithoutCancel(ctx), r.ledger, r.batch.ID)
	if err != nil {
		return err
	}
	return r.printSummary(s)
}

// placeOrders runs a worker until no more orders can be placed for now.
func (r *filingRun) placeOrders(ctx context.Context, queue *jobs.Queue, quoter pricing.Quoter) (jobs.RunResult, error) {
	// A person who runs the command again may have added funds, so try one order.
	err := r.throughOutage(ctx, func() error {
		return errors.Join(r.ledger.Fleet().Announce(ctx, "run", true), r.ledger.Fleet().ProbeNow(ctx))
	})
	if err != nil {
		return jobs.RunResult{}, err
	}
	worker, err := jobs.Start(ctx, jobs.Config{
		Service:      r.client,
		Ledger:       r.ledger,
		Queue:        queue,
		Quoter:       quoter,
		Ask:          r.env.PriceSource(r.ledger, r.client),
		Throttle:     r.env.Throttle(queue),
		Concurrency:  r.env.Concurrency,
		Batch:        r.batch.ID,
		DrainTimeout: r.env.Timeout + 10*time.Second,
		Log:          r.log,
		Unrecorded: func(u *jobs.Unrecorded) {
			r.say("The answer for row %d is not recorded, the database is not responding: %s", u.Number, idsOf(u))
		},
	})
	if err != nil {
		return jobs.RunResult{}, err
	}
	stop := func() {}
	err = r.throughOutage(ctx, func() (err error) {
		stop, err = r.watch(ctx, r.ledger, r.batch.ID, r.client.LastError)
		return err
	})
	if err != nil {
		r.stopWorker(worker)
		return jobs.RunResult{}, err
	}
	// The worker continues once the database is back.
	var ending jobs.RunResult
	err = r.throughOutage(ctx, func() (err error) {
		ending, err = worker.Await(ctx, r.batch.ID, jobs.WaitLimits{Silence: r.flags.patience, Funds: r.flags.wait})
		return err
	})
	if ending.Reason == jobs.Interrupted {
		r.say("\nInterrupted. Waiting for answers to orders already sent. Ctrl-C again ends now; that is safe, " +
			"but these orders may become uncertain.")
	}
	r.stopWorker(worker)
	stop()
	return ending, err
}

// finish writes the results, prints the summary, and explains the outcome.
func (r *filingRun) finish(ctx context.Context, ending jobs.RunResult) error {
	// The results are also written after Ctrl-C.
	ctx = context.WithoutCancel(ctx)
	step := r.phase("Writing the results")
	var summary report.Summary
	var shown ledger.Batch
	err := r.throughOutage(ctx, func() (err error) {
		shown, summary, err = r.writeOwnResults(ctx)
		return err
	})
	step.end()
	if err != nil {
		return fmt.Errorf("%w\nEvery result is recorded. To write them to another file: importer results %s -o FILE",
			err, r.results)
	}
	if err := r.printSummary(summary); err != nil {
		return err
	}
	if err := r.explainOutcome(ctx, ending); err != nil {
		return err
	}
	r.sayCanceled(shown, summary.Counts)
	switch {
	case ending.Reason == jobs.Interrupted:
		return exit(exitInterrupted)
	case !r.flags.dryRun || ending.Reason != jobs.Finished || summary.Left() == 0:
		return exit(summary.ExitCode())
	case summary.Counts[filing.Invalid] > 0:
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
		text = fmt.Sprintf("%s canceled and not sent", count(counts[filing.Canceled], "row"))
	}
	r.say("%s. To send the canceled rows: importer retry %s --canceled, then the same command.", r.paint.yellow(text),
		b.ID)
}

// printSummary prints the summary as JSON or as text.
func (r *filingRun) printSummary(s report.Summary) error {
	if r.flags.asJSON {
		return json.NewEncoder(r.out).Encode(s)
	}
	r.printSummaryText(s)
	return nil
}

// explainOutcome explains why the run ended and the next step.
func (r *filingRun) explainOutcome(ctx context.Context, ending jobs.RunResult) error {
	switch ending.Reason {
	case jobs.Finished:
	case jobs.ServiceDown:
		why := r.client.LastError()
		if why != "" {
			why = ": " + why
		}
		r.say("%s: no answer from %s%s. Run the same command again later%s.",
			r.paint.yellow("The filing service cannot be reached"), r.env.BaseURL, why, r.waitHint)
	case jobs.QueueDown:
		r.say("%s. No row is lost. Run the same command again later%s.",
			r.paint.yellow(ending.Redis.Error()), r.waitHint)
	case jobs.Interrupted:
		r.say("Interrupted. Everything is recorded. Run the same command again to resume.")
	// The key may have been refused before that was recorded.
	case jobs.KeyRefused:
		r.say("%s Correct FILING_API_KEY, then run the same command again.",
			r.paint.red(jobs.FleetHold(ending.Halted).Text))
	case jobs.AskedToWait:
		r.say("%s Run the same command again after %s%s.", r.paint.yellow(jobs.FleetHold(ending.Halted).Text),
			ending.Halted.Until.Local().Format("15:04:05"), r.waitHint)
	default:
		_, err := r.sayHolds(ctx, r.ledger, r.batch.ID)
		return err
	}
	return nil
}

// printSummaryText prints the summary for a person.
func (r *filingRun) printSummaryText(s report.Summary) {
	if b := r.before; b != nil && b.Counts[filing.Placed] == s.Counts[filing.Placed] &&
		b.Counts[filing.Uncertain] == s.Counts[filing.Uncertain] && b.Spent == s.Spent {
		fmt.Fprintln(r.out, "Nothing new was sent. Total:")
	}
	for _, line := range s.Lines() {
		fmt.Fprintln(r.out, tones[line.Tone](r.paint, fmt.Sprintf("%6d  %s", line.Rows, line.Text)))
	}
	written := s.Output
	if written == "" {
		written = "no results were written"
	}
	fmt.Fprintf(r.out, "%s\n%s  (batch %s)\n", s.MoneyText(), written, s.Batch)
	if s.Counts[filing.Uncertain] > 0 {
		fmt.Fprintf(r.out, "To resolve the uncertain rows: importer resolve %s\n", s.Batch)
	}
}

var tones = map[report.Tone]func(painter, string) string{
	report.Good: painter.green, report.Quiet: painter.dim, report.Waits: painter.yellow, report.Bad: painter.red,
}

// importFile finds the batch of the file, or creates it. No order of a batch is sent before it is
// submitted.
func (r *filingRun) importFile(ctx context.Context) error {
	imp := r.sheet
	if imp == nil {
		return r.resumeFromResults(ctx)
	}
	if _, err := r.ledger.Batch(ctx, ""); !errors.Is(err, ledger.ErrNotFound) {
		// The ledger has batches.
		r.newLedgerNote = ""
	}
	step := r.phase("Reading " + filepath.Base(r.path))
	recorded, err := intake.Record(ctx, r.ledger, imp, intake.Recording{
		By:       currentUser(),
		Counted:  func(rows int) { step.at(rows, 0) },
		Waiting:  func(err error) { r.say("Waiting: %s.", err) },
		Patience: r.flags.patience,
	})
	step.end()
	if err != nil {
		return err
	}
	if r.batch, err = r.ledger.Batch(ctx, recorded.Batch); err != nil {
		return err
	}
	r.showColumns(imp)
	for _, note := range imp.Notes() {
		r.say("%s", note)
	}
	if r.newLedgerNote != "" {
		r.say("%s", r.newLedgerNote)
	}
	if !r.batch.Open && !r.batch.Canceled {
		if err := r.checkPlacedElsewhere(ctx); err != nil {
			return err
		}
	}
	if !recorded.Created {
		r.say("This file was already imported as batch %s; resuming.", r.batch.ID)
	}
	return nil
}
