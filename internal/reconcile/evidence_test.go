package reconcile_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/reconcile"
)

// uncertain is an uncertain order of a company.
func uncertain(row int64, company, name, at string) reconcile.Purchase {
	p := report(row, "", at)
	p.CompanyID, p.Company = company, name
	return p
}

func group(t *testing.T, p *reconcile.Plan, line int, want reconcile.Group) {
	t.Helper()
	if p.Groups[line] != want {
		t.Errorf("line %d is %q, want %q: %q", line+1, p.Groups[line], want, p.Notes[line])
	}
}

// A line is evidence for the company that it names by its id, and not for another of
// the same name.
func TestCompanyIDWinsOverName(t *testing.T) {
	p, err := plan(t, "Date,Order ID,Company ID,Company,State,Product,Amount\n"+
		"2026-03-02,order_1,comp_9,Twin LLC,FL,annual_report,-25.00\n"+
		"2026-03-02,order_2,,,,,-25.00\n", reconcile.Options{},
		uncertain(1, "comp_1", "Twin LLC", "2026-03-02"), report(2, "order_2", "2026-03-02"))
	if err != nil {
		t.Fatal(err)
	}
	group(t, p, 0, reconcile.Foreign)
	if len(p.Settlements) > 0 {
		t.Errorf("%+v", p.Settlements[0])
	}
}

// A charge that names neither the product nor the price of an order may be for
// something else.
func TestChargeOfAnotherKindResolvesNothing(t *testing.T) {
	for name, test := range map[string]struct {
		line string
		want reconcile.Group
	}{
		"a fee of the company":     {"2026-03-02,,Harbor 1 LLC,FL,Expedite fee,-10.00", reconcile.Unclear},
		"an order of another cost": {"2026-03-02,order_7,Harbor 1 LLC,FL,,-70.00", reconcile.Unclear},
		"nothing is charged":       {"2026-03-02,order_7,Harbor 1 LLC,FL,Annual report,0.00", reconcile.Unclear},
		"the price":                {"2026-03-02,order_7,Harbor 1 LLC,FL,,-25.00", reconcile.Settle},
		"the product":              {"2026-03-02,order_7,Harbor 1 LLC,FL,Annual report,-70.00", reconcile.Settle},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := plan(t, "Date,Order ID,Company,State,Description,Amount\n"+test.line+"\n"+
				"2026-03-09,order_2,,,Annual report,-25.00\n", reconcile.Options{Complete: true},
				report(1, "", "2026-03-02"), report(2, "order_2", "2026-03-09"))
			if err != nil {
				t.Fatal(err)
			}
			group(t, p, 0, test.want)
			if len(p.NotPlaced) > 0 {
				t.Error("offered as not placed, and the statement has a line that may be its order")
			}
		})
	}
}

// A line that may be one of two orders leaves neither to be marked as not placed.
func TestLineOfAnotherOrderMayBeThatOfAnUncertainOne(t *testing.T) {
	old := uncertain(1, "comp_1", "Harbor LLC", "2026-03-02")
	old.Result, old.Items[0].Open = filing.Placed, false
	old.Items[0].OrderID, old.Spent, old.Reserved = "order_old", money.Cost{Amount: 25_00}, 0
	other := uncertain(2, "comp_1", "Harbor LLC", "2026-03-02")
	other.Year, other.Reserved = "2025", 40_00
	p, err := plan(t, "Date,Company,State,Product,Amount\n2026-03-02,Harbor LLC,FL,Annual report,-25.00\n"+
		"2026-03-09,Harbor LLC,TX,EIN,-1.00\n", reconcile.Options{Complete: true}, old, other)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.NotPlaced) > 0 {
		t.Errorf("%+v", p.NotPlaced[0])
	}
}

// A payment for an order is a charge, whatever the type is called.
func TestPaymentForAnOrderIsACharge(t *testing.T) {
	p, err := plan(t, "Date,Type,Order ID,Amount\n2026-03-02,Payment,order_1,-25.00\n"+
		"2026-03-02,Payment,order_2,-25.00\n",
		reconcile.Options{Complete: true}, report(1, "order_1", "2026-03-02"), report(2, "order_2", "2026-03-02"))
	if err != nil {
		t.Fatal(err)
	}
	group(t, p, 0, reconcile.Agree)
	if p.Adjusted() != 0 || p.Counts.Missing != 0 {
		t.Errorf("%+v, %s", p.Counts, p.Adjusted().Dollars())
	}
}

