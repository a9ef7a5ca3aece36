package pricing_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
)

// dueReport is a report that costs $75.00, of an LLC formed in its state on February 20, 2020.
func dueReport(number int, state filing.State, year string) ledger.Row {
	r := report(number, "", filing.Ready)
	r.Request.Order.FilingState, r.Request.Order.AnnualReport.FilingYear = state, year
	r.Request.Company = filing.CompanyRef{Sheet: filing.Company{
		LegalName:      fmt.Sprintf("Company %d LLC", number),
		EntityType:     filing.LLC,
		FormationState: state,
		FormationDate:  "2020-02-20",
	}}
	return r
}

// A batch that the balance does not cover is placed in the order that a person chose, or else in the
// one that avoids late fees. A PostgreSQL ledger has its own clock.
func TestChooseOrder(t *testing.T) {
	now := func() time.Time { return time.Date(2027, 4, 1, 12, 0, 0, 0, time.UTC) }
	for _, c := range []struct {
		name       string
		deposit    money.Cents
		byDueDate  bool
		want       string // the rows that are sent
		byLateFees string
		dueDate    string
	}{
		{"late fees", 160_00, false, "5 3", "$160 files 2 of 5; this order avoids $425 in late fees.",
			"$160 files 2 of 5; this order avoids $0 in late fees."},
		{"due date", 160_00, true, "2 4", "$160 files 2 of 5; this order avoids $425 in late fees.",
			"$160 files 2 of 5; this order avoids $0 in late fees."},
		{"no funds", 1, false, "", "$0.01 files 0 of 5; this order avoids $0 in late fees.",
			"$0.01 files 0 of 5; this order avoids $0 in late fees."},
		{"sufficient funds", 375_00, false, "2 3 4 5 6", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx := t.Context()
			l := ledgertest.Open(t, ledger.Config{Now: now})
			must(t, l.Entries().RecordDeposit(ctx, c.deposit, ""))
			_, err := l.CreateBatch(ctx, ledger.Batch{ID: "a", File: "a.csv", Product: filing.AnnualReport})
			must(t, err)
			// Late already, due May 1 with $25, due Apr 15 with none known, due May 1 with $400, next year.
			must(t, l.AddRows(ctx, "a", []ledger.Row{dueReport(2, "FL", "2026"), dueReport(3, "AR", "2027"),
				dueReport(4, "NC", "2027"), dueReport(5, "FL", "2027"), dueReport(6, "FL", "2028")}))
			b, err := l.Batch(ctx, "a")
			must(t, err)
			f, err := pricing.LoadFunds(ctx, l, b)
			must(t, err)
			if c.byLateFees == "" {
				if f.LateFees != nil {
					t.Errorf("%+v", f)
				}
			} else if f.ByLateFees.Text() != c.byLateFees || f.ByDueDate.Text() != c.dueDate ||
				!slices.Contains(f.LateFees, "AR LLC: $25.00 from May 2, 2027 (harborcompliance.com)") {
				t.Errorf("%s %s %s", f.ByLateFees.Text(), f.ByDueDate.Text(), f.LateFees)
			}
			// The last choice counts.
			must(t, pricing.ChooseOrder(ctx, l, b, !c.byDueDate))
			must(t, pricing.ChooseOrder(ctx, l, b, c.byDueDate))
			must(t, l.OpenBatch(ctx, "a"))
			if got := sent(ctx, t, l); got != c.want {
				t.Errorf("sent %q, want %q", got, c.want)
			}
		})
	}
}

// sent lists the numbers of the rows that may be sent, in their order.
func sent(ctx context.Context, t *testing.T, l *ledger.Ledger) string {
	t.Helper()
	ids, err := l.Backlog().ListSendable(ctx, "a", 10)
	must(t, err)
	rows, err := l.Backlog().LoadSendable(ctx, ids)
	must(t, err)
	var numbers []string
	for _, r := range rows {
		numbers = append(numbers, fmt.Sprint(r.Number))
	}
	return strings.Join(numbers, " ")
}
