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
		return "", fmt.Errorf("batch %s is canceled, not paused. To send the canceled rows: importer retry %s --canceled",
			b.ID, b.ID)
	}
	return fmt.Sprintf("Batch %s is resumed. Workers send the rest; without workers, run the same importer run again.",
		b.ID), l.ResumeBatch(ctx, b.ID)
}
