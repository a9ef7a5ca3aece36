package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// legible returns foreign text in a form that is safe on a terminal: one line, without control
// characters, and of limited length.
func legible(s string) string { return text.Shorten(text.Line(s), 500) }

// localTime formats a time for the tables.
func localTime(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// localTimeSeconds formats a time to the second.
func localTimeSeconds(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

// localTimeZone formats a time to the second with its zone, for a person who enters it again.
func localTimeZone(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 MST") }

// list prints items as a table, or as JSON lines.
type list[T any] struct {
	// empty is printed instead of an empty table.
	empty string
	// columns are the headers, separated by tabs.
	columns string
	cells   func(T) []any
}

func (p list[T]) print(a *app, items []T, asJSON bool) error {
	if asJSON {
		lines := json.NewEncoder(a.out)
		for _, item := range items {
			if err := lines.Encode(item); err != nil {
				return err
			}
		}
		return nil
	}
	if len(items) == 0 {
		a.say("%s", p.empty)
		return nil
	}
	table := newTable(a.out)
	fmt.Fprintln(table, p.columns)
	for _, item := range items {
		for i, cell := range p.cells(item) {
			if i > 0 {
				fmt.Fprint(table, "\t")
			}
			fmt.Fprint(table, cell)
		}
		fmt.Fprintln(table)
	}
	return table.Flush()
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
	// imported.
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
	if o.asked != "" {
		found, err := os.Stat(o.asked)
		if err == nil && found.IsDir() {
			return usage("-o %s is a folder: name a file", o.asked)
		}
		if err == nil && o.isInput(found) {
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
	return o.input != "" && err == nil && os.SameFile(found, given)
}

// name returns the n-th default name: "a.results.xlsx", "a.results (2).xlsx". The results of a
// results workbook have the same names as the results of its input.
func (o *outputFile) name(n int) string {
	base := strings.TrimSuffix(o.input, filepath.Ext(o.input))
	folder, name := filepath.Split(base)
	base = folder + filing.HideSSNsInName(name)
	if found := ownEnding.FindStringIndex(base); found != nil && found[0] > 0 &&
		!strings.HasSuffix(base[:found[0]], string(filepath.Separator)) {
		base = base[:found[0]]
	}
	if n == 1 {
		return base + o.ending
	}
	kind := filepath.Ext(o.ending)
	return fmt.Sprintf("%s%s (%d)%s", base, strings.TrimSuffix(o.ending, kind), n, kind)
}

var ownEnding = regexp.MustCompile(`\.(results|checked)( \(\d+\))?$`)

// mostNames is the number of default names to try.
const mostNames = 100

// choose finds a name that may be written. left is the file with the first default name if it must
// not be overwritten. Otherwise left is empty.
func (o *outputFile) choose() (path, left string, err error) {
	if o.asked != "" {
		if _, err := os.Stat(o.asked); err != nil {
			return o.asked, "", nil
		}
		switch ours, err := o.ours(o.asked); {
		case err != nil:
			return "", "", err
		case !ours:
			return "", "", fmt.Errorf(
				"%s was not written by this program, or was changed since. It was not replaced. Name another "+
					"file with -o", o.asked)
		}
		return o.asked, "", nil
	}
	for n := 1; n <= mostNames; n++ {
		name := o.name(n)
		found, err := os.Stat(name)
		if err != nil {
			return name, left, nil
		}
		may := o.ours
		if o.isInput(found) {
			may = func(string) (bool, error) {
				if o.consumed == nil {
					return false, nil
				}
				return o.consumed()
			}
		}
		if found.IsDir() {
			may = func(string) (bool, error) { return false, nil }
		}
		ours, err := may(name)
		if err != nil {
			return "", "", err
		}
		if ours {
			return name, left, nil
		}
		if left == "" {
			left = name
		}
	}
	return "", "", fmt.Errorf(
		"%s and %d similar files were changed since they were written. Name another file with -o", o.name(1),
		mostNames-1)
}
