package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/resolve"
)

// resolveRestoredOptions are the options of resolve restored.
type resolveRestoredOptions struct {
	since       string
	nothingSent bool
	end         bool
	yes         bool
}

func newResolveRestoredCommand(g *global) *cobra.Command {
	var o resolveRestoredOptions
	c := &cobra.Command{
		Use:   "restored",
		Short: "Check the ledger after a restore, then send orders again",
		Long: `After a restore, orders that were sent since the backup look unsent. Sent again,
they would be bought twice. The same goes for a fail-over of the database that lost
commits, and for a file that was copied back. The ledger notices that it went back in
time, and nothing is sent until you end the check:

  1. Submit again every spreadsheet that was submitted since. Repeat retries and schedule
     runs of that time. Nothing of it is sent.
  2. importer resolve restored marks every ready row as uncertain and reserves its money.
  3. Resolve these rows with importer resolve, or on the page under Uncertain.
  4. importer resolve restored --end ends the check. Orders are sent again.

Steps 1 to 3 can be repeated. Running processes have already recorded the orders that
they sent in the last hour. If the backup is not older, and no other process can have
sent an order since, --nothing-sent ends the check and keeps the rows ready.

If the ledger did not notice, for example after pg_restore on a new server, --since
begins the check.`,
		Example: `  importer resolve restored
  importer resolve restored --end
  importer resolve restored --since "2026-03-01 14:30"`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			since, err := resolve.ParseSince(o.since, time.Local, time.Now())
			if err != nil {
				return usage("--since %q is %w", o.since, err)
			}
			return withLedger(c.Context(), g, func(l openLedger) error {
				return runResolveRestored(c.Context(), o, g.terminal, newResolver(l, "restored"), since)
			})
		},
	}
	c.Flags().StringVar(&o.since, "since", "",
		`begin the check: the time of the backup, in local time, such as "2026-03-01 14:30", or in UTC: `+
			`2026-03-01T14:30:00Z`)
	c.Flags().BoolVar(&o.end, "end", false, "end the check: every spreadsheet was submitted again")
	c.Flags().BoolVar(&o.nothingSent, "nothing-sent", false, "end the check and keep every row ready")
	addYesFlag(c, &o.yes, "do not ask")
	c.MarkFlagsMutuallyExclusive("end", "nothing-sent", "since")
	return c
}

func runResolveRestored(ctx context.Context, o resolveRestoredOptions, t *terminal, resolver *resolve.Service,
	since time.Time) error {
	restores := resolver.Ledger.Restores()
	if !since.IsZero() {
		if err := restores.Begin(withAudit(ctx, "restored", "", "to its state of "+o.since), since); err != nil {
			return err
		}
	}
	check, err := restores.Check(ctx)
	if err != nil {
		return err
	}
	if check.Halted.Reason == filing.NoHalt {
		t.print("The ledger did not go back in time. If it did, name the time of the backup with --since.")
		return nil
	}
	t.say("The ledger went back in time (%s). Orders sent since %s may be missing. Nothing is sent.",
		check.Halted.Note, localTimeZone(check.Since))
	if o.end || o.nothingSent {
		return endRestoreCheck(ctx, o, t, resolver.Ledger, check)
	}
	return markRestored(ctx, o, t, resolver, check)
}

// markRestored makes the unchecked rows uncertain.
func markRestored(ctx context.Context, o resolveRestoredOptions, t *terminal, resolver *resolve.Service,
	check ledger.RestoreCheck) error {
	l := resolver.Ledger
	rows, err := l.Restores().Unchecked(ctx)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		t.print("No row is left to check. When the uncertain rows are resolved and every spreadsheet was submitted " +
			"again: importer resolve restored --end")
		return nil
	}
	question := fmt.Sprintf("Mark %s as uncertain?", count(len(rows), "ready row"))
	if err := t.ask(ctx, o.yes, question, "Nothing was changed."); err != nil {
		return err
	}
	before, err := l.Balance(ctx)
	if err != nil {
		return err
	}
	did, err := resolver.MarkRestored(withAudit(ctx, "mark-uncertain", "", count(len(rows), "row")), rows, check.Since)
	if err != nil {
		return fmt.Errorf("%w. Run the same command again to continue", err)
	}
	t.print("%s marked as uncertain.", count(did.Uncertain, "row"))
	if did.Unsent > 0 {
		t.print("%s not changed: bought by another row, or unknown to the filing service, so no order can have been "+
			"sent.", countOf(did.Unsent, "row was", "rows were"))
	}
	if did.Waiting > 0 {
		t.print("%s for another uncertain row that orders the same. Resolve that row, then run the same command again.",
			countOf(did.Waiting, "row waits", "rows wait"))
	}
	for _, why := range did.Failed {
		t.print("%s", why)
	}
	if err := printBalanceChange(ctx, t, l, before); err != nil {
		return err
	}
	if len(did.Failed) > 0 {
		return fmt.Errorf("%s could not be checked. Run the same command again", count(len(did.Failed), "row"))
	}
	t.print("Resolve them (importer resolve), submit every lost spreadsheet again, then: importer resolve restored")
	return nil
}

// endRestoreCheck ends the check after every row was checked, or keeps every row ready because no
// order was sent.
func endRestoreCheck(ctx context.Context, o resolveRestoredOptions, t *terminal, l *ledger.Ledger,
	check ledger.RestoreCheck) error {
	warning := "What was ordered between " + localTimeZone(check.Since) + " and " + localTimeZone(check.Halted.Since) +
		" and is ordered again later is bought a second time: spreadsheets that are submitted again, rejected or " +
		"canceled rows that are retried, schedules that run again"
	question := "Were all spreadsheets, retries and schedule runs of that time repeated?"
	end, note := l.Restores().End, check.Halted.Note
	if o.nothingSent {
		warning = "Ready rows will be sent. If a process that has ended already sent one, it is bought twice"
		question = "Send orders again?"
		end, note = l.Restores().EndUnsent, note+"; no order was sent since"
	}
	sayWarning(t, warning)
	if err := t.ask(ctx, o.yes, question, "Nothing was changed."); err != nil {
		return err
	}
	err := end(withAudit(ctx, "end-restored", "", note))
	if errors.Is(err, ledger.ErrUnchecked) {
		return errors.New("rows are left to check: importer resolve restored. Nothing was changed")
	}
	if err != nil {
		return fmt.Errorf("%w. Nothing was changed", err)
	}
	t.print("Orders are sent again.")
	return nil
}
