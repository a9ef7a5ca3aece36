package main

import (
	"context"
	"path/filepath"
	"strings"

	"bulkfiling/internal/ledger"
	"bulkfiling/internal/report"
	"bulkfiling/internal/sheet"
)

// resultsEndings are what the results may be written as.
var resultsEndings = []string{".xlsx", ".csv"}

// oursIn recognizes the files that were written for batches of a ledger and not
// changed since. What was written through another ledger is not among them: its
// answers may stand nowhere else.
func oursIn(ctx context.Context, l *ledger.Ledger) func(string) (bool, error) {
	ctx = context.WithoutCancel(ctx) // the results are written also after Ctrl-C
	return func(path string) (bool, error) {
		if !strings.EqualFold(filepath.Ext(path), ".csv") {
			if same, err := sheet.IsUnedited(path); err != nil || !same {
				return false, err
			}
		}
		print, err := report.Fingerprint(path)
		if err != nil {
			return false, nil // not a results workbook
		}
		return l.IsResults(ctx, print)
	}
}

// writeResults writes the results of a batch to a file that may be written, and
// notes what was written, so that it is known again.
func (a *app) writeResults(ctx context.Context, l *ledger.Ledger, batch string, o *outputOf) (report.Summary, error) {
	path, left, err := o.choose()
	if err != nil {
		return report.Summary{}, err
	}
	s, err := report.Write(ctx, l, batch, path)
	if err != nil {
		return s, err
	}
	hash, err := report.Fingerprint(path)
	if err == nil {
		err = l.RecordResults(ctx, hash)
	}
	if left != "" {
		a.say("%s was changed since it was written, or is not a file of this program. It was not replaced. The results are in "+
			"%s.",
			left, path)
		if origin, err := report.OriginOf(left); err == nil && origin != nil && origin.Batch == batch {
			a.say("To send the corrections in it: importer run %s", left)
		}
	}
	return s, err
}
