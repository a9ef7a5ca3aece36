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

	"bulkfiling/internal/filing"
	"bulkfiling/internal/text"
)

// legible is foreign text as a terminal may show it: one line, without characters
// that steer a terminal, and of limited length.
func legible(s string) string { return text.Shorten(text.Line(s), 500) }

// localTime is a time as the tables show it.
func localTime(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// localTimeSeconds is a time to the second.
func localTimeSeconds(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

// list prints items as a table, or as JSON lines.
type list[T any] struct {
	empty   string // what is printed instead of an empty table
	columns string // separated by tabs
	cells   func(T) []any
	line    func(T) any // the JSON of an item
}

func (p list[T]) print(a *app, items []T, asJSON bool) error {
	if asJSON {
		lines := json.NewEncoder(a.out)
		for _, item := range items {
			if err := lines.Encode(p.line(item)); err != nil {
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

// outputFile is a file that a command is to write for an input.
type outputFile struct {
	asked  string   // with -o; "" for a name of our own
	input  string   // nobody's own sheet is written over; "" where there is none
	ending string   // ".results.xlsx"
	kinds  []string // the endings that -o may have

	// ours reports whether what lies under a name was written by us and not changed
	// since. Nothing else is written over.
	ours func(path string) (bool, error)
	// consumed reports whether the input itself may be written over: all that was
	// changed in it was read.
	consumed func() (bool, error)
}

// check makes sure, before any work is done, that the file can be written. Which
// name it gets, choose says.
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
	if o.asked == "" {
		return nil
	}
	found, err := os.Stat(o.asked)
	if err == nil && found.IsDir() {
		return usage("-o %s is a folder: name a file", o.asked)
	}
	if err == nil && o.isInput(found) {
		return usage("-o %s is the input file: name another file", o.asked)
	}
	probe, err := os.CreateTemp(folder, ".bulkfiling.*.tmp")
	if err != nil {
		return fmt.Errorf("-o %s: cannot write to %s: %w", o.asked, folder, err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

func (o *outputFile) isInput(found os.FileInfo) bool {
	given, err := os.Stat(o.input)
	return o.input != "" && err == nil && os.SameFile(found, given)
}

// name is the n-th name of our own: "a.results.xlsx", "a.results (2).xlsx". A file
// that we wrote for a sheet has the names of the sheet.
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

// mostNames is how many files that are not to be written over may lie side by side.
const mostNames = 100

// choose finds the name under which the file may be written. left is a file that
// has the first name of our own and is left as it is; "" for none.
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
