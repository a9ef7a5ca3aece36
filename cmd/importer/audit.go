package main

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

func newAuditCommand(g *global) *cobra.Command {
	var q ledger.AuditQuery
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

func runAudit(ctx context.Context, q ledger.AuditQuery, t *terminal, l *ledger.Ledger, asJSON bool) error {
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
	return list[ledger.AuditEvent]{
		empty:   "No audit entries.",
		columns: "WHEN\tWHO\tFROM\tWHAT\tOF\tNOTE",
		cells: func(e ledger.AuditEvent) []any {
			return []any{localTimeSeconds(e.At), legible(e.By), legible(cmp.Or(e.From, "-")), legible(e.What),
				legible(cmp.Or(e.Of, "-")), legible(e.Note)}
		},
	}.print(t, events, asJSON)
}
