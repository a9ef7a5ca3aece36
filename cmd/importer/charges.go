package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
)

// chargesOptions are the options of charges.
type chargesOptions struct{ month, client, output string }

func newChargesCommand(g *global) *cobra.Command {
	var o chargesOptions
	c := &cobra.Command{
		Use:   "charges -o FILE",
		Short: "Write what was charged to a file, by month, client, and matter",
		Long: `charges writes a file with every order that was charged, by month, client, and matter, with
its service fee, its state fee, its total, and whether the total is known or estimated.
Both fees are blank if they are not known apart. Uncertain orders that were charged are
included. The totals add up to the charges of importer balance.

The columns Client, Matter, Bill To, and Reference of a spreadsheet are never sent to
the filing service. Months are those of the firm's time zone, by the day of the charge.`,
		Example: `  importer charges --month 2026-03 -o march.xlsx
  importer charges --month 2026-03 --client "Harbor Light" -o march.csv`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if _, err := time.Parse("2006-01", o.month); o.month != "" && err != nil {
				return usage("--month: write a month like 2026-03")
			}
			if o.output == "" {
				return usage("name the file to write: -o FILE.xlsx or -o FILE.csv")
			}
			return withLedgerToList(c.Context(), g, "Nothing was charged",
				func(l openLedger) error { return runCharges(c.Context(), o, g.terminal, l.Ledger) })
		},
	}
	c.Flags().StringVar(&o.month, "month", "", "only this month, such as 2026-03")
	c.Flags().StringVar(&o.client, "client", "", "only this client")
	c.Flags().StringVarP(&o.output, "output", "o", "", "the file to write: .xlsx or .csv")
	return c
}

func runCharges(ctx context.Context, o chargesOptions, t *terminal, l *ledger.Ledger) error {
	zone, err := schedule.FirmZone(ctx, l)
	if err != nil {
		return err
	}
	all, err := l.Entries().Charges(ctx, o.month, zone)
	if err != nil {
		return err
	}
	client := strings.TrimSpace(o.client)
	charges := report.ChargesOf(client, all)
	switch {
	case len(charges) == 0 && len(all) > 0:
		return usage("--client: nothing was charged for %q. To list the clients, leave out --client", client)
	case len(charges) == 0:
		t.say("Nothing was charged.")
		return nil
	}
	file := outputFile{asked: o.output, kinds: resultsEndings, ours: oursIn(ctx, l)}
	if err := file.check(); err != nil {
		return err
	}
	if _, _, err := file.choose(); err != nil {
		return err
	}
	if err := report.WriteCharges(o.output, charges, zone); err != nil {
		return err
	}
	_, total := report.GroupCharges(charges)
	t.print("%s, %s: %s", count(total.Orders, "order"), total.Cost, o.output)
	return recordOurs(ctx, l, o.output)
}
