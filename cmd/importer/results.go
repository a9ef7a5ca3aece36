package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

func newResultsCommand(g *global) *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:     "results BATCH -o FILE",
		Short:   "Write the results of a batch to a file",
		Example: "  importer results b7k2 -o march.xlsx\n  importer results b7k2 -o march.csv",
		Args:    oneBatch,
		RunE: onBatch(g, func(ctx context.Context, l openLedger, b ledger.Batch) error {
			if output == "" {
				return usage("name the file to write: -o FILE.xlsx or -o FILE.csv")
			}
			o := outputFile{asked: output, input: b.File, kinds: resultsEndings, ours: oursIn(ctx, l.Ledger)}
			if err := o.check(); err != nil {
				return err
			}
			s, err := writeResults(ctx, g.terminal, l.Ledger, b.ID, &o)
			if err == nil {
				g.terminal.say("%s: %s", output, report.BatchState(b, s.Counts))
			}
			return err
		}),
	}
	c.Flags().StringVarP(&output, "output", "o", "", "the file to write: .xlsx or .csv")
	return c
}

// outputFile is the file that a command writes for an input.
type outputFile struct {
	// asked is the value of -o. Empty means a default name.
	asked string
	// input is the input file, which is never overwritten. Empty if the command has no input file.
	input string
	// ending is the ending of the default name: ".results.xlsx".
	ending string
	// kinds are the endings that -o accepts.
	kinds []string

	// ours reports whether this program wrote a file that has not changed since. No other file is
	// overwritten.
	ours func(path string) (bool, error)
	// consumed reports whether the input itself may be overwritten, because every change in it was
	// imported. Nil if it may not.
	consumed func() (bool, error)
}

// check verifies, before any work, that the file can be written. choose decides its name.
func (o *outputFile) check() error {
	first := o.asked
	if first == "" {
		first = o.name(1)
	}
	if !slices.Contains(o.kinds, strings.ToLower(filepath.Ext(first))) {
		return usage("-o %s: the file name must end with %s", first, strings.Join(o.kinds, " or "))
	}
	folder := filepath.Dir(first)
	if found, err := os.Stat(folder); err != nil || !found.IsDir() {
		return usage("-o %s: there is no folder %s", first, folder)
	}
	if found, err := os.Stat(o.asked); o.asked != "" && err == nil {
		switch {
		case found.IsDir():
			return usage("-o %s is a folder: name a file", o.asked)
		case o.isInput(found):
			return usage("-o %s is the input file: name another file", o.asked)
		}
	}
	probe, err := os.CreateTemp(folder, ".bulkfiling.*.tmp")
	if err != nil {
		return fmt.Errorf("cannot write to the folder %s: %w. Nothing was sent. Name a file in another folder with -o",
			folder, errors.Unwrap(err))
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

func (o *outputFile) isInput(found os.FileInfo) bool {
	given, err := os.Stat(o.input)
	return err == nil && os.SameFile(found, given)
}

// name returns the n-th default name: "a.results.xlsx", "a.results (2).xlsx". The results of a
// results workbook have the same names as the results of its input.
func (o *outputFile) name(n int) string {
	folder, name := filepath.Split(strings.TrimSuffix(o.input, filepath.Ext(o.input)))
	name = filing.HideSSNsInName(name)
	if found := ownEnding.FindStringIndex(name); found != nil && found[0] > 0 {
		name = name[:found[0]]
	}
	ending := o.ending
	if n > 1 {
		kind := filepath.Ext(ending)
		ending = fmt.Sprintf("%s (%d)%s", strings.TrimSuffix(ending, kind), n, kind)
	}
	return folder + name + ending
}

var ownEnding = regexp.MustCompile(`\.(results|checked)( \(\d+\))?$`)

// mostNames is the number of default names to try.
const mostNames = 100

// choose finds a name that may be written. left is the file with the first default name if it must
// not be overwritten. Otherwise left is empty.
func (o *outputFile) choose() (path, left string, err error) {
	if o.asked != "" {
		may, err := o.mayWrite(o.asked)
		if err == nil && !may {
			err = fmt.Errorf("%s was not written by this program, or was changed since. It was not replaced. Name "+
				"another file with -o", o.asked)
		}
		return o.asked, "", err
	}
	for n := 1; n <= mostNames; n++ {
		name := o.name(n)
		if may, err := o.mayWrite(name); may || err != nil {
			return name, left, err
		}
		if left == "" {
			left = name
		}
	}
	return "", "", fmt.Errorf("%s and %d similar files were changed since they were written. Name another file with -o",
		o.name(1), mostNames-1)
}

// mayWrite reports whether a file may be written, or overwritten.
func (o *outputFile) mayWrite(path string) (bool, error) {
	found, err := os.Stat(path)
	switch {
	case err != nil:
		return true, nil
	case found.IsDir():
		return false, nil
	case !o.isInput(found):
		return o.ours(path)
	case o.consumed == nil:
		return false, nil
	}
	return o.consumed()
}

// notReplaced explains why a file was not replaced.
const notReplaced = "%s was changed since it was written, or is not a file of this program. It was not replaced."

// resultsEndings are the possible endings of a results file.
var resultsEndings = []string{".xlsx", ".csv"}

// oursIn returns a function that recognizes the files that were written from a ledger and have not
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
		return l.ResultFiles().IsRecorded(ctx, hash)
	}
}

// writeResults writes the results of a batch to a file that may be written.
func writeResults(ctx context.Context, t *terminal, l *ledger.Ledger, batch string,
	o *outputFile) (report.Summary, error) {
	path, left, err := o.choose()
	if err != nil {
		return report.Summary{}, err
	}
	s, err := report.Write(ctx, l, batch, path)
	if err != nil {
		return s, err
	}
	err = recordOurs(ctx, l, path)
	if left != "" {
		t.say(notReplaced+" The results are in %s.", left, path)
		if origin, err := report.OriginOf(left); err == nil && origin != nil && origin.Batch == batch {
			t.say("To send the corrections in it: importer run %s", left)
		}
	}
	return s, err
}

// recordOurs records the hash of a written file, so that oursIn recognizes it.
func recordOurs(ctx context.Context, l *ledger.Ledger, path string) error {
	hash, err := report.Fingerprint(path)
	if err != nil {
		return err
	}
	return l.ResultFiles().Record(ctx, hash)
}
