package main

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

func newAuditCommand(g *global) *cobra.Command {
	var q audit.Query
	c := newListCommand(g, "audit", "List who changed what on the page and with commands, newest first",
		"No audit entries", "change", func(ctx context.Context, t *terminal, l *ledger.Ledger, asJSON bool) error {
			return runAudit(ctx, q, t, l, asJSON)
		})
	c.Long = `audit lists the changes that people made: uploads, deposits, approvals, pauses,
cancellations, resolved rows, schedules, accounts, webhook endpoints, and firm
settings. A change and its audit entry are recorded together.

Changes made at the filing service with importer api are not listed. Neither are
commands that only show something or write files.`
	c.Example = "  importer audit\n  importer audit --by ana --last 0\n  importer audit --of b7k2 --json"
	c.AddCommand(newAuditVerifyCommand(g))
	c.Flags().StringVar(&q.Of, "of", "",
		"only changes to this batch (or the beginning of its ID), schedule, or account")
	c.Flags().StringVar(&q.By, "by", "", "only changes by this person")
	c.Flags().StringVar(&q.What, "what", "", "only changes of this kind, such as deposit or approve")
	c.Flags().IntVar(&q.Limit, "last", 50, "how many entries to list, newest first; 0 for all")
	return c
}

func runAudit(ctx context.Context, q audit.Query, t *terminal, l *ledger.Ledger, asJSON bool) error {
	if q.Limit < 0 {
		return usage("--last must be a number of entries, or 0 for all")
	}
	events, err := l.AuditLog().List(ctx, q)
	if err == nil && len(events) == 0 && q.Of != "" {
		// It may be the beginning of the ID of a batch.
		var b ledger.Batch
		if b, err = l.Batch(ctx, q.Of); err == nil {
			q.Of = b.ID
			events, err = l.AuditLog().List(ctx, q)
		} else if errors.Is(err, ledger.ErrNotFound) {
			err = nil
		}
	}
	if err != nil {
		return err
	}
	list[audit.Event]{
		empty:   "No audit entries.",
		columns: "WHEN\tWHO\tFROM\tWHAT\tOF\tNOTE",
		cells: func(e audit.Event) []any {
			return []any{localTimeSeconds(e.At), legible(e.By), legible(cmp.Or(e.From, "-")), legible(e.What),
				legible(cmp.Or(e.Of, "-")), legible(e.Note)}
		},
	}.print(t, events, asJSON)
	return nil
}

func newAuditVerifyCommand(g *global) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "verify",
		Short: "Check that the ledger is consistent; nothing is changed",
		Long: `verify checks the ledger: every sum equals its entries, every placed order owns its
purchase, and every purchase belongs to a row that is placed or existed before. It
changes nothing and needs neither the network nor an API key.

A filing that was bought twice is named. It is recorded as it is, so it does not
count as wrong: ask the filing service to refund one of the two.`,
		Example: "  importer audit verify\n  importer audit verify --json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return withLedgerAsIs(c.Context(), g, func(l openLedger) error {
				found, err := l.Verify(c.Context())
				if err != nil {
					return err
				}
				return printAuditReport(g.terminal, found, asJSON)
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false,
		"print one JSON line for each problem and each second purchase, then the counts")
	return c
}

func printAuditReport(t *terminal, found ledger.AuditReport, asJSON bool) error {
	for _, some := range []struct {
		key, word string
		sentences []string
	}{
		{"wrong", t.red("wrong:"), found.Wrong},
		{"boughtTwice", t.yellow("refund:"), found.Twice},
	} {
		for _, sentence := range some.sentences {
			if asJSON {
				t.printJSON(map[string]string{some.key: sentence})
			} else {
				t.print("%s %s", some.word, sentence)
			}
		}
	}
	if !asJSON {
		t.print("%s, %s and %s verified: %d wrong.", count(found.Rows, "row"),
			countOf(found.Entries, "entry", "entries"), count(found.Purchases, "purchase"), len(found.Wrong))
	} else {
		t.printJSON(struct {
			Rows      int `json:"rows"`
			Entries   int `json:"entries"`
			Purchases int `json:"purchases"`
			Wrong     int `json:"wrong"`
			Twice     int `json:"boughtTwice,omitempty"`
		}{found.Rows, found.Entries, found.Purchases, len(found.Wrong), len(found.Twice)})
	}
	if len(found.Wrong) > 0 {
		return exit(exitFailed)
	}
	return nil
}
