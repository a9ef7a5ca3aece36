package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// resumeFromResults resumes the batch of a results workbook without corrections.
func (r *filingRun) resumeFromResults(ctx context.Context) error {
	origin, err := report.OriginOf(r.path)
	if err != nil || origin == nil {
		return r.nothingToCorrect
	}
	b, err := r.ledger.Batch(ctx, origin.Batch)
	if err != nil || b.ID != origin.Batch || !b.Open && !b.Prepared {
		return r.nothingToCorrect
	}
	r.batch, r.inputImported = b, true
	r.say("This results workbook needs no correction. Resuming its batch %s (%s).", b.ID, b.File)
	return nil
}

// applyCorrections switches from a batch of corrected rows to the batch that they
// correct, once the corrections are part of it. Corrections that need no approval
// become part of it at once.
func (r *filingRun) applyCorrections(ctx context.Context) error {
	if r.batch.Corrects == "" {
		return nil
	}
	original, err := r.ledger.Batch(ctx, r.batch.Corrects)
	if err != nil {
		return err
	}
	r.say("This file corrects rows of batch %s (%s).", original.ID, original.File)
	if r.batch.Open {
		if r.batch.Approval.State != ledger.ApprovalNeeded {
			r.batch, r.inputImported = original, true
		}
		return nil
	}
	counts, err := r.ledger.Counts(ctx, r.batch.ID)
	if err != nil || r.flags.dryRun || r.batch.Canceled {
		return err
	}
	if original.Canceled {
		return fmt.Errorf(
			"%s: nothing is sent, and no row was corrected. To send it: importer retry %s "+
				"--canceled, then the same command", report.CanceledText(original), original.ID)
	}
	if original.Open && counts[filing.Ready] > 0 {
		return nil // after the approval
	}
	return r.openBatch(ctx, "correct")
}

// openBatch releases the batch for sending. Corrected rows become part of the
// batch that they correct.
func (r *filingRun) openBatch(ctx context.Context, command string) error {
	err := r.ledger.OpenBatch(withAudit(ctx, command, r.batch.ID, r.batch.File), r.batch.ID)
	if err != nil || r.batch.Corrects == "" {
		return err
	}
	b, err := r.ledger.Batch(ctx, r.batch.ID)
	if err != nil || b.Approval.State == ledger.ApprovalNeeded {
		return err
	}
	r.batch, err = r.ledger.Batch(ctx, r.batch.Corrects)
	r.inputImported = true
	return err
}

// mayReplaceInput reports whether the results may replace the input file: it is
// the results workbook of the batch, and every change in it was imported.
func (r *filingRun) mayReplaceInput() (bool, error) {
	if !r.inputImported {
		return false, nil
	}
	origin, err := report.OriginOf(r.path)
	if err != nil || origin == nil || origin.Batch != r.batch.ID {
		return false, err
	}
	hash, err := report.Fingerprint(r.path)
	if err != nil {
		return false, err
	}
	return r.ledger.IsResults(context.Background(), hash)
}

// writeOwnResults writes the results of the batch. A batch of corrections has
// none of its own, and the workbook with the corrections stays unchanged.
func (r *filingRun) writeOwnResults(ctx context.Context) (report.Summary, error) {
	if r.batch.Corrects == "" {
		return r.writeResults(ctx, r.ledger, r.batch.ID, r.output)
	}
	return report.Summarize(ctx, r.ledger, r.batch.ID)
}

// checkPlacedElsewhere refuses to send a file if the results beside it were
// written from another ledger. This ledger does not know the orders in them, and
// would buy them again.
func (r *filingRun) checkPlacedElsewhere(ctx context.Context) error {
	if r.output == nil || r.flags.sheet.again != "" || r.batch.Corrects != "" {
		return nil
	}
	for n := 1; n <= mostNames; n++ {
		path := r.output.name(n)
		origin, err := report.OriginOf(path)
		if err != nil || origin == nil {
			if _, missing := os.Stat(path); missing != nil {
				return nil
			}
			continue
		}
		if origin.Batch != r.batch.ID || !slices.Contains(origin.Accounts, r.env.Account()) {
			continue // test orders, or orders of another organization
		}
		orders, err := report.OrdersIn(path)
		if err != nil || len(orders) == 0 {
			continue
		}
		known, err := r.ledger.KnownOrders(ctx, orders)
		if err != nil {
			return err
		}
		orders = slices.DeleteFunc(orders, func(id string) bool { return known[id] })
		if len(orders) == 0 {
			continue
		}
		return fmt.Errorf("%s says that this file was placed before, as %s. The ledger in use (%s) does not have "+
			"these orders and would buy them again. Nothing was sent. Use the ledger that placed them: --ledger NAME, "+
			`or FILING_DATA_DIR. To place the orders a second time, use --again="reason"`,
			path, text.FirstOf(orders, 5), r.env.LedgerName())
	}
	return nil
}
