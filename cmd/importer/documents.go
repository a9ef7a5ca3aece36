package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/documents"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

func (a *app) documentsCommand() *cobra.Command {
	var dir string
	var asJSON bool
	c := &cobra.Command{
		Use:   "documents [BATCH]",
		Short: "List or save the documents of the filings of a batch",
		Long: `documents lists the documents that have arrived for the filings of a batch: filed
articles, confirmations, EIN letters, certificates, and registered agent mail.

--download DIR saves them, in a folder for each client, with a manifest.csv that
describes each file. Run the same command again to fetch missing documents.`,
		Example: "  importer documents b7k2\n  importer documents b7k2 --download filed-2026",
		Args:    atMostOne,
		RunE: a.onLedger(func(ctx context.Context, l *ledger.Ledger, args []string) error {
			b, err := l.Batch(ctx, first(args))
			if err != nil {
				return err
			}
			items, err := documents.Items(ctx, l, b.ID)
			if err != nil {
				return err
			}
			if dir != "" {
				return a.saveDocuments(ctx, b, items, dir, asJSON)
			}
			return a.listDocuments(b, items, asJSON)
		}),
	}
	c.Flags().StringVar(&dir, "download", "", "save the documents to this folder")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON line for each document")
	return c
}

func (a *app) listDocuments(b ledger.Batch, items []documents.Item, asJSON bool) error {
	return list[documents.Item]{
		empty:   fmt.Sprintf("No documents have arrived for batch %s yet.", b.ID),
		columns: "ROW\tCLIENT\tFILING\tDOCUMENT\tARRIVED\tID",
		cells: func(i documents.Item) []any {
			return []any{i.Number, cmp.Or(i.Client, i.Company), i.Product.Title(), i.Type, localTime(i.At),
				cmp.Or(i.ID, "-")}
		},
		line: func(i documents.Item) any { return documentLine(i) },
	}.print(a, items, asJSON)
}

type savedDocument struct {
	Batch    string         `json:"batch"`
	Row      int            `json:"row"`
	Company  string         `json:"companyId"`
	Client   string         `json:"client"`
	Product  filing.Product `json:"product"`
	Document string         `json:"documentId"`
	Type     string         `json:"documentType"`
	Order    string         `json:"orderId"`
	At       time.Time      `json:"createdAt"`
	File     string         `json:"file,omitempty"`
	Error    string         `json:"error,omitempty"`
}

func documentLine(i documents.Item) savedDocument {
	return savedDocument{
		Batch:    i.Batch,
		Row:      i.Number,
		Company:  i.Company,
		Client:   i.Client,
		Product:  i.Product,
		Document: i.ID,
		Type:     i.Type,
		Order:    i.OrderID,
		At:       i.At,
	}
}

// saveDocuments saves the missing documents. It ends with 3 if some could not be
// fetched; the same command retries.
func (a *app) saveDocuments(ctx context.Context, b ledger.Batch, items []documents.Item, dir string,
	asJSON bool) (err error) {
	if len(items) == 0 {
		a.say("No documents have arrived for batch %s yet.", b.ID)
		return nil
	}
	service, err := a.env.Client()
	if err != nil {
		return err
	}
	log, err := a.logger(slog.LevelInfo)
	if err != nil {
		return err
	}
	folder, err := documents.Open(dir, documents.Config{Links: service, Downloads: a.env.Downloads, Log: log})
	if err != nil {
		return err
	}
	defer func() {
		if closing := folder.Close(); closing != nil {
			err = closing
		}
	}()
	lines := json.NewEncoder(a.out)
	var fresh, there, failed int
	err = folder.Save(ctx, items, func(o documents.Outcome) {
		switch {
		case o.Err != nil:
			failed++
			a.say("row %d, %s: %s", o.Number, cmp.Or(o.Type, "document"), o.Err)
		case o.Fresh:
			fresh++
		default:
			there++
		}
		if asJSON {
			line := documentLine(o.Item)
			line.File = o.File
			if o.Err != nil {
				line.Error = o.Err.Error()
			}
			_ = lines.Encode(line) // saving continues if the reader of stdout has ended
		}
	})
	if err != nil {
		return err
	}
	if !asJSON {
		fmt.Fprintf(a.out, "%s saved, %d already there: %s\n", count(fresh, "document"), there, dir)
	}
	if failed > 0 {
		a.say("%s could not be fetched. Run the same command again to retry.", count(failed, "document"))
		return exit(exitStopped)
	}
	return nil
}
