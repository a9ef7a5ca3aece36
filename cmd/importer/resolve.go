package main

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"slices"
	"strings"

	"bulkfiling/internal/environment"
	"bulkfiling/internal/filing"
	"bulkfiling/internal/ledger"

	"github.com/spf13/cobra"
)

func (a *app) resolveCommand() *cobra.Command {
	var row int
	var orders []string
	var notPlaced bool
	c := &cobra.Command{
		Use:   "resolve BATCH",
		Short: "List the uncertain rows of a batch, or settle one",
		Long: `resolve lists rows that were sent and got no trustworthy answer, each with a link
to the company's dashboard where a person can see whether the order exists.
Such a row keeps its money set aside and is never sent again by itself.

--row N settles one: with --order ID as placed, with --not-placed as never made,
after which the same run sends it again.`,
		Example: "  importer resolve b7k2\n  importer resolve b7k2 --row 17 --order order_81\n  importer resolve b7k2 --row 17 --not-placed",
		Args:    oneBatch,
		RunE: func(c *cobra.Command, args []string) error {
			settling := c.Flags().Changed("row")
			if settling != (len(orders) > 0 || notPlaced) || len(orders) > 0 && notPlaced {
				return usage("to settle a row give --row N and either --order ID or --not-placed")
			}
			return a.withLedger(c.Context(), func(l *ledger.Ledger) error {
				b, err := l.Batch(c.Context(), args[0])
				if err != nil {
					return err
				}
				uncertain, err := l.UncertainRows(c.Context(), b.ID)
				if err != nil {
					return err
				}
				if !settling {
					return a.listUncertain(c.Context(), l, b, uncertain)
				}
				at := slices.IndexFunc(uncertain, func(r ledger.Row) bool { return r.Number == row })
				if at < 0 {
					return fmt.Errorf("row %d of batch %s is not uncertain", row, b.ID)
				}
				return a.settle(c.Context(), l, uncertain[at], orders)
			})
		},
	}
	c.Flags().IntVar(&row, "row", 0, "the row's number in its sheet")
	c.Flags().StringSliceVar(&orders, "order", nil, "the order id that was found; repeat it for several items")
	c.Flags().BoolVar(&notPlaced, "not-placed", false, "the order was never made")
	return c
}

// settle records what a person has seen, and says what it did to the money.
func (a *app) settle(ctx context.Context, l *ledger.Ledger, row ledger.Row, orders []string) error {
	for _, id := range orders {
		if !strings.HasPrefix(id, "order_") {
			return fmt.Errorf("%q is not an order id: it looks like order_…", id)
		}
	}
	who := person()
	if len(orders) > 0 {
		if err := l.ResolvePlaced(ctx, row.ID, orders, "placed: found by "+who); err != nil {
			return err
		}
		fmt.Fprintf(a.out, "Row %d is placed. The %s that was held for it is spent.\n", row.Number, row.Held.Dollars())
		return nil
	}
	if err := l.ResolveNotPlaced(ctx, row.ID, "not placed, says "+who+"; it may be sent again"); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "Row %d is ready again. The %s that was held for it is free; the same run sends it.\n", row.Number, row.Held.Dollars())
	return nil
}

func (a *app) listUncertain(ctx context.Context, l *ledger.Ledger, b ledger.Batch, rows []ledger.Row) error {
	if len(rows) == 0 {
		fmt.Fprintf(a.out, "No row of batch %s is uncertain.\n", b.ID)
		return nil
	}
	env, err := a.environment()
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "Sent, and without a trustworthy answer: %s of batch %s.\n", count(len(rows), "row"), b.ID)
	for _, r := range rows {
		fmt.Fprintf(a.out, "\nrow %d  %s\n  company     %s\n  last sent   %s\n  what came   %s\n  money held  %s\n", r.Number, r.Request.Product.Title(), r.Request.Company.Ref,
			r.UpdatedAt.Local().Format("2006-01-02 15:04:05"), r.Message, r.Held.Dollars())
		if link, err := a.dashboard(ctx, l, env, r.Request); err != nil {
			fmt.Fprintf(a.out, "  dashboard   no link: %s\n", err)
		} else {
			fmt.Fprintf(a.out, "  dashboard   %s\n", link)
		}
	}
	fmt.Fprintf(a.out, "\nLook whether the order is there, then settle each row:\n  importer resolve %s --row N --order ORDER_ID\n  importer resolve %s --row N --not-placed\n", b.ID, b.ID)
	return nil
}

// dashboard makes a link at which a person sees the company's orders.
func (a *app) dashboard(ctx context.Context, l *ledger.Ledger, env environment.Environment, r *filing.Request) (string, error) {
	client, err := env.Client()
	if err != nil {
		return "", err
	}
	userID, companyID := r.User.ID, r.Company.Ref
	if userID == "" {
		users, err := l.Users(ctx, []string{r.User.Email})
		if err != nil {
			return "", err
		}
		userID = users[r.User.Email].ID
	}
	if !filing.IsCompanyID(companyID) {
		companies, err := l.Companies(ctx, []string{companyID})
		if err != nil {
			return "", err
		}
		companyID = companies[companyID].ID
	}
	if userID == "" || companyID == "" {
		return "", errors.New("the user or the company is not known by id")
	}
	return client.MagicLink(ctx, userID, companyID)
}

// person names who is at the keyboard.
func person() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "somebody"
}
