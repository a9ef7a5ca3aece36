package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/resolve"
)

func newResolveCommand(g *global) *cobra.Command {
	c := &cobra.Command{
		Use:   "resolve [BATCH]",
		Short: "List and resolve uncertain rows",
		Long: `An uncertain row was sent, but the filing service did not confirm it. The order
may exist. The money for it stays reserved, and the row is not sent again.

Check the company's dashboard, then mark the row as placed or as not placed.
Without a subcommand, resolve lists the uncertain rows.`,
		Example: `  importer resolve
  importer resolve b7k2
  importer resolve mark b7k2:17 placed --order order_81
  importer resolve mark b7k2:17 not-placed`,
		Args: atMostOne,
		RunE: onUncertain(g),
	}
	c.AddCommand(newResolveListCommand(g), newResolveMarkCommand(g), newResolveRestoredCommand(g))
	return c
}

// newResolver returns the service that resolves uncertain rows. The ledger records the command as
// the means of the resolutions.
func newResolver(l openLedger, command string) *resolve.Service {
	return &resolve.Service{
		Ledger: l.Ledger,
		Client: l.env.Client,
		By:     currentUser() + " with importer resolve " + command,
	}
}

// sayWarning prints a warning before a question.
func sayWarning(t *terminal, warning string) { t.say("%s %s", t.yellow("Warning:"), warning) }

// printBalanceChange prints the difference between the present balance and an earlier one.
func printBalanceChange(ctx context.Context, t *terminal, l *ledger.Ledger, before ledger.Balance) error {
	after, err := l.Balance(ctx)
	if err != nil {
		return err
	}
	available := "available not known (no deposit recorded)"
	if after.HasDeposit {
		available = fmt.Sprintf("available %s -> %s", before.Available().Dollars(), after.Available().Dollars())
	}
	spent := after.Posted - before.Posted
	amount, what := before.Reserved-after.Reserved-spent, "released"
	if amount < 0 {
		amount, what = -amount, "newly reserved"
	}
	t.print("Balance: reserved %s -> %s, spent %s -> %s, %s %s, %s.", before.Reserved.Dollars(),
		after.Reserved.Dollars(), before.Posted.Dollars(), after.Posted.Dollars(), what, amount.Dollars(), available)
	return nil
}
