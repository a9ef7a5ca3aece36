package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/report"
)

// newBatchCommand returns a command that changes one batch. run returns the text to print.
func newBatchCommand(g *global, use, short string,
	run func(context.Context, *ledger.Ledger, ledger.Batch) (string, error)) *cobra.Command {
	return &cobra.Command{
		Use:     use + " BATCH",
		Short:   short,
		Example: "  importer " + use + " b7k2",
		Args:    oneBatch,
		RunE: onBatch(g, func(ctx context.Context, l openLedger, b ledger.Batch) error {
			text, err := run(withAudit(ctx, use, b.ID, ""), l.Ledger, b)
			if err == nil {
				g.terminal.print("%s", text)
			}
			return err
		}),
	}
}

func newPauseCommand(g *global) *cobra.Command {
	return newBatchCommand(g, "pause", "Pause a batch: send no more orders until it is resumed", runPause)
}

func runPause(ctx context.Context, l *ledger.Ledger, b ledger.Batch) (string, error) {
	if text, err := finishedText(ctx, l, b, "pause"); text != "" || err != nil {
		return text, err
	}
	return fmt.Sprintf("Batch %s is paused. Orders already sent will be recorded. To send the rest: importer resume %s",
		b.ID, b.ID), l.PauseBatch(ctx, b.ID)
}

// finishedText explains that no row of a batch can be paused or canceled. It returns "" if a row
// can be.
func finishedText(ctx context.Context, l *ledger.Ledger, b ledger.Batch, what string) (string, error) {
	f, err := l.ResultFigures(ctx, b.ID)
	n := f.Counts
	if err != nil || b.Canceled || n[filing.Ready]+n[filing.Placing]+n[filing.Uncertain] > 0 {
		return "", err
	}
	return fmt.Sprintf("Batch %s is finished (%s). There is nothing to %s.", b.ID, report.BatchState(b, n), what), nil
}

func newResumeCommand(g *global) *cobra.Command {
	return newBatchCommand(g, "resume", "Resume a paused batch, or one that waits for funds", runResume)
}

func runResume(ctx context.Context, l *ledger.Ledger, b ledger.Batch) (string, error) {
	if b.Canceled {
		return "", fmt.Errorf("batch %s is canceled, not paused. To send the canceled rows: importer retry %s "+
			"--canceled", b.ID, b.ID)
	}
	return fmt.Sprintf("Batch %s is resumed. Workers send the rest; without workers, run the same importer run again.",
		b.ID), l.ResumeBatch(ctx, b.ID)
}

func newCancelCommand(g *global) *cobra.Command {
	return newBatchCommand(g, "cancel", "Cancel every row of a batch that was not sent", runCancel)
}

func runCancel(ctx context.Context, l *ledger.Ledger, b ledger.Batch) (string, error) {
	if text, err := finishedText(ctx, l, b, "cancel"); text != "" || err != nil {
		return text, err
	}
	n, err := l.CancelBatch(ctx, b.ID)
	if err != nil {
		return "", err
	}
	f, err := l.ResultFigures(ctx, b.ID)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("Batch %s is canceled: %s not sent. Placed orders stay placed.", b.ID, count(n, "row"))
	if f.Counts[filing.Canceled] > 0 {
		text += " The same file belongs to this canceled batch. To send it: importer retry " + b.ID + " --canceled"
	}
	if sent := f.Counts[filing.Ready] + f.Counts[filing.Placing]; sent > 0 {
		text += fmt.Sprintf(" Already sent, without an answer yet: %s.", count(sent, "row"))
	}
	return text, nil
}

func newRetryCommand(g *global) *cobra.Command {
	var canceled bool
	c := newBatchCommand(g, "retry", "Make the rejected or canceled rows of a batch ready again",
		func(ctx context.Context, l *ledger.Ledger, b ledger.Batch) (string, error) {
			if canceled {
				return runRetryCanceled(ctx, l, b)
			}
			return runRetry(ctx, l, b)
		})
	c.Flags().BoolVar(&canceled, "canceled", false,
		"the canceled rows that were never sent, instead of the rejected rows")
	return c
}

const whoSends = "Workers send ready rows; without workers, run the same importer run again."

func runRetry(ctx context.Context, l *ledger.Ledger, b ledger.Batch) (string, error) {
	n, err := l.RetryBatch(ctx, b.ID)
	if err == nil && n == 0 {
		return fmt.Sprintf("Batch %s has no rejected rows. Nothing was changed.", b.ID), nil
	}
	return fmt.Sprintf("Ready again: %s of batch %s. %s", count(n, "rejected row"), b.ID, whoSends), err
}

// runRetryCanceled makes canceled rows ready again, and describes the remaining holds of the batch.
func runRetryCanceled(ctx context.Context, l *ledger.Ledger, b ledger.Batch) (string, error) {
	n, left, err := l.ReviveBatch(ctx, b.ID)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("Ready again: %s of batch %s.", count(n, "canceled row"), b.ID)
	if left > 0 {
		text += fmt.Sprintf(" Not changed: %s that had been sent. Check the company's dashboard for an order.",
			count(left, "row"))
	}
	switch {
	case n == 0:
		return text, nil
	case b.Approval.State == ledger.ApprovalNeeded:
		return text + " They wait for approval. " + howToApprove(ctx, l, b.ID), nil
	case b.Paused:
		return text + " The batch is paused. To resume it: importer resume " + b.ID, nil
	}
	return text + " " + whoSends, nil
}
