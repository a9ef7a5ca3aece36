package jobs

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// Confirmed is an uncertain row that an event confirmed as placed.
type Confirmed struct {
	ledger.ResolvedByEvent
	Cost money.Cost
}

// String says what was confirmed, and by which event.
func (s Confirmed) String() string {
	return fmt.Sprintf(
		"Row %d of batch %s is placed, for %s: the filing service reported the order %s (event %s), which can only be "+
			"this row's.", s.Number, s.Batch, s.Cost, s.Order, s.Event)
}

// ApplyEvents applies the stored events that are not applied yet, so that commands
// show the current state also where no worker runs. It returns the rows that
// events confirmed, also beside an error.
func ApplyEvents(ctx context.Context, l *ledger.Ledger) ([]Confirmed, error) {
	var all []Confirmed
	for {
		done, resolved, err := l.Events().Apply(ctx)
		if err != nil || done == 0 {
			return all, err
		}
		for _, s := range resolved {
			row, err := l.Row(ctx, s.Row)
			if err != nil {
				return all, err
			}
			all = append(all, Confirmed{s, row.Cost})
		}
	}
}

// CatchUp brings the ledger up to date before it is shown: it sweeps the rows of
// dead processes and applies the stored events.
func CatchUp(ctx context.Context, l *ledger.Ledger) ([]Confirmed, error) {
	if err := Sweep(ctx, l, slog.New(slog.DiscardHandler)); err != nil {
		return nil, err
	}
	return ApplyEvents(ctx, l)
}
