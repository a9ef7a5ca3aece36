package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/report"
)

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
