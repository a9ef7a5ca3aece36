package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/resolve"
)

// resolveMarkOptions are the options of resolve mark.
type resolveMarkOptions struct {
	orders  []string
	company string
	yes     bool
}

func newResolveMarkCommand(g *global) *cobra.Command {
	var o resolveMarkOptions
	c := &cobra.Command{
		Use:   "mark BATCH:ROW placed|not-placed",
		Short: "Mark an uncertain row as placed or as not placed",
		Long: `mark records what the company's dashboard shows. ROW is the number of the row in
its spreadsheet.

placed: the order exists. Give its ID with --order. If the creation of a new
company is uncertain, give --company: the company exists, and its order is sent
next. For a formation, --company beside --order records the company it created.
Use --company alone for a placed formation whose company is still unknown.

not-placed: the order does not exist. The reserved money is released, and the
next run sends the order again. If the order exists after all, it is bought
twice.`,
		Example: `  importer resolve mark b7k2:17 placed --order order_81
  importer resolve mark b7k2:17 placed --order order_81 --company comp_5
  importer resolve mark b7k2:17 placed --company comp_5
  importer resolve mark b7k2:17 not-placed`,
		Args: takes(2, "a row and a decision, such as b7k2:17 not-placed"),
		RunE: func(c *cobra.Command, args []string) error {
			batch, row, err := o.check(args[0], args[1])
			if err != nil {
				return err
			}
			return withLedger(c.Context(), g, func(l openLedger) error {
				b, err := l.Batch(c.Context(), batch)
				if err != nil {
					return err
				}
				return runResolveMark(c.Context(), o, g.terminal, newResolver(l, "mark"), b, row)
			})
		},
	}
	c.Flags().StringSliceVar(&o.orders, "order", nil, "the ID of the order that exists; repeat it for several items")
	c.Flags().StringVar(&o.company, "company", "", "the ID of the company that was created or formed")
	addYesFlag(c, &o.yes, "do not ask")
	return c
}

// placed reports whether the decision is "placed". check requires an ID for it, and none otherwise.
func (o *resolveMarkOptions) placed() bool { return len(o.orders) > 0 || o.company != "" }

// check parses "b7k2:17", and checks the decision and the IDs that go with it.
func (o *resolveMarkOptions) check(address, decision string) (batch string, row int, err error) {
	at := strings.LastIndex(address, ":")
	row, err = strconv.Atoi(address[at+1:])
	switch {
	case at <= 0 || err != nil || row < 1:
		return "", 0, usage("%q does not name a row: write BATCH:ROW, such as b7k2:17", address)
	case decision != "placed" && decision != "not-placed":
		return "", 0, usage("%q is not a decision: write placed or not-placed", decision)
	case decision == "placed" && !o.placed():
		return "", 0, usage("placed needs the ID that was found: --order ORDER_ID or --company COMPANY_ID")
	case decision != "placed" && o.placed():
		return "", 0, usage("--order and --company go with placed")
	}
	return address[:at], row, nil
}

// runResolveMark resolves one row.
func runResolveMark(ctx context.Context, o resolveMarkOptions, t *terminal, resolver *resolve.Service, b ledger.Batch,
	row int) error {
	l := resolver.Ledger
	rows, err := resolve.ListUncertain(ctx, l, b.ID)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(rows, func(u *resolve.UncertainOrder) bool { return u.Row.Number == row })
	if at < 0 {
		return markResolved(ctx, o, t, resolver, b, row)
	}
	decided := &resolve.Resolution{Order: rows[at], OrderIDs: o.orders, CompanyID: o.company}
	if err := resolver.Check(ctx, decided); err != nil {
		return err
	}
	if !o.yes {
		for _, objection := range decided.Objections {
			sayWarning(t, objection)
		}
	}
	question := fmt.Sprintf("Row %d is sent again. If the order exists after all, it is bought twice. Did you check "+
		"the dashboard, and is the order not there?", row)
	if o.placed() {
		question = fmt.Sprintf("Mark row %d as placed with %s? This cannot be taken back.", row,
			strings.Join(append(o.orders, strings.Fields(o.company)...), ", "))
	}
	if err := t.ask(ctx, o.yes, question, "Nothing was changed."); err != nil {
		return err
	}
	before, err := l.Balance(ctx)
	if err != nil {
		return err
	}
	text, err := resolver.Resolve(withAudit(ctx, "resolve", b.ID, fmt.Sprintf("row %d", row)), decided)
	if err != nil {
		return fmt.Errorf("row %d: %w", row, err)
	}
	t.print("%s", text)
	return printBalanceChange(ctx, t, l, before)
}

// markResolved handles a row that is not uncertain. It returns an error, unless an event or a
// person resolved the row the same way before, or the company that it formed is named now.
func markResolved(ctx context.Context, o resolveMarkOptions, t *terminal, resolver *resolve.Service, b ledger.Batch,
	number int) error {
	for row, err := range resolver.Ledger.Results(ctx, b.ID) {
		switch {
		case err != nil:
			return err
		case row.Number != number:
			continue
		case resolve.IsRecorded(row, o.orders, o.company):
			t.print("Row %d is already %s: %s", row.Number, row.Result, row.Message)
			return nil
		case row.Request != nil && row.Request.Order.Formation != nil && row.Company == "" &&
			o.company != "" && len(o.orders) == 0:
			audited := withAudit(ctx, "resolve", b.ID, fmt.Sprintf("row %d formed %s", row.Number, o.company))
			text, err := resolver.NameCompany(audited, row, o.company)
			if err == nil {
				t.print("%s", text)
			}
			return err
		}
		return fmt.Errorf("row %d of batch %s is not uncertain: it is %s", row.Number, b.ID, row.Result)
	}
	return fmt.Errorf("batch %s has no row %d", b.ID, number)
}
