package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/resolve"
)

func newResolveListCommand(g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "list [BATCH]",
		Short: "List the uncertain rows",
		Long: `list shows each uncertain row: when it was sent, what was answered, the reserved
money, the command for a link to the company's dashboard, and orders reported by the
filing service that may be the row's, each with the command that accepts it.

A dashboard link signs its reader in for seven days.`,
		Example: "  importer resolve list\n  importer resolve list b7k2",
		Args:    atMostOne,
		RunE:    onUncertain(g),
	}
}

// onUncertain lists the uncertain rows of the batch that is the argument, or of all batches.
func onUncertain(g *global) func(*cobra.Command, []string) error {
	return onLedger(g, func(ctx context.Context, l openLedger, args []string) error {
		batch := first(args)
		if batch != "" {
			b, err := l.Batch(ctx, batch)
			if err != nil {
				return err
			}
			batch = b.ID
		}
		return runResolveList(ctx, g.terminal, l.Ledger, newResolver(l, "list"), batch)
	})
}

// runResolveList prints the uncertain rows, grouped by batch, because the rows of batches imported
// at the same time are mixed.
func runResolveList(ctx context.Context, t *terminal, l *ledger.Ledger, resolver *resolve.Service,
	batch string) error {
	rows, err := resolve.ListUncertain(ctx, l, batch)
	if err != nil {
		return err
	}
	var batches []string
	of := make(map[string][]*resolve.UncertainOrder)
	for _, o := range rows {
		if of[o.Row.Batch] == nil {
			batches = append(batches, o.Row.Batch)
		}
		of[o.Row.Batch] = append(of[o.Row.Batch], o)
	}
	switch {
	case len(rows) == 0 && batch != "":
		t.print("Batch %s has no uncertain rows.", batch)
	case len(rows) == 0:
		t.print("No row is uncertain.")
	}
	for i, id := range batches {
		if i > 0 {
			t.print("")
		}
		b, err := l.Batch(ctx, id)
		if err != nil {
			return err
		}
		t.print("Batch %s (%s): %s. Sent, but not confirmed by the filing service.", id, b.File,
			count(len(of[id]), "uncertain row"))
		for _, o := range of[id] {
			if err := printUncertain(ctx, t, resolver, o); err != nil {
				return err
			}
		}
		printHowToMark(t, id, of[id])
	}
	unnamed, err := l.Resolutions().UnnamedFormations(ctx, batch)
	if err != nil || len(unnamed) == 0 {
		return err
	}
	t.print("\nPlaced formations whose company ID is not known yet:")
	for _, row := range unnamed {
		t.print("  %s: importer resolve mark %s:%d placed --company COMPANY_ID", row.Request.LegalName(), row.Batch,
			row.Number)
	}
	return nil
}

// printUncertain prints a row and its evidence.
func printUncertain(ctx context.Context, t *terminal, resolver *resolve.Service, o *resolve.UncertainOrder) error {
	t.print("\nrow %d  %s", o.Row.Number, o.Ordered())
	line := func(name, format string, args ...any) {
		t.print("  %-10s  %s", name, fmt.Sprintf(format, args...))
	}
	line("company", "%s", o.CompanyText())
	sent := o.Sent()
	for _, a := range sent {
		if a.Supposed {
			line("sent?", "%s", report.AnswerText(a))
			continue
		}
		line("sent", "%s: %s", localTimeSeconds(a.StartedAt), report.AnswerText(a))
	}
	if len(sent) == 0 {
		line("sent", "before %s: %s", localTimeSeconds(o.Row.UpdatedAt), o.Row.Message)
	}
	line("reserved", "%s", o.Row.Reserved.Dollars())
	switch user, company, err := resolver.DashboardIDs(ctx, o); {
	case errors.Is(err, resolve.ErrNoDashboard):
		line("dashboard", "no link: %s", err)
	case err != nil:
		return err
	default:
		line("dashboard", "importer api POST /auth/magic-link -f userId=%s -f companyId=%s", user, company)
	}
	for _, c := range o.Candidates {
		accept := fmt.Sprintf("importer resolve mark %s:%d placed --order %s", o.Row.Batch, o.Row.Number, c.Order)
		if company := o.Accept(c).CompanyID; company != "" {
			accept += " --company " + company
		}
		line("evidence", "%s", c)
		line("", "to accept it: %s", accept)
	}
	if o.MoreCandidates > 0 {
		line("", "%s", countOf(o.MoreCandidates, "more order may match", "more orders may match"))
	}
	return nil
}

// printHowToMark prints how to resolve the rows of a batch.
func printHowToMark(t *terminal, batch string, rows []*resolve.UncertainOrder) {
	mark := "  importer resolve mark " + batch + ":ROW "
	t.print("\nCheck the dashboard for each order, then mark the row:\n%splaced --order ORDER_ID\n%snot-placed", mark,
		mark)
	if slices.ContainsFunc(rows, (*resolve.UncertainOrder).FormsCompany) {
		t.print("For a company that was created, give its ID. For a formation, give the order and the company:\n"+
			"%splaced --company COMPANY_ID\n%splaced --order ORDER_ID --company COMPANY_ID", mark, mark)
	}
	if slices.ContainsFunc(rows, func(o *resolve.UncertainOrder) bool { return o.Row.Creating && o.Assumed() }) {
		t.print("If a creation and its order are both uncertain, --company alone means that the order was not placed: " +
			"it is sent next.")
	}
	if len(rows) > 1 {
		t.print("Or resolve many rows at once on the page, under Uncertain.")
	}
}
