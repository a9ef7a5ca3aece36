package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"bulkfiling/internal/config"
	"bulkfiling/internal/filing"
	"bulkfiling/internal/filingapi"
	"bulkfiling/internal/importer"
	"bulkfiling/internal/jobs"
	"bulkfiling/internal/ledger"
	"bulkfiling/internal/pricing"
	"bulkfiling/internal/report"
)

// runFlags are the options of run beyond those of reading a sheet.
type runFlags struct {
	sheet    sheetFlags
	output   string
	yes      bool
	asJSON   bool
	wait     bool
	dryRun   bool
	accept   bool // the names as the filing service has them
	patience time.Duration
	rate     float64 // requests a second; 0 for what FILING_RATE says
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

If the approval policy covers the terminal (importer firm), run prepares the batch
and ends with exit status 3. After the approval, run the same command again.`,
		Example: `  importer run companies.xlsx
  importer run companies.xlsx --dry-run
  importer run roster.csv --product annual-report --state DE --filing-year 2026 --yes
  importer run companies.xlsx -o answers.xlsx --yes --wait`,
		Args: oneFile,
		RunE: func(c *cobra.Command, args []string) error { return a.run(c.Context(), args[0], f) },
	}
	f.sheet.register(c)
	c.Flags().StringVarP(&f.output, "output", "o", "", "write the results to this file, .xlsx or .csv (default FILE.results.xlsx)")
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, "order without asking")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON lines; the last one is the summary")
	c.Flags().BoolVar(&f.wait, "wait", false, "wait for funds or for the filing service instead of ending")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "check and show the cost; send nothing")
	f.registerAccept(c)
	c.Flags().Float64Var(&f.rate, "rate", 0, "the most requests a second; overrides FILING_RATE")
	c.Flags().DurationVar(&f.patience, "patience", time.Minute,
		"give up if the filing service has not responded for this long (ignored with --wait)")
	c.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "print more about problems along the way")
	return c
}

func (f *runFlags) registerAccept(c *cobra.Command) {
	c.Flags().BoolVar(&f.accept, "accept-names", false,
		"also order for companies whose name at the filing service differs from the spreadsheet")
}

// filingRun is one run of one file.
type filingRun struct {
	*app
	flags   runFlags
	path    string
	stays   string // how to have it wait instead of ending; "" where it cannot
	env     config.Environment
	client  *filingapi.Client
	ledger  *ledger.Ledger
	batch   ledger.Batch
	output  *outputOf        // nil for submit, which writes none
	sheet   *importer.Import // nil for a results workbook in which nothing is left to correct
	nothing error            // that nothing is left to correct
	before  *report.Summary  // how the batch stood when the run took it up; nil where it had not begun
	read    bool             // what was changed in the input was read, and belongs to the batch
	fresh   string           // that the ledger is new, if it is
	early   jobs.Outcome     // of the question whose the key is: nothing is sent unless it was answered
	log     *slog.Logger

	leavesLooking bool // the workers look the companies up, each before its row is sent
}

func (a *app) run(ctx context.Context, path string, f runFlags) error {
	r, err := a.filingRun(path, f)
	if err != nil {
		return err
	}
	r.output = &outputOf{
		asked:    f.output,
		input:    path,
		ending:   ".results.xlsx",
		kinds:    resultsEndings,
		consumed: r.consumed,
	}
	if err := r.output.check(); err != nil {
		return err
	}
	r.stays = ", or use --wait"
	return r.do(ctx, r.take)
}

// filingRun reads the environment for a run of a file.
func (a *app) filingRun(path string, f runFlags) (*filingRun, error) {
	r := &filingRun{app: a, flags: f, path: path}
	var err error
	if r.env, err = a.environment(); err != nil {
		return nil, err
	}
	if f.rate < 0 {
		return nil, usage("--rate must be more than 0 requests a second")
	}
	if f.rate > 0 {
		r.env.Rate = f.rate
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
	r.log = slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: level}))
	return r, nil
}

// do opens the ledger for as long as something is done with it.
func (r *filingRun) do(ctx context.Context, what func(context.Context) error) (err error) {
	r.sheet, err = importer.Open(r.path, r.flags.sheet.options())
	switch {
	case errors.Is(err, importer.ErrNoRowsNeedAttention):
		r.nothing = err
	case err != nil:
		return err
	default:
		defer r.sheet.Close()
	}
	if r.early, err = r.recognize(ctx); err != nil {
		return err
	}
	ctx = ledger.AtTerminal(ctx, person())
	if r.early.Reason == jobs.Interrupted {
		ctx = context.WithoutCancel(ctx) // nothing is sent, and how the file stands is still said
	}
	if r.ledger, err = r.env.OpenLedger(ctx); err != nil {
		return err
	}
	quiet := func() {}
	if !r.flags.dryRun { // of which nobody is told
		quiet, err = r.env.Tell(ctx, r.ledger, r.log)
	}
	if err == nil {
		err = what(ctx)
		quiet()
	}
	if closing := r.ledger.Close(); err == nil {
		err = closing
	}
	return err
}

// take brings the file into the ledger and what is left of it to its answers.
func (r *filingRun) take(ctx context.Context) error {
	r.output.ours = oursIn(ctx, r.ledger)
	if r.output.asked != "" { // else there is always a name
		if _, _, err := r.output.choose(); err != nil {
			return err
		}
	}
	if err := r.record(ctx); err != nil {
		return err
	}
	if err := r.correct(ctx); err != nil {
		return err
	}
	counts, err := r.ledger.Counts(ctx, r.batch.ID)
	if err != nil {
		return err
	}
	if r.batch.Open {
		s, err := report.Summarize(ctx, r.ledger, r.batch.ID)
		if err != nil {
			return err
		}
		r.before = &s
	}
	held, err := r.ledger.CountHeldBack(ctx, r.batch.ID)
	if err != nil {
		return err
	}
	// Of a canceled batch only rows in doubt are left: they are still settled.
	if counts[filing.Ready]+counts[filing.Placing] == 0 && (held == 0 || r.batch.Canceled) {
		return r.finish(ctx, jobs.Outcome{Reason: jobs.Finished})
	}
	if r.early.Reason != jobs.Finished {
		return r.finish(ctx, r.unrecognized(ctx))
	}
	quoter, ending, err := r.prices(ctx)
	if err != nil {
		return err
	}
	if quoter == nil {
		return r.finish(ctx, ending)
	}
	queue, ending, err := r.queue(ctx) // before the yes: what cannot work should not be agreed to
	if err != nil {
		return err
	}
	if queue == nil {
		return r.finish(ctx, ending)
	}
	defer queue.Close()
	if !r.batch.Open || r.flags.dryRun {
		agreed, err := r.agree(ctx, r.env.Throttle(queue), quoter, "Nothing was sent.")
		if err != nil || !agreed {
			return err
		}
		if none, err := r.nothingReady(ctx); err != nil || none {
			return errors.Join(err, r.finish(ctx, jobs.Outcome{Reason: jobs.Finished}))
		}
		second, err := r.ledger.Approvals().NeedsSecond(ctx, r.batch.ID)
		if err != nil {
			return err
		}
		if ctx := acting(ctx, "run", r.batch.ID, r.batch.File); second {
			if err := r.wantApproval(ctx); err != nil {
				return err
			}
		}
		if err := r.open(ctx, "run"); err != nil {
			return err
		}
		if second {
			return r.finish(ctx, jobs.Outcome{Reason: jobs.NotApproved})
		}
	}
	if held > 0 && r.batch.Open && !r.flags.dryRun && !r.batch.Canceled {
		if agreed, err := r.reconsider(ctx, r.env.Throttle(queue), quoter); err != nil || !agreed {
			return err
		}
	}
	if r.batch.Open {
		err := r.approveCosts(ctx, r.ledger, r.batch, r.flags.yes)
		if errors.Is(err, ledger.ErrSecond) {
			r.say("Nothing was approved: %v.", err)
		} else if err != nil && !errors.Is(err, errDeclined) {
			return err
		}
	}
	if ending, err = r.place(ctx, queue, quoter); err != nil {
		return err
	}
	return r.finish(ctx, ending)
}

// prices asks the service what things cost.
func (r *filingRun) prices(ctx context.Context) (quoter pricing.Quoter, ending jobs.Outcome, err error) {
	ask := r.env.Asker(r.ledger, r.client)
	ending, err = r.patiently(ctx, "its prices", func(ctx context.Context) (err error) {
		quoter, err = ask(ctx)
		return err
	})
	return quoter, ending, err
}

// patiently asks the service for something, with patience. The ending is jobs.Finished
// once it has answered. These are the first questions of a run, so it is also
// here that a refused key or a service that is down shows, before anything is at
// stake.
func (r *filingRun) patiently(ctx context.Context, what string, ask func(context.Context) error) (jobs.Outcome, error) {
	began, said := time.Now(), ""
	for wait := 250 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		err := ask(ctx)
		answered, ofService := errors.AsType[*filingapi.Error](err)
		switch {
		case err == nil:
			return jobs.Outcome{Reason: jobs.Finished}, nil
		case ctx.Err() != nil:
			return jobs.Outcome{Reason: jobs.Interrupted}, nil
		case !ofService:
			return jobs.Outcome{}, err
		case errors.Is(err, filingapi.ErrKeyRefused):
			return jobs.Outcome{
				Reason: jobs.KeyRefused,
				Halted: ledger.Halted{Reason: filing.HaltKey, Note: answered.Message},
			}, nil
		case errors.Is(err, filingapi.ErrNotFound), errors.Is(err, filingapi.ErrRefused):
			return jobs.Outcome{}, fmt.Errorf("ask %s for %s: %w", r.env.BaseURL, what, err)
		case !r.flags.wait && time.Since(began) >= r.flags.patience:
			return jobs.Outcome{Reason: jobs.ServiceDown}, nil
		}
		r.sayTrouble(&said)
		pause := max(wait, answered.RetryAfter)
		if !r.flags.wait {
			pause = min(pause, r.flags.patience-time.Since(began))
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// sayTrouble says why the service does not answer, each reason once.
func (r *filingRun) sayTrouble(said *string) {
	trouble := r.client.LastError()
	if trouble == "" || trouble == *said {
		return
	}
	*said = trouble
	again := "Retrying"
	if !r.flags.wait {
		again = fmt.Sprintf("Retrying for %s", r.flags.patience)
	}
	r.say("%s is not responding: %s. %s.", r.env.BaseURL, trouble, again)
}

// queue opens the queue, with patience for a Redis that is away.
func (r *filingRun) queue(ctx context.Context) (*jobs.Queue, jobs.Outcome, error) {
	for began, tries := time.Now(), 1; ; tries++ {
		queue, err := r.env.OpenQueue()
		switch {
		case err == nil || !errors.Is(err, jobs.ErrQueueDown):
			return queue, jobs.Outcome{}, err
		case !r.flags.wait && time.Since(began) >= r.flags.patience:
			return nil, jobs.Outcome{Reason: jobs.QueueDown, Redis: err}, nil
		case tries == 1:
			r.say("Waiting: %v", err)
		}
		select {
		case <-ctx.Done():
			return nil, jobs.Outcome{Reason: jobs.Interrupted}, nil
		case <-time.After(time.Second):
		}
	}
}

// agree shows the quote and asks for a yes. Where a person stops it here the
// batch is left as it was, which otherwise says.
func (r *filingRun) agree(ctx context.Context, pace jobs.Throttle, quoter pricing.Quoter, otherwise string) (bool, error) {
	yes, err := r.quoteAndAsk(ctx, pace, quoter, otherwise)
	if errors.Is(err, errDeclined) || err != nil && ctx.Err() != nil {
		if err := r.stands(ctx); err != nil {
			return false, err
		}
	}
	return yes, err
}

func (r *filingRun) quoteAndAsk(ctx context.Context, pace jobs.Throttle, quoter pricing.Quoter,
	otherwise string) (bool, error) {
	if err := r.compare(ctx, pace); err != nil {
		return false, err
	}
	step := r.phase("Calculating the cost")
	q, err := pricing.QuoteBatch(ctx, r.ledger, quoter, r.batch.ID)
	step.end()
	if err != nil {
		return false, err
	}
	book, err := r.ledger.Balance(ctx)
	if err != nil {
		return false, err
	}
	r.showQuote(q, book)
	if err := r.warnOfEndpoint(ctx, r.ledger, r.env); err != nil {
		return false, err
	}
	warnings, err := r.sayWarnings(ctx, r.ledger, r.batch, "importer check "+filing.HideSSNsInName(r.path))
	if err != nil {
		return false, err
	}
	if r.flags.dryRun {
		r.say("Nothing was sent (--dry-run).")
		return false, r.endDry(ctx)
	}
	if r.flags.yes || q.Rows+q.Before == 0 {
		return true, nil
	}
	question := "Approve %s, %s%s? Filings cannot be undone."
	second, err := r.ledger.Approvals().NeedsSecond(ctx, r.batch.ID)
	if err != nil {
		return false, err
	}
	if second {
		question = "Submit %s for approval, %s%s?"
	}
	err = r.confirm(ctx, fmt.Sprintf(question, count(q.Rows, "order"), q.TotalText(), withWarnings(warnings)),
		otherwise)
	return err == nil, err
}

// stands is the last line of --json where the batch is left as it was.
func (r *filingRun) stands(ctx context.Context) error {
	if !r.flags.asJSON {
		return nil
	}
	s, err := report.Summarize(context.WithoutCancel(ctx), r.ledger, r.batch.ID) // also after Ctrl-C
	if err != nil {
		return err
	}
	return r.summarise(s)
}

// warnOfEndpoint says where nothing will be told of what is ordered now.
func (a *app) warnOfEndpoint(ctx context.Context, l *ledger.Ledger, env config.Environment) error {
	secrets, err := env.WebhookSecrets()
	if err != nil {
		return err
	}
	warning, err := jobs.EndpointWarning(ctx, l, len(secrets) > 0)
	if warning != "" {
		a.say("%s", wrap(a.paint.yellow("Warning: "+warning), lineWidth))
	}
	return err
}

// place runs the worker until nothing more can be placed for now.
func (r *filingRun) place(ctx context.Context, queue *jobs.Queue, quoter pricing.Quoter) (jobs.Outcome, error) {
	// The same run again means: funds may be back.
	if err := errors.Join(r.ledger.Fleet().Announce(ctx, "run", true), r.ledger.Fleet().ProbeNow(ctx)); err != nil {
		return jobs.Outcome{}, err
	}
	worker, err := jobs.Start(ctx, jobs.Config{
		Service:      r.client,
		Ledger:       r.ledger,
		Queue:        queue,
		Quoter:       quoter,
		Ask:          r.env.Asker(r.ledger, r.client),
		Throttle:     r.env.Throttle(queue),
		Concurrency:  r.env.Concurrency,
		Batch:        r.batch.ID,
		DrainTimeout: r.env.Timeout + 10*time.Second,
		Log:          r.log,
	})
	if err != nil {
		return jobs.Outcome{}, err
	}
	stop, err := r.watch(ctx, r.ledger, r.batch.ID, r.client.LastError)
	if err != nil {
		worker.Stop()
		return jobs.Outcome{}, err
	}
	ending, err := worker.Await(ctx, r.batch.ID, jobs.WaitLimits{Silence: r.flags.patience, Funds: r.flags.wait})
	if ending.Reason == jobs.Interrupted {
		r.say("\nInterrupted. Waiting for answers to orders already sent. Ctrl-C again ends now; that is safe, but these " +
			"orders may become uncertain.")
	}
	worker.Stop()
	stop()
	return ending, err
}

// finish writes the results and says how it ended.
func (r *filingRun) finish(ctx context.Context, ending jobs.Outcome) error {
	ctx = context.WithoutCancel(ctx) // the results are written also after Ctrl-C
	step := r.phase("Writing the results")
	summary, err := r.results(ctx)
	step.end()
	if err != nil {
		return fmt.Errorf("%w\nEvery result is recorded. To write them to another file: importer results %s -o FILE", err,
			r.batch.ID)
	}
	if err := r.summarise(summary); err != nil {
		return err
	}
	r.explain(ending)
	r.sayCanceled(summary.Counts)
	if ending.Reason == jobs.Interrupted {
		return exit(exitInterrupted)
	}
	return exit(summary.ExitCode())
}

// sayCanceled says that a batch was canceled, and what sends it after all.
func (r *filingRun) sayCanceled(counts ledger.Counts) {
	if !r.batch.Canceled && counts[filing.Canceled] == 0 {
		return
	}
	text := report.CanceledText(r.batch) + "; its rows are not sent"
	if !r.batch.Canceled {
		text = fmt.Sprintf("%s canceled and not sent", count(counts[filing.Canceled], "row"))
	}
	r.say("%s. To send the canceled rows: importer retry %s --canceled, then the same command.", r.paint.yellow(text),
		r.batch.ID)
}

func (r *filingRun) summarise(s report.Summary) error {
	if r.flags.asJSON {
		return json.NewEncoder(r.out).Encode(s)
	}
	r.printSummary(s)
	return nil
}

// explain says what an ending means, and what to do about it.
func (r *filingRun) explain(ending jobs.Outcome) {
	switch ending.Reason {
	case jobs.OutOfFunds:
		if ending.Short > 0 {
			r.say("%s: the recorded balance does not cover %s. After a top-up: importer deposit AMOUNT, then the same command.",
				r.paint.yellow("Insufficient funds"), count(ending.Short, "row"))
		} else {
			r.say("%s: %s. After a top-up, run the same command again.", r.paint.yellow("Insufficient funds"),
				ending.Halted.Note)
			if text, err := r.disagreement(context.Background(), r.ledger, ending.Halted); err == nil && text != "" {
				r.say("%s.", text)
			}
		}
	case jobs.KeyRefused:
		r.say("%s (%s). Nothing more was sent. Correct FILING_API_KEY, then run the same command again.",
			r.paint.red("The filing service rejected the API key"), ending.Halted.Note)
	case jobs.AskedToWait:
		r.say("%s until %s. Run the same command again then%s.", r.paint.yellow("The filing service asked us to wait"),
			ending.Halted.Until.Local().Format("15:04:05"), r.stays)
	case jobs.ServiceDown:
		why := r.client.LastError()
		if why != "" {
			why = ": " + why
		}
		r.say("%s: no answer from %s%s. Run the same command again later%s.",
			r.paint.yellow("The filing service cannot be reached"), r.env.BaseURL, why, r.stays)
	case jobs.QueueDown:
		r.say("%s. No row is lost. Run the same command again later%s.",
			r.paint.yellow(ending.Redis.Error()), r.stays)
	case jobs.LedgerHalted:
		r.say("%s: %s%s.", r.paint.red("Nothing more was sent"), report.HaltText(ending.Halted),
			afterHalt[ending.Halted.Reason])
	case jobs.Paused:
		r.say("The batch is paused. To resume it: importer resume %s", r.batch.ID)
	case jobs.NotApproved:
		r.say("%s: %s", r.paint.yellow("The batch is waiting for approval"),
			howToApprove(context.Background(), r.ledger, r.batch.ID))
	case jobs.CostsMore:
		r.say("%s: %s", r.paint.yellow("Some rows cost more than approved and were not sent"),
			howToApprove(context.Background(), r.ledger, r.batch.ID))
	case jobs.Interrupted:
		r.say("Interrupted. Everything is recorded. Run the same command again to resume.")
	}
}

// printSummary is the end of a run for a person.
func (r *filingRun) printSummary(s report.Summary) {
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

// importPause is how often a run looks whether another one has taken the same
// file in.
const importPause = 200 * time.Millisecond

// record finds the file's batch, or makes it. Nothing can be sent of a batch
// that is not open yet.
func (r *filingRun) record(ctx context.Context) error {
	imp := r.sheet
	if imp == nil {
		return r.answered(ctx)
	}
	if _, err := r.ledger.Batch(ctx, ""); !errors.Is(err, ledger.ErrNotFound) {
		r.fresh = "" // it holds something
	}
	step := r.phase("Reading " + filepath.Base(r.path))
	id, created, err := imp.Record(ctx, &countingRecorder{Ledger: r.ledger, phase: step}, person())
	step.end()
	for waited := time.Duration(0); errors.Is(err, ledger.ErrImporting) && waited < r.flags.patience &&
		ctx.Err() == nil; waited += importPause {
		if waited == 0 {
			r.say("Waiting: %s.", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(importPause):
		}
		id, created, err = imp.Record(ctx, r.ledger, person())
	}
	if err != nil {
		return err
	}
	if r.batch, err = r.ledger.Batch(ctx, id); err != nil {
		return err
	}
	r.understood(imp)
	for _, note := range imp.Notes() {
		r.say("%s", note)
	}
	if r.fresh != "" {
		r.say("%s", r.fresh)
	}
	if !r.batch.Open && !r.batch.Canceled {
		if err := r.placedElsewhere(ctx); err != nil {
			return err
		}
	}
	if !created {
		r.say("This file was already imported as batch %s; resuming.", r.batch.ID)
	}
	return nil
}

// endDry ends a dry run with the quote beside every row, and with the code of
// what was found.
func (r *filingRun) endDry(ctx context.Context) error {
	s, err := r.results(ctx)
	if err != nil {
		return err
	}
	if err := r.summarise(s); err != nil {
		return err
	}
	if s.Counts[filing.Invalid] > 0 {
		return exit(exitCorrect)
	}
	return nil
}
