package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/lookup"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// shownFindings is the number of rows that a comparison names. The results name all.
const shownFindings = 10

// showReview prints the rows that are not sent. The other differences are among the warnings of the
// rows to send.
func (r *filingRun) showReview(review lookup.Review) {
	if len(review.HeldBack) == 0 {
		return
	}
	r.say("%s: %s not sent because the filing service's record of the company differs:", r.paint.red("Warning"),
		text.CountOf(len(review.HeldBack), "row is", "rows are"))
	for i, m := range review.HeldBack {
		if i == shownFindings {
			r.say("  … and %d more, each at its cell in the results", len(review.HeldBack)-i)
			break
		}
		where := fmt.Sprintf("row %d", m.Row)
		if m.Column >= 0 {
			where = sheet.CellName(m.Column, m.Row)
		}
		r.say("  %s  %s: %s", where, m.Difference.Column.Header, m.Difference.Message)
	}
	r.say("  Correct the spreadsheet. If a Company ID is right although the name differs, enter the filing service's " +
		"name under Confirmed Name, or run the same command with --accept-names.")
}

// allHeldBack reports whether a comparison left no row to send. Such a batch is not submitted, so
// that the same command compares it again.
func (r *filingRun) allHeldBack(ctx context.Context) (bool, error) {
	f, err := r.ledger.Figures(ctx, r.batch.ID)
	return f.Left() == 0 && f.HeldBack > 0, err
}

// releaseHeldBack compares the held-back rows of a submitted batch again. Those that can be sent
// now wait for approval of their cost.
func (r *filingRun) releaseHeldBack(ctx context.Context, throttle *lookup.Throttle, quoter pricing.Quoter) error {
	q, err := r.quote(ctx, throttle, quoter)
	if err != nil || q.Review.Released == 0 {
		return err
	}
	_, err = r.showQuoteAndWarnings(ctx, q)
	return err
}

// approveIncrease asks for approval of the rows of a submitted batch that wait for it. It prints a
// message if the user may not approve them. Without approval they keep waiting.
func (r *filingRun) approveIncrease(ctx context.Context) error {
	err := r.approveCosts(ctx, r.ledger, r.batch, "", r.flags.yes)
	switch {
	case errors.Is(err, ledger.ErrSecondPerson), errors.Is(err, ledger.ErrApproveBatchFirst):
		r.say("Nothing was approved: %v.", err)
	case err != nil && !errors.Is(err, errDeclined):
		return err
	}
	return nil
}
