package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

func (a *app) checkCommand() *cobra.Command {
	var f sheetFlags
	var asJSON bool
	var output string
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
		RunE: func(c *cobra.Command, args []string) error {
			return a.checkFile(c.Context(), args[0], output, f, asJSON)
		},
	}
	f.register(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON line for each problem, then the counts")
	c.Flags().StringVarP(&output, "output", "o", "",
		"write the highlighted workbook to this file (default FILE.checked.xlsx)")
	return c
}

// shownProblems is the number of different problems that are printed. The workbook has all.
const shownProblems = 50

func (a *app) checkFile(ctx context.Context, path, output string, f sheetFlags, asJSON bool) error {
	o := outputFile{
		asked:  output,
		input:  path,
		ending: ".checked.xlsx",
		kinds:  []string{".xlsx"},
		ours:   sheet.IsUnedited,
	}
	if err := o.check(); err != nil {
		return err
	}
	if _, _, err := o.choose(); output != "" && err != nil {
		return err
	}
	imp, err := importer.Open(path, f.options())
	if err != nil {
		return err
	}
	defer imp.Close()
	a.showColumns(imp)
	lines := json.NewEncoder(a.out)
	problems, errors, warnings := 0, 0, 0
	var groups problemGroups
	step := a.phase("Reading " + filepath.Base(path))
	tally, err := imp.Check(ctx, func(p importer.Problem) error {
		problems++
		if p.Severity == importer.Error {
			errors++
		} else if p.Rule != "row.repeat" {
			// A repeated row is skipped and is not a warning.
			warnings++
		}
		if asJSON {
			return lines.Encode(p)
		}
		groups.add(p)
		return nil
	})
	step.end()
	if err != nil {
		return err
	}
	a.showProblems(&groups)
	for _, note := range imp.Notes() {
		a.say("%s", note)
	}
	var checked string
	if problems > 0 {
		var left string
		if checked, left, err = o.choose(); err == nil {
			err = imp.WriteChecked(ctx, checked)
		}
		if err != nil {
			return err
		}
		if left != "" {
			a.say(notReplaced, left)
		}
	}
	if asJSON {
		if err := lines.Encode(tally); err != nil {
			return err
		}
	} else {
		a.showTally(tally, problems, warnings, checked, imp)
	}
	// An officer can have errors without a row.
	if tally.Invalid > 0 || errors > 0 {
		return exit(exitCorrect)
	}
	return nil
}

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
	groups []problemGroup
	at     map[problemKey]int
	// left counts the problems beyond the printed groups.
	left int
}

// problemKey is the key of identical problems.
type problemKey struct{ sheet, column, rule, message string }

// shownCells is the number of cells that a group names.
const shownCells = 3

func (g *problemGroups) add(p importer.Problem) {
	if g.at == nil {
		g.at = make(map[problemKey]int)
	}
	key := problemKey{p.Sheet, p.Column, p.Rule, p.Message}
	i, known := g.at[key]
	if !known {
		if len(g.groups) == shownProblems {
			g.left++
			return
		}
		i = len(g.groups)
		p.Message = strings.Clone(p.Message)
		g.at[key], g.groups = i, append(g.groups, problemGroup{Problem: p})
	}
	group := &g.groups[i]
	if group.count++; len(group.cells) < shownCells {
		where := p.Cell
		if where == "" {
			where = fmt.Sprintf("row %d", p.Row)
		}
		group.cells = append(group.cells, where)
	}
}

func (a *app) showProblems(all *problemGroups) {
	for i := range all.groups {
		a.showGroup(&all.groups[i])
	}
	if all.left > 0 {
		fmt.Fprintf(a.out, "… and %d more\n", all.left)
	}
}

func (a *app) showGroup(g *problemGroup) {
	where := strings.Join(g.cells, ", ")
	if more := g.count - len(g.cells); more > 0 {
		where += fmt.Sprintf(" and %d more", more)
	}
	switch {
	case g.Sheet != "" && strings.HasPrefix(where, "row "):
		where = g.Sheet + ", " + where
	case g.Sheet != "":
		where = g.Sheet + "!" + where
	}
	paint := a.paint.red
	if g.Severity == importer.Warning {
		paint = a.paint.yellow
	}
	message := g.Message
	if g.Column != "" {
		message = g.Column + ": " + message
	}
	fmt.Fprintf(a.out, "%s  %s\n", paint(where), message)
}

func (a *app) showTally(t importer.Tally, problems, warnings int, checked string, imp *importer.Import) {
	if problems > 0 {
		fmt.Fprintln(a.out)
	}
	fmt.Fprintf(a.out, "%s, %s: %d ready", count(t.Rows, "row"), imp.Product().Title(), t.Ready)
	if t.Invalid > 0 {
		fmt.Fprintf(a.out, ", %s", a.paint.red(fmt.Sprintf("%d to fix", t.Invalid)))
	}
	if warnings > 0 {
		fmt.Fprintf(a.out, ", %s", a.paint.yellow(count(warnings, "warning")))
	}
	if t.Skipped > 0 {
		fmt.Fprintf(a.out, ", %d skipped", t.Skipped)
	}
	fmt.Fprintln(a.out)
	if problems > 0 {
		fmt.Fprintf(a.out, "The wrong cells are highlighted in %s\n", checked)
	}
}
