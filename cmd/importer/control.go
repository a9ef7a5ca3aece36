package main

import (
	"context"
	"fmt"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/ledger"

	"github.com/spf13/cobra"
)

// change is a command that changes one batch.
func (a *app) change(use, short string, do func(context.Context, *ledger.Ledger, ledger.Batch) (string, error)) *cobra.Command {
	return &cobra.Command{
		Use: use + " BATCH", Short: short, Example: "  importer " + use + " b7k2", Args: oneBatch,
		RunE: func(c *cobra.Command, args []string) error {
			return a.withLedger(c.Context(), func(l *ledger.Ledger) error {
				b, err := l.Batch(c.Context(), args[0])
				if err != nil {
					return err
				}
				said, err := do(acting(c.Context(), use, b.ID, ""), l, b)
				if err == nil {
					fmt.Fprintln(a.out, said)
				}
				return err
			})
		},
	}
}

func (a *app) pauseCommand() *cobra.Command {
	return a.change("pause", "Send nothing more of a batch until it is resumed", func(ctx context.Context, l *ledger.Ledger, b ledger.Batch) (string, error) {
		return fmt.Sprintf("Batch %s is paused. Orders already sent are answered; nothing more is sent until: importer resume %s", b.ID, b.ID), l.PauseBatch(ctx, b.ID)
	})
}

func (a *app) resumeCommand() *cobra.Command {
	return a.change("resume", "End a pause; where funds were out, ask the service again", func(ctx context.Context, l *ledger.Ledger, b ledger.Batch) (string, error) {
		return fmt.Sprintf("Batch %s may be sent again. The same `importer run` continues it; a worker does so by itself.", b.ID), l.ResumeBatch(ctx, b.ID)
	})
}

func (a *app) cancelCommand() *cobra.Command {
	return a.change("cancel", "Take back every row of a batch that was not sent", func(ctx context.Context, l *ledger.Ledger, b ledger.Batch) (string, error) {
		n, err := l.CancelBatch(ctx, b.ID)
		if err != nil {
			return "", err
		}
		counts, err := l.Counts(ctx, b.ID)
		if err != nil {
			return "", err
		}
		text := fmt.Sprintf("Batch %s is canceled: %s taken back. What was placed stays placed.", b.ID, count(n, "row"))
		if doubt := counts[filing.Ready] + counts[filing.Placing]; doubt > 0 {
			text += fmt.Sprintf(" At the service, with no answer yet: %s.", count(doubt, "row"))
		}
		return text, nil
	})
}

func (a *app) retryCommand() *cobra.Command {
	return a.change("retry", "Make the rejected rows of a batch ready again", func(ctx context.Context, l *ledger.Ledger, b ledger.Batch) (string, error) {
		n, err := l.RetryBatch(ctx, b.ID)
		return fmt.Sprintf("Ready again: %s of batch %s. The same `importer run` sends what is ready; a worker does so by itself.", count(n, "rejected row"), b.ID), err
	})
}
