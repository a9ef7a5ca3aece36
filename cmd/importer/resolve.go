package main

import (
	"context"
	"fmt"
	"os/user"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/resolve"
)

func (a *app) resolveCommand() *cobra.Command {
	list := a.resolveListCommand()
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
		RunE: list.RunE,
	}
	c.AddCommand(list, a.resolveMarkCommand(), a.resolveRestoredCommand())
	return c
}

// resolver resolves uncertain rows, or shows them.
type resolver struct {
	*app
	ledger  *ledger.Ledger
	service *resolve.Service
	// batch has no ID if all batches are meant.
	batch ledger.Batch
	// yes suppresses the question.
	yes bool
}

// withResolver runs do for one batch, or for all batches if batch is empty. The ledger records the
// command as the means of the resolutions.
func (a *app) withResolver(ctx context.Context, batch, command string, do func(*resolver) error) error {
	return a.withLedger(ctx, func(l *ledger.Ledger) error {
		r := &resolver{
			app:    a,
			ledger: l,
			service: &resolve.Service{
				Ledger: l,
				Client: a.service,
				By:     currentUser() + " with importer resolve " + command,
			},
		}
		if batch != "" {
			var err error
			if r.batch, err = l.Batch(ctx, batch); err != nil {
				return err
			}
		}
		return do(r)
	})
}

func (r *resolver) warn(warnings []string) {
	for _, why := range warnings {
		r.say("%s %s", r.paint.yellow("Warning:"), why)
	}
}

// balanceChange describes the difference between two readings of the balance.
func balanceChange(before, after ledger.Balance) string {
	available := "available not known (no deposit recorded)"
	if after.HasDeposit {
		available = fmt.Sprintf("available %s -> %s", before.Available().Dollars(), after.Available().Dollars())
	}
	spent := after.Posted - before.Posted
	amount, what := before.Reserved-after.Reserved-spent, "released"
	if amount < 0 {
		amount, what = -amount, "newly reserved"
	}
	return fmt.Sprintf("Balance: reserved %s -> %s, spent %s -> %s, %s %s, %s.", before.Reserved.Dollars(),
		after.Reserved.Dollars(), before.Posted.Dollars(), after.Posted.Dollars(), what, amount.Dollars(), available)
}

// currentUser names the user at the keyboard.
func currentUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "unknown user"
}
