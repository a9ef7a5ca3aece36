package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// shownFindings is how many rows a comparison names; the results name all.
const shownFindings = 10

// showReview prints which rows are not sent. The other differences are among the
// warnings of the rows to send.
func (r *filingRun) showReview(review jobs.Review) {
	if review.HeldBack == 0 {
		return
	}
	r.say("%s: %s not sent because the filing service's record of the company differs:", r.paint.red("Warning"),
		text.CountOf(review.HeldBack, "row is", "rows are"))
	held := slices.DeleteFunc(review.Findings, func(m jobs.Finding) bool { return !m.HeldBack })
	for i, m := range held {
		if i == shownFindings {
			r.say("  … and %d more, each at its cell in the results", len(held)-i)
			break
		}
		where := fmt.Sprintf("row %d", m.Row)
		if m.Column >= 0 {
			where = sheet.CellName(m.Column, m.Row)
		}
		r.say("  %s  %s: %s", where, m.Header, m.Message)
	}
	r.say("  Correct the spreadsheet. If a Company ID is right although the name differs, enter the filing service's " +
		"name under Confirmed Name, or run the same command with --accept-names.")
}

// allHeldBack reports whether a comparison left no row to send. Such a batch is
// not submitted, so that the same command compares it again.
func (r *filingRun) allHeldBack(ctx context.Context) (bool, error) {
	f, err := r.ledger.Figures(ctx, r.batch.ID)
	return f.Left() == 0 && f.HeldBack > 0, err
}

// releaseHeldBack compares the rows of a submitted batch that were held back once
// more, and asks about those that can be sent now. The batch is paused until the
// answer, so that no worker sends them before.
func (r *filingRun) releaseHeldBack(ctx context.Context, throttle jobs.Throttle, quoter pricing.Quoter) error {
	if !r.batch.Paused {
		if err := r.ledger.PauseBatch(ctx, r.batch.ID); err != nil {
			return err
		}
	}
	resume := func() error {
		if r.batch.Paused {
			return nil // by a person
		}
		return r.ledger.ResumeBatch(ctx, r.batch.ID)
	}
	q, err := r.quote(ctx, throttle, quoter)
	if err != nil {
		return err
	}
	if q.Review.Released > 0 {
		otherwise := fmt.Sprintf("Nothing was sent, and the batch is paused. To resume it: importer resume %s.",
			r.batch.ID)
		err := r.showAndConfirm(ctx, q, "Approve %s, %s%s? Filings cannot be undone.", otherwise)
		if err != nil {
			return err
		}
	}
	return resume()
}
