package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/resolve"
)

// restoredFlags are the options of resolve restored.
type restoredFlags struct {
	since       string
	rows        []int
	nothingSent bool
	notOrdered  bool
	endCheck    bool
	listOnly    bool
	yes         bool
}

func (a *app) resolveRestoredCommand() *cobra.Command {
	var f restoredFlags
	c := &cobra.Command{
		Use:   "restored [BATCH]",
		Short: "Resume after the ledger was restored or went back in time",
		Long: `After a restore, orders that were sent since the backup look unsent. Sent again,
they would be bought twice. The same goes for a fail-over of the database that lost
commits, and for a file that was copied back. The ledger notices that it went back in
time, and all processes stop sending orders.

--status lists the batches and what to do next, and changes nothing. Submit again what
was submitted after the backup. Then restored marks every ready row as uncertain,
reserves its money, and sends orders again. Resolve those rows next. Name a BATCH, or
rows of it with --row, to mark only these; sending then stays stopped. The same command
again is safe.

If you know that no order of a BATCH was placed between the backup and the restore,
--not-ordered keeps its rows ready.

Rows that are submitted later are held, too: their orders may have been placed before the
restore. Check them with the same command and the BATCH. When
every spreadsheet of that time was submitted again, --end-check ends this.

Processes that are still running have already recorded what they sent in the
last hour. If the backup is not older, and no other process can have sent an order
since, --nothing-sent resumes sending, keeps the rows ready, and ends the check.`,
		Example: `  importer resolve restored --since 2026-03-01T02:00:00Z
  importer resolve restored --status
  importer resolve restored b7k2 --row 17 --row 18
  importer resolve restored b7k2 --not-ordered
  importer resolve restored --nothing-sent`,
		Args: atMostOne,
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case len(args) == 1 && f.nothingSent:
				return usage("--nothing-sent is about the whole ledger: leave the batch out")
			case len(args) == 0 && len(f.rows) > 0:
				return usage("--row needs a batch")
			case len(args) == 0 && f.notOrdered:
				return usage("--not-ordered needs a batch")
			case len(args) == 1 && (f.endCheck || f.listOnly):
				return usage("--end-check and --status are about the whole ledger: leave the batch out")
			}
			since, err := resolve.ParseSince(f.since, time.Local, time.Now())
			if err != nil {
				return usage("--since %q is %w", f.since, err)
			}
			return a.withResolver(c.Context(), first(args), "restored", func(r *resolver) error {
				r.yes = f.yes
				switch {
				case f.listOnly:
					return r.showRestored(c.Context())
				case f.nothingSent:
					return r.resumeSending(c.Context())
				case f.notOrdered:
					return r.markNotOrdered(c.Context())
				case f.endCheck:
					return r.endCheck(c.Context())
				}
				return r.markUncertain(c.Context(), f.rows, since)
			})
		},
	}
	c.Flags().StringVar(&f.since, "since", "",
		`the time of the backup, in local time, such as "2026-03-01 14:30", or in UTC: 2026-03-01T14:30:00Z `+
			`(default: what importer restore read, or the last known order)`)
	c.Flags().IntSliceVar(&f.rows, "row", nil, "mark only this row of the batch; repeat it for several")
	c.Flags().BoolVar(&f.nothingSent, "nothing-sent", false, "resume sending and mark no row as uncertain")
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	c.Flags().BoolVar(&f.notOrdered, "not-ordered", false,
		"no row of the batch was ordered between the backup and the restore: keep them ready")
	c.Flags().BoolVar(&f.endCheck, "end-check", false, "do not hold rows that are submitted from now on")
	c.Flags().BoolVar(&f.listOnly, "status", false, "list the batches and the next steps, and change nothing")
	c.MarkFlagsMutuallyExclusive("status", "nothing-sent", "not-ordered", "end-check", "since")
	c.MarkFlagsMutuallyExclusive("status", "nothing-sent", "not-ordered", "end-check", "row")
	return c
}

