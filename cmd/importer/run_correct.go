package main

import (
	"context"
	"fmt"
	"os"
	"slices"

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
	r.batch = b
	r.terminal.say("This results workbook needs no correction. Resuming its batch %s (%s).", b.ID, b.File)
	return nil
}

// related lists the batches that the command works on, and sets the one whose results it writes.
// The batch of the file is first. The others are the batch that it corrects and the corrections of
// that batch, because the results include their rows.
func (r *filingRun) related(ctx context.Context) ([]ledger.Batch, error) {
	all := []ledger.Batch{r.batch}
	r.results = r.batch.ID
	if r.batch.Corrects != "" {
		original, err := r.ledger.Batch(ctx, r.batch.Corrects)
		if err != nil {
			return nil, err
		}
		r.terminal.say("This file corrects rows of batch %s (%s).", original.ID, original.File)
		r.correction, r.results = r.batch.ID, original.ID
		all = append(all, original)
	}
	if r.opts.dryRun {
		return all[:1], nil
	}
	others, err := r.ledger.Corrections(ctx, r.results)
	for _, b := range others {
		if b.ID != r.correction {
			all = append(all, b)
		}
	}
	return all, err
}

// shown returns the batch whose results the command shows. It is the corrected batch as soon as its
// corrections may be sent.
func (r *filingRun) shown(ctx context.Context) (ledger.Batch, error) {
	if r.correction != "" {
		b, err := r.ledger.Batch(ctx, r.correction)
		if err != nil || !b.Open || b.Approval.State == ledger.ApprovalNeeded {
			return b, err
		}
	}
	return r.ledger.Batch(ctx, r.results)
}

// mayReplaceInput reports whether the results may replace the input file. The file must be the
// results workbook of the batch, and every change in it must be imported.
func (r *filingRun) mayReplaceInput() (bool, error) {
	if r.correction == "" && r.sheet != nil {
		return false, nil
	}
	origin, err := report.OriginOf(r.path)
	if err != nil || origin == nil || origin.Batch != r.results {
		return false, err
	}
	hash, err := report.Fingerprint(r.path)
	if err != nil {
		return false, err
	}
	return r.ledger.IsResults(context.Background(), hash)
}

// checkPlacedElsewhere refuses to send a file if the results beside it were written from another
// ledger. This ledger does not know the orders in them, and would buy them again.
func (r *filingRun) checkPlacedElsewhere(ctx context.Context) error {
	if r.output == nil || r.opts.sheet.Again != "" || r.batch.Corrects != "" {
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
			// These are test orders, or orders of another organization.
			continue
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
