package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

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
	enter, what := l.RecordDeposit, "deposit"
	if o.adjust {
		enter, what = l.Adjust, "adjust"
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
