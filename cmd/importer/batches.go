package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/retry"
)

func (a *app) batchesCommand() *cobra.Command {
	return a.listCommand("batches", "List the batches, newest first", "No batches yet", "batch", a.listBatches)
}

func (a *app) listBatches(ctx context.Context, l *ledger.Ledger, asJSON bool) error {
	batches, err := l.Batches(ctx)
	if err != nil {
		return err
	}
	of := make(map[string]ledger.Batch)
	var all []report.Summary
	for _, b := range batches {
		s, err := report.Summarize(ctx, l, b.ID)
		if err != nil {
			return err
		}
		of[b.ID], all = b, append(all, s)
	}
	return list[report.Summary]{
		empty:   "No batches yet. To create one: importer run FILE",
		columns: "BATCH\tSTARTED\tFILE\tPRODUCT\tROWS\tSTATE",
		cells: func(s report.Summary) []any {
			b := of[s.Batch]
			return []any{b.ID, localTime(b.CreatedAt), b.File, b.Product, s.Counts.Total(),
				report.BatchState(b, s.Counts)}
		},
	}.print(a, all, asJSON)
}

// statusFlags are the options of status.
type statusFlags struct{ json, watch, filed bool }

func (a *app) statusCommand() *cobra.Command {
	var f statusFlags
	c := &cobra.Command{
		Use:   "status [BATCH]",
		Short: "Show the status of a batch (default: the newest)",
		Long: `status shows the rows, the cost, and the filing status of a batch.

--watch follows the batch until every row has a result, and ends with the exit
status of a run. With --filed, it waits until every filing is filed.`,
		Example: "  importer status\n  importer status b7k2 --json\n  importer status b7k2 --watch",
		Args:    atMostOne,
		RunE: a.onLedger(func(ctx context.Context, l *ledger.Ledger, args []string) error {
			if f.filed && !f.watch {
				return usage("--filed needs --watch")
			}
			return a.status(ctx, l, first(args), f)
		}),
	}
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON line, like the last line of run --json")
	c.Flags().BoolVarP(&f.watch, "watch", "w", false, "follow the batch until every row has a result")
	c.Flags().BoolVar(&f.filed, "filed", false, "with --watch: wait until every filing is filed")
	return c
}

func (a *app) status(ctx context.Context, l *ledger.Ledger, id string, f statusFlags) error {
	b, err := l.Batch(ctx, id)
	if err != nil {
		return err
	}
	switch {
	case f.watch && !b.Open:
		a.say("Batch %s has not been approved, so nothing is being sent. To send it: importer run %s", b.ID, b.File)
	case f.watch:
		if err := a.follow(ctx, l, b.ID, f.filed); err != nil {
			return err
		}
	}
	s, err := report.Summarize(ctx, l, b.ID)
	if err != nil {
		return err
	}
	if f.json {
		err = json.NewEncoder(a.out).Encode(s)
	} else {
		err = a.showStatus(ctx, l, b, s)
	}
	if err == nil && f.watch {
		err = exit(s.ExitCode())
	}
	return err
}

// followEvery is the time between two reads of the batch by --watch.
const followEvery = 500 * time.Millisecond

// follow shows progress until every row has a result.
func (a *app) follow(ctx context.Context, l *ledger.Ledger, batch string, filed bool) error {
	stop, err := a.watch(ctx, l, batch, nil)
	if err != nil {
		return err
	}
	defer stop()
	for {
		if err := jobs.ApplyEvents(ctx, l); err != nil {
			return err
		}
		s, err := report.Summarize(ctx, l, batch)
		if err != nil {
			return err
		}
		if s.Left() == 0 && (!filed || s.Filings.Total() == s.Filings.Statuses[filing.FiledStatus]) {
			return nil
		}
		if err := retry.Sleep(ctx, followEvery); err != nil {
			return err
		}
	}
}

