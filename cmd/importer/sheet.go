package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/importer"
)

// sheetFlags are the options for reading a spreadsheet.
type sheetFlags struct {
	product, state, year, user, sheet, again string
	columns                                  map[string]string
	header                                   importer.HeaderRow
	visible                                  bool
	exclude, include                         []string
}

func (f *sheetFlags) register(c *cobra.Command) {
	f.registerReading(c, "the filing year of rows without one")
	c.Flags().BoolVar(&f.visible, "visible-only", false, "skip rows that are hidden, by hand or by a filter")
	c.Flags().StringArrayVar(&f.exclude, "exclude", nil,
		`leave out the rows with a text in a column: --exclude "Status=Void"; a * at the end stands for any ending`)
	c.Flags().StringArrayVar(&f.include, "include", nil,
		`file rows in spite of a text that speaks against it: --include "Status=Void"`)
	c.Flags().StringVar(&f.again, "again", "",
		`order again what was ordered before; the reason is recorded: --again="why"`)
	c.Flags().Lookup("again").NoOptDefVal = "no reason given"
}

// registerReading adds the flags that a schedule also has.
func (f *sheetFlags) registerReading(c *cobra.Command, yearUsage string) {
	names := make([]string, len(filing.Products))
	for i, p := range filing.Products {
		names[i] = string(p)
	}
	c.Flags().StringVar(&f.product, "product", "",
		"the product: "+strings.Join(names, ", ")+" (default: detected from the columns)")
	c.Flags().StringVar(&f.state, "state", "", "use only the companies of this state")
	c.Flags().StringVar(&f.year, "filing-year", "", yearUsage)
	c.Flags().StringVar(&f.user, "user", "", "the user of rows without one: an ID (user_…) or an email address")
	c.Flags().StringVar(&f.sheet, "sheet", "", "the sheet of the workbook to read")
	c.Flags().StringToStringVar(&f.columns, "map", nil,
		`map a column: --map "Their Header=Company ID", or by letter: --map "F:F=Company ID"`)
	c.Flags().Var(&f.header, "header-row", "the row number of the column headers, or none (default: detected)")
	_ = c.RegisterFlagCompletionFunc("product", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
}

func (f *sheetFlags) options() importer.Options {
	return importer.Options{
		Product:     filing.Product(f.product),
		State:       filing.State(f.state),
		FilingYear:  f.year,
		User:        f.user,
		Map:         f.columns,
		Sheet:       f.sheet,
		HeaderRow:   f.header,
		VisibleOnly: f.visible,
		Again:       f.again,
		Exclude:     f.exclude,
		Include:     f.include,
		Now:         time.Now(),
	}
}

// showColumns prints the column mapping before anything else, because a wrong mapping makes every
// row wrong.
func (a *app) showColumns(imp *importer.Import) { a.say("%s", imp.ColumnSummary()) }
