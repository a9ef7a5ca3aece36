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

// balanceOptions are the options of balance.
type balanceOptions struct {
	last, days int
	forecast   bool
}

func newBalanceCommand(g *global) *cobra.Command {
	var o balanceOptions
	c := &cobra.Command{
		Use:   "balance",
		Short: "Show the recorded balance and its entries",
		Long: `balance shows the prepaid balance as the ledger records it, and checks it:
available = deposits + adjustments - charged - reserved. The filing service does not
report its balance, so the recorded balance is as right as the recorded deposits.

Each line has its sign and the balance after it. An order has one line, whose amount
is what was charged or is reserved. The page downloads all lines as a file.

--forecast shows what the runs of the schedules and the renewals of yearly subscriptions
will cost in the next days, and how much to have available by when. A renewal is
estimated: a year after the order, for what it cost then.`,
		Example: "  importer balance\n  importer balance --forecast --days 120",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if !o.forecast && c.Flags().Changed("days") {
				return usage("--days needs --forecast")
			}
			if o.days < 1 || o.days > schedule.MaxForecastDays {
				return usage("--days must be a number from 1 to %d", schedule.MaxForecastDays)
			}
			return withLedgerToList(c.Context(), g, "No balance is recorded",
				func(l openLedger) error { return runBalance(c.Context(), o, g.terminal, l) })
		},
	}
	c.Flags().IntVar(&o.last, "last", 20, "how many lines to print, newest first; 0 for all")
	c.Flags().BoolVar(&o.forecast, "forecast", false, "show what schedules and renewals will cost, and when")
	c.Flags().IntVar(&o.days, "days", schedule.ForecastDays, "how many days the forecast looks ahead")
	c.MarkFlagsMutuallyExclusive("forecast", "last")
	return c
}

func runBalance(ctx context.Context, o balanceOptions, t *terminal, l openLedger) error {
	if o.forecast {
		scheduler, _ := newScheduler(l)
		f, err := scheduler.Forecast(ctx, o.days)
		if err != nil {
			return err
		}
		printForecast(t, f)
		return nil
	}
	if err := l.Audit(ctx); err != nil {
		return err
	}
	return printBalance(ctx, t, l.Ledger, o.last)
}

func printBalance(ctx context.Context, t *terminal, l *ledger.Ledger, last int) error {
	balance, err := l.Balance(ctx)
	if err != nil {
		return err
	}
	available := "not known: no deposit is recorded"
	if balance.HasDeposit {
		available = balance.Available().Dollars()
	}
	table := tabwriter.NewWriter(t, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "deposits\t%s\t\nadjustments\t%s\t\ncharged\t%s\t\nreserved\t%s\t\navailable\t%s\t\n",
		balance.Deposits.Dollars(), balance.Adjustments.Dollars(), (-balance.Posted).Dollars(),
		(-balance.Reserved).Dollars(), available)
	table.Flush()
	halted, err := l.Fleet().Halt(ctx)
	if err != nil {
		return err
	}
	if text := disagreement(balance, halted); text != "" {
		t.print("\n%s.", t.yellow(text))
	}
	why := map[money.Certainty]string{
		money.Estimated: "are estimates, so the filing service may have charged a different amount. To record a " +
			"difference",
		money.Unknown: "are not known, so the actual cost is higher than charged. To record the difference",
	}[balance.Certainty]
	if why != "" {
		t.print("\nSome state fees %s:\n  importer deposit --adjust --note REASON -- AMOUNT", why)
	}
	return printEntries(ctx, t, l, balance, last)
}

