package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/user"
	"slices"
	"strings"

	"bulkfiling/internal/environment"
	"bulkfiling/internal/filing"
	"bulkfiling/internal/jobs"
	"bulkfiling/internal/ledger"

	"github.com/spf13/cobra"
)

func (a *app) resolveCommand() *cobra.Command {
	var row int
	var orders []string
	var company string
	var notPlaced bool
	c := &cobra.Command{
		Use:   "resolve BATCH",
		Short: "List the uncertain rows of a batch, or settle one",
		Long: `resolve lists rows that were sent and got no trustworthy answer, each with a link
to the company's dashboard where a person can see whether the order exists.
Such a row keeps its money set aside and is never sent again by itself.

--row N settles one: with --order ID as placed, with --not-placed as never made,
after which the same run sends it again. Where the creation of a new company is
in doubt, --company ID says that it exists; beside the --order of a formation it
tells which company was formed.`,
		Example: "  importer resolve b7k2\n  importer resolve b7k2 --row 17 --order order_81\n  importer resolve b7k2 --row 17 --not-placed",
		Args:    oneBatch,
		RunE: func(c *cobra.Command, args []string) error {
			settling := c.Flags().Changed("row")
			said := 0
			for _, given := range []bool{len(orders) > 0, company != "" && len(orders) == 0, notPlaced} {
				if given {
					said++
				}
			}
			if settling != (said == 1) || said > 1 || notPlaced && company != "" {
				return usage("to settle a row give --row N and one of --order ID, --company ID and --not-placed")
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
				if company != "" && len(orders) > 0 {
					return a.settleFormation(c.Context(), l, uncertain[at], orders, company)
				}
				if company != "" {
					return a.settleCreation(c.Context(), l, uncertain[at], company)
				}
				return a.settle(c.Context(), l, uncertain[at], orders)
			})
		},
	}
	c.Flags().IntVar(&row, "row", 0, "the row's number in its sheet")
	c.Flags().StringSliceVar(&orders, "order", nil, "the order id that was found; repeat it for several items")
	c.Flags().StringVar(&company, "company", "", "the id of the company that was created, or formed")
	c.Flags().BoolVar(&notPlaced, "not-placed", false, "the order was never made")
	return c
}

// settleCreation records that a company whose creation was in doubt exists,
// after a look at it.
func (a *app) settleCreation(ctx context.Context, l *ledger.Ledger, row ledger.Row, id string) error {
	env, err := a.environment()
	if err != nil {
		return err
	}
	client, err := env.Client()
	if err != nil {
		return err
	}
	company, err := client.Company(ctx, id)
	if err != nil {
		return err
	}
	if sheet := row.Request.Company.Sheet; filing.FoldLegalName(company.LegalName) != filing.FoldLegalName(sheet.LegalName) {
		return fmt.Errorf("%s is %q, and the row's company is %q: is it the right one?", company.ID, company.LegalName, sheet.LegalName)
	}
	if err := l.ResolveCreated(ctx, row.ID, company, "the company was found as "+company.ID+" by "+person()); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "Row %d is ready again, for the company %s; the same run sends its order.\n", row.Number, company.ID)
	return nil
}

// settleFormation records that a formation was placed, and what it formed.
func (a *app) settleFormation(ctx context.Context, l *ledger.Ledger, row ledger.Row, orders []string, company string) error {
	order := &row.Request.Order
	if order.Formation == nil {
		return fmt.Errorf("row %d forms no company: leave --company out", row.Number)
	}
	if !filing.IsCompanyID(company) {
		return fmt.Errorf("%q is not a company id: it looks like comp_…", company)
	}
	if err := areOrders(orders); err != nil {
		return err
	}
	if err := l.ResolveFormed(ctx, row.ID, orders, company, jobs.Formed(order, company), "placed: found by "+person()+"; the new company is "+company); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "Row %d is placed, and its company is %s. The %s that was held for it is spent.\n", row.Number, company, row.Held.Dollars())
	return nil
}

func areOrders(ids []string) error {
	for _, id := range ids {
		if !strings.HasPrefix(id, "order_") {
			return fmt.Errorf("%q is not an order id: it looks like order_…", id)
		}
	}
	return nil
}

// settle records what a person has seen, and says what it did to the money.
func (a *app) settle(ctx context.Context, l *ledger.Ledger, row ledger.Row, orders []string) error {
	if err := areOrders(orders); err != nil {
		return err
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
		what := r.Request.Product.Title()
		if r.Creating {
			what = "creation of " + r.Request.Company.Sheet.LegalName
		}
		fmt.Fprintf(a.out, "\nrow %d  %s\n  company     %s\n  last sent   %s\n  what came   %s\n  money held  %s\n", r.Number, what, cmp.Or(r.Company, r.Request.Company.Ref, "a new one"),
			r.UpdatedAt.Local().Format("2006-01-02 15:04:05"), r.Message, r.Held.Dollars())
		if link, err := a.dashboard(ctx, l, env, r); err != nil {
			fmt.Fprintf(a.out, "  dashboard   no link: %s\n", err)
		} else {
			fmt.Fprintf(a.out, "  dashboard   %s\n", link)
		}
	}
	fmt.Fprintf(a.out, "\nLook whether the order is there, then settle each row:\n  importer resolve %s --row N --order ORDER_ID\n  importer resolve %s --row N --not-placed\n", b.ID, b.ID)
	if slices.ContainsFunc(rows, func(r ledger.Row) bool { return r.Creating || r.Request.Order.Formation != nil }) {
		fmt.Fprintf(a.out, "A company that was created is settled with its id, and that of a formation is given beside the order:\n  importer resolve %s --row N --company COMPANY_ID\n  importer resolve %s --row N --order ORDER_ID --company COMPANY_ID\n", b.ID, b.ID)
	}
	return nil
}

// dashboard makes a link at which a person sees the company's orders.
func (a *app) dashboard(ctx context.Context, l *ledger.Ledger, env environment.Environment, row ledger.Row) (string, error) {
	client, err := env.Client()
	if err != nil {
		return "", err
	}
	r := row.Request
	userID, companyID := r.User.ID, cmp.Or(row.Company, r.Company.Ref)
	if userID == "" {
		users, err := l.Users(ctx, []string{r.User.Ref()})
		if err != nil {
			return "", err
		}
		userID = users[r.User.Ref()].ID
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
