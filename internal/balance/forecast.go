package balance

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/season"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

const (
	secondsADay = 24 * 60 * 60
	// Undated is the priority of an order without a known due date. It follows all dates.
	Undated = 1 << 62
	// A priority is a day, a place on that day, and the due date, of 20 bits each. Dates are days since 1970.
	dayBit, placeBit, dueMask = 40, 20, 1<<20 - 1
)

// Priority returns the priority of a due date, because the earliest due orders are paid first.
func Priority(d season.Due) int64 {
	if d.Date.IsZero() {
		return Undated
	}
	day := time.Date(d.Date.Year, d.Date.Month, d.Date.Day, 0, 0, 0, 0, time.UTC).Unix() / secondsADay
	return day<<dayBit | day
}

// DueDate returns the due date of a priority. It is zero if the priority has none.
func DueDate(priority int64) season.Date {
	if priority&dueMask == 0 {
		return season.Date{}
	}
	return season.DateOf(time.Unix(priority&dueMask*secondsADay, 0).UTC())
}

// Order is an unpaid order.
type Order struct {
	Priority int64
	Row      int
	Cost     money.Cents
	// LateFee is zero if it is unknown or owed already.
	LateFee money.Cents
}

// Forecast shows the orders that the available funds do not cover.
type Forecast struct {
	// Available is nil if no deposit was recorded.
	Available *money.Cents `json:"available"`
	// Short counts the orders that are not covered.
	Short   int         `json:"short"`
	ShortBy money.Cents `json:"shortBy"`
	// ShortDue counts them by due date, the earliest first.
	ShortDue []DueCount `json:"shortDue,omitempty"`
}

// DueCount is the number of orders that are due on a day. Due is zero if the day is unknown.
type DueCount struct {
	Due  season.Date `json:"due"`
	Rows int         `json:"rows"`
}

// NewForecast compares orders with the available funds. It pays orders by due date, then in the
// order of the spreadsheet.
func NewForecast(b Balance, orders []Order) (f Forecast, err error) {
	if !b.HasDeposit {
		return f, nil
	}
	available := b.Available()
	f.Available = &available
	slices.SortStableFunc(orders,
		func(a, b Order) int { return cmp.Or(cmp.Compare(a.Priority, b.Priority), a.Row-b.Row) })
	var sum money.Cents
	for _, o := range orders {
		if sum, err = money.Add(sum, o.Cost); err != nil {
			return f, fmt.Errorf("sum up the orders: %w", err)
		}
		if sum > available {
			f.addShort(DueDate(o.Priority))
		}
	}
	f.ShortBy = b.Missing(sum)
	return f, nil
}

func (f *Forecast) addShort(due season.Date) {
	f.Short++
	if n := len(f.ShortDue); n > 0 && f.ShortDue[n-1].Due == due {
		f.ShortDue[n-1].Rows++
		return
	}
	f.ShortDue = append(f.ShortDue, DueCount{due, 1})
}

// Lines returns the forecast as lines of text.
func (f *Forecast) Lines() []string {
	switch {
	case f.Available == nil:
		return []string{"available: unknown, no deposit is recorded"}
	case f.Short == 0 && *f.Available < 0:
		return []string{"available " + f.Available.Dollars() + ": the balance is overdrawn, but this run costs nothing"}
	case f.Short == 0:
		return []string{"available " + f.Available.Dollars() + ": sufficient funds"}
	}
	lines := []string{fmt.Sprintf(
		"available %s: insufficient funds, %s more needed; the earliest due go first, %s wait",
		f.Available.Dollars(), f.ShortBy.Dollars(), text.Number(f.Short))}
	for i, d := range f.ShortDue {
		if i == text.MaxExamples {
			return append(lines, fmt.Sprintf("  … and %d later days", len(f.ShortDue)-i))
		}
		lines = append(lines, fmt.Sprintf("  %d due %s", d.Rows, cmp.Or(d.Due.String(), "on an unknown date")))
	}
	return lines
}
