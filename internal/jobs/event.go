package jobs

import (
	"context"
	"log/slog"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// ApplyEvents applies the stored events that are not applied yet, so that commands
// show the current state also where no worker runs.
func ApplyEvents(ctx context.Context, l *ledger.Ledger) error {
	for {
		if done, err := l.Events().Apply(ctx); err != nil || done == 0 {
			return err
		}
	}
}

// CatchUp brings the ledger up to date before it is shown: it sweeps the rows of
// dead processes and applies the stored events.
func CatchUp(ctx context.Context, l *ledger.Ledger) error {
	if err := Sweep(ctx, l, slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	return ApplyEvents(ctx, l)
}
