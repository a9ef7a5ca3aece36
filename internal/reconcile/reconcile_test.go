package reconcile_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/reconcile"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

func read(t testing.TB, content string, o reconcile.Options) (*reconcile.Statement, error) {
	t.Helper()
	f, err := sheet.OpenReader("march.csv", strings.NewReader(content), int64(len(content)), sheet.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return reconcile.ReadStatement(f, o)
}

func day(text string) time.Time {
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		panic(err)
	}
	return at
}

// What cannot be trusted is refused, and the refusal names the cell.
func TestReadRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		content    string
		options    reconcile.Options
		cell, want string
	}{
		"euros in a cell":   {"Order ID,Amount\norder_1,€25.00\n", reconcile.Options{}, "B2", "not in US dollars"},
		"euros by a column": {"Order ID,Amount,Currency\norder_1,-25,EUR\n", reconcile.Options{}, "C2", "EUR"},
		"euros in a title": {"All amounts in EUR\nOrder ID,Amount\norder_1,-25\n", reconcile.Options{}, "A1",
			"US dollars"},
		"euros in a header": {"Order ID,Amount (€)\norder_1,-25\n", reconcile.Options{}, "B1", "US dollars"},
		"not an amount": {"Order ID,Amount\norder_1,-25.00\norder_2,n/a\n", reconcile.Options{}, "B3",
			`"n/a" is not an amount`},
		"fractions": {"Order ID,Amount\norder_1,25.005\n", reconcile.Options{}, "B2", "not an amount"},
		"a comma":   {"Order ID;Amount\norder_1;25,00\n", reconcile.Options{}, "B2", "not an amount"},
		"no amount": {"Order ID,Amount\norder_1,\n", reconcile.Options{}, "B2", "no amount"},
		"results": {"Order ID,Legal Name,Result,Message,Order IDs,Cost,Attempts\n,Acme,placed,,order_1,25.00,1\n",
			reconcile.Options{}, "", "not a statement of the filing service"},
		"bills": {"Bill,Type,Client,Matter,Company,Order ID,Amount\nINV-00001,Invoice,Quay,,Acme,order_1,25.00\n",
			reconcile.Options{}, "", "not a statement of the filing service"},
		"a column that is not there": {"Order ID,Amount\norder_1,-25\n",
			reconcile.Options{Map: map[string]string{"Total due": "Amount"}}, "", `names the column "Total due"`},
		"not a date": {"Date,Order ID,Amount\n31/03/2026,order_1,-25\n", reconcile.Options{}, "A2", "not a date"},
		"a wrong total": {"Order ID,Amount\norder_1,-25\norder_2,-25\nTotal,-51\n", reconcile.Options{}, "B4",
			"add up to -$50.00"},
		"a wrong total of debits": {
			"Order ID,Debit,Credit\norder_1,25,\norder_2,,5\nTotal,25,6\n", reconcile.Options{}, "C4",
			"add up to $5.00",
		},
		"a wrong closing balance": {
			"Type,Order ID,Amount\nopening balance,,100\ncharge,order_1,-25\nclosing balance,,70\n",
			reconcile.Options{}, "C4",
			"add up to $75.00",
		},
		"a wrong running balance": {
			"Order ID,Amount,Balance\norder_1,-25,75\norder_2,-25,50\norder_3,-25,24\n", reconcile.Options{}, "C4",
			"does not follow",
		},
		"another period": {
			"Date,Order ID,Amount\n2026-03-31,order_1,-25\n2026-04-01,order_2,-25\n",
			reconcile.Options{From: day("2026-03-01"), To: day("2026-03-31")}, "C3", "outside the period",
		},
		"no header": {"red,5\nblue,6\n", reconcile.Options{}, "", "no header of a statement"},
		"no lines":  {"Order ID,Amount\n", reconcile.Options{}, "", "no lines"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(t, test.content, test.options)
			var refused *sheet.FormatError
			if !errors.As(err, &refused) || refused.Cell != test.cell || !strings.Contains(err.Error(), test.want) ||
				!strings.Contains(err.Error(), "march.csv") {
				t.Errorf("%v, want cell %s and %q", err, test.cell, test.want)
			}
		})
	}
}

