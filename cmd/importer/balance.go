package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
)

func (a *app) balanceCommand() *cobra.Command {
	var last, days int
	var forecast bool
	var output string
	c := &cobra.Command{
		Use:   "balance",
		Short: "Show the recorded balance and its entries",
		Long: `balance shows the prepaid balance as the ledger records it, and checks it:
available = deposits + adjustments - charged - reserved. The filing service does not
report its balance, so the recorded balance is as right as the recorded deposits.

Each line has its sign and the balance after it. An order has one line, whose amount
is what was charged or is reserved. -o writes all lines to a file.

--forecast shows what the runs of the schedules will cost in the next days, and how much
to have available by when. Queued rows are needed first. Rows that cannot be filed yet
are left out.`,
		Example: "  importer balance\n  importer balance -o entries.xlsx\n  importer balance --forecast --days 120",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if !forecast && c.Flags().Changed("days") {
				return usage("--days needs --forecast")
			}
			if days < 1 || days > schedule.MaxForecastDays {
				return usage("--days must be a number from 1 to %d", schedule.MaxForecastDays)
			}
			return a.withLedgerToList(c.Context(), "No balance is recorded", func(l *ledger.Ledger) error {
				if forecast {
					return a.printForecast(c.Context(), l, days)
				}
				if err := l.Audit(c.Context()); err != nil {
					return err
				}
				if output != "" {
					return a.writeEntries(c.Context(), l, output)
				}
				return a.printBalance(c, l, last)
			})
		},
	}
	c.Flags().IntVar(&last, "last", 20, "how many lines to print, newest first; 0 for all")
	c.Flags().BoolVar(&forecast, "forecast", false, "show what the schedules will cost, and when")
	c.Flags().IntVar(&days, "days", schedule.ForecastDays, "how many days the forecast looks ahead")
	c.Flags().StringVarP(&output, "output", "o", "", "write all entries to a file instead: .xlsx or .csv")
	c.MarkFlagsMutuallyExclusive("forecast", "last", "output")
	return c
}

// writeEntries writes all entries of the balance to a file.
func (a *app) writeEntries(ctx context.Context, l *ledger.Ledger, output string) error {
	zone, err := schedule.FirmZone(ctx, l)
	if err != nil {
		return err
	}
	err = writeOurs(ctx, l, output, func(path string) error {
		return report.WriteEntries(ctx, l, path, ledger.LineQuery{}, zone)
	})
	if err == nil {
		fmt.Fprintln(a.out, output)
	}
	return err
}

func (a *app) printBalance(c *cobra.Command, l *ledger.Ledger, last int) error {
	book, err := l.Balance(c.Context())
	if err != nil {
		return err
	}
	var lines []ledger.EntryLine
	for line, err := range l.Entries().Lines(c.Context(), ledger.LineQuery{Limit: last}) {
		if err != nil {
			return err
		}
		lines = append(lines, line)
	}
	sums, err := l.Entries().SumLines(c.Context(), ledger.LineQuery{})
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, line := range []struct {
		name   string
		amount money.Cents
	}{
		{"deposits", book.Deposits}, {"adjustments", book.Adjustments}, {"charged", -book.Posted},
		{"reserved", -book.Reserved}, {"available", book.Available()},
	} {
		text := line.amount.Dollars()
		if line.name == "available" && !book.HasDeposit {
			text = "not known: no deposit is recorded"
		}
		fmt.Fprintf(table, "%s\t%s\t\n", line.name, text)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	halted, err := l.Fleet().Halt(c.Context())
	if err != nil {
		return err
	}
	disagrees, err := a.disagreement(c.Context(), l, halted)
	if err != nil {
		return err
	}
	if disagrees != "" {
		fmt.Fprintf(a.out, "\n%s.\n", a.paint.yellow(disagrees))
	}
	why := map[money.Certainty]string{
		money.Estimated: "are estimates, so the filing service may have charged a different amount. To record a " +
			"difference",
		money.Unknown: "are not known, so the actual cost is higher than charged. To record the difference",
	}[book.Certainty]
	if why != "" {
		fmt.Fprintf(a.out, "\nSome state fees %s:\n  importer deposit --adjust --note REASON -- AMOUNT\n", why)
	}
	if len(lines) == 0 {
		return nil
	}
	fmt.Fprintf(a.out, "\nThe last %d of %d lines:\n", len(lines), sums.Lines)
	return list[ledger.EntryLine]{
		columns: fmt.Sprintf("TIME\tENTRY\t%12s\t%12s\tABOUT", "AMOUNT", "BALANCE"),
		cells: func(e ledger.EntryLine) []any {
			what := e.Note
			if e.Batch != "" {
				what = fmt.Sprintf("row %d of batch %s  %s", e.Number, e.Batch, e.Note)
			}
			balance := "-"
			if book.HasDeposit {
				balance = e.Balance.Dollars()
			}
			return []any{localTimeSeconds(e.At), report.EntryText(e.Kind), fmt.Sprintf("%12s", e.Amount.Dollars()),
				fmt.Sprintf("%12s", balance), what}
		},
	}.print(a, lines, false)
}

func (a *app) depositCommand() *cobra.Command {
	var note string
	var adjust bool
	c := &cobra.Command{
		Use:   "deposit AMOUNT",
		Short: "Record a deposit to the prepaid balance",
		Long: `deposit records a top-up that you made at the filing service. After the first
deposit, orders are only sent if the recorded balance covers them. Rows that wait
for funds are tried again.

The first deposit also pays for the orders that were placed before it: what they
were charged is subtracted from it. Record everything that was ever paid in, or
record the present balance and correct the difference with --adjust.

--adjust corrects the recorded balance, up or down, to agree with the filing
service, and needs a reason as its --note. An adjustment before the first deposit counts from that deposit on.`,
		Example: "  importer deposit 2500\n  importer deposit --adjust --note \"state fee in MA\" -- -12.50",
		Args:    one("amount in dollars, such as 2500 or 1,250.50"),
		RunE: func(c *cobra.Command, args []string) error {
			amount, err := money.Parse(args[0])
			if err != nil {
				return err
			}
			return a.withAnyLedger(c.Context(), func(l *ledger.Ledger) error {
				enter, what := l.RecordDeposit, "deposit"
				if adjust {
					enter, what = l.Adjust, "adjust"
				}
				err := enter(withAudit(c.Context(), what, "", strings.TrimSpace(amount.Dollars()+" "+note)), amount,
					note)
				if errors.Is(err, ledger.ErrReason) {
					return usage("%w: --note", err)
				}
				if err != nil {
					return err
				}
				book, err := l.Balance(c.Context())
				switch {
				case err != nil:
					return err
				case !book.HasDeposit:
					fmt.Fprintf(
						a.out, "%s recorded. It counts after the first deposit. Until then, the recorded "+
							"balance limits "+
							"nothing.\n", amount.Dollars())
				default:
					fmt.Fprintf(a.out, "%s recorded. Available: %s.\n", amount.Dollars(), book.Available().Dollars())
				}
				return nil
			})
		},
	}
	c.Flags().StringVar(&note, "note", "", "a note for the entry; the reason for an adjustment")
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return usage("%w. Write a negative amount after two dashes: "+
			"importer deposit --adjust --note REASON -- -12.50", err)
	})
	c.Flags().BoolVar(&adjust, "adjust", false, "record an adjustment instead of a deposit; can be negative")
	return c
}
