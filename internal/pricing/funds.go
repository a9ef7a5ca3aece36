package pricing

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/bulkfiling/bulkfiling/internal/balance"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

// Funds compares the orders of a batch with the recorded balance. Its forecast shows the orders
// that wait for a deposit.
type Funds struct {
	Now money.Cents
	// Others is the cost of the pending orders of other batches.
	Others money.Cents
	// Queued counts the orders in Others.
	Queued int
	After  money.Cents
	balance.Forecast
	// LateFees are the late fees with their sources that orders can avoid. If there are any, a batch that
	// waits for a deposit can be placed in one of two orders.
	LateFees              []string
	ByLateFees, ByDueDate balance.Arranged
}

// LoadFunds compares the orders of a batch with the recorded balance. Orders of other batches that
// were submitted before count as paid for. Without a recorded deposit the result is zero.
func LoadFunds(ctx context.Context, l *ledger.Ledger, b ledger.Batch) (f Funds, err error) {
	book, err := l.Balance(ctx)
	if err != nil || !book.HasDeposit {
		return f, err
	}
	orders, err := l.PendingOrders(ctx, b.ID)
	if err != nil {
		return f, err
	}
	var own money.Cents
	for _, o := range orders {
		if own, err = money.Add(own, o.Cost); err != nil {
			return f, fmt.Errorf("sum up the orders of batch %s: %w", b.ID, err)
		}
	}
	queued, cost, err := l.Backlog().Total(ctx)
	if err != nil {
		return f, err
	}
	f.Now, f.Others, f.Queued = book.Available(), cost.Amount, queued
	if b.Open && !b.Canceled {
		f.Others, f.Queued = max(0, f.Others-own), max(0, f.Queued-len(orders))
	}
	f.After = f.Now - f.Others - own
	book.Reserved += f.Others
	if f.Forecast, err = balance.NewForecast(book, orders); err == nil && f.Short > 0 {
		err = f.addLateFees(ctx, l, b)
	}
	return f, err
}

// addLateFees adds the choice of the orders that go first.
func (f *Funds) addLateFees(ctx context.Context, l *ledger.Ledger, b ledger.Batch) error {
	today := season.DateOf(l.Now())
	var orders []balance.Order
	for page, err := range ledger.Pages(l.Rows(ctx, b.ID), isReady) {
		if err != nil {
			return err
		}
		left, err := LoadRemaining(ctx, l, b, page)
		if err != nil {
			return err
		}
		for _, row := range page {
			if row.Cost.Amount > row.Spent.Amount {
				orders = append(orders, f.newOrder(row, left, today))
			}
		}
	}
	f.LateFees = slices.Compact(slices.Sorted(slices.Values(f.LateFees)))
	f.ByLateFees = balance.Arrange(orders, false, f.Now-f.Others, today)
	f.ByDueDate = balance.Arrange(orders, true, f.Now-f.Others, today)
	return nil
}

// newOrder returns the order of a row, with its due date and the late fee that it avoids.
func (f *Funds) newOrder(row ledger.Row, left *Remaining, today season.Date) balance.Order {
	o := balance.Order{Row: row.Number, Cost: row.Cost.Amount - row.Spent.Amount, Priority: balance.Undated}
	report := row.Request.Order.AnnualReport
	if report == nil {
		return o
	}
	year, _ := strconv.Atoi(report.FilingYear) // checked at the import
	facts := season.FactsOf(row.Request.Order.FilingState, left.company(row), row.Request.Company.Sheet)
	due := cmp.Or(balance.DueDate(row.Priority), season.Builtin().DueOf(facts, year).Date)
	o.Priority = balance.Priority(season.Due{Date: due})
	if amount, from, source := season.LateFeeOf(facts, due, year); amount > 0 && from.After(today) {
		o.LateFee = amount
		f.LateFees = append(f.LateFees, fmt.Sprintf("%s %s: %s from %s (%s)", facts.State, facts.EntityType,
			amount.Dollars(), from.American(), source))
	}
	return o
}

// ChooseOrder stores the order in which a batch is placed if the balance does not cover it. Call it
// before the batch is opened or approved.
func ChooseOrder(ctx context.Context, l *ledger.Ledger, b ledger.Batch, byDueDate bool) error {
	f, err := LoadFunds(ctx, l, b)
	if err != nil || len(f.LateFees) == 0 {
		return err
	}
	chosen := f.ByLateFees
	if byDueDate {
		chosen = f.ByDueDate
	}
	return l.SetPriorities(ctx, b.ID, chosen.Orders)
}
