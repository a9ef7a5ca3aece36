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

// restoredOptions are the options of resolve restored.
type restoredOptions struct {
	since       string
	nothingSent bool
	end         bool
	yes         bool
}

func (a *app) resolveRestoredCommand() *cobra.Command {
	var o restoredOptions
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
			return a.withResolver(c.Context(), "", "restored", func(r *resolver) error {
				r.yes = o.yes
				return r.checkRestored(c.Context(), o, since)
			})
		},
	}
	c.Flags().StringVar(&o.since, "since", "",
		`begin the check: the time of the backup, in local time, such as "2026-03-01 14:30", or in UTC: `+
			`2026-03-01T14:30:00Z`)
	c.Flags().BoolVar(&o.end, "end", false, "end the check: every spreadsheet was submitted again")
	c.Flags().BoolVar(&o.nothingSent, "nothing-sent", false, "end the check and keep every row ready")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	c.MarkFlagsMutuallyExclusive("end", "nothing-sent", "since")
	return c
}

func (r *resolver) checkRestored(ctx context.Context, o restoredOptions, since time.Time) error {
	if !since.IsZero() {
		act := withAudit(ctx, "restored", "", "to its state of "+o.since)
		if err := r.ledger.Restores().Begin(act, since); err != nil {
			return err
		}
	}
	check, err := r.ledger.Restores().Check(ctx)
	if err != nil {
		return err
	}
	if check.Halted.Reason == filing.NoHalt {
		fmt.Fprintln(r.out, "The ledger did not go back in time. If it did, name the time of the backup with --since.")
		return nil
	}
	r.say("The ledger went back in time (%s). Orders sent since %s may be missing. Nothing is sent.",
		check.Halted.Note, localTimeZone(check.Since))
	if o.end || o.nothingSent {
		return r.endCheck(ctx, o, check)
	}
	return r.markRestored(ctx, check)
}

// markRestored makes the unchecked rows uncertain.
func (r *resolver) markRestored(ctx context.Context, check ledger.RestoreCheck) error {
	rows, err := r.ledger.Restores().Unchecked(ctx)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		fmt.Fprintln(r.out, "No row is left to check. When the uncertain rows are resolved and every spreadsheet was "+
			"submitted again: importer resolve restored --end")
		return nil
	}
	if err := r.ask(ctx, r.yes, fmt.Sprintf("Mark %s as uncertain?", count(len(rows), "ready row")),
		"Nothing was changed."); err != nil {
		return err
	}
	before, err := r.ledger.Balance(ctx)
	if err != nil {
		return err
	}
	did, err := r.service.MarkRestored(withAudit(ctx, "mark-uncertain", "", count(len(rows), "row")), rows, check.Since)
	if err != nil {
		return fmt.Errorf("%w. Run the same command again to continue", err)
	}
	after, err := r.ledger.Balance(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.out, "%s marked as uncertain.\n", count(did.Uncertain, "row"))
	if did.Unsent > 0 {
		fmt.Fprintf(r.out, "%s not changed: bought by another row, or unknown to the filing service, so no order can "+
			"have been sent.\n", countOf(did.Unsent, "row was", "rows were"))
	}
	if did.Waiting > 0 {
		fmt.Fprintf(r.out, "%s for another uncertain row that orders the same. Resolve that row, then run the same "+
			"command again.\n", countOf(did.Waiting, "row waits", "rows wait"))
	}
	for _, why := range did.Failed {
		fmt.Fprintln(r.out, why)
	}
	fmt.Fprintln(r.out, balanceChange(before, after))
	if len(did.Failed) > 0 {
		return fmt.Errorf("%s could not be checked. Run the same command again",
			count(len(did.Failed), "row"))
	}
	fmt.Fprintln(r.out, "Resolve them (importer resolve), submit every lost spreadsheet again, then: "+
		"importer resolve restored")
	return nil
}

// endCheck ends the check after every row was checked, or keeps every row ready because no order
// was sent.
func (r *resolver) endCheck(ctx context.Context, o restoredOptions, check ledger.RestoreCheck) error {
	warning := "What was ordered between " + localTimeZone(check.Since) + " and " + localTimeZone(check.Halted.Since) +
		" and is ordered again later is bought a second time: spreadsheets that are submitted again, rejected or " +
		"canceled rows that are retried, schedules that run again"
	question := "Were all spreadsheets, retries and schedule runs of that time repeated?"
	end, note := r.ledger.Restores().End, check.Halted.Note
	if o.nothingSent {
		warning = "Ready rows will be sent. If a process that has ended already sent one, it is bought twice"
		question = "Send orders again?"
		end, note = r.ledger.Restores().EndUnsent, note+"; no order was sent since"
	}
	r.warn([]string{warning})
	if err := r.ask(ctx, r.yes, question, "Nothing was changed."); err != nil {
		return err
	}
	err := end(withAudit(ctx, "end-restored", "", note))
	if errors.Is(err, ledger.ErrUnchecked) {
		return errors.New("rows are left to check: importer resolve restored. Nothing was changed")
	}
	if err != nil {
		return fmt.Errorf("%w. Nothing was changed", err)
	}
	fmt.Fprintln(r.out, "Orders are sent again.")
	return nil
}
