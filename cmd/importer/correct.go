package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/ledger"
	"bulkfiling/internal/report"
)

// answered takes up the batch of a results workbook in which nothing is left to
// correct.
func (r *filingRun) answered(ctx context.Context) error {
	origin, err := report.OriginOf(r.path)
	if err != nil || origin == nil {
		return r.nothing
	}
	b, err := r.ledger.Batch(ctx, origin.Batch)
	if err != nil || b.ID != origin.Batch || !b.Open && !b.Prepared {
		return r.nothing
	}
	r.batch, r.read = b, true
	r.say("This results workbook needs no correction. Resuming its batch %s (%s).", b.ID, b.File)
	return nil
}

// correct turns from a batch of corrected rows to the batch that they correct,
// once that has taken them in. Where nothing of it is to be approved, or that one
// has not begun, it takes them in at once.
func (r *filingRun) correct(ctx context.Context) error {
	if r.batch.Corrects == "" {
		return nil
	}
	original, err := r.ledger.Batch(ctx, r.batch.Corrects)
	if err != nil {
		return err
	}
	r.say("This file corrects rows of batch %s (%s).", original.ID, original.File)
	if r.batch.Open {
		if r.batch.Approval.State != ledger.ApprovalWanted {
			r.batch, r.read = original, true
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
		return nil // after the yes
	}
	return r.open(ctx, "correct")
}

// open lets the batch go. One of corrected rows goes as part of the batch that it
// corrects.
func (r *filingRun) open(ctx context.Context, what string) error {
	err := r.ledger.OpenBatch(acting(ctx, what, r.batch.ID, r.batch.File), r.batch.ID)
	if err != nil || r.batch.Corrects == "" {
		return err
	}
	b, err := r.ledger.Batch(ctx, r.batch.ID)
	if err != nil || b.Approval.State == ledger.ApprovalWanted {
		return err
	}
	r.batch, err = r.ledger.Batch(ctx, r.batch.Corrects)
	r.read = true
	return err
}

// consumed reports whether the input may be written over with the results: it is
// the results workbook of the batch, and what was changed in it are the rows that
// were taken in.
func (r *filingRun) consumed() (bool, error) {
	if !r.read {
		return false, nil
	}
	origin, err := report.OriginOf(r.path)
	if err != nil || origin == nil || origin.Batch != r.batch.ID {
		return false, err
	}
	print, err := report.Fingerprint(r.path)
	if err != nil {
		return false, err
	}
	return r.ledger.IsResults(context.Background(), print)
}

// results writes the results of the batch. Of corrected rows that were not taken
// in there are none: the workbook in which they were corrected is left as it is.
func (r *filingRun) results(ctx context.Context) (report.Summary, error) {
	if r.batch.Corrects == "" {
		return r.writeResults(ctx, r.ledger, r.batch.ID, r.output)
	}
	s, err := report.Summarize(ctx, r.ledger, r.batch.ID)
	return s, err
}

// placedElsewhere refuses to send a file whose results, written through another
// ledger, lie beside it: what they say was placed this ledger does not know, and
// would buy again.
func (r *filingRun) placedElsewhere(ctx context.Context) error {
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
			continue // test orders are no live ones, and another organization's are not ours
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
		shown := strings.Join(orders[:min(len(orders), 5)], ", ")
		if len(orders) > 5 {
			shown += fmt.Sprintf(" and %d more", len(orders)-5)
		}
		return fmt.Errorf(
			`%s says that this file was placed before, as %s. The ledger in use (%s) does not know these orders, and would buy them again. Nothing was sent. Use the ledger that placed them: --ledger NAME, or FILING_DATA_DIR; or, if the orders are to be placed a second time, say --again="reason"`,
			path, shown, r.env.LedgerName())
	}
	return nil
}
