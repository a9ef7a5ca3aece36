package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

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
