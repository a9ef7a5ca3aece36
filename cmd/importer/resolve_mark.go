package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/resolve"
)

// The two decisions about an uncertain row.
const (
	markPlaced    = "placed"
	markNotPlaced = "not-placed"
)

// mark is a decision about one row.
type mark struct {
	batch    string
	row      int
	decision string
	orders   []string
	company  string
	yes      bool
}

func (a *app) resolveMarkCommand() *cobra.Command {
	var m mark
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
			if err := m.parse(args[0], args[1]); err != nil {
				return err
			}
			return a.withResolver(c.Context(), m.batch, "mark",
				func(r *resolver) error { return r.mark(c.Context(), m) })
		},
	}
	c.Flags().StringSliceVar(&m.orders, "order", nil, "the ID of the order that exists; repeat it for several items")
	c.Flags().StringVar(&m.company, "company", "", "the ID of the company that was created or formed")
	c.Flags().BoolVarP(&m.yes, "yes", "y", false, "do not ask")
	return c
}

// parse parses "b7k2:17" and "placed" or "not-placed".
func (m *mark) parse(row, decision string) error {
	at := strings.LastIndex(row, ":")
	number, err := strconv.Atoi(row[at+1:])
	if at <= 0 || err != nil || number < 1 {
		return usage("%q does not name a row: write BATCH:ROW, such as b7k2:17", row)
	}
	m.batch, m.row, m.decision = row[:at], number, decision
	placed := decision == markPlaced
	switch {
	case !placed && decision != markNotPlaced:
		return usage("%q is not a decision: write %s or %s", decision, markPlaced, markNotPlaced)
	case placed && len(m.orders) == 0 && m.company == "":
		return usage("%s needs the ID that was found: --order ORDER_ID or --company COMPANY_ID", markPlaced)
	case !placed && (len(m.orders) > 0 || m.company != ""):
		return usage("--order and --company go with %s", markPlaced)
	}
	return nil
}

// mark resolves one row.
func (r *resolver) mark(ctx context.Context, m mark) error {
	rows, err := resolve.ListUncertain(ctx, r.ledger, r.batch.ID)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(rows, func(o *resolve.UncertainOrder) bool { return o.Row.Number == m.row })
	if at < 0 {
		return r.markResolved(ctx, m)
	}
	decided := &resolve.Resolution{Order: rows[at], OrderIDs: m.orders, CompanyID: m.company}
	if err := r.service.Check(ctx, decided); err != nil {
		return err
	}
	if err := r.confirmMark(ctx, m, decided.Objections); err != nil {
		return err
	}
	before, err := r.ledger.Balance(ctx)
	if err != nil {
		return err
	}
	said, err := r.service.Resolve(withAudit(ctx, "resolve", r.batch.ID, fmt.Sprintf("row %d", m.row)), decided)
	if err != nil {
		return fmt.Errorf("row %d: %w", m.row, err)
	}
	fmt.Fprintln(r.out, said)
	after, err := r.ledger.Balance(ctx)
	if err == nil {
		fmt.Fprintln(r.out, balanceChange(before, after))
	}
	return err
}

// confirmMark shows the objections to a decision, and asks.
func (r *resolver) confirmMark(ctx context.Context, m mark, warnings []string) error {
	if !m.yes {
		r.warn(warnings)
	}
	question := fmt.Sprintf("Row %d is sent again. If the order exists after all, it is bought twice. Did you check "+
		"the dashboard, and is the order not there?", m.row)
	if m.decision == markPlaced {
		question = fmt.Sprintf("Mark row %d as placed with %s? This cannot be taken back.", m.row,
			strings.Join(append(m.orders, strings.Fields(m.company)...), ", "))
	}
	return r.ask(ctx, m.yes, question, "Nothing was changed.")
}

// markResolved handles a row that is not uncertain. It returns an error, unless an event or a
// person resolved the row the same way before, or the company that it formed is named now.
func (r *resolver) markResolved(ctx context.Context, m mark) error {
	for row, err := range r.ledger.Results(ctx, r.batch.ID) {
		switch {
		case err != nil:
			return err
		case row.Number != m.row:
			continue
		case resolve.IsRecorded(row, m.orders, m.company):
			fmt.Fprintf(r.out, "Row %d is already %s: %s\n", row.Number, row.Result, row.Message)
			return nil
		case row.Request != nil && row.Request.Order.Formation != nil && row.Company == "" &&
			m.company != "" && len(m.orders) == 0:
			said, err := r.service.NameCompany(withAudit(ctx, "resolve", r.batch.ID,
				fmt.Sprintf("row %d formed %s", row.Number, m.company)), row, m.company)
			if err == nil {
				fmt.Fprintln(r.out, said)
			}
			return err
		}
		return fmt.Errorf("row %d of batch %s is not uncertain: it is %s", row.Number, r.batch.ID, row.Result)
	}
	return fmt.Errorf("batch %s has no row %d", r.batch.ID, m.row)
}
