package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/billing"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

func (a *app) billListCommand() *cobra.Command {
	var f billFlags
	c := &cobra.Command{
		Use:     "list",
		Short:   "List bills: drafts, then issued bills",
		Example: "  importer bill list\n  importer bill list --month 2026-03 --json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withLedgerToList(c.Context(), "No bills yet", func(l *ledger.Ledger) error {
				o, err := f.options(c.Context(), l)
				if err != nil {
					return err
				}
				bills, err := l.Bills().List(c.Context(), ledger.BillQuery{Month: o.Month, Client: o.Client})
				switch {
				case err != nil:
					return err
				case f.asJSON:
					lines := json.NewEncoder(a.out)
					for i := range bills {
						if err := lines.Encode(billLineOf(&bills[i])); err != nil {
							return err
						}
					}
					return nil
				case len(bills) == 0:
					a.say("No bills yet. To see what is not billed: importer bill")
					return nil
				}
				return a.listBills(bills)
			})
		},
	}
	c.Flags().StringVar(&f.month, "month", "", "only bills of this month, such as 2026-03")
	c.Flags().StringVar(&f.client, "client", "", "only this client")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON line for each bill")
	return c
}

func (a *app) billIssueCommand() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "issue [ID...]",
		Short: "Issue drafts: each gets the next number and never changes again",
		Long: `issue gives drafts their numbers and dates. Numbers have no gaps. An issued bill never
changes: what changes later becomes a credit or a further bill.`,
		Example: "  importer bill issue 4be1c2d3e4f5\n  importer bill issue --all",
		RunE: func(c *cobra.Command, ids []string) error {
			if all != (len(ids) == 0) {
				return usage("%s takes the IDs of drafts, or --all", c.CommandPath())
			}
			return a.withLedger(c.Context(),
				func(l *ledger.Ledger) error { return a.issueDrafts(c.Context(), l, ids, all) })
		},
	}
	c.Flags().BoolVar(&all, "all", false, "issue all drafts")
	return c
}

// issueDrafts issues the drafts with the IDs, or all.
func (a *app) issueDrafts(ctx context.Context, l *ledger.Ledger, ids []string, all bool) error {
	if all {
		drafts, err := l.Bills().List(ctx, ledger.BillQuery{Drafts: true})
		if err != nil {
			return err
		}
		for _, b := range drafts {
			ids = append(ids, b.ID)
		}
	}
	for _, id := range ids {
		b, err := l.Bills().Issue(withAudit(ctx, "bill-issue", id, ""), id)
		if errors.Is(err, ledger.ErrNotFound) {
			return fmt.Errorf("there is no draft %s; to list the drafts: importer bill list", id)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(a.out, "%s issued to %s: %s\n", b.Name(), legible(b.To()), b.Total.Dollars())
	}
	if len(ids) == 0 {
		a.say("There are no drafts.")
	}
	return nil
}

func (a *app) billDiscardCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "discard ID...",
		Short:   "Discard drafts: their filings are unbilled again",
		Example: "  importer bill discard 4be1c2d3e4f5",
		RunE: func(c *cobra.Command, ids []string) error {
			if len(ids) == 0 {
				return usage("%s takes the IDs of drafts; importer bill list lists them", c.CommandPath())
			}
			return a.withLedger(c.Context(), func(l *ledger.Ledger) error {
				for _, id := range ids {
					err := l.Bills().Discard(withAudit(c.Context(), "bill-discard", id, ""), id)
					if errors.Is(err, ledger.ErrNotFound) {
						return fmt.Errorf("there is no draft %s; to list the drafts: importer bill list", id)
					}
					if err != nil {
						return err
					}
				}
				fmt.Fprintf(a.out, "%s discarded.\n", count(len(ids), "draft"))
				return nil
			})
		},
	}
}

// settingsFlags are the changes of importer bill settings.
type settingsFlags struct {
	rule, estimated string
	terms           int
	accounts        map[string]string
}

// apply changes the settings as the flags say, and reports whether there are any.
func (f *settingsFlags) apply(c *cobra.Command, s *ledger.BillingSettings) (changed bool, err error) {
	if c.Flags().Changed("rule") {
		changed = true
		if s.Rule, err = billing.ParseRule(f.rule); err != nil {
			return false, usage("--rule: %w", err)
		}
	}
	if c.Flags().Changed("bill-estimated") {
		changed = true
		if f.estimated != "yes" && f.estimated != "no" {
			return false, usage("--bill-estimated is yes or no")
		}
		s.Estimated = f.estimated == "yes"
	}
	if c.Flags().Changed("terms") {
		changed = true
		if s.Terms = f.terms; f.terms < 0 || f.terms > 365 {
			return false, usage("--terms is a number of days up to 365")
		}
	}
	for name, value := range f.accounts {
		changed = true
		if err := s.Accounts.Set(name, value); err != nil {
			return false, usage("--account: %w", err)
		}
	}
	return changed, nil
}

