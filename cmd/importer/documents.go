package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/documents"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

func newDocumentsCommand(g *global) *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "documents [BATCH]",
		Short: "List or save the documents of the filings of a batch",
		Long: `documents lists the documents that have arrived for the filings of a batch: filed
articles, confirmations, EIN letters, certificates, and registered agent mail.

--download DIR saves them, in a folder for each company, with a manifest.csv that
describes each file. Run the same command again to fetch missing documents.`,
		Example: "  importer documents b7k2\n  importer documents b7k2 --download filed-2026",
		Args:    atMostOne,
		RunE: onBatch(g, func(ctx context.Context, l openLedger, b ledger.Batch) error {
			return runDocuments(ctx, g, l, b, dir)
		}),
	}
	c.Flags().StringVar(&dir, "download", "", "save the documents to this folder")
	return c
}

func runDocuments(ctx context.Context, g *global, l openLedger, b ledger.Batch, dir string) error {
	items, err := documents.Items(ctx, l.Ledger, b.ID)
	if err != nil {
		return err
	}
	if dir != "" && len(items) > 0 {
		return saveDocuments(ctx, g, l, items, dir)
	}
	list[documents.Item]{
		empty:   fmt.Sprintf("No documents have arrived for batch %s yet.", b.ID),
		columns: "ROW\tCOMPANY\tFILING\tDOCUMENT\tARRIVED\tID",
		cells: func(i documents.Item) []any {
			return []any{i.Number, cmp.Or(i.Name, i.Company), i.Product.Title(), i.Type, localTime(i.At),
				cmp.Or(i.ID, "-")}
		},
	}.print(g.terminal, items, false)
	return nil
}

// saveDocuments saves the missing documents. It ends with 3 if some could not be fetched. The same
// command retries them.
func saveDocuments(ctx context.Context, g *global, l openLedger, items []documents.Item, dir string) error {
	client, err := l.env.Client()
	if err != nil {
		return err
	}
	log, err := g.logger(slog.LevelInfo)
	if err != nil {
		return err
	}
	folder, err := documents.Open(dir, documents.Config{Links: client, Downloads: l.env.Downloads, Log: log})
	if err != nil {
		return err
	}
	var fresh, there, failed int
	err = cmp.Or(folder.Save(ctx, items, func(o documents.Outcome) {
		switch {
		case o.Err != nil:
			failed++
			g.terminal.say("row %d, %s: %s", o.Number, cmp.Or(o.Type, "document"), o.Err)
		case o.Fresh:
			fresh++
		default:
			there++
		}
	}), folder.Close())
	if err != nil {
		return err
	}
	g.terminal.print("%s saved, %d already there: %s", count(fresh, "document"), there, dir)
	if failed > 0 {
		g.terminal.say("%s could not be fetched. Run the same command again to retry.", count(failed, "document"))
		return exit(exitStopped)
	}
	return nil
}
