package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/ledger"
	"bulkfiling/internal/resolve"
)

// sinceForms are the ways to write a moment, in this machine's time unless it
// says otherwise.
var sinceForms = []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05",
	"2006-01-02T15:04", time.DateOnly}

// parseSince reads a moment that is past; the zero time for "".
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, form := range sinceForms {
		at, err := time.ParseInLocation(form, text, time.Local)
		switch {
		case err != nil:
		case at.After(now):
			return at, usage("--since %s is still to come", text)
		default:
			return at, nil
		}
	}
	return time.Time{}, usage("--since %q is no moment: write 2026-03-01 14:30, or 2026-03-01T14:30:00Z", text)
}

// suppose makes ready rows uncertain that may have been sent without the ledger
// knowing of it.
func (r *resolver) suppose(ctx context.Context) error {
	since, err := parseSince(r.flags.since, time.Now())
	if err != nil {
		return err
	}
	batches := []ledger.Batch{r.batch}
	if r.flags.all {
		if batches, err = r.ledger.Batches(ctx); err != nil {
			return err
		}
		slices.Reverse(batches) // who was first has the purchase
	}
	var checks []*resolve.RestoreCheck
	rows := 0
	for _, b := range batches {
		s, err := r.service.CheckRestore(ctx, b, r.flags.rows, since)
		if errors.Is(err, resolve.ErrNotSubmitted) && r.flags.all {
			r.say("Batch %s is not handed in: its rows are left as they are.", b.ID)
			continue
		}
		if err != nil {
			return err
		}
		r.suspected(s)
		if len(s.Rows) > 0 {
			checks = append(checks, s)
			rows += len(s.Rows)
		}
	}
	if rows == 0 {
		fmt.Fprintln(r.out, "There is no ready row to suppose anything of.")
		return r.dealtWith(ctx)
	}
	if !r.flags.yes {
		if err := r.confirm(ctx, fmt.Sprintf("Make %s uncertain?", count(rows, "row")),
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
		did, err := r.service.MarkUncertain(acting(ctx, "doubt", s.Batch.ID, ""), s)
		if err != nil {
			return fmt.Errorf("%w; the same command goes on", err)
		}
		r.supposed(s, did)
		failed += len(did.Failed)
	}
	after, err := r.ledger.Balance(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(r.out, moved(before, after))
	if failed > 0 {
		return fmt.Errorf(
			"%s could not be looked up and may still be sent: let nothing be placed before the same command has "+
				"ended well", count(failed, "row"))
	}
	return r.dealtWith(ctx)
}

// dealtWith ends the halt of a ledger that went back in time, where every row
// that may have been sent since is held.
func (r *resolver) dealtWith(ctx context.Context) error {
	halted, err := r.ledger.FleetHalt(ctx)
	if err != nil || !r.flags.all || halted.Reason != filing.HaltRestored {
		return err
	}
	return r.sendAgain(ctx, halted)
}

func (r *resolver) sendAgain(ctx context.Context, halted ledger.Halted) error {
	if err := r.ledger.EndRestored(acting(ctx, "end-restored", "", halted.Note)); err != nil {
		return err
	}
	fmt.Fprintln(r.out, "Orders are sent again.")
	return nil
}

// suspected says what of a batch may have been sent.
func (r *resolver) suspected(s *resolve.RestoreCheck) {
	if len(s.Rows) > 0 {
		r.say("Batch %s (%s): %s may have been sent since %s; %s is to be held for that.", s.Batch.ID, s.Batch.File,
			count(len(s.Rows), "ready row"), s.Since.Local().Format("2006-01-02 15:04:05"), s.Reserves().Dollars())
	}
	if s.AtService > 0 {
		r.say("Batch %s: %s at the service now, and left.", s.Batch.ID, count(s.AtService, "row"))
	}
	if s.Resolved > 0 {
		r.say("Batch %s: %s, supposed before to have been sent since %s and settled, left. For a later backup, say "+
			"since when: --since TIME.", s.Batch.ID,
			count(s.Resolved, "row"), s.ResolvedSince.Local().Format("2006-01-02 15:04:05"))
	}
}

// supposed says what became of that.
func (r *resolver) supposed(s *resolve.RestoreCheck, did resolve.Marked) {
	fmt.Fprintf(r.out, "Batch %s: %s uncertain now.\n", s.Batch.ID, count(did.Uncertain, "row"))
	for _, left := range []struct {
		rows int
		why  string
	}{
		{did.Bought, "left: bought before, nothing of it can have been sent"},
		{did.Waiting, "left: another row in doubt has the same purchase, and its answer is for both"},
		{did.Absent, "left: the service knows no such company or user, nothing of it can have been sent"},
		{did.Gone, "left: no longer ready"},
	} {
		if left.rows > 0 {
			fmt.Fprintf(r.out, "  %s %s\n", count(left.rows, "row"), left.why)
		}
	}
	for _, why := range did.Failed {
		fmt.Fprintf(r.out, "  %s\n", why)
	}
	if did.Uncertain > 0 {
		fmt.Fprintf(r.out, "Settle them with: importer resolve %s\n", s.Batch.ID)
	}
}

// endRestored lets orders be sent again after the ledger went back in time.
func (r *resolver) endRestored(ctx context.Context) error {
	halted, err := r.ledger.FleetHalt(ctx)
	if err != nil {
		return err
	}
	if halted.Reason != filing.HaltRestored {
		fmt.Fprintln(r.out, "The ledger has not gone back in time: nothing is halted for that.")
		return nil
	}
	ready, err := r.ledger.Sendable(ctx, "", 1)
	if err != nil {
		return err
	}
	r.say("The ledger went back in time, noticed %s: %s.\nWhat running processes know of the orders since is "+
		"written back.", halted.Since.Local().Format("2006-01-02 15:04:05"), halted.Note)
	if len(ready) > 0 {
		r.say("%s Ready rows are sent once this ends. One that a process which is gone has sent since would be "+
			"bought twice: hold such rows first, with importer resolve --all --doubt.", r.paint.yellow("Careful:"))
	}
	if !r.flags.yes {
		if err := r.confirm(ctx, "Send orders again?", "Nothing was changed."); err != nil {
			return err
		}
	}
	return r.sendAgain(ctx, halted)
}
