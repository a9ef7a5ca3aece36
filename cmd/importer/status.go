package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/retry"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
)

// statusOptions are the options of status.
type statusOptions struct{ asJSON, watch, filed bool }

func newStatusCommand(g *global) *cobra.Command {
	var o statusOptions
	c := &cobra.Command{
		Use:   "status [BATCH]",
		Short: "Show the status of a batch (default: the newest)",
		Long: `status shows the rows, the cost, and the filing status of a batch.

--watch follows the batch until every row has a result, and ends with the exit
status of a run. With --filed, it waits until every filing is filed.`,
		Example: "  importer status\n  importer status b7k2 --json\n  importer status b7k2 --watch",
		Args:    atMostOne,
		RunE: onBatch(g, func(ctx context.Context, l openLedger, b ledger.Batch) error {
			if o.filed && !o.watch {
				return usage("--filed needs --watch")
			}
			return runStatus(ctx, o, g.terminal, l.Ledger, b)
		}),
	}
	c.Flags().BoolVar(&o.asJSON, "json", false, "print one JSON line, like the last line of run --json")
	c.Flags().BoolVarP(&o.watch, "watch", "w", false, "follow the batch until every row has a result")
	c.Flags().BoolVar(&o.filed, "filed", false, "with --watch: wait until every filing is filed")
	return c
}

func runStatus(ctx context.Context, o statusOptions, t *terminal, l *ledger.Ledger, b ledger.Batch) error {
	switch {
	case o.watch && !b.Open:
		t.say("Batch %s has not been approved, so nothing is being sent. To send it: importer run %s", b.ID, b.File)
	case o.watch:
		if err := follow(ctx, t, l, b.ID, o.filed); err != nil {
			return err
		}
	}
	s, err := report.Summarize(ctx, l, b.ID)
	if err != nil {
		return err
	}
	if o.asJSON {
		t.printJSON(s)
	} else if err := printStatus(ctx, t, l, b, s); err != nil {
		return err
	}
	if o.watch {
		return exit(s.ExitCode())
	}
	return nil
}

// followEvery is the time between two reads of the batch by --watch.
const followEvery = 500 * time.Millisecond

// follow shows progress until every row has a result, or until every filing is filed.
func follow(ctx context.Context, t *terminal, l *ledger.Ledger, batch string, filed bool) error {
	stop, err := watch(ctx, t, l, batch, nil)
	if err != nil {
		return err
	}
	defer stop()
	for {
		if err := jobs.CatchUp(ctx, l); err != nil {
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

func printStatus(ctx context.Context, t *terminal, l *ledger.Ledger, b ledger.Batch, s report.Summary) error {
	table := newTable(t)
	fmt.Fprintf(table, "batch\t%s\nfile\t%s\nproduct\t%s\nstarted\t%s by %s\n", b.ID, b.File, b.Product.Title(),
		localTime(b.CreatedAt), b.CreatedBy)
	if b.Again != "" {
		fmt.Fprintf(table, "again\t%s\n", b.Again)
	}
	switch b.Approval.State {
	case ledger.ApprovalNeeded:
		fmt.Fprintf(table, "approval\t%s\n", t.yellow("waiting"))
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
			t.yellow(count(s.Filings.Exceptions, "row")+" with a filing on hold until something is corrected"))
	}
	silence, err := schedule.FindSilence(ctx, l, b.ID)
	if err != nil {
		return err
	}
	for _, line := range silence.Lines() {
		fmt.Fprintf(table, "no news\t%s\n", t.yellow(line))
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
	if text := disagreement(facts.Balance, facts.Halted); text != "" {
		fmt.Fprintf(table, "balance\t%s\n", t.yellow(text))
	}
	table.Flush()
	return printAttention(ctx, t, l, b.ID)
}

// shownAttention is the number of rows that status prints.
const shownAttention = 20

// printAttention prints the rows of a batch that need attention.
func printAttention(ctx context.Context, t *terminal, l *ledger.Ledger, batch string) error {
	shown := 0
	for row, err := range l.Results(ctx, batch) {
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
			t.print("\nNeeds attention:")
		}
		if shown++; shown > shownAttention {
			t.print("  … and more. To see all: importer results %s -o FILE", batch)
			break
		}
		t.print("  row %d  %s: %s", row.Number, row.Result, legible(cmp.Or(exception, report.Brief(row))))
	}
	return nil
}

// sayHolds explains why rows of a batch are not sent, with the remedies. It omits the case that no
// worker is running.
func sayHolds(ctx context.Context, t *terminal, l *ledger.Ledger, batch string) (facts jobs.BatchFacts, err error) {
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
			t.say("%s%s", t.yellow(legible(h.Text)), advice(ctx, l, h, facts))
		}
	}
	if text := disagreement(facts.Balance, facts.Halted); text != "" {
		t.say("%s.", text)
	}
	return facts, nil
}

// advice returns the remedy for a hold of a batch, to follow the text of the hold. It returns "" if
// the hold ends automatically at an unknown time. It advises a deposit only if deposits are
// recorded, because a first one would make the recorded balance the limit.
func advice(ctx context.Context, l *ledger.Ledger, h jobs.Hold, facts jobs.BatchFacts) string {
	// A worker continues by itself. A run has ended.
	const orRun = ". If no worker is running, run the same file again."
	batch := facts.Batch.ID
	switch h.Reason {
	case jobs.HeldForFunds, jobs.HeldForBalance:
		if h.Reason == jobs.HeldForFunds && !facts.Balance.HasDeposit {
			return " Add funds at the filing service, then: importer resume " + batch + orRun
		}
		return " After a top-up: importer deposit AMOUNT" + orRun
	case jobs.HeldForKey:
		return " Correct FILING_API_KEY and run again."
	case jobs.HeldForRestore:
		return " To continue, " + report.AfterRestore + "."
	case jobs.HeldByPause:
		return " To resume it: importer resume " + batch + "."
	case jobs.HeldForWorker:
		return " Start a worker, or run the file again."
	case jobs.HeldForApproval, jobs.HeldForCost:
		return " " + howToApprove(ctx, l, batch)
	case jobs.HeldForRate:
		if !h.Until.IsZero() {
			return " Sending starts again at " + h.Until.Local().Format("15:04:05") + "."
		}
	}
	return ""
}

func newBatchesCommand(g *global) *cobra.Command {
	return newListCommand(g, "batches", "List the batches, newest first", "No batches yet", "batch", runBatches)
}

func runBatches(ctx context.Context, t *terminal, l *ledger.Ledger, asJSON bool) error {
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
	list[report.Summary]{
		empty:   "No batches yet. To create one: importer run FILE",
		columns: "BATCH\tSTARTED\tFILE\tPRODUCT\tROWS\tSTATE",
		cells: func(s report.Summary) []any {
			b := of[s.Batch]
			return []any{b.ID, localTime(b.CreatedAt), b.File, b.Product, s.Counts.Total(),
				report.BatchState(b, s.Counts)}
		},
	}.print(t, all, asJSON)
	return nil
}