// markUncertain marks ready rows as uncertain that may have been sent without a
// record in the ledger: those of one batch, or of all batches.
func (r *resolver) markUncertain(ctx context.Context, numbers []int, since time.Time) error {
	restoration, err := r.ledger.Fleet().Restoration(ctx)
	if err != nil {
		return err
	}
	checking, err := r.ledger.Restores().Checking(ctx)
	if err != nil {
		return err
	}
	if since.IsZero() && (checking || restoration.Halted.Reason != filing.NoHalt) {
		since = restoration.BackupAt // zero where the ledger was not restored by this program
	}
	checks, rows, err := r.checkRestore(ctx, numbers, since)
	if err != nil {
		return err
	}
	if !restoration.BackupAt.IsZero() && restoration.Halted.Reason != filing.NoHalt {
		r.say("Files that were submitted after the backup of %s are not here. Submit them again before you continue: "+
			"their rows are marked, too.", localTimeZone(restoration.BackupAt))
	}
	if rows == 0 {
		fmt.Fprintln(r.out, "No ready rows left to mark as uncertain.")
		return r.endHalt(ctx)
	}
	if !r.yes {
		if err := r.confirm(ctx, fmt.Sprintf("Mark %s as uncertain?", count(rows, "row")),
			"Nothing was changed."); err != nil {
			return err
		}
	}
	before, err := r.ledger.Balance(ctx)
	if err != nil {
		return err
	}
	failed := 0
	for _, s := range checks {
		did, err := r.service.MarkUncertain(withAudit(ctx, "mark-uncertain", s.Batch.ID, ""), s)
		if err != nil {
			return fmt.Errorf("%w. Run the same command again to continue", err)
		}
		r.showMarked(s, did)
		failed += len(did.Failed)
	}
	after, err := r.ledger.Balance(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(r.out, balanceChange(before, after))
	if failed > 0 {
		return fmt.Errorf("%s could not be looked up and may still be sent. Start no worker and no run before the "+
			"same command succeeds", count(failed, "row"))
	}
	return r.endHalt(ctx)
}

// checkRestore lists the ready rows that may have been sent, by batch.
func (r *resolver) checkRestore(ctx context.Context, numbers []int, since time.Time) (
	checks []*resolve.RestoreCheck, rows int, err error) {
	batches := []ledger.Batch{r.batch}
	if r.batch.ID == "" {
		if batches, err = r.ledger.Batches(ctx); err != nil {
			return nil, 0, err
		}
		slices.Reverse(batches) // the oldest batch has the purchase
	}
	for _, b := range batches {
		s, err := r.service.CheckRestore(ctx, b, numbers, since)
		if errors.Is(err, resolve.ErrNotSubmitted) && r.batch.ID == "" {
			r.say("Batch %s is not submitted. Its rows were not changed.", b.ID)
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		r.showCheck(s)
		if len(s.Rows) > 0 {
			checks = append(checks, s)
			rows += len(s.Rows)
		}
	}
	return checks, rows, nil
}

// endHalt ends the halt of a ledger that went back in time, after the rows of all
// batches were dealt with.
func (r *resolver) endHalt(ctx context.Context) error {
	halted, err := r.ledger.Fleet().Halt(ctx)
	if err != nil || r.batch.ID != "" || halted.Reason != filing.HaltRestored {
		return err
	}
	return r.endRestored(ctx, halted)
}

func (r *resolver) endRestored(ctx context.Context, halted ledger.Halted) error {
	if err := r.ledger.Fleet().EndRestored(withAudit(ctx, "end-restored", "", halted.Note)); err != nil {
		return err
	}
	return r.sayResumed(ctx)
}

func (r *resolver) sayResumed(ctx context.Context) error {
	fmt.Fprintln(r.out, "Orders are sent again.")
	checking, err := r.ledger.Restores().Checking(ctx)
	if err == nil && checking {
		r.say("Rows that are submitted from now on are held until you check them: importer resolve restored " +
			"BATCH. To " +
			"end that: importer resolve restored --end-check")
	}
	return err
}

// showCheck prints which rows of a batch may have been sent.
func (r *resolver) showCheck(s *resolve.RestoreCheck) {
	if len(s.Rows) > 0 {
		r.say("Batch %s (%s): %s may have been sent since %s. %s will be reserved.", s.Batch.ID, s.Batch.File,
			count(len(s.Rows), "ready row"), localTimeZone(s.Since), s.Reserves().Dollars())
	}
	if s.Checked > 0 {
		r.say("Batch %s: %s already checked. Not changed.", s.Batch.ID, countOf(s.Checked, "row was", "rows were"))
	}
	if s.AtService > 0 {
		r.say("Batch %s: %s being placed now. Not changed.", s.Batch.ID, countOf(s.AtService, "row is", "rows are"))
	}
	if s.Resolved > 0 {
		r.say("Batch %s: %s already resolved for a backup of %s. Not changed. For a later backup, give its time "+
			"with --since.", s.Batch.ID, countOf(s.Resolved, "row was", "rows were"),
			localTimeZone(s.ResolvedSince))
	}
}

// showMarked prints how many rows of a batch are uncertain now, and which are not.
func (r *resolver) showMarked(s *resolve.RestoreCheck, did resolve.Marked) {
	fmt.Fprintf(r.out, "Batch %s: %s marked as uncertain.\n", s.Batch.ID, count(did.Uncertain, "row"))
	for _, unchanged := range did.Unchanged() {
		fmt.Fprintf(r.out, "  %s\n", unchanged)
	}
	for _, why := range did.Failed {
		fmt.Fprintf(r.out, "  %s\n", why)
	}
	if did.Uncertain > 0 {
		fmt.Fprintf(r.out, "To resolve them: importer resolve %s\n", s.Batch.ID)
	}
}

// resumeSending ends the halt of a ledger that went back in time and keeps every
// row ready.
func (r *resolver) resumeSending(ctx context.Context) error {
	halted, err := r.ledger.Fleet().Halt(ctx)
	if err != nil {
		return err
	}
	if halted.Reason != filing.HaltRestored {
		fmt.Fprintln(r.out, "The ledger has not gone back in time. Sending is not stopped for that reason.")
		return nil
	}
	ready, err := r.ledger.Sendable(ctx, "", 1)
	if err != nil {
		return err
	}
	r.say("The ledger went back in time. Noticed %s: %s.\nRunning processes have recorded the orders they sent "+
		"in the hour before that.", localTimeZone(halted.Since), halted.Note)
	if len(ready) > 0 {
		r.warn([]string{"Ready rows will be sent. If a process that has ended already sent one, it is bought twice. " +
			"To mark such rows as uncertain instead: importer resolve restored"})
	}
	if !r.yes {
		if err := r.confirm(ctx, "Resume sending orders?", "Nothing was changed."); err != nil {
			return err
		}
	}
	if err := r.ledger.Restores().NothingOrdered(withAudit(ctx, "end-restored", "",
		halted.Note+"; no order was sent since")); err != nil {
		return err
	}
	return r.sayResumed(ctx)
}

// showRestored lists what may have been ordered, and what to do next.
func (r *resolver) showRestored(ctx context.Context) error {
	halted, err := r.ledger.Fleet().Halt(ctx)
	if err != nil {
		return err
	}
	last, err := r.ledger.Restores().Last(ctx)
	restored := err == nil
	switch {
	case err != nil && !errors.Is(err, ledger.ErrNotFound):
		return err
	case restored && !last.FromBackup():
		fmt.Fprintf(r.out, "The ledger went back in time, as was found %s.\n", localTimeZone(last.At))
		fmt.Fprintf(r.out, "Orders placed %s are not in the ledger.\n", last.Window())
	case restored:
		fmt.Fprintf(r.out, "Backup of %s, restored %s by %s from %s (generation %s).\n",
			localTimeZone(last.BackupAt),
			localTimeZone(last.At), legible(last.By), legible(last.File), last.Generation)
		fmt.Fprintln(r.out, "Orders placed between these times are not in the ledger.")
	case halted.Reason != filing.HaltRestored:
		fmt.Fprintln(r.out, "The ledger never went back in time.")
		return nil
	}
	all, err := r.ledger.Restores().Batches(ctx)
	if err != nil {
		return err
	}
	unchecked := 0
	table := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', 0)
	if len(all) > 0 {
		fmt.Fprintln(table, "BATCH\tFILE\tTO CHECK\tUNCERTAIN\tREADY\t")
	}
	for _, b := range all {
		unchecked += b.Unchecked
		mark := ""
		if b.New {
			mark = "submitted since"
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%s\n", b.ID, legible(b.File), b.Unchecked, b.Uncertain, b.Ready, mark)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if halted.Reason == filing.HaltRestored {
		next := "Submit again what was submitted since then. After that"
		if unchecked == 0 {
			next = "No row is left to check. To send orders again"
		}
		fmt.Fprintln(r.out, "Nothing is sent. "+next+": importer resolve restored")
		return nil
	}
	switch {
	case unchecked > 0:
		fmt.Fprintln(r.out, "Rows to check are not sent. To mark them as uncertain: importer resolve restored")
	case restored && last.Checking():
		fmt.Fprintln(r.out, "New rows are held until checked. To end that: importer resolve restored --end-check")
	default:
		fmt.Fprintln(r.out, "Orders are sent. New rows are not held.")
	}
	return nil
}

// markNotOrdered keeps the rows of a batch ready: none of them was ordered between the
// backup and the restore.
func (r *resolver) markNotOrdered(ctx context.Context) error {
	last, err := r.ledger.Restores().Last(ctx)
	if errors.Is(err, ledger.ErrNotFound) {
		return errors.New("the ledger never went back in time: there is nothing to check")
	}
	if err != nil {
		return err
	}
	n, err := r.ledger.Restores().Unchecked(ctx, r.batch.ID)
	if err != nil {
		return err
	}
	if n == 0 {
		fmt.Fprintf(r.out, "Batch %s has no rows to check.\n", r.batch.ID)
		return nil
	}
	r.warn([]string{"If one of these rows was ordered " + last.Window() +
		", it is bought a second time. A filing cannot " +
		"be undone"})
	if !r.yes {
		if err := r.confirm(ctx, fmt.Sprintf("Mark %s of batch %s (%s) as not ordered?", count(n, "row"), r.batch.ID,
			legible(r.batch.File)), "Nothing was changed."); err != nil {
			return err
		}
	}
	if err := r.ledger.Restores().MarkNotOrdered(withAudit(ctx, "not-ordered", r.batch.ID,
		count(n, "row")+" not ordered "+last.Window()), r.batch.ID, n); err != nil {
		return err
	}
	fmt.Fprintf(r.out, "Batch %s: %s marked as not ordered.\n", r.batch.ID, count(n, "row"))
	return nil
}

// endCheck lets rows be sent without the check that are submitted from now on.
func (r *resolver) endCheck(ctx context.Context) error {
	last, err := r.ledger.Restores().Last(ctx)
	if err == nil && !last.Checking() || errors.Is(err, ledger.ErrNotFound) {
		fmt.Fprintln(r.out, "New rows are not held.")
		return nil
	}
	if err != nil {
		return err
	}
	r.warn([]string{"If a spreadsheet was submitted " + last.Window() +
		" and is submitted again later, its orders are " +
		"bought a second time"})
	if !r.yes {
		if err := r.confirm(ctx, "Were all spreadsheets of that time submitted again?",
			"Nothing was changed."); err != nil {
			return err
		}
	}
	err = r.ledger.Restores().EndCheck(withAudit(ctx, "end-check", "", ""))
	if errors.Is(err, ledger.ErrUnchecked) {
		return errors.New("rows are left to check: importer resolve restored --status. Nothing was changed")
	}
	if errors.Is(err, ledger.ErrUncertainCompany) {
		return fmt.Errorf("%w. Nothing was changed", err)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(r.out, "New rows are sent without the check.")
	return nil
}
