package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

func (a *app) chargesCommand() *cobra.Command {
	var month, client, output string
	c := &cobra.Command{
		Use:   "charges",
		Short: "List what was charged, by month, client, and matter",
		Long: `charges lists every order that was charged, by month, client, and matter, with its
service fee, its state fee, its total, and whether the total is known or estimated. Both
fees are blank if they are not known apart. Uncertain orders that were charged are
listed, too. The totals add up to the charges of importer balance.

The columns Client, Matter, Bill To, and Reference of a spreadsheet are never sent to
the filing service. Months are those of the firm's time zone, by the day of the charge.
An adjusted charge corrects an earlier one, such as an order that was not placed after
all.`,
		Example: "  importer charges --month 2026-03\n  importer charges --month 2026-03 --client \"Harbor Light\" " +
			"-o march.xlsx",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if _, err := time.Parse("2006-01", month); month != "" && err != nil {
				return usage("--month: write a month like 2026-03")
			}
			return a.withLedgerToList(c.Context(), "Nothing was charged", func(l *ledger.Ledger) error {
				return a.charges(c.Context(), l, month, strings.TrimSpace(client), output)
			})
		},
	}
	c.Flags().StringVar(&month, "month", "", "only this month, such as 2026-03")
	c.Flags().StringVar(&client, "client", "", "only this client")
	c.Flags().StringVarP(&output, "output", "o", "", "the file to write: .xlsx or .csv (default: print a table)")
	return c
}

func (a *app) charges(ctx context.Context, l *ledger.Ledger, month, client, output string) error {
	zone, err := schedule.FirmZone(ctx, l)
	if err != nil {
		return err
	}
	all, err := l.Entries().Charges(ctx, month, zone)
	if err != nil {
		return err
	}
	charges := report.ChargesOf(client, all)
	switch {
	case len(charges) == 0 && len(all) > 0:
		return usage("--client: nothing was charged for %q. To list the clients: importer charges", client)
	case len(charges) == 0:
		a.say("Nothing was charged.")
		return nil
	}
	_, total := report.GroupCharges(charges)
	if output != "" {
		write := func(path string) error { return report.WriteCharges(path, charges, zone) }
		if err := writeOurs(ctx, l, output, write); err != nil {
			return err
		}
		fmt.Fprintf(a.out, "%s, %s: %s\n", count(total.Orders, "order"), total.Cost, output)
		return nil
	}
	table := newTable(a.out)
	fmt.Fprintf(table, "MONTH\tCLIENT\tMATTER\tCOMPANY\tORDER\t%12s\t%12s\t%12s\tCERTAINTY\n", "SERVICE FEE",
		"STATE FEE", "TOTAL")
	for i := range charges {
		c := &charges[i]
		service, state := "-", "-"
		if s, fee, ok := c.Fees(); ok {
			service, state = s.Dollars(), fee.Dollars()
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%12s\t%12s\t%12s\t%s\n", c.Month, legible(cmp.Or(c.Client, "-")),
			legible(cmp.Or(c.Matter, "-")), legible(c.Company), report.ChargeTitle(c), service, state,
			c.Cost.Amount.Dollars(), c.Cost.Certainty)
	}
	fmt.Fprintf(table, "\t\t\t\t%s\t%12s\t%12s\t%12s\t%s\n", count(total.Orders, "order"), total.Service.Dollars(),
		total.State.Dollars(), total.Cost.Amount.Dollars(), total.Cost.Certainty)
	return table.Flush()
}

// writeOurs writes a file. It replaces only a file that it wrote before and that has not changed
// since.
func writeOurs(ctx context.Context, l *ledger.Ledger, path string, write func(path string) error) error {
	o := outputFile{asked: path, kinds: resultsEndings, ours: func(path string) (bool, error) {
		hash, err := sheet.HashFile(path)
		if err != nil {
			return false, err
		}
		return l.IsResults(ctx, hash)
	}}
	if err := o.check(); err != nil {
		return err
	}
	if _, _, err := o.choose(); err != nil {
		return err
	}
	if err := write(path); err != nil {
		return err
	}
	hash, err := sheet.HashFile(path)
	if err != nil {
		return err
	}
	return l.RecordResults(ctx, hash)
}
