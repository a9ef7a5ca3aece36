package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/importer"
)

// addSheetFlags adds the options for reading a spreadsheet.
func addSheetFlags(c *cobra.Command, o *importer.Options) {
	addReadingFlags(c, o, "the filing year of rows without one")
	f := c.Flags()
	f.BoolVar(&o.VisibleOnly, "visible-only", false, "skip rows that are hidden, by hand or by a filter")
	f.StringArrayVar(&o.Exclude, "exclude", nil,
		`leave out the rows with a text in a column: --exclude "Status=Void"; a * at the end stands for any ending`)
	f.StringArrayVar(&o.Include, "include", nil,
		`file rows in spite of a text that speaks against it: --include "Status=Void"`)
	f.StringVar(&o.Again, "again", "",
		`order again what was ordered before; the reason is recorded: --again="why"`)
	f.Lookup("again").NoOptDefVal = "no reason given"
}

// addReadingFlags adds the options for reading that a schedule also has.
func addReadingFlags(c *cobra.Command, o *importer.Options, yearUsage string) {
	names := make([]string, len(filing.Products))
	for i, p := range filing.Products {
		names[i] = string(p)
	}
	f := c.Flags()
	f.StringVar((*string)(&o.Product), "product", "",
		"the product: "+strings.Join(names, ", ")+" (default: detected from the columns)")
	f.StringVar((*string)(&o.State), "state", "", "use only the companies of this state")
	f.StringVar(&o.FilingYear, "filing-year", "", yearUsage)
	f.StringVar(&o.User, "user", "", "the user of rows without one: an ID (user_…) or an email address")
	f.StringVar(&o.Sheet, "sheet", "", "the sheet of the workbook to read")
	f.StringToStringVar(&o.Map, "map", nil,
		`map a column: --map "Their Header=Company ID", or by letter: --map "F:F=Company ID"`)
	f.Var(&o.HeaderRow, "header-row", "the row number of the column headers, or none (default: detected)")
	_ = c.RegisterFlagCompletionFunc("product", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
}
