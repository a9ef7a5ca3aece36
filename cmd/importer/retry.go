package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

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
