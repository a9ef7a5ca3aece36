package main

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// resultsEndings are the possible endings of a results file.
var resultsEndings = []string{".xlsx", ".csv"}

// oursIn returns a function that recognizes the results of batches of a ledger that have not
// changed since they were written. Results from another ledger are not recognized, because they may
// be the only copy.
func oursIn(ctx context.Context, l *ledger.Ledger) func(string) (bool, error) {
	// The results are also written after Ctrl-C.
	ctx = context.WithoutCancel(ctx)
	return func(path string) (bool, error) {
		if !strings.EqualFold(filepath.Ext(path), ".csv") {
			if same, err := sheet.IsUnedited(path); err != nil || !same {
				return false, err
			}
		}
		hash, err := report.Fingerprint(path)
		if err != nil {
			// The file is not a results workbook.
			return false, nil
		}
		return l.IsResults(ctx, hash)
	}
}

// writeResults writes the results of a batch to a file that may be written, and records their hash,
// so that oursIn recognizes them.
func (a *app) writeResults(ctx context.Context, l *ledger.Ledger, batch string, o *outputFile) (report.Summary, error) {
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
		a.say(notReplaced+" The results are in %s.", left, path)
		if origin, err := report.OriginOf(left); err == nil && origin != nil && origin.Batch == batch {
			a.say("To send the corrections in it: importer run %s", left)
		}
	}
	return s, err
}

// notReplaced explains why a file was not replaced.
const notReplaced = "%s was changed since it was written, or is not a file of this program. It was not replaced."
