package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// sweepInterval is the interval between two sweeps.
const sweepInterval = 5 * time.Second

// sweeper resolves the rows that dead processes left in flight.
type sweeper struct {
	ledger   *ledger.Ledger
	queue    *Queue
	failures *failureLog
	log      *slog.Logger
}

// run sweeps until the context ends.
func (s *sweeper) run(ctx context.Context) {
	tick := time.NewTicker(sweepInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := s.sweep(ctx); err != nil {
				s.failures.report(ctx, "sweep", err)
			}
		}
	}
}

func (s *sweeper) sweep(ctx context.Context) error {
	s.queue.shareCommits(ctx, s.ledger)
	return Sweep(ctx, s.ledger, s.log)
}

// Sweep records that the in-flight rows of dead processes get no answer. They become uncertain,
// or ready again if a repetition is harmless. Commands and the page sweep before they show or
// change a batch, so a row that may have been bought never looks unsent.
func Sweep(ctx context.Context, l *ledger.Ledger, log *slog.Logger) error {
	orphans, err := l.Fleet().Orphans(ctx)
	if err != nil {
		return err
	}
	for _, row := range orphans {
		var sent []filing.Product
		for _, c := range row.Claims {
			sent = append(sent, c.Product)
		}
		a := filing.Answer{
			Kind:    filing.NoAnswer,
			Message: "the process that sent it ended, or lost its connection, before it recorded the answer",
		}
		out := ledger.Outcome{
			Row:        row.ID,
			Of:         row.InBatch(),
			Try:        row.Tries,
			Owner:      row.Owner,
			Answer:     a,
			Claims:     row.Claims,
			Cost:       money.Cost{Amount: row.Reserved},
			Creates:    row.Creating,
			Repeatable: l.Repeatable(sent) && !row.Creating,
			Due:        row.Due,
			Exhausted:  row.Attempts >= maxAttempts,
			Explain: func(s filing.RowState) string {
				if row.Creating {
					return creationMessage(a)
				}
				return messageFor(a, s, nil)
			},
		}
		err := l.RecordOutcome(ctx, out)
		if err != nil && !errors.Is(err, ledger.ErrTransition) {
			return fmt.Errorf("sweep row %d of batch %s: %w", row.Number, row.Batch, err)
		}
		log.Warn("row swept", "batch", row.Batch, "row", row.Number, "row_id", row.ID, "attempt", row.Tries)
	}
	return nil
}

// ApplyEvents applies the stored events that are not applied yet, so commands show the current
// state even if no worker runs.
func ApplyEvents(ctx context.Context, l *ledger.Ledger) error {
	for {
		if done, err := l.Events().Apply(ctx); err != nil || done == 0 {
			return err
		}
	}
}

// CatchUp brings the ledger up to date before it is shown. It sweeps the rows of dead processes
// and applies the stored events.
func CatchUp(ctx context.Context, l *ledger.Ledger) error {
	if err := Sweep(ctx, l, slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	return ApplyEvents(ctx, l)
}
