package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"bulkfiling/internal/ledger"
)

// acting makes what is changed under the context an act of whoever is at the
// keyboard. What is asked before the change is asked under another context: the
// first change records the act.
func acting(ctx context.Context, what, of, note string) context.Context {
	host, _ := os.Hostname() // where it is not known, nothing is said of it
	return ledger.AtTerminal(ledger.WithAudit(ctx, ledger.AuditEvent{
		By:   person(),
		From: host,
		What: what,
		Of:   of,
		Note: note,
	}), person())
}

func (a *app) auditCommand() *cobra.Command {
	var q ledger.AuditQuery
	var asJSON bool
	c := &cobra.Command{
		Use:   "audit",
		Short: "List who changed what on the page and with commands, newest first",
		Long: `audit lists the changes that people made: uploads, deposits, approvals, pauses,
cancellations, resolved rows, schedules, accounts, webhook endpoints, and firm
settings. A change and its audit entry are recorded together.

Changes made at the filing service with users, companies, org, and prices are not
listed. Neither are commands that only show something or write files.`,
		Example: "  importer audit\n  importer audit --by ana --last 0\n  importer audit --of b7k2 --json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if q.Limit < 0 {
				return usage("--last must be a number of entries, or 0 for all")
			}
			return a.listing(c.Context(), "No audit entries", func(l *ledger.Ledger) error {
				acts, err := l.AuditLog().List(c.Context(), q)
				if err == nil && len(acts) == 0 && q.Of != "" {
					acts, err = actsOfBatch(c.Context(), l, q)
				}
				if err != nil {
					return err
				}
				return a.listActs(acts, asJSON)
			})
		},
	}
	c.AddCommand(a.auditVerifyCommand(), a.rotateSealKeyCommand())
	c.Flags().StringVar(&q.Of, "of", "",
		"only changes to this batch (or the beginning of its ID), schedule, or account")
	c.Flags().StringVar(&q.By, "by", "", "only changes by this person")
	c.Flags().StringVar(&q.What, "what", "", "only changes of this kind, such as deposit or approve")
	c.Flags().IntVar(&q.Limit, "last", 50, "how many entries to list, newest first; 0 for all")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON line for each change")
	return c
}

// actsOfBatch lists what was done to a batch that is named by the beginning of
// its id; nothing where there is no such batch.
func actsOfBatch(ctx context.Context, l *ledger.Ledger, q ledger.AuditQuery) ([]ledger.AuditEvent, error) {
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

func (a *app) listActs(acts []ledger.AuditEvent, asJSON bool) error {
	if asJSON {
		lines := json.NewEncoder(a.out)
		for _, act := range acts {
			err := lines.Encode(struct {
				Seq  int64     `json:"seq"`
				At   time.Time `json:"at"`
				By   string    `json:"by"`
				From string    `json:"from,omitempty"`
				What string    `json:"what"`
				Of   string    `json:"of,omitempty"`
				Note string    `json:"note,omitempty"`
			}{act.Seq, act.At, act.By, act.From, act.What, act.Of, act.Note})
			if err != nil {
				return err
			}
		}
		return nil
	}
	if len(acts) == 0 {
		a.say("No audit entries.")
		return nil
	}
	table := lineUp(a.out)
	fmt.Fprintln(table, "WHEN\tWHO\tFROM\tWHAT\tOF\tNOTE")
	for _, act := range acts {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", act.At.Local().Format("2006-01-02 15:04:05"), legible(act.By),
			legible(cmp.Or(act.From, "-")), legible(act.What), legible(cmp.Or(act.Of, "-")), legible(act.Note))
	}
	return table.Flush()
}