func (a *app) billSettingsCommand() *cobra.Command {
	var f settingsFlags
	c := &cobra.Command{
		Use:   "settings",
		Short: "Show or change how the firm bills",
		Long: `settings shows how the firm bills. --rule sets what clients pay as service fees:
none (as charged), a percentage on top such as 15%, a fixed fee for each filing such as
25.00, or retail (the retail price of the filing service on the day of the order).
State fees are always passed on as charged.

--account sets the accounts and names in the files for accounting programs.`,
		Example: "  importer bill settings --rule 15%\n  importer bill settings --account serviceFees=4010 " +
			"--account tax=\"Tax Exempt\"",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withLedger(c.Context(), func(l *ledger.Ledger) error {
				s, err := l.Bills().Settings(c.Context())
				if err != nil {
					return err
				}
				changed, err := f.apply(c, &s)
				if err != nil {
					return err
				}
				if changed {
					if err := l.Bills().SetSettings(withAudit(c.Context(), "bill-settings", "", s.Words()),
						s); err != nil {
						return err
					}
				}
				fmt.Fprintln(a.out, s.Words())
				for _, account := range s.Accounts.List() {
					fmt.Fprintf(a.out, "  %-12s %s\n", account[0], legible(account[1]))
				}
				return nil
			})
		},
	}
	c.Flags().StringVar(&f.rule, "rule", "", "what clients pay as service fees: none, retail, 15%, or 25.00")
	c.Flags().StringVar(&f.estimated, "bill-estimated", "", "yes or no: bill estimated costs, marked as estimates")
	c.Flags().IntVar(&f.terms, "terms", 0, "days until a bill is due")
	c.Flags().StringToStringVar(&f.accounts, "account", nil, "an account or a name: --account serviceFees=4000")
	return c
}

func (a *app) billCostCommand() *cobra.Command {
	var reason, product string
	c := &cobra.Command{
		Use:   "cost BATCH ROW AMOUNT",
		Short: "Record the actual cost of a filing, such as 0 after a refund",
		Long: `cost records what the filing service charged in the end for a placed order. A filing
that is not billed yet is billed at this cost. For one that is billed, the next bills
have a credit or a further charge with the difference.

The recorded balance does not change: record a refund there with importer deposit
--adjust.`,
		Example: "  importer bill cost b7k2 14 0 --reason \"refunded on May 3\"",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 3 {
				return usage("cost takes a batch, a row number, and an amount")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			number, err := strconv.Atoi(args[1])
			if err != nil {
				return usage("%s is not a row number", args[1])
			}
			cost, err := money.Parse(args[2])
			if err != nil {
				return err
			}
			if strings.TrimSpace(reason) == "" {
				return usage("say why with --reason")
			}
			return a.withLedger(c.Context(), func(l *ledger.Ledger) error {
				return a.recordCost(c.Context(), l, args[0], number, filing.Product(product), cost, reason)
			})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why the cost is another one")
	c.Flags().StringVar(&product, "product", "", "which of several orders of the row")
	return c
}

// recordCost records the actual cost of an order of a row. Product names one of several;
// "" for the only one.
func (a *app) recordCost(ctx context.Context, l *ledger.Ledger, batch string, number int, product filing.Product,
	cost money.Cents, reason string) error {
	b, err := l.Batch(ctx, batch)
	if err != nil {
		return err
	}
	row, err := l.RowNumbered(ctx, b.ID, number)
	if err != nil {
		return err
	}
	purchases, err := l.Bills().Purchases(ctx, []int64{row.ID})
	if err != nil {
		return err
	}
	var found []billing.Purchase
	for _, p := range purchases {
		if p.Purchase != nil && (product == "" || p.Key.Product == product) {
			found = append(found, *p.Purchase)
		}
	}
	switch {
	case len(found) == 0:
		return fmt.Errorf("row %d of batch %s has no such charge", number, b.ID)
	case len(found) > 1:
		return usage("row %d has several charges: name one with --product", number)
	}
	what := found[0].Product.Title()
	note := fmt.Sprintf("row %d, %s: %s, it was %s; %s", number, what, cost.Dollars(), found[0].Cost, reason)
	if err := l.Bills().RecordCost(withAudit(ctx, "bill-cost", b.ID, note), found[0].Key, cost, reason); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "Recorded: %s of row %d cost %s.\n", what, number, cost.Dollars())
	return nil
}