// printEntries prints the last lines of the balance.
func printEntries(ctx context.Context, t *terminal, l *ledger.Ledger, balance ledger.Balance, last int) error {
	var lines []ledger.EntryLine
	for line, err := range l.Entries().Lines(ctx, ledger.LineQuery{Limit: last}) {
		if err != nil {
			return err
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return nil
	}
	t.print("\nThe last %s:", count(len(lines), "line"))
	list[ledger.EntryLine]{
		columns: fmt.Sprintf("TIME\tENTRY\t%12s\t%12s\tABOUT", "AMOUNT", "BALANCE"),
		cells: func(e ledger.EntryLine) []any {
			what, after := e.Note, "-"
			if e.Batch != "" {
				what = fmt.Sprintf("row %d of batch %s  %s", e.Number, e.Batch, e.Note)
			}
			if balance.HasDeposit {
				after = e.Balance.Dollars()
			}
			return []any{localTimeSeconds(e.At), report.EntryText(e.Kind), fmt.Sprintf("%12s", e.Amount.Dollars()),
				fmt.Sprintf("%12s", after), what}
		},
	}.print(t, lines, false)
	return nil
}

// disagreement explains that the recorded balance differs from the filing service, and how to
// correct it. It returns "" if the two agree.
func disagreement(balance ledger.Balance, halted ledger.Halted) string {
	text := report.DisagreeText(halted, balance)
	if text != "" {
		text += ". Check the balance at the filing service, then record the difference: importer deposit --adjust " +
			"--note REASON -- AMOUNT (-" + balance.Available().String() + " if nothing is left there)"
	}
	return text
}

// printForecast prints the money that the schedules and renewals will need from the balance.
func printForecast(t *terminal, f *schedule.Forecast) {
	t.print("%s", f.Text())
	if f.Queued > 0 {
		t.print("%s queued: %s.", countOf(f.Queued, "row is", "rows are"), f.QueuedFor)
	}
	if len(f.Runs) > 0 {
		t.print("")
		list[schedule.RunCost]{
			columns: "DATE\tSCHEDULE\tORDERS\tCOST\tNEEDED BY THEN\tSHORT",
			cells: func(run schedule.RunCost) []any {
				short := "-"
				if run.Short > 0 {
					short = run.Short.Dollars()
				}
				return []any{run.Date, run.Title(), run.Orders, run.Cost, run.Needed.Dollars(), short}
			},
		}.print(t, f.Runs, false)
	}
	left := 0
	for _, run := range f.Runs {
		left += run.LeftOut
	}
	if left > 0 {
		t.print("\n%s not included. To list them: importer schedule show NAME",
			countOf(left, "row needs attention and is", "rows need attention and are"))
	}
	for _, p := range f.Broken {
		t.say("Schedule %s is not included: %s", p.Schedule, p.Text)
	}
}

// depositOptions are the options of deposit.
type depositOptions struct {
	note   string
	adjust bool
}

func newDepositCommand(g *global) *cobra.Command {
	var o depositOptions
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
			return withAnyLedger(c.Context(), g, func(l openLedger) error {
				return runDeposit(c.Context(), o, g.terminal, l.Ledger, amount)
			})
		},
	}
	c.Flags().StringVar(&o.note, "note", "", "a note for the entry; the reason for an adjustment")
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return usage("%w. Write a negative amount after two dashes: "+
			"importer deposit --adjust --note REASON -- -12.50", err)
	})
	c.Flags().BoolVar(&o.adjust, "adjust", false, "record an adjustment instead of a deposit; can be negative")
	return c
}

func runDeposit(ctx context.Context, o depositOptions, t *terminal, l *ledger.Ledger, amount money.Cents) error {
	enter, what := l.Entries().RecordDeposit, "deposit"
	if o.adjust {
		enter, what = l.Entries().Adjust, "adjust"
	}
	err := enter(withAudit(ctx, what, "", strings.TrimSpace(amount.Dollars()+" "+o.note)), amount, o.note)
	if errors.Is(err, ledger.ErrReason) {
		return usage("%w: --note", err)
	}
	if err != nil {
		return err
	}
	balance, err := l.Balance(ctx)
	if err != nil {
		return err
	}
	if !balance.HasDeposit {
		t.print("%s recorded. It counts after the first deposit. Until then, the recorded balance limits nothing.",
			amount.Dollars())
		return nil
	}
	t.print("%s recorded. Available: %s.", amount.Dollars(), balance.Available().Dollars())
	return nil
}
