package main

import (
	"cmp"
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

func newTemplateCommand(g *global) *cobra.Command {
	var output, from string
	var names []string
	for _, p := range filing.Products {
		names = append(names, string(p))
	}
	products := strings.Join(names, ", ")
	c := &cobra.Command{
		Use:   "template PRODUCT",
		Short: "Write a spreadsheet to fill in, or next year's from a batch",
		Long: "template writes an empty workbook with drop-downs, an example, and instructions for one\nproduct: " +
			products + `.

With --from, it writes next year's annual reports from the spreadsheet of a finished batch: the
same columns and companies, with the year raised. Companies that were not ordered, and those
without a report next year, are on the sheet Not Copied with the reason.`,
		Example: "  importer template annual-report\n  importer template agent-change -o changes.xlsx\n" +
			"  importer template annual-report --from b7k2 -o 2027.xlsx",
		ValidArgs: names,
		Args:      one("product: " + products),
		RunE: func(c *cobra.Command, args []string) error {
			product, output := filing.Product(args[0]), cmp.Or(output, args[0]+".xlsx")
			switch {
			case !c.Flags().Changed("from"):
				return runTemplate(g.terminal, product, output)
			case product != filing.AnnualReport:
				return usage("--from is only for %s: other orders are not due every year", filing.AnnualReport)
			}
			return withLedger(c.Context(), g, func(l openLedger) error {
				return runNextYear(c.Context(), g.terminal, l, from, output)
			})
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "", "the file to write (default PRODUCT.xlsx)")
	c.Flags().StringVar(&from, "from", "", "the batch of annual reports that next year's spreadsheet is made from")
	return c
}

// checkNew returns an error if a workbook cannot be written, or if the file exists.
func checkNew(output string) error {
	o := outputFile{asked: output, kinds: []string{".xlsx"}}
	if err := o.check(); err != nil {
		return err
	}
	if _, err := os.Stat(output); err == nil {
		return usage("%s already exists. Name another file with -o", output)
	}
	return nil
}

func runTemplate(t *terminal, product filing.Product, output string) error {
	if err := checkNew(output); err != nil {
		return err
	}
	if err := importer.WriteTemplate(product, output); err != nil {
		return err
	}
	t.print("%s is ready to fill in. Next: importer check %s", output, output)
	return nil
}

// runNextYear writes next year's spreadsheet of a batch.
func runNextYear(ctx context.Context, t *terminal, l openLedger, batch, output string) error {
	if err := checkNew(output); err != nil {
		return err
	}
	b, err := l.Batch(ctx, batch)
	if err != nil {
		return err
	}
	n, err := report.WriteNextYear(ctx, l.Ledger, b.ID, importer.ReadableHeaders(b), output)
	if err != nil {
		return err
	}
	t.print("%s has %s for next year. The sheet Not Copied has the reasons for %s.", output,
		text.Count(n.Copied, "annual report"), text.Count(n.Listed, "other row"))
	if n.Copied > 0 {
		t.print("Next: importer check %s", output)
	}
	return nil
}
