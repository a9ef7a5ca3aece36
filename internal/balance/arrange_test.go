package balance_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/balance"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

var today = season.Date{Year: 2027, Month: 4, Day: 1}

// order returns an order that is due some days after today.
func order(row, days int, cost, lateFee money.Cents) balance.Order {
	return balance.Order{
		Row:      row,
		Cost:     cost,
		LateFee:  lateFee,
		Priority: balance.Priority(season.Due{Verdict: season.Dated, Date: today.AddDays(days)}),
	}
}

func TestArrange(t *testing.T) {
	undated := order(9, 0, 100, 0)
	undated.Priority = balance.Undated
	orders := []balance.Order{
		undated,
		order(1, 30, 100, 50),
		order(2, 40, 100, 400),
		order(3, 35, 100, 400),
		order(4, -5, 100, 0),
		order(5, 10, 100, 0),
		order(6, 59, 300, 800),
		order(7, 100, 100, 1000),
		order(8, 20, 10, 20),
	}
	for _, c := range []struct {
		name      string
		byDueDate bool
		available money.Cents
		want      []int
		filed     int
		avoided   money.Cents
	}{
		{"due dates, the sheet's order within a day", true, 250,
			[]int{4, 5, 8, 1, 3, 2, 6, 7, 9}, 3, 20},
		{"the highest late fee for each dollar of the first 90 days, then due dates, then later days",
			false, 10_000, []int{3, 2, 6, 8, 1, 4, 5, 7, 9}, 9, 2670},
		{"a late fee that fits goes before an order that does not fit", false, 320,
			[]int{3, 2, 8, 1, 6, 4, 5, 7, 9}, 4, 870},
		{"no funds", false, -5, []int{3, 2, 6, 8, 1, 4, 5, 7, 9}, 0, 0},
	} {
		got := balance.Arrange(orders, c.byDueDate, c.available, today)
		var rows []int
		for i, o := range got.Orders {
			rows = append(rows, o.Row)
			if i > 0 && o.Priority <= got.Orders[i-1].Priority {
				t.Errorf("%s: priority %d after %d", c.name, o.Priority, got.Orders[i-1].Priority)
			}
			same := func(other balance.Order) bool { return other.Row == o.Row }
			due := balance.DueDate(orders[slices.IndexFunc(orders, same)].Priority)
			if balance.DueDate(o.Priority) != due {
				t.Errorf("%s: row %d is due %s", c.name, o.Row, balance.DueDate(o.Priority))
			}
		}
		if !slices.Equal(rows, c.want) || got.Filed != c.filed || got.Avoided != c.avoided {
			t.Errorf("%s: %v, %d, %d; want %v, %d, %d", c.name, rows, got.Filed, got.Avoided, c.want, c.filed,
				c.avoided)
		}
		// The batch keeps its days among other batches.
		next := order(0, -4, 0, 0).Priority
		if first, last := got.Orders[0].Priority, got.Orders[8].Priority; first >= next || last < balance.Undated {
			t.Errorf("%s: from %d to %d", c.name, first, last)
		}
	}
}

// Of orders that are late within the same 90 days, the sequence loses less than one late fee
// against the best choice.
func TestArrange_LosesLessThanOneLateFee(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		orders := make([]balance.Order, 8)
		var largest money.Cents
		for i := range orders {
			orders[i] = order(i, random.IntN(90), 1+money.Cents(random.IntN(400)),
				money.Cents(random.IntN(400)))
			largest = max(largest, orders[i].LateFee)
		}
		available := money.Cents(random.IntN(1600))
		var best money.Cents
		for chosen := range 1 << len(orders) {
			var cost, avoided money.Cents
			for i, o := range orders {
				if chosen>>i&1 == 1 {
					cost, avoided = cost+o.Cost, avoided+o.LateFee
				}
			}
			if cost <= available {
				best = max(best, avoided)
			}
		}
		got := balance.Arrange(orders, false, available, today).Avoided
		if got > best || best-got > 0 && best-got >= largest {
			t.Fatalf("%d avoided of %d with %d: %+v", got, best, available, orders)
		}
	}
}

func TestArranged_Text(t *testing.T) {
	a := balance.Arranged{Orders: make([]balance.Order, 53), Available: 9_000_00, Filed: 28, Avoided: 8_400_00}
	if got := a.Text(); got != "$9,000 files 28 of 53; this order avoids $8,400 in late fees." {
		t.Error(got)
	}
}