// A charge that was refunded resolves its order, and says that it was refunded.
func TestRefundedOrderIsNamed(t *testing.T) {
	p, err := plan(t, "Date,Order ID,Company,State,Product,Amount\n"+
		"2026-03-02,order_5,Harbor 1 LLC,FL,Annual report,-25.00\n"+
		"2026-03-03,order_5,Harbor 1 LLC,FL,Annual report refund,25.00\n", reconcile.Options{},
		report(1, "", "2026-03-02"))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Settlements) != 1 || p.Settlements[0].Amount != 0 ||
		!strings.Contains(p.Settlements[0].Why, "$25.00 was refunded") {
		t.Errorf("%+v", p.Settlements)
	}
}

// The days of a statement are those of the filing service's time zone: an order that was
// sent in the evening before belongs to the statement before.
func TestFirstDayInAnotherTimeZone(t *testing.T) {
	evening := report(1, "", "2026-03-01")
	evening.At = day("2026-03-01").Add(4 * time.Hour) // February 28, 8 p.m. in Los Angeles
	evening.Ended = evening.At.Add(time.Minute)
	for _, complete := range []string{"2026-03-02", "2026-03-02T10:00:00Z"} {
		p, err := plan(t, "Date,Order ID,Amount\n"+complete+",order_2,-25.00\n", reconcile.Options{
			Complete: true,
			From:     day("2026-03-01"),
			To:       day("2026-03-31"),
		}, evening, report(2, "order_2", "2026-03-02"))
		if err != nil {
			t.Fatal(err)
		}
		if want := len(complete) > len(time.DateOnly); (len(p.NotPlaced) == 1) != want {
			t.Errorf("%s: not placed %d", complete, len(p.NotPlaced))
		}
	}
}

// What an uncertain row has bought before is compared with the statement; a refund
// without its charge waits for a person.
func TestUncertainRowWithAPlacedItem(t *testing.T) {
	row := report(1, "order_1", "2026-03-02")
	row.Result, row.Reserved = filing.Uncertain, 70_00
	row.Items = append(row.Items, reconcile.Item{Product: filing.EIN, Open: true})
	for lines, want := range map[string]struct {
		group    reconcile.Group
		adjusted money.Cents
	}{
		"2026-03-02,order_1,,,,-30.00\n":                                  {reconcile.Differ, -5_00},
		"2026-03-02,order_1,,,,-25.00\n":                                  {reconcile.Agree, 0},
		"2026-03-09,order_9,Harbor 1 LLC,FL,EIN refund,70.00\n":           {reconcile.Unclear, 0},
		"2026-03-09,order_9,Harbor 1 LLC,FL,Annual report refund,25.00\n": {reconcile.Foreign, 25_00},
	} {
		p, err := plan(t, "Date,Order ID,Company,State,Product,Amount\n"+lines, reconcile.Options{}, row)
		if err != nil {
			t.Fatal(err)
		}
		group(t, p, 0, want.group)
		if p.Adjusted() != want.adjusted || p.Counts.Uncertain != 1 || len(p.Settlements) > 0 {
			t.Errorf("%q: %+v, %s", lines, p.Counts, p.Adjusted().Dollars())
		}
	}
}

// Two accounts of one firm have companies of the same names: a statement that names orders,
// and none of those that were placed in its days, is of the other account.
func TestStatementOfAnotherAccountWithOurCompanies(t *testing.T) {
	const lines = "Date,Order ID,Company,State,Product,Amount\n" +
		"2026-03-02,order_8,Harbor 1 LLC,FL,annual_report,-25.00\n" +
		"2026-03-31,order_9,Harbor 2 LLC,FL,annual_report,-25.00\n"
	_, err := plan(t, lines, reconcile.Options{}, report(1, "", "2026-03-02"), report(2, "order_2", "2026-03-10"))
	if !errors.Is(err, reconcile.ErrOtherAccount) {
		t.Error(err)
	}
	for _, at := range []string{"2026-03-02", "2026-03-31", "2026-02-20"} {
		p, err := plan(t, lines, reconcile.Options{}, report(1, "", "2026-03-02"), report(2, "order_2", at))
		if err != nil {
			t.Fatal(err)
		}
		group(t, p, 0, reconcile.Settle)
	}
}
