package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// checkOptions are the options of check.
type checkOptions struct {
	sheet  importer.Options
	asJSON bool
	output string
}

func newCheckCommand(g *global) *cobra.Command {
	var o checkOptions
	c := &cobra.Command{
		Use:   "check FILE",
		Short: "List the errors in a spreadsheet by cell; nothing is sent",
		Long: `check reads a spreadsheet and checks every row against every rule that does not need
the filing service. It needs no network and no API key. If there are errors, it
writes FILE.checked.xlsx: the same spreadsheet with the wrong cells highlighted and
commented.`,
		Example: "  importer check companies.xlsx\n  importer check export.csv --map \"Corp Name=Legal Name\" " +
			"--filing-year 2026\n  importer check companies.xlsx --json",
		Args: oneFile,
		RunE: func(c *cobra.Command, args []string) error { return runCheck(c.Context(), o, g.terminal, args[0]) },
	}
	addSheetFlags(c, &o.sheet)
	c.Flags().BoolVar(&o.asJSON, "json", false, "print one JSON line for each problem, then the counts")
	c.Flags().StringVarP(&o.output, "output", "o", "",
		"write the highlighted workbook to this file (default FILE.checked.xlsx)")
	return c
}

func runCheck(ctx context.Context, o checkOptions, t *terminal, path string) error {
	output := outputFile{
		asked:  o.output,
		input:  path,
		ending: ".checked.xlsx",
		kinds:  []string{".xlsx"},
		ours:   sheet.IsUnedited,
	}
	if err := output.check(); err != nil {
		return err
	}
	if _, _, err := output.choose(); o.output != "" && err != nil {
		return err
	}
	o.sheet.Now = time.Now()
	imp, err := importer.Open(path, o.sheet)
	if err != nil {
		return err
	}
	defer imp.Close()
	t.say("%s", imp.ColumnSummary())
	var groups problemGroups
	problems, errors, warnings := 0, 0, 0
	reading := t.startPhase("Reading " + filepath.Base(path))
	tally, err := imp.Check(ctx, func(p importer.Problem) error {
		problems++
		if p.Severity == importer.Error {
			errors++
		} else if p.Rule != "row.repeat" {
			// A repeated row is skipped and is not a warning.
			warnings++
		}
		if o.asJSON {
			t.printJSON(p)
			return nil
		}
		groups.add(p)
		return nil
	})
	reading.end()
	if err != nil {
		return err
	}
	groups.print(t)
	for _, note := range imp.Notes() {
		t.say("%s", note)
	}
	var checked, left string
	if problems > 0 {
		if checked, left, err = output.choose(); err == nil {
			err = imp.WriteChecked(ctx, checked)
		}
		if err != nil {
			return err
		}
		if left != "" {
			t.say(notReplaced, left)
		}
	}
	if o.asJSON {
		t.printJSON(tally)
	} else {
		printTally(t, tally, imp.Product().Title(), warnings, checked)
	}
	// An officer can have errors without a row.
	if tally.Invalid > 0 || errors > 0 {
		return exit(exitCorrect)
	}
	return nil
}

func printTally(t *terminal, tally importer.Tally, product string, warnings int, checked string) {
	text := fmt.Sprintf("%s, %s: %d ready", count(tally.Rows, "row"), product, tally.Ready)
	if tally.Invalid > 0 {
		text += ", " + t.red(fmt.Sprintf("%d to fix", tally.Invalid))
	}
	if warnings > 0 {
		text += ", " + t.yellow(count(warnings, "warning"))
	}
	if tally.Skipped > 0 {
		text += fmt.Sprintf(", %d skipped", tally.Skipped)
	}
	if checked != "" {
		text = "\n" + text + "\nThe wrong cells are highlighted in " + checked
	}
	t.print("%s", text)
}

// The number of different problems that are printed, and of the cells that each of them names. The
// workbook has all.
const (
	shownProblems = 50
	shownCells    = 3
)

// problemGroup is a problem with its cells.
type problemGroup struct {
	importer.Problem
	// cells are the first cells with the problem.
	cells []string
	count int
}

// problemGroups groups identical problems of a column, in the order of their first cells. It keeps
// only the groups that are printed.
type problemGroups struct {
	groups []*problemGroup
	at     map[problemKey]*problemGroup
	// left counts the problems beyond the printed groups.
	left int
}

// problemKey is the key of identical problems.
type problemKey struct{ sheet, column, rule, message string }

func (g *problemGroups) add(p importer.Problem) {
	if g.at == nil {
		g.at = make(map[problemKey]*problemGroup)
	}
	key := problemKey{p.Sheet, p.Column, p.Rule, p.Message}
	group := g.at[key]
	if group == nil {
		if len(g.groups) == shownProblems {
			g.left++
			return
		}
		p.Message = strings.Clone(p.Message)
		group = &problemGroup{Problem: p}
		g.at[key], g.groups = group, append(g.groups, group)
	}
	if group.count++; len(group.cells) < shownCells {
		where := p.Cell
		if where == "" {
			where = fmt.Sprintf("row %d", p.Row)
		}
		group.cells = append(group.cells, where)
	}
}

func (g *problemGroups) print(t *terminal) {
	for _, group := range g.groups {
		where := strings.Join(group.cells, ", ")
		if more := group.count - len(group.cells); more > 0 {
			where += fmt.Sprintf(" and %d more", more)
		}
		switch {
		case group.Sheet != "" && strings.HasPrefix(where, "row "):
			where = group.Sheet + ", " + where
		case group.Sheet != "":
			where = group.Sheet + "!" + where
		}
		paint, message := t.red, group.Message
		if group.Severity == importer.Warning {
			paint = t.yellow
		}
		if group.Column != "" {
			message = group.Column + ": " + message
		}
		t.print("%s  %s", paint(where), message)
	}
	if g.left > 0 {
		t.print("… and %d more", g.left)
	}
}