func (a *app) showStatus(ctx context.Context, l *ledger.Ledger, b ledger.Batch, s report.Summary) error {
	table := newTable(a.out)
	fmt.Fprintf(table, "batch\t%s\n", b.ID)
	fmt.Fprintf(table, "file\t%s\n", b.File)
	fmt.Fprintf(table, "product\t%s\n", b.Product.Title())
	fmt.Fprintf(table, "started\t%s by %s\n", localTime(b.CreatedAt), b.CreatedBy)
	if b.Again != "" {
		fmt.Fprintf(table, "again\t%s\n", b.Again)
	}
	switch b.Approval.State {
	case ledger.ApprovalNeeded:
		fmt.Fprintf(table, "approval\t%s\n", a.paint.yellow("waiting"))
	case ledger.ApprovalGiven:
		fmt.Fprintf(table, "approval\tby %s, %s\n", b.Approval.By, localTime(b.Approval.At))
	}
	fmt.Fprintf(table, "rows\t%d: %s\n", s.Counts.Total(), report.BatchState(b, s.Counts))
	var words []string
	for _, status := range report.FilingStatuses(s.Filings) {
		words = append(words, fmt.Sprintf("%d %s", status.Rows, legible(status.Word)))
	}
	if len(words) > 0 {
		fmt.Fprintf(table, "filings\t%s\n", strings.Join(words, ", "))
	}
	if s.Filings.Exceptions > 0 {
		fmt.Fprintf(table, "exceptions\t%s\n",
			a.paint.yellow(count(s.Filings.Exceptions, "row")+" with a filing on hold until something is corrected"))
	}
	fmt.Fprintf(table, "spent\t%s\n", s.Spent)
	if !s.Reserved.IsZero() {
		fmt.Fprintf(table, "reserved\t%s for uncertain rows\n", s.Reserved)
	}
	facts, err := jobs.LoadBatchFacts(ctx, l, b, s.Figures)
	if err != nil {
		return err
	}
	for _, hold := range facts.Holds() {
		fmt.Fprintf(table, "not sent\t%s%s\n", legible(hold.Text), advice(ctx, l, hold, facts))
	}
	disagrees, err := a.disagreement(ctx, l, facts.Halted)
	if err != nil {
		return err
	}
	if disagrees != "" {
		fmt.Fprintf(table, "balance\t%s\n", a.paint.yellow(disagrees))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	shown := 0
	for row, err := range l.Results(ctx, b.ID) {
		if err != nil {
			return err
		}
		exception := report.ExceptionText(row.Items)
		switch row.Result {
		case filing.Invalid, filing.Rejected, filing.Uncertain:
		default:
			if exception == "" {
				continue
			}
		}
		if shown == 0 {
			fmt.Fprintln(a.out, "\nNeeds attention:")
		}
		if shown++; shown > 20 {
			fmt.Fprintf(a.out, "  … and more. To see all: importer results %s -o FILE\n", b.ID)
			break
		}
		fmt.Fprintf(a.out, "  row %d  %s: %s\n", row.Number, row.Result, legible(cmp.Or(exception, report.Brief(row))))
	}
	return nil
}

// disagreement explains that the recorded balance differs from the filing service, and how to
// correct it. It returns "" if the two agree.
func (a *app) disagreement(ctx context.Context, l *ledger.Ledger, halted ledger.Halted) (string, error) {
	book, err := l.Balance(ctx)
	if err != nil {
		return "", err
	}
	text := report.DisagreeText(halted, book)
	if text != "" {
		text += ". Check the balance at the filing service, then record the difference: importer deposit --adjust " +
			"--note REASON -- AMOUNT (-" + book.Available().String() + " if nothing is left there)"
	}
	return text, nil
}

// sayHolds explains why rows of a batch are not sent, with the remedies. It omits the case that no
// worker is running.
func (a *app) sayHolds(ctx context.Context, l *ledger.Ledger, batch string) (jobs.BatchFacts, error) {
	var facts jobs.BatchFacts
	b, err := l.Batch(ctx, batch)
	if err != nil {
		return facts, err
	}
	figures, err := l.Figures(ctx, b.ID)
	if err != nil {
		return facts, err
	}
	if facts, err = jobs.LoadBatchFacts(ctx, l, b, figures); err != nil {
		return facts, err
	}
	for _, h := range facts.Holds() {
		if h.Reason != jobs.HeldForWorker {
			a.say("%s%s", a.paint.yellow(legible(h.Text)), advice(ctx, l, h, facts))
		}
	}
	disagrees, err := a.disagreement(ctx, l, facts.Halted)
	if disagrees != "" {
		a.say("%s.", disagrees)
	}
	return facts, err
}

// advice returns the remedy for a hold of a batch, to follow the text of the hold. It returns "" if
// the hold ends automatically at an unknown time. It advises a deposit only if deposits are
// recorded, because a first one would make the recorded balance the limit.
func advice(ctx context.Context, l *ledger.Ledger, h jobs.Hold, facts jobs.BatchFacts) string {
	// A worker continues by itself. A run has ended.
	const orRun = ". If no worker is running, run the same file again."
	batch := facts.Batch.ID
	todo := map[jobs.HoldReason]string{
		jobs.HeldForFunds:   "After a top-up: importer deposit AMOUNT" + orRun,
		jobs.HeldForBalance: "After a top-up: importer deposit AMOUNT" + orRun,
		jobs.HeldForKey:     "Correct FILING_API_KEY and run again.",
		jobs.HeldForRestore: "To continue, " + report.AfterRestore + ".",
		jobs.HeldByPause:    "To resume it: importer resume " + batch + ".",
		jobs.HeldForWorker:  "Start a worker, or run the file again.",
	}[h.Reason]
	if h.Reason == jobs.HeldForApproval || h.Reason == jobs.HeldForCost {
		todo = howToApprove(ctx, l, batch)
	}
	if h.Reason == jobs.HeldForFunds && !facts.Balance.HasDeposit {
		todo = "Add funds at the filing service, then: importer resume " + batch + orRun
	}
	if h.Reason == jobs.HeldForRate && !h.Until.IsZero() {
		todo = "Sending starts again at " + h.Until.Local().Format("15:04:05") + "."
	}
	if todo != "" {
		todo = " " + todo
	}
	return todo
}

func (a *app) resultsCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:     "results BATCH -o FILE",
		Short:   "Write the results of a batch to a file",
		Example: "  importer results b7k2 -o march.xlsx\n  importer results b7k2 -o march.csv",
		Args:    oneBatch,
		RunE: a.onLedger(func(ctx context.Context, l *ledger.Ledger, args []string) error {
			if output == "" {
				return usage("name the file to write: -o FILE.xlsx or -o FILE.csv")
			}
			b, err := l.Batch(ctx, args[0])
			if err != nil {
				return err
			}
			o := outputFile{asked: output, input: b.File, kinds: resultsEndings, ours: oursIn(ctx, l)}
			if err := o.check(); err != nil {
				return err
			}
			s, err := a.writeResults(ctx, l, b.ID, &o)
			if err == nil {
				a.say("%s: %s", output, report.BatchState(b, s.Counts))
			}
			return err
		}),
	}
	c.Flags().StringVarP(&output, "output", "o", "", "the file to write: .xlsx or .csv")
	return c
}
