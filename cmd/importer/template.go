package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/importer"
)

func (a *app) templateCommand() *cobra.Command {
	var output string
	names := make([]string, 0, len(importer.Templates()))
	for _, p := range importer.Templates() {
		names = append(names, string(p))
	}
	c := &cobra.Command{
		Use:       "template PRODUCT",
		Short:     "Write an empty spreadsheet with drop-downs, an example, and instructions",
		Long:      "template writes an empty workbook for one product: " + strings.Join(names, ", ") + ".",
		Example:   "  importer template annual-report\n  importer template agent-change -o changes.xlsx",
		ValidArgs: names,
		Args:      one("product: " + strings.Join(names, ", ")),
		RunE: func(_ *cobra.Command, args []string) error {
			o := outputFile{asked: cmp.Or(output, args[0]+".xlsx"), kinds: []string{".xlsx"}}
			if err := o.check(); err != nil {
				return err
			}
			output := o.asked
			if _, err := os.Stat(output); err == nil {
				return usage("%s already exists. Name another file with -o", output)
			}
			if err := importer.WriteTemplate(filing.Product(args[0]), output); err != nil {
				return err
			}
			fmt.Fprintf(a.out, "%s is ready to fill in. Next: importer check %s\n", output, output)
			return nil
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "", "the file to write (default PRODUCT.xlsx)")
	return c
}
