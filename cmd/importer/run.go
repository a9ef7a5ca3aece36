package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/config"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/intake"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// runOptions are the options of run and submit.
type runOptions struct {
	sheet       importer.Options
	output      string
	giveUpAfter time.Duration

	yes, asJSON, wait, dryRun, rehearse, acceptNames, verbose, dueDateFirst bool
	// approve makes submit wait for importer approve.
	approve bool
}

func newRunCommand(g *global) *cobra.Command {
	var o runOptions
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
  importer run companies.xlsx --rehearse
  importer run companies.csv --product annual-report --state DE --filing-year 2026 --yes
  importer run companies.xlsx -o answers.xlsx --yes --wait`,
		Args: oneFile,
		RunE: func(c *cobra.Command, args []string) error {
			if o.rehearse {
				return runRehearsal(c, o, g.terminal, args[0])
			}
			return runRun(c.Context(), o, g, args[0])
		},
	}
	addRunFlags(c, &o)
	c.Flags().StringVarP(&o.output, "output", "o", "",
		"write the results to this file, .xlsx or .csv (default FILE.results.xlsx)")
	addYesFlag(c, &o.yes, "order without asking")
	c.Flags().BoolVar(&o.wait, "wait", false, "wait for funds or for the filing service instead of ending")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "check and show the cost; send nothing")
	c.Flags().BoolVar(&o.rehearse, "rehearse", false,
		"play the file on a sandbox with time-outs, crashes and an empty balance; send nothing")
	return c
}

// addRunFlags adds the flags that run and submit share.
func addRunFlags(c *cobra.Command, o *runOptions) {
	addSheetFlags(c, &o.sheet)
	c.Flags().BoolVar(&o.dueDateFirst, "due-date-first", false, "if funds are short, place by due date, not late fees")
	c.Flags().BoolVar(&o.asJSON, "json", false, "print JSON lines; the last one is the summary")
	c.Flags().BoolVar(&o.acceptNames, "accept-names", false,
		"also order for companies whose name at the filing service differs from the spreadsheet")
	c.Flags().DurationVar(&o.giveUpAfter, "give-up-after", time.Minute,
		"give up if the filing service has not responded for this long (ignored with --wait)")
	c.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "print more about problems along the way")
}

// filingRun is one run of one file.
type filingRun struct {
	terminal *terminal
	opts     runOptions
	path     string
	// submits reports whether the command leaves the orders to the workers.
	submits bool
	waiter  waiter
	env     config.Environment
	client  *filingapi.Client
	chosen  config.Chosen
	ledger  *ledger.Ledger
	log     *slog.Logger
	// output is nil for submit, which writes no file.
	output *outputFile

	// sheet is nil for a results workbook without corrections. nothingToCorrect is the reason then.
	sheet            *importer.Import
	nothingToCorrect error
	batch            ledger.Batch
	// before has the results before this run. It is nil if nothing was submitted.
	before *ledger.Figures
	// results is the batch whose results are written. It is the batch of the file, or the batch
	// that it corrects.
	results string
	// correction is the batch of the file if it corrects another batch. Otherwise it is empty.
	correction string
	// unrecognized is the reason why the organization of the key is not known. Nothing is sent
	// unless it is nil.
	unrecognized *endedError
	// unrecorded are the answers of the filing service that could not be recorded.
	unrecorded []*jobs.Unrecorded
}

func newFilingRun(o runOptions, g *global, path string) (*filingRun, error) {
	r := &filingRun{
		terminal: g.terminal,
		opts:     o,
		path:     path,
		waiter:   waiter{g.terminal, o.giveUpAfter, o.wait},
	}
	var err error
	if r.env, err = g.environment(); err != nil {
		return nil, err
	}
	if r.client, err = r.env.Client(); err != nil {
		return nil, err
	}
	if _, err := r.env.Fees(); err != nil {
		return nil, err
	}
	level := slog.LevelError + 1
	if o.verbose {
		level = slog.LevelInfo
	}
	r.log, err = g.logger(level)
	return r, err
}

// runRun imports the file, has its batch approved, places its orders, and writes the results.
func runRun(ctx context.Context, o runOptions, g *global, path string) error {
	r, err := newFilingRun(o, g, path)
	if err != nil {
		return err
	}
	r.output = &outputFile{
		asked:    o.output,
		input:    path,
		ending:   ".results.xlsx",
		kinds:    resultsEndings,
		consumed: r.mayReplaceInput,
	}
	if err := r.output.check(); err != nil {
		return err
	}
	return r.withLedger(ctx, func(ctx context.Context) error {
		r.output.ours = oursIn(ctx, r.ledger)
		// Without -o, a free name is always found.
		if o.output != "" {
			if _, _, err := r.output.choose(); err != nil {
				return err
			}
		}
		ending, err := r.placeBatches(ctx)
		if err != nil {
			return err
		}
		return r.finish(ctx, ending)
	})
}

// withLedger opens the file and the ledger of the API key, and runs do.
func (r *filingRun) withLedger(ctx context.Context, do func(context.Context) error) (err error) {
	r.opts.sheet.Now = time.Now()
	r.sheet, err = importer.Open(r.path, r.opts.sheet)
	switch {
	case errors.Is(err, importer.ErrNoRowsNeedAttention):
		r.nothingToCorrect = err
	case err != nil:
		return err
	default:
		defer r.sheet.Close()
	}
	if err := r.recognizeKey(ctx); err != nil {
		return err
	}
	ctx = audit.AtTerminal(ctx, currentUser())
	if r.unrecognized != nil && r.unrecognized.Reason == jobs.Interrupted {
		// Nothing is sent, but the results are still written.
		ctx = context.WithoutCancel(ctx)
	}
	err = r.waiter.throughOutage(ctx, func() (err error) {
		r.ledger, err = r.env.OpenLedger(ctx)
		return err
	})
	if err != nil {
		return err
	}
	stopNotifying := func() {}
	// A dry run sends no notification.
	if !r.opts.dryRun {
		stopNotifying, err = r.env.SendNotifications(ctx, r.ledger, r.log)
	}
	if err == nil {
		err = do(ctx)
		stopNotifying()
	}
	if err != nil && len(r.unrecorded) > 0 {
		err = &unrecordedError{err}
	}
	return cmp.Or(err, r.ledger.Close())
}

// recognizeKey chooses the ledger of the key's organization. If the filing service does not
// respond, the file is still recorded, in a ledger from which nothing is sent.
func (r *filingRun) recognizeKey(ctx context.Context) error {
	err := r.askService(ctx, "the organization of the API key", func(ctx context.Context) (err error) {
		r.chosen, err = r.env.Recognize(ctx, r.client)
		return err
	})
	if errors.As(err, &r.unrecognized) {
		_, err = r.env.UseUnassigned(context.WithoutCancel(ctx))
		return err
	}
	if err == nil {
		sayLedger(r.terminal, r.chosen)
	}
	return err
}

// placeBatches imports the file and places the orders of its batch and of the related batches.
// submit leaves the orders to the workers.
func (r *filingRun) placeBatches(ctx context.Context) (jobs.RunResult, error) {
	finished := jobs.RunResult{Reason: jobs.Finished}
	if err := r.importFile(ctx); err != nil {
		return finished, err
	}
	all, err := r.related(ctx)
	if err != nil {
		return finished, err
	}
	if r.batch.Open {
		f, err := r.ledger.ResultFigures(ctx, r.results)
		if err != nil {
			return finished, err
		}
		r.before = &f
	}
	for _, r.batch = range all {
		if err = r.placeRows(ctx); err != nil {
			break
		}
	}
	if ended, ok := errors.AsType[*endedError](err); ok {
		return ended.RunResult, nil
	}
	// A person stopped the run.
	if errors.Is(err, errDeclined) || (err != nil && ctx.Err() != nil) {
		err = cmp.Or(r.printUnchanged(ctx), err)
	}
	return finished, err
}

// importFile finds the batch of the file, or creates it. No order of a batch is sent before it is
// submitted.
func (r *filingRun) importFile(ctx context.Context) error {
	imp := r.sheet
	if imp == nil {
		return r.resumeFromResults(ctx)
	}
	if _, err := r.ledger.Batch(ctx, ""); errors.Is(err, ledger.ErrNotFound) && r.chosen.Path != "" {
		r.terminal.say("A new ledger begins in %s (%s). It does not have orders that were placed elsewhere.",
			r.chosen.Path, r.chosen.Owner)
	}
	reading := r.terminal.startPhase("Reading " + filepath.Base(r.path))
	recorded, err := intake.Record(ctx, r.ledger, imp, intake.Recording{
		By:       currentUser(),
		Counted:  func(rows int) { reading.at(rows, 0) },
		Waiting:  func(err error) { r.terminal.say("Waiting: %s.", err) },
		Patience: r.opts.giveUpAfter,
	})
	reading.end()
	if err != nil {
		return err
	}
	if r.batch, err = r.ledger.Batch(ctx, recorded.Batch); err != nil {
		return err
	}
	r.terminal.say("%s", imp.ColumnSummary())
	for _, note := range imp.Notes() {
		r.terminal.say("%s", note)
	}
	if !r.batch.Open && !r.batch.Canceled {
		if err := r.checkPlacedElsewhere(ctx); err != nil {
			return err
		}
	}
	if !recorded.Created {
		r.terminal.say("This file was already imported as batch %s; resuming.", r.batch.ID)
	}
	return nil
}

// placeRows has the batch approved and places the orders of its rows that can be sent. It returns an
// endedError if it cannot place them now.
func (r *filingRun) placeRows(ctx context.Context) error {
	f, err := r.ledger.Figures(ctx, r.batch.ID)
	if err != nil {
		return err
	}
	// A canceled batch has only uncertain rows left, which can still be resolved.
	if f.Left() == 0 && (f.HeldBack == 0 || r.batch.Canceled) {
		if (r.batch.ID == r.correction || r.submits) && !r.batch.Open && !r.batch.Canceled && !r.opts.dryRun {
			// The results and the page show the remaining errors.
			return r.ledger.OpenBatch(r.withAudit(ctx, "correct"), r.batch.ID)
		}
		return nil
	}
	if r.submits && r.batch.Open && (f.HeldBack == 0 || !r.opts.acceptNames) {
		return nil
	}
	if r.unrecognized != nil {
		if r.unrecognized.Reason == jobs.KeyRefused {
			// Record it for the status of the batch.
			ctx := context.WithoutCancel(ctx)
			if err := r.ledger.Fleet().RecordKeyRefused(ctx, r.unrecognized.Halted.Note); err != nil {
				return err
			}
		}
		return r.unrecognized
	}
	// Load the prices before the approval, because no one should approve an order that cannot be
	// sent.
	var quoter pricing.Quoter
	err = r.askService(ctx, "its prices", func(ctx context.Context) (err error) {
		quoter, err = r.env.PriceSource(r.ledger, r.client)(ctx)
		return err
	})
	if err != nil {
		return err
	}
	queue, err := r.openQueue(ctx)
	if err != nil {
		return err
	}
	defer queue.Close()
	if err := r.approveBatch(ctx, queue, quoter, f.HeldBack); err != nil || r.opts.dryRun || r.submits {
		return err
	}
	if b, err := r.ledger.Batch(ctx, r.batch.ID); err != nil || !b.Open {
		// Every row is held back.
		return err
	}
	return r.placeOrders(ctx, queue, quoter)
}

// withAudit is withAudit for a change of the batch.
func (r *filingRun) withAudit(ctx context.Context, what string) context.Context {
	return withAudit(ctx, what, r.batch.ID, r.batch.File)
}

// approveBatch has the batch approved. A new batch is approved as a whole. For a batch that was
// submitted before, the held-back rows and the increased costs are approved. It returns an
// endedError if the batch waits for the approval of another person.
func (r *filingRun) approveBatch(ctx context.Context, queue *jobs.Queue, quoter pricing.Quoter, held int) error {
	switch {
	case r.opts.dryRun:
		err := r.confirmOrders(ctx, queue, quoter, "")
		if err == nil {
			r.terminal.say("Nothing was sent (--dry-run).")
		}
		return err
	case !r.batch.Open:
		if err := r.confirmOrders(ctx, queue, quoter, r.nothingDone()); err != nil {
			return err
		}
		// A batch whose rows are all held back is not submitted, so that the same command compares
		// it again.
		f, err := r.ledger.Figures(ctx, r.batch.ID)
		if err != nil || f.Left() == 0 && f.HeldBack > 0 {
			return err
		}
		return r.submitBatch(ctx)
	case held > 0 && !r.batch.Canceled:
		// Those that can be sent now wait for approval of their cost.
		q, err := r.quote(ctx, queue, quoter)
		if err == nil && q.Review.Released > 0 {
			_, err = r.sayCost(ctx, q)
		}
		if err != nil {
			return err
		}
	}
	if r.opts.approve {
		return nil
	}
	err := approveCosts(ctx, approveOptions{yes: r.opts.yes}, r.terminal, r.ledger, r.batch)
	switch {
	case errors.Is(err, approval.ErrSecondPerson), errors.Is(err, approval.ErrApproveBatchFirst):
		r.terminal.say("Nothing was approved: %v.", err)
	// Without approval they keep waiting.
	case !errors.Is(err, errDeclined):
		return err
	}
	return nil
}

// submitBatch submits the batch to the process that places its orders. It returns an endedError if
// the batch waits for approval, because a policy of the firm or the flag approve requires it.
func (r *filingRun) submitBatch(ctx context.Context) error {
	what := "run"
	if r.submits {
		what = "submit"
	}
	if err := pricing.ChooseOrder(ctx, r.ledger, r.batch, r.opts.dueDateFirst); err != nil {
		return err
	}
	plan, err := intake.RequestApproval(r.withAudit(ctx, what), r.ledger, r.batch.ID, r.opts.approve)
	if err != nil {
		return err
	}
	if err := r.ledger.OpenBatch(r.withAudit(ctx, what), r.batch.ID); err != nil || plan == "" {
		return err
	}
	return &endedError{jobs.RunResult{Reason: jobs.NotApproved}}
}

// nothingDone returns the message that a person who declined changed nothing.
func (r *filingRun) nothingDone() string {
	if r.submits {
		return "Nothing was submitted."
	}
	return "Nothing was sent."
}

// confirmOrders shows the quote and asks for approval. unchanged is the message after a refusal.
func (r *filingRun) confirmOrders(ctx context.Context, queue *jobs.Queue, quoter pricing.Quoter,
	unchanged string) error {
	q, err := r.quote(ctx, queue, quoter)
	if err != nil {
		return err
	}
	second, err := approval.New(r.ledger).NeedsSecond(ctx, r.batch.ID)
	if err != nil {
		return err
	}
	warnings, err := r.sayCost(ctx, q)
	if err != nil || r.opts.dryRun || q.Rows+q.Before == 0 {
		return err
	}
	question := "Approve %s, %s%s? Filings cannot be undone."
	if second {
		question = "Submit %s for approval, %s%s?"
	}
	return r.terminal.ask(ctx, r.opts.yes, fmt.Sprintf(question, count(q.Rows, "order"), q.TotalText(), warnings),
		unchanged)
}

// sayCost prints the cost and the warnings of the batch. It returns the warnings like sayWarnings.
func (r *filingRun) sayCost(ctx context.Context, q intake.Quote) (warnings string, err error) {
	balance, err := r.ledger.Balance(ctx)
	if err != nil {
		return "", err
	}
	sayQuote(r.terminal, q.BatchQuote)
	sayEndpointWarning(r.terminal, q.Endpoint)
	if balance.HasDeposit {
		r.terminal.say("  available %s", balance.Available().Dollars())
	}
	if short := balance.Missing(q.Total.Amount); balance.HasDeposit && short > 0 {
		r.terminal.say("  %s", r.terminal.yellow("Insufficient funds: you need "+short.Dollars()+" more. Orders are "+
			"sent as far as the balance allows; the rest wait."))
	}
	return sayWarnings(ctx, r.terminal, r.ledger, r.batch)
}

// quote looks up and compares the companies of the batch, shows the differences, and calculates the
// cost.
func (r *filingRun) quote(ctx context.Context, queue *jobs.Queue, quoter pricing.Quoter) (intake.Quote, error) {
	secrets, err := r.env.WebhookSecrets()
	if err != nil {
		return intake.Quote{}, err
	}
	lookingUp := r.terminal.startPhase("Looking up companies")
	o := intake.Quoting{
		Ledger:      r.ledger,
		Prices:      func(context.Context) (pricing.Quoter, error) { return quoter, nil },
		Throttle:    r.env.Throttle(queue),
		Concurrency: r.env.Concurrency,
		Accept:      r.opts.acceptNames,
		Secret:      len(secrets) > 0,
		LookedUp:    lookingUp.at,
		Waiting:     lookingUp.showWait,
		Patience:    r.opts.giveUpAfter,
	}
	if r.opts.wait {
		o.Patience = math.MaxInt64
	}
	// If no one reads the quote, the workers look up each company before they send its row.
	skip := r.submits && r.opts.yes && !r.opts.acceptNames && !r.opts.approve
	// Otherwise rows may be in flight.
	if !skip && (!r.batch.Open || !r.opts.dryRun) {
		o.Records = r.client
	}
	q, err := o.Quote(ctx, r.batch.ID)
	lookingUp.end()
	if err == nil {
		sayReview(r.terminal, q.Review)
	}
	return q, err
}

// printUnchanged prints the last line of --json for a batch that was not changed.
func (r *filingRun) printUnchanged(ctx context.Context) error {
	if !r.opts.asJSON {
		return nil
	}
	// The summary is also printed after Ctrl-C.
	s, err := report.Summarize(context.WithoutCancel(ctx), r.ledger, r.batch.ID)
	if err != nil {
		return err
	}
	r.terminal.printJSON(s)
	return nil
}

// resumeFromResults resumes the batch of a results workbook without corrections.
func (r *filingRun) resumeFromResults(ctx context.Context) error {
	origin, err := report.OriginOf(r.path)
	if err != nil || origin == nil {
		return r.nothingToCorrect
	}
	b, err := r.ledger.Batch(ctx, origin.Batch)
	if err != nil || b.ID != origin.Batch || !b.Open && !b.Prepared {
		return r.nothingToCorrect
	}
	r.batch = b
	r.terminal.say("This results workbook needs no correction. Resuming its batch %s (%s).", b.ID, b.File)
	return nil
}

// related lists the batches that the command works on, and sets the one whose results it writes.
// The batch of the file is first. The others are the batch that it corrects and the corrections of
// that batch, because the results include their rows.
func (r *filingRun) related(ctx context.Context) ([]ledger.Batch, error) {
	all := []ledger.Batch{r.batch}
	r.results = r.batch.ID
	if r.batch.Corrects != "" {
		original, err := r.ledger.Batch(ctx, r.batch.Corrects)
		if err != nil {
			return nil, err
		}
		r.terminal.say("This file corrects rows of batch %s (%s).", original.ID, original.File)
		r.correction, r.results = r.batch.ID, original.ID
		all = append(all, original)
	}
	if r.opts.dryRun {
		return all[:1], nil
	}
	others, err := r.ledger.Corrections().List(ctx, r.results)
	for _, b := range others {
		if b.ID != r.correction {
			all = append(all, b)
		}
	}
	return all, err
}

// shown returns the batch whose results the command shows. It is the corrected batch as soon as its
// corrections may be sent.
func (r *filingRun) shown(ctx context.Context) (ledger.Batch, error) {
	if r.correction != "" {
		b, err := r.ledger.Batch(ctx, r.correction)
		if err != nil || !b.Open || b.Approval.State == ledger.ApprovalNeeded {
			return b, err
		}
	}
	return r.ledger.Batch(ctx, r.results)
}

// mayReplaceInput reports whether the results may replace the input file. The file must be the
// results workbook of the batch, and every change in it must be imported.
func (r *filingRun) mayReplaceInput() (bool, error) {
	if r.correction == "" && r.sheet != nil {
		return false, nil
	}
	origin, err := report.OriginOf(r.path)
	if err != nil || origin == nil || origin.Batch != r.results {
		return false, err
	}
	hash, err := report.Fingerprint(r.path)
	if err != nil {
		return false, err
	}
	return r.ledger.ResultFiles().IsRecorded(context.Background(), hash)
}

// checkPlacedElsewhere refuses to send a file if the results beside it were written from another
// ledger. This ledger does not know the orders in them, and would buy them again.
func (r *filingRun) checkPlacedElsewhere(ctx context.Context) error {
	if r.output == nil || r.opts.sheet.Again != "" || r.batch.Corrects != "" {
		return nil
	}
	for n := 1; n <= mostNames; n++ {
		path := r.output.name(n)
		origin, err := report.OriginOf(path)
		if err != nil || origin == nil {
			if _, missing := os.Stat(path); missing != nil {
				return nil
			}
			continue
		}
		if origin.Batch != r.batch.ID || !slices.Contains(origin.Accounts, r.env.Account()) {
			// These are test orders, or orders of another organization.
			continue
		}
		orders, err := report.OrdersIn(path)
		if err != nil || len(orders) == 0 {
			continue
		}
		known, err := r.ledger.ResultFiles().KnownOrders(ctx, orders)
		if err != nil {
			return err
		}
		orders = slices.DeleteFunc(orders, func(id string) bool { return known[id] })
		if len(orders) == 0 {
			continue
		}
		return fmt.Errorf("%s says that this file was placed before, as %s. The ledger in use (%s) does not have "+
			"these orders and would buy them again. Nothing was sent. Use the ledger that placed them: --ledger NAME, "+
			`or FILING_DATA_DIR. To place the orders a second time, use --again="reason"`,
			path, text.FirstOf(orders, 5), r.env.LedgerName())
	}
	return nil
}
