package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
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
			s.shareCommits(ctx)
			if err := s.sweep(ctx); err != nil {
				s.failures.report(ctx, "sweep", err)
			}
		}
	}
}

// sweep records that the in-flight rows of dead processes get no answer. They become uncertain,
// or ready again if a repetition is harmless.
func (s *sweeper) sweep(ctx context.Context) error {
	orphans, err := s.ledger.Fleet().CollectOrphans(ctx)
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
		outcome := ledger.Outcome{
			Row:        row.ID,
			Of:         row.InBatch(),
			Attempt:    row.LastAttempt,
			Owner:      row.Owner,
			Answer:     a,
			Claims:     row.Claims,
			Cost:       money.Cost{Amount: row.Reserved},
			Creates:    row.Creating,
			Repeatable: s.ledger.Repeatable(sent) && !row.Creating,
			Due:        row.Due,
			Exhausted:  row.Attempts >= maxAttempts,
			Explain: func(s filing.RowState) string {
				if row.Creating {
					return creationMessage(a)
				}
				return messageFor(a, s, nil)
			},
		}
		err := s.ledger.RecordOutcome(ctx, outcome)
		if err != nil && !errors.Is(err, ledger.ErrTransition) {
			return fmt.Errorf("sweep row %d of batch %s: %w", row.Number, row.Batch, err)
		}
		s.log.Warn("row swept", "batch", row.Batch, "row", row.Number, "row_id", row.ID, "attempt", row.LastAttempt)
	}
	return nil
}

// commitsTTL is how long Redis keeps the number of the last commit of a ledger.
const commitsTTL = 30 * 24 * time.Hour

// shareCommits stores the number of the highest known commit in Redis and reads the number that
// other processes stored. A worker on another machine thereby notices that the ledger lost
// commits. Redis only adds to what each process remembers itself.
func (s *sweeper) shareCommits(ctx context.Context) {
	lineage, number := s.ledger.Fleet().Commits()
	key := "bulkfiling:commits:" + lineage
	stored, _ := s.queue.redis.Get(ctx, key).Result()
	seen, _ := strconv.ParseInt(stored, 10, 64)
	if seen < number {
		_ = s.queue.redis.Set(ctx, key, number, commitsTTL).Err()
		return
	}
	s.ledger.Fleet().RecordCommit(lineage, seen)
}

// CatchUp brings the ledger up to date before a command or the page shows or changes it. It sweeps
// the rows of dead processes, so a row that may have been bought never looks unsent, and applies
// the stored events.
func CatchUp(ctx context.Context, l *ledger.Ledger) error {
	s := sweeper{ledger: l, log: slog.New(slog.DiscardHandler)}
	if err := s.sweep(ctx); err != nil {
		return err
	}
	for {
		if applied, err := l.Events().Apply(ctx); err != nil || applied == 0 {
			return err
		}
	}
}
