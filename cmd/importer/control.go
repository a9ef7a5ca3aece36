package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/report"
)

// changeCommand returns a command that changes one batch.
func (a *app) changeCommand(use, short string,
	do func(context.Context, *ledger.Ledger, ledger.Batch) (string, error)) *cobra.Command {
	return &cobra.Command{
		Use:     use + " BATCH",
		Short:   short,
		Example: "  importer " + use + " b7k2",
		Args:    oneBatch,
		RunE: a.onLedger(func(ctx context.Context, l *ledger.Ledger, args []string) error {
			b, err := l.Batch(ctx, args[0])
			if err != nil {
				return err
			}
			said, err := do(withAudit(ctx, use, b.ID, ""), l, b)
			if err == nil {
				fmt.Fprintln(a.out, said)
			}
			return err
		}),
	}
}

func (a *app) pauseCommand() *cobra.Command {
	return a.changeCommand("pause", "Pause a batch: send no more orders until it is resumed",
		func(ctx context.Context, l *ledger.Ledger, b ledger.Batch) (string, error) {
			if text, err := finishedText(ctx, l, b, "pause"); text != "" || err != nil {
				return text, err
			}
			return fmt.Sprintf(
				"Batch %s is paused. Orders already sent will be recorded. To send the rest: importer resume %s",
				b.ID, b.ID), l.PauseBatch(ctx, b.ID)
		})
}

func (a *app) resumeCommand() *cobra.Command {
	return a.changeCommand("resume", "Resume a paused batch, or one that waits for funds",
		func(ctx context.Context, l *ledger.Ledger, b ledger.Batch) (string, error) {
			if b.Canceled {
				return "", fmt.Errorf(
					"batch %s is canceled, not paused. To send the canceled rows: importer retry %s "+
						"--canceled", b.ID, b.ID)
			}
			return fmt.Sprintf(
					"Batch %s is resumed. Workers send the rest; without workers, run the same importer run again.",
					b.ID),
				l.ResumeBatch(ctx, b.ID)
		})
}

func (a *app) cancelCommand() *cobra.Command {
	return a.changeCommand("cancel", "Cancel every row of a batch that was not sent",
		func(ctx context.Context, l *ledger.Ledger, b ledger.Batch) (string, error) {
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
			counts := f.Counts
			text := fmt.Sprintf("Batch %s is canceled: %s not sent. Placed orders stay placed.", b.ID,
				count(n, "row"))
			if counts[filing.Canceled] > 0 {
				text += fmt.Sprintf(
					" The same file belongs to this canceled batch. To send it: importer retry %s --canceled",
					b.ID)
			}
			if sent := counts[filing.Ready] + counts[filing.Placing]; sent > 0 {
				text += fmt.Sprintf(" Already sent, without an answer yet: %s.", count(sent, "row"))
			}
			return text, nil
		})
}

// finishedText explains that no row of a batch can be paused or canceled. It returns "" if a row
// can be.
func finishedText(ctx context.Context, l *ledger.Ledger, b ledger.Batch, what string) (string, error) {
	f, err := l.ResultFigures(ctx, b.ID)
	counts := f.Counts
	if err != nil || b.Canceled || counts[filing.Ready]+counts[filing.Placing]+counts[filing.Uncertain] > 0 {
		return "", err
	}
	return fmt.Sprintf("Batch %s is finished (%s). There is nothing to %s.", b.ID, report.BatchState(b, counts),
		what), nil
}

func (a *app) retryCommand() *cobra.Command {
	var canceled bool
	c := a.changeCommand("retry", "Make the rejected or canceled rows of a batch ready again",
		func(ctx context.Context, l *ledger.Ledger, b ledger.Batch) (string, error) {
			if canceled {
				return reviveCanceled(ctx, l, b)
			}
			n, err := l.RetryBatch(ctx, b.ID)
			if err == nil && n == 0 {
				return fmt.Sprintf("Batch %s has no rejected rows. Nothing was changed.", b.ID), nil
			}
			return fmt.Sprintf("Ready again: %s of batch %s. %s", count(n, "rejected row"), b.ID, whoSends), err
		})
	c.Flags().BoolVar(&canceled, "canceled", false,
		"the canceled rows that were never sent, instead of the rejected rows")
	return c
}

const whoSends = "Workers send ready rows; without workers, run the same importer run again."

// reviveCanceled makes canceled rows ready again, and describes the remaining holds of the batch.
func reviveCanceled(ctx context.Context, l *ledger.Ledger, b ledger.Batch) (string, error) {
	n, left, err := l.ReviveBatch(ctx, b.ID)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("Ready again: %s of batch %s.", count(n, "canceled row"), b.ID)
	if left > 0 {
		text += fmt.Sprintf(
			" Not changed: %s that had been sent. Check the company's dashboard for an order.",
			count(left, "row"))
	}
	switch {
	case n == 0:
		return text, nil
	case b.Approval.State == ledger.ApprovalNeeded:
		text += " They wait for approval. " + howToApprove(ctx, l, b.ID)
	case b.Paused:
		text += fmt.Sprintf(" The batch is paused. To resume it: importer resume %s", b.ID)
	default:
		text += " " + whoSends
	}
	return text, nil
}
