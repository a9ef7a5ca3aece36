package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

func (a *app) pricesCommand() *cobra.Command {
	return groupCommand("prices", "List prices or set retail prices",
		"prices shows what the organization pays (wholesale) and what its users pay (retail).\nState fees are added "+
			"at cost.",
		"  importer prices list\n  importer prices set ein --retail 99",
		a.pricesListCommand(), a.pricesSetCommand())
}

func (a *app) pricesListCommand() *cobra.Command {
	var o outputFlags
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the prices of all products",
		Example: "  importer prices list\n  importer prices list --json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			client, err := a.service()
			if err != nil {
				return err
			}
			var answer json.RawMessage
			prices, err := client.PriceList(filingapi.KeepBody(c.Context(), &answer))
			if err != nil {
				return withAdvice(err)
			}
			if o.json {
				return a.showRecord(o, answer)
			}
			return a.listPrices(prices)
		},
	}
	o.registerJSON(c)
	return c
}

func (a *app) listPrices(prices []filingapi.Price) error {
	table := newTable(a.out)
	fmt.Fprintln(table, "TYPE\tNAME\tWHOLESALE\tDEFAULT\tRETAIL\tENABLED\tDESCRIPTION")
	for _, p := range prices {
		enabled := "yes"
		if !p.Enabled {
			enabled = "no"
		}
		fmt.Fprintf(table, "%s\t%s\t%10s\t%10s\t%10s\t%s\t%s\n", plain(p.Type), plain(p.Name),
			dollars(p.WholesaleAmount), dollars(p.DefaultAmount), dollars(p.RetailAmount), enabled,
			plain(p.Description))
	}
	return table.Flush()
}

// dollars formats an amount of the filing service. An amount that is not in whole
// cents stays unchanged.
func dollars(amount string) string {
	cents, err := money.Parse(amount)
	if err != nil {
		return plain(amount)
	}
	return cents.Dollars()
}

func (a *app) pricesSetCommand() *cobra.Command {
	var o outputFlags
	var retail string
	var enabled bool
	c := &cobra.Command{
		Use:   "set TYPE",
		Short: "Set the retail price of a product, or stop offering a formation tier",
		Long: `set changes the retail price of a type in the list. The retail price is at least the
wholesale price. Only formation tiers can be disabled, and one must stay enabled.`,
		Example: "  importer prices set ein --retail 99\n  importer prices set formation_tier_3 --enabled=false",
		Args:    one("price type (importer prices list shows them)"),
		RunE: func(c *cobra.Command, args []string) error {
			var change filingapi.PriceChange
			if c.Flags().Changed("retail") {
				amount, err := money.Parse(retail)
				if err != nil || amount < 0 {
					return fmt.Errorf("--retail: %q is not an amount in dollars, such as 99 or 103.75", retail)
				}
				change.RetailAmount = json.Number(amount.String())
			}
			if c.Flags().Changed("enabled") {
				change.Enabled = &enabled
			}
			if change == (filingapi.PriceChange{}) {
				return usage("give --retail AMOUNT or --enabled=false")
			}
			client, err := a.service()
			if err != nil {
				return err
			}
			return a.changePrice(c.Context(), client, args[0], change, o)
		},
	}
	c.Flags().StringVar(&retail, "retail", "", "the retail price in dollars")
	c.Flags().BoolVar(&enabled, "enabled", true, "--enabled=false stops offering a formation tier")
	o.registerChange(c)
	return c
}

// changePrice sends both fields of a price, also the one that stays. Assumption:
// whether one field alone is accepted is not shown.
func (a *app) changePrice(ctx context.Context, client *filingapi.Client, name string, change filingapi.PriceChange,
	o outputFlags) error {
	now, line, err := findPrice(ctx, client, name)
	if err != nil {
		return err
	}
	rows := [][]string{{"wholesale", dollars(now.WholesaleAmount), "", "the minimum"}}
	if change.RetailAmount == "" {
		change.RetailAmount = json.Number(now.RetailAmount)
	} else if asked := dollars(change.RetailAmount.String()); asked != dollars(now.RetailAmount) {
		was := "(default " + dollars(now.DefaultAmount) + ")"
		if now.RetailAmount != "" {
			was = dollars(now.RetailAmount)
		}
		rows = append(rows, []string{"retail", was, "->", asked})
	}
	if change.Enabled == nil {
		change.Enabled = &now.Enabled
	} else if *change.Enabled != now.Enabled {
		rows = append(rows, []string{"enabled", fmt.Sprint(now.Enabled), "->", fmt.Sprint(*change.Enabled)})
	}
	if len(rows) == 1 {
		rows = nil
	}
	sent, err := a.applyChange(ctx, o, recordChange{
		name:  fmt.Sprintf("The price of %s (%s)", plain(now.Type), plain(now.Name)),
		old:   line,
		rows:  rows,
		check: "importer prices list",
		send:  func(ctx context.Context) error { return setPrice(ctx, client, now.Type, change) },
	})
	if err != nil || !sent {
		return err
	}
	_, answer, err := findPrice(context.WithoutCancel(ctx), client, now.Type)
	if err != nil {
		return fmt.Errorf("the price was changed, but cannot be shown: %w", err)
	}
	return a.showRecord(o, answer)
}

// setPrice sends a price, and explains why it is refused.
func setPrice(ctx context.Context, client *filingapi.Client, name string, change filingapi.PriceChange) error {
	err := client.SetPrice(ctx, name, change)
	if floor, below := errors.AsType[*filingapi.FloorError](err); below {
		return fmt.Errorf("%s cannot be sold for %s: the minimum is the wholesale price, %s (%w)",
			name, dollars(change.RetailAmount.String()), dollars(floor.Minimum), floor.Unwrap())
	}
	if errors.Is(err, filingapi.ErrNotFound) {
		return fmt.Errorf("%w. If the filing service sets prices at another path, set FILING_SET_PRICE_PATH", err)
	}
	return err
}

// findPrice finds a line of the price list by its type, in any spelling.
func findPrice(ctx context.Context, client *filingapi.Client, name string) (filingapi.Price, json.RawMessage, error) {
	var answer json.RawMessage
	prices, err := client.PriceList(filingapi.KeepBody(ctx, &answer))
	if err != nil {
		return filingapi.Price{}, nil, withAdvice(err)
	}
	var lines struct {
		Prices []json.RawMessage `json:"prices"`
	}
	if err := json.Unmarshal(answer, &lines); err != nil {
		return filingapi.Price{}, nil, fmt.Errorf("read the price list: %w", err)
	}
	types := make([]string, len(prices))
	for i, p := range prices {
		if filing.FoldName(p.Type) == filing.FoldName(name) {
			return p, lines.Prices[i], nil
		}
		types[i] = plain(p.Type)
	}
	return filingapi.Price{}, nil, fmt.Errorf("there is no price type %q: use one of %s", name,
		strings.Join(types, ", "))
}
