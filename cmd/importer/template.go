package main

import (
	"cmp"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/importer"
)

func newTemplateCommand(g *global) *cobra.Command {
	var output string
	var names []string
	for _, p := range filing.Products {
		names = append(names, string(p))
	}
	products := strings.Join(names, ", ")
	c := &cobra.Command{
		Use:       "template PRODUCT",
		Short:     "Write an empty spreadsheet with drop-downs, an example, and instructions",
		Long:      "template writes an empty workbook for one product: " + products + ".",
		Example:   "  importer template annual-report\n  importer template agent-change -o changes.xlsx",
		ValidArgs: names,
		Args:      one("product: " + products),
		RunE: func(_ *cobra.Command, args []string) error {
			return runTemplate(g.terminal, filing.Product(args[0]), cmp.Or(output, args[0]+".xlsx"))
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "", "the file to write (default PRODUCT.xlsx)")
	return c
}

func runTemplate(t *terminal, product filing.Product, output string) error {
	o := outputFile{asked: output, kinds: []string{".xlsx"}}
	if err := o.check(); err != nil {
		return err
	}
	if _, err := os.Stat(output); err == nil {
		return usage("%s already exists. Name another file with -o", output)
	}
	if err := importer.WriteTemplate(product, output); err != nil {
		return err
	}
	t.print("%s is ready to fill in. Next: importer check %s", output, output)
	return nil
}
