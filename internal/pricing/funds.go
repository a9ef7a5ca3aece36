package pricing

import (
	"context"
	"fmt"

	"github.com/bulkfiling/bulkfiling/internal/balance"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
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
	f.Forecast, err = balance.NewForecast(book, orders)
	return f, err
}
