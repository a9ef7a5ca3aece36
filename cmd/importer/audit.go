package main

import (
	"cmp"
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// withAudit returns a context whose first change of the ledger records an audit event of the
// current user. Reads before the change use another context.
func withAudit(ctx context.Context, what, of, note string) context.Context {
	// host is empty if it is unknown.
	host, _ := os.Hostname()
	return ledger.AtTerminal(ledger.WithAudit(ctx, ledger.AuditEvent{
		By:   currentUser(),
		From: host,
		What: what,
		Of:   of,
		Note: note,
	}), currentUser())
}

func (a *app) auditCommand() *cobra.Command {
	var q ledger.AuditQuery
	c := a.listCommand("audit", "List who changed what on the page and with commands, newest first", "No audit entries",
		"change", func(ctx context.Context, l *ledger.Ledger, asJSON bool) error {
			if q.Limit < 0 {
				return usage("--last must be a number of entries, or 0 for all")
			}
			events, err := l.AuditLog().List(ctx, q)
			if err == nil && len(events) == 0 && q.Of != "" {
				events, err = eventsOfBatch(ctx, l, q)
			}
			if err != nil {
				return err
			}
			return a.listAuditEvents(events, asJSON)
		})
	c.Long = `audit lists the changes that people made: uploads, deposits, approvals, pauses,
cancellations, resolved rows, schedules, accounts, webhook endpoints, and firm
settings. A change and its audit entry are recorded together.

Changes made at the filing service with importer api are not listed. Neither are
commands that only show something or write files.`
	c.Example = "  importer audit\n  importer audit --by ana --last 0\n  importer audit --of b7k2 --json"
	c.AddCommand(a.auditVerifyCommand())
	c.Flags().StringVar(&q.Of, "of", "",
		"only changes to this batch (or the beginning of its ID), schedule, or account")
	c.Flags().StringVar(&q.By, "by", "", "only changes by this person")
	c.Flags().StringVar(&q.What, "what", "", "only changes of this kind, such as deposit or approve")
	c.Flags().IntVar(&q.Limit, "last", 50, "how many entries to list, newest first; 0 for all")
	return c
}

// eventsOfBatch lists the audit events of the batch whose ID begins with q.Of. It returns none if
// the batch does not exist.
func eventsOfBatch(ctx context.Context, l *ledger.Ledger, q ledger.AuditQuery) ([]ledger.AuditEvent, error) {
	b, err := l.Batch(ctx, q.Of)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	q.Of = b.ID
	return l.AuditLog().List(ctx, q)
}

func (a *app) listAuditEvents(events []ledger.AuditEvent, asJSON bool) error {
	return list[ledger.AuditEvent]{
		empty:   "No audit entries.",
		columns: "WHEN\tWHO\tFROM\tWHAT\tOF\tNOTE",
		cells: func(e ledger.AuditEvent) []any {
			return []any{localTimeSeconds(e.At), legible(e.By), legible(cmp.Or(e.From, "-")), legible(e.What),
				legible(cmp.Or(e.Of, "-")), legible(e.Note)}
		},
	}.print(a, events, asJSON)
}
