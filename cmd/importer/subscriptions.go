package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

// subscriptionStatuses are those of the filing service. Source: spec section 2, Order
// item.
var subscriptionStatuses = []string{"active", "canceled", "past_due"}

func (a *app) subscriptionsCommand() *cobra.Command {
	var status, note, renews string
	var asJSON, missing bool
	c := &cobra.Command{
		Use:   "subscriptions [ORDER]",
		Short: "List reports covered by subscriptions, or record the status of one",
		Long: `subscriptions lists the rows that were not ordered because the annual subscription of
an earlier report covers them, and whose renewal the filing service has not reported
yet. Each row shows the order, its status, and the due date. --missing lists only
rows that need attention: due within 30 days without a renewal, or no longer
covered.

ORDER --status records the status of a subscription that you have checked. canceled
and past_due end its coverage, and the rows can be run again. ORDER --renews
BATCH:ROW records that an order is the renewal of a covered row.`,
		Example: `  importer subscriptions --missing
  importer subscriptions order_81 --status canceled --note "seen on the dashboard"
  importer subscriptions order_97 --renews 8c1f:17`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 && (status != "" || renews != ""):
				return usage("name the order")
			case len(args) == 1 && (status == "") == (renews == ""):
				return usage("give --status or --renews BATCH:ROW for %s", args[0])
			case status != "" && !slices.Contains(subscriptionStatuses, status):
				return usage("--status must be active, canceled, or past_due, not %s", status)
			}
			return a.withLedger(c.Context(), func(l *ledger.Ledger) error {
				ctx := c.Context()
				switch {
				case status != "":
					if err := l.Subscriptions().SetStatus(withAudit(ctx, "subscription", args[0],
						cmp.Or(note, "found out by a person")+": "+status), args[0], status); err != nil {
						return fmt.Errorf("%s: %w", args[0], err)
					}
				case renews != "":
					batch, text, _ := strings.Cut(renews, ":")
					number, err := strconv.Atoi(text)
					if err != nil {
						return usage("--renews is BATCH:ROW, such as 8c1f:17")
					}
					row, err := l.RowNumbered(ctx, batch, number)
					if err != nil {
						return err
					}
					audited := withAudit(ctx, "renewal", args[0], note)
					if err := l.Subscriptions().Renew(audited, row.ID, args[0]); err != nil {
						return fmt.Errorf("%s as the renewal of row %d: %w", args[0], row.Number, err)
					}
				}
				return a.listRenewals(c, l, missing, asJSON)
			})
		},
	}
	c.Flags().StringVar(&status, "status", "",
		"the status of the subscription of ORDER: active, canceled, or past_due")
	c.Flags().StringVar(&renews, "renews", "", "ORDER is the renewal of this row: BATCH:ROW")
	c.Flags().StringVar(&note, "note", "", "where you saw it; kept in the audit log")
	c.Flags().BoolVar(&missing, "missing", false, "only rows that need attention")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON line for each row")
	return c
}

func (a *app) listRenewals(c *cobra.Command, l *ledger.Ledger, missing, asJSON bool) error {
	renewals, err := jobs.Renewals(c.Context(), l, season.Builtin(), "")
	if err != nil {
		return err
	}
	now := time.Now()
	if missing {
		renewals = slices.DeleteFunc(renewals, func(r jobs.Renewal) bool { return r.Missing(now) == "" })
	}
	type line struct {
		Company string `json:"companyId"`
		Name    string `json:"legalName,omitempty"`
		State   string `json:"filingState"`
		Year    int    `json:"filingYear"`
		Batch   string `json:"batch"`
		Row     int    `json:"row"`
		Order   string `json:"orderId,omitempty"`
		Status  string `json:"subscriptionStatus,omitempty"`
		Due     string `json:"due"`
		Missing string `json:"missing,omitempty"`
	}
	return list[jobs.Renewal]{
		empty:   "No report is waiting for a renewal.",
		columns: "COMPANY\tSTATE\tYEAR\tROW\tCOVERED BY\tSTATUS\tDUE\tNEEDS",
		cells: func(r jobs.Renewal) []any {
			return []any{legible(cmp.Or(r.Name, r.CompanyID)), r.State, r.Year, fmt.Sprintf("%s:%d", r.Batch, r.Number),
				legible(cmp.Or(r.By.Order, "-")), legible(cmp.Or(r.By.Status, "-")), r.Due.When(),
				legible(cmp.Or(r.Missing(now), "-"))}
		},
		line: func(r jobs.Renewal) any {
			return line{r.CompanyID, r.Name, string(r.State), r.Year, r.Batch, r.Number, r.By.Order, r.By.Status,
				r.Due.When(), r.Missing(now)}
		},
	}.print(a, renewals, asJSON)
}
