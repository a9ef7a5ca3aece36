package balance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/season"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// Arranged is a batch in the order in which it is paid.
type Arranged struct {
	// Orders have new priorities. The batch keeps its days among other batches.
	Orders []Order
	// Available covers the first Filed orders, which avoid late fees of Avoided.
	Available, Avoided money.Cents
	Filed              int
}

// Arrange arranges the orders of a batch, whose priorities are those of their due dates. By late fees,
// the orders that are due within 90 days go first, then those of the next 90 days: the highest late fee
// for each dollar of cost, then the others by due date. Late fees that fit into the funds precede an
// order that does not. Within 90 days, this avoids less than the best order by less than one late fee.
func Arrange(orders []Order, byDueDate bool, available money.Cents, today season.Date) Arranged {
	byDue := func(a, b Order) int { return cmp.Or(cmp.Compare(a.Priority, b.Priority), a.Row-b.Row) }
	inTime := slices.SortedFunc(slices.Values(orders), byDue)
	a := Arranged{Orders: slices.Clone(inTime), Available: max(available, 0)}
	if !byDueDate {
		const windowDays = 90
		now := Priority(season.Due{Date: today}) >> dayBit
		window := func(o Order) int64 { return max(o.Priority>>dayBit-now, 0) / windowDays }
		slices.SortStableFunc(a.Orders, func(a, b Order) int {
			return cmp.Or(cmp.Compare(window(a), window(b)), cmp.Compare(b.LateFee*a.Cost, a.LateFee*b.Cost))
		})
	}
	left := a.Available
	for i, o := range a.Orders {
		if o.Cost <= left && (i == a.Filed || !byDueDate && o.LateFee > 0) {
			copy(a.Orders[a.Filed+1:i+1], a.Orders[a.Filed:i])
			a.Orders[a.Filed] = o
			a.Filed, a.Avoided, left = a.Filed+1, a.Avoided+o.LateFee, left-o.Cost
		}
	}
	for i, o := range a.Orders {
		a.Orders[i].Priority = inTime[i].Priority>>dayBit<<dayBit | int64(i)<<placeBit | o.Priority&dueMask
	}
	return a
}

// Text returns a sentence such as "$9,000 files 28 of 53; this order avoids $8,400 in late fees."
func (a Arranged) Text() string {
	return strings.ReplaceAll(fmt.Sprintf("%s files %s of %s; this order avoids %s in late fees.",
		a.Available.Dollars(), text.Number(a.Filed), text.Number(len(a.Orders)), a.Avoided.Dollars()), ".00", "")
}
