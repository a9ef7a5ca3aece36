package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/resolve"
)

func (a *app) resolveListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list [BATCH]",
		Short: "List the uncertain rows",
		Long: `list shows each uncertain row: when it was sent, what was answered, the reserved
money, the command for a link to the company's dashboard, and orders reported by the
filing service that may be the row's, each with the command that accepts it.

A dashboard link signs its reader in for seven days.`,
		Example: "  importer resolve list\n  importer resolve list b7k2",
		Args:    atMostOne,
		RunE: func(c *cobra.Command, args []string) error {
			return a.withResolver(c.Context(), first(args), "list",
				func(r *resolver) error { return r.list(c.Context()) })
		},
	}
}

// list prints the uncertain rows, grouped by batch.
func (r *resolver) list(ctx context.Context) error {
	rows, err := resolve.ListUncertain(ctx, r.ledger, r.batch.ID)
	if err != nil {
		return err
	}
	// Group the rows, because the rows of batches imported at the same time are mixed.
	var batches []string
	of := make(map[string][]*resolve.UncertainOrder)
	for _, d := range rows {
		if of[d.Row.Batch] == nil {
			batches = append(batches, d.Row.Batch)
		}
		of[d.Row.Batch] = append(of[d.Row.Batch], d)
	}
	switch {
	case len(rows) == 0 && r.batch.ID != "":
		fmt.Fprintf(r.out, "Batch %s has no uncertain rows.\n", r.batch.ID)
	case len(rows) == 0:
		fmt.Fprintln(r.out, "No row is uncertain.")
	}
	for i, id := range batches {
		if i > 0 {
			fmt.Fprintln(r.out)
		}
		b, err := r.ledger.Batch(ctx, id)
		if err != nil {
			return err
		}
		fmt.Fprintf(r.out, "Batch %s (%s): %s. Sent, but not confirmed by the filing service.\n", id, b.File,
			count(len(of[id]), "uncertain row"))
		for _, d := range of[id] {
			if err := r.show(ctx, d); err != nil {
				return err
			}
		}
		r.advise(id, of[id])
	}
	return r.listUnnamed(ctx)
}

// listUnnamed lists placed formations whose company is unknown.
func (r *resolver) listUnnamed(ctx context.Context) error {
	rows, err := r.ledger.Resolutions().UnnamedFormations(ctx, r.batch.ID)
	if err != nil || len(rows) == 0 {
		return err
	}
	fmt.Fprintln(r.out, "\nPlaced formations whose company ID is not known yet:")
	for _, row := range rows {
		fmt.Fprintf(r.out, "  %s: importer resolve mark %s:%d placed --company COMPANY_ID\n",
			row.Request.LegalName(), row.Batch, row.Number)
	}
	return nil
}

// show prints a row and its evidence.
func (r *resolver) show(ctx context.Context, d *resolve.UncertainOrder) error {
	fmt.Fprintf(r.out, "\nrow %d  %s\n", d.Row.Number, d.Ordered())
	line := func(name, format string, args ...any) {
		fmt.Fprintf(r.out, "  %-10s  %s\n", name, fmt.Sprintf(format, args...))
	}
	line("company", "%s", d.CompanyText())
	sent := d.Sent()
	for _, a := range sent {
		if a.Supposed {
			line("sent?", "%s", report.AnswerText(a))
			continue
		}
		line("sent", "%s: %s", localTimeSeconds(a.StartedAt), report.AnswerText(a))
	}
	if len(sent) == 0 {
		line("sent", "before %s: %s", localTimeSeconds(d.Row.UpdatedAt), d.Row.Message)
	}
	line("reserved", "%s", d.Row.Reserved.Dollars())
	switch user, company, err := r.service.DashboardIDs(ctx, d); {
	case errors.Is(err, resolve.ErrNoDashboard):
		line("dashboard", "no link: %s", err)
	case err != nil:
		return err
	default:
		line("dashboard", "importer api POST /auth/magic-link -f userId=%s -f companyId=%s", user, company)
	}
	for _, e := range d.Candidates {
		line("evidence", "%s", e)
		line("", "to accept it: %s", acceptCommand(d, e))
	}
	if d.MoreCandidates > 0 {
		line("", "%s", countOf(d.MoreCandidates, "more order may match", "more orders may match"))
	}
	return nil
}

// acceptCommand returns the command that marks a row as placed by a piece of evidence.
func acceptCommand(d *resolve.UncertainOrder, c resolve.Candidate) string {
	command := fmt.Sprintf("importer resolve mark %s:%d placed --order %s", d.Row.Batch, d.Row.Number, c.Order)
	if company := d.Accept(c).CompanyID; company != "" {
		command += " --company " + company
	}
	return command
}

// advise prints how to resolve the rows of a batch.
func (r *resolver) advise(batch string, rows []*resolve.UncertainOrder) {
	suggest := func(rest string) { fmt.Fprintf(r.out, "  importer resolve mark %s:ROW %s\n", batch, rest) }
	fmt.Fprintln(r.out, "\nCheck the dashboard for each order, then mark the row:")
	suggest("placed --order ORDER_ID")
	suggest("not-placed")
	if slices.ContainsFunc(rows, func(d *resolve.UncertainOrder) bool { return d.FormsCompany() }) {
		fmt.Fprintln(
			r.out, "For a company that was created, give its ID. For a formation, give the order and the company:")
		suggest("placed --company COMPANY_ID")
		suggest("placed --order ORDER_ID --company COMPANY_ID")
	}
	if slices.ContainsFunc(rows, func(d *resolve.UncertainOrder) bool { return d.Row.Creating && d.Assumed() }) {
		fmt.Fprintln(
			r.out, "If a creation and its order are both uncertain, --company alone means that the order was not "+
				"placed: it is sent next.")
	}
	if len(rows) > 1 {
		fmt.Fprintln(r.out, "Or resolve many rows at once on the page, under Uncertain.")
	}
}
