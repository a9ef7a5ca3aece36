package jobs

import (
	"context"
	"fmt"
	"log/slog"

	"bulkfiling/internal/ledger"
	"bulkfiling/internal/money"
)

// Settled is an uncertain row that an event told the truth of.
type Confirmed struct {
	ledger.Settled
	Cost money.Cost
}

// String says what was settled, and by what.
func (s Confirmed) String() string {
	return fmt.Sprintf(
		"Row %d of batch %s is placed, for %s: the service told of the order %s (event %s), which can only be "+
			"this row's.", s.Number, s.Batch, s.Cost, s.Order, s.Event)
}

// ApplyEvents applies what was stored and not yet looked at, so that what is
// shown then is what is known even where nothing else runs. What it settled it
// returns also beside an error.
func ApplyEvents(ctx context.Context, l *ledger.Ledger) ([]Confirmed, error) {
	var all []Confirmed
	for {
		done, settled, err := l.ApplyEvents(ctx)
		if err != nil || done == 0 {
			return all, err
		}
		for _, s := range settled {
			row, err := l.Row(ctx, s.Row)
			if err != nil {
				return all, err
			}
			all = append(all, Confirmed{s, row.Cost})
		}
	}
}

// CatchUp brings the ledger to what is known, before somebody looks at it: it
// settles what dead processes left and applies the events that are stored.
func CatchUp(ctx context.Context, l *ledger.Ledger) ([]Confirmed, error) {
	if err := Sweep(ctx, l, slog.New(slog.DiscardHandler)); err != nil {
		return nil, err
	}
	return ApplyEvents(ctx, l)
}