// The same two charges, a refund and a deposit, as different services write them.
func TestReadLayouts(t *testing.T) {
	want := []money.Cents{-163_75, -25_00, 5_00, 500_00}
	for name, content := range map[string]string{
		"charges are negative": "Order ID,Type,Amount\norder_1,charge,-163.75\norder_2,charge,-25.00\n" +
			"order_2,refund,5\n,deposit,500\n",
		"charges are positive": "Order ID,Type,Amount\norder_1,charge,163.75\norder_2,charge,25.00\n" +
			"order_2,refund,-5\n,deposit,-500\n",
		"nothing is negative": "Order ID,Type,Amount\norder_1,charge,163.75\norder_2,charge,25.00\norder_2,refund,5\n" +
			",deposit,500\n",
		"debit and credit": "Our ref,Order,Debit,Credit,Balance\nx,order_1,\"$163.75\",,\"$836.25\"\n" +
			"x,order_2,25.00,,811.25\nx,order_2,,5.00,816.25\nTop-up,,,500.00,\"$1,316.25\"\n",
		"parentheses": "Title\n\nReference,Details,Net (USD)\norder_1,Annual report,(163.75)\norder_2,EIN,(25.00)\n" +
			"order_2,EIN refund,5.00\n,Deposit,500.00\n",
		"order ids in the text": "Details,Amount\nAnnual report order_1,-163.75\nEIN order_2,-25\nRefund of " +
			"order_2,5\nACH,500\n",
	} {
		t.Run(name, func(t *testing.T) {
			s, err := read(t, content, reconcile.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var got []money.Cents
			for _, l := range s.Lines {
				got = append(got, l.Amount)
			}
			kinds := s.Lines[0].Kind == reconcile.Charge && s.Lines[2].Kind == reconcile.Refund &&
				s.Lines[3].Kind == reconcile.Deposit
			if !slices.Equal(got, want) || !kinds || s.Lines[0].OrderID != "order_1" {
				t.Errorf("%v, %+v", got, s.Lines)
			}
		})
	}
}

func report(row int64, order string, at string) reconcile.Purchase {
	p := reconcile.Purchase{
		Row:     row,
		Batch:   "b7k2",
		Number:  int(row),
		Result:  filing.Placed,
		Company: fmt.Sprintf("Harbor %d LLC", row),
		State:   "FL",
		Year:    "2026",
		Items:   []reconcile.Item{{Product: filing.AnnualReport, OrderID: order}},
		Spent:   money.Cost{Amount: 25_00},
		At:      day(at),
		Ended:   day(at),
	}
	if order == "" {
		p.Result, p.Spent, p.Reserved, p.Items[0].Open = filing.Uncertain, money.Cost{}, 25_00, true
	}
	return p
}

func plan(t testing.TB, content string, o reconcile.Options, purchases ...reconcile.Purchase) (*reconcile.Plan, error) {
	t.Helper()
	s, err := read(t, content, o)
	if err != nil {
		t.Fatal(err)
	}
	return reconcile.NewPlan(s, &reconcile.Book{Purchases: purchases}, nil)
}

// A statement of another account is refused as a whole.
func TestPlanRefusesAnotherAccount(t *testing.T) {
	_, err := plan(t, "Order ID,Company,Amount\norder_8,Else LLC,-25\norder_9,Else LLC,-25\n", reconcile.Options{},
		report(1, "order_1", "2026-03-02"))
	if !errors.Is(err, reconcile.ErrOtherAccount) || !strings.Contains(err.Error(), "Nothing was changed") {
		t.Error(err)
	}
}

// Each kind of line comes to its group, and what has to be recorded is exact.
func TestPlanGroups(t *testing.T) {
	const head = "Date,Order ID,Company,State,Product,Amount\n"
	for name, test := range map[string]struct {
		lines     string
		complete  bool
		purchases []reconcile.Purchase
		want      reconcile.Counts
		adjusted  money.Cents
		notPlaced int
	}{
		"agrees": {
			"2026-03-02,order_1,,,,-25.00\n", false, []reconcile.Purchase{report(1, "order_1", "2026-03-02")},
			reconcile.Counts{Lines: 1, Agree: 1}, 0, 0,
		},
		"charged twice": {
			"2026-03-02,order_1,,,,-25.00\n2026-03-02,order_1,,,,-25.00\n", false,
			[]reconcile.Purchase{report(1, "order_1", "2026-03-02")}, reconcile.Counts{Lines: 2, Agree: 1, Differ: 1},
			-25_00, 0,
		},
		"refunded": {
			"2026-03-02,order_1,,,,-25.00\n2026-03-09,order_1,,,,25.00\n", false,
			[]reconcile.Purchase{report(1, "order_1", "2026-03-02")}, reconcile.Counts{Lines: 2, Agree: 1, Differ: 1},
			25_00, 0,
		},
		"another amount, and not ours": {
			"2026-03-02,order_1,,,,-30.00\n2026-03-02,order_9,Else LLC,TX,EIN,-7.00\n", false,
			[]reconcile.Purchase{report(1, "order_1", "2026-03-02")},
			reconcile.Counts{Lines: 2, Differ: 1, Foreign: 1}, -12_00, 0,
		},
		"not charged": {
			"2026-03-02,order_1,,,,-25.00\n", true,
			[]reconcile.Purchase{report(1, "order_1", "2026-03-02"), report(2, "order_2", "2026-03-02")},
			reconcile.Counts{Lines: 1, Agree: 1, Missing: 1}, 25_00, 0,
		},
		"not charged, of an incomplete statement": {
			"2026-03-02,order_1,,,,-25.00\n", false,
			[]reconcile.Purchase{report(1, "order_1", "2026-03-02"), report(2, "order_2", "2026-03-02")},
			reconcile.Counts{Lines: 1, Agree: 1, Missing: 1}, 0, 0,
		},
		"resolves by company": {
			"2026-03-02,order_5,\"HARBOR 1, L.L.C.\",Florida,annual_report,-31.00\n", false,
			[]reconcile.Purchase{report(1, "", "2026-03-02")}, reconcile.Counts{Lines: 1, Settled: 1}, 0, 0,
		},
		"charged before it was sent": {
			"2026-03-02,order_5,Harbor 1 LLC,FL,annual_report,-25.00\n", false,
			[]reconcile.Purchase{report(1, "", "2026-03-09")}, reconcile.Counts{Lines: 1, Foreign: 1, Uncertain: 1},
			-25_00, 0,
		},
		"another state": {
			"2026-03-02,order_5,Harbor 1 LLC,DE,annual_report,-25.00\n", false,
			[]reconcile.Purchase{report(1, "", "2026-03-02")}, reconcile.Counts{Lines: 1, Foreign: 1, Uncertain: 1},
			-25_00, 0,
		},
		"not on a complete statement": {
			"2026-03-02,order_1,,,,-25.00\n2026-03-09,order_1,,,,0.00\n", true,
			[]reconcile.Purchase{report(1, "order_1", "2026-03-02"), report(2, "", "2026-03-04")},
			reconcile.Counts{Lines: 2, Agree: 2, Uncertain: 1}, 0, 1,
		},
		"sent on the last day of the lines": { // the order may come behind the last line
			"2026-03-02,order_1,,,,-25.00\n", true,
			[]reconcile.Purchase{report(1, "order_1", "2026-03-02"), report(2, "", "2026-03-02")},
			reconcile.Counts{Lines: 1, Agree: 1, Uncertain: 1}, 0, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := plan(t, head+test.lines, reconcile.Options{Complete: test.complete}, test.purchases...)
			if err != nil {
				t.Fatal(err)
			}
			if p.Counts != test.want || p.Adjusted() != test.adjusted || len(p.NotPlaced) != test.notPlaced {
				t.Errorf("%+v, adjusted by %s, %d not placed; want %+v, %s, %d", p.Counts, p.Adjusted(),
					len(p.NotPlaced),
					test.want, test.adjusted, test.notPlaced)
			}
		})
	}
}

// A statement of 200,000 lines is read and matched by indexes, and not by comparing
// each line with each order.
func BenchmarkPlan200000(b *testing.B) {
	const n = 200_000
	var content strings.Builder
	content.WriteString("Date,Order ID,Company,State,Product,Amount\n")
	purchases := make([]reconcile.Purchase, n)
	for i := range n {
		order := fmt.Sprintf("order_%d", i)
		if i%10 == 0 {
			order = ""
		}
		purchases[i] = report(int64(i+1), order, "2026-03-02")
		fmt.Fprintf(&content, "2026-03-02,order_%d,Harbor %d LLC,FL,annual_report,-25.00\n", i, i+1)
	}
	for b.Loop() {
		p, err := plan(b, content.String(), reconcile.Options{}, purchases...)
		if err != nil || p.Counts.Settled != n/10 || p.Counts.Agree != n-n/10 {
			b.Fatal(err, p.Counts)
		}
	}
}
