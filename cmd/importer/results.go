package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/report"
)

func newResultsCommand(g *global) *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:     "results BATCH -o FILE",
		Short:   "Write the results of a batch to a file",
		Example: "  importer results b7k2 -o march.xlsx\n  importer results b7k2 -o march.csv",
		Args:    oneBatch,
		RunE: onBatch(g, func(ctx context.Context, l openLedger, b ledger.Batch) error {
			if output == "" {
				return usage("name the file to write: -o FILE.xlsx or -o FILE.csv")
			}
			o := outputFile{asked: output, input: b.File, kinds: resultsEndings, ours: oursIn(ctx, l.Ledger)}
			if err := o.check(); err != nil {
				return err
			}
			s, err := writeResults(ctx, g.terminal, l.Ledger, b.ID, &o)
			if err == nil {
				g.terminal.say("%s: %s", output, report.BatchState(b, s.Counts))
			}
			return err
		}),
	}
	c.Flags().StringVarP(&output, "output", "o", "", "the file to write: .xlsx or .csv")
	return c
}
