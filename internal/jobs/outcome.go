package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/retry"
)

// Outcome is why a run is over.
type Outcome struct {
	Reason StopReason
	Halted ledger.Halted // of OutOfFunds, KeyRefused and ServiceDown
	Redis  error         // of QueueDown: the error of Redis, or of the network
	Short  int           // rows that the recorded balance does not cover
}

// StopReason names an outcome.
type StopReason string

// How a run ends.
const (
	Finished    StopReason = "finished"     // nothing more can be placed
	OutOfFunds  StopReason = "out of funds" // for the filing service, or by the recorded balance
	KeyRefused  StopReason = "key refused"
	ServiceDown StopReason = "service down"  // not one answer for WaitLimits.Silence
	QueueDown   StopReason = "queue down"    // Redis was down for WaitLimits.Silence
	AskedToWait StopReason = "asked to wait" // for longer than WaitLimits.Silence
	Paused      StopReason = "paused"        // by a person
	NotApproved StopReason = "not approved"  // nothing is sent before an approval
	CostsMore   StopReason = "costs more"    // what is left costs more than was approved
	Interrupted StopReason = "interrupted"

	LedgerHalted StopReason = "ledger halted" // it went back in time, or a newer version has prepared it
)

// WaitLimits are how long Await waits for what.
type WaitLimits struct {
	Silence time.Duration // without one answer of the filing service, or without Redis
	Funds   bool          // wait without a limit, also for funds
}

// awaitEvery is the interval between looks at a batch. Looks that take longer than a tenth
// of it are taken less often.
const awaitEvery = 50 * time.Millisecond

// Await returns when nothing more of the batch can be placed for now: it is
// finished, or only waiting would help. The worker runs until it is stopped.
func (w *Worker) Await(ctx context.Context, batch string, p WaitLimits) (Outcome, error) {
	for {
		began := time.Now()
		end, err := w.outcome(ctx, batch, p)
		if ctx.Err() != nil {
			return Outcome{Reason: Interrupted}, nil
		}
		if err != nil || end.Reason != "" {
			return end, err
		}
		// The error is the context's, which the next look finds.
		_ = retry.Sleep(ctx, max(awaitEvery, 10*time.Since(began)))
	}
}

// outcome returns how a batch has ended, with no reason if it has not.
func (w *Worker) outcome(ctx context.Context, batch string, p WaitLimits) (end Outcome, err error) {
	halted, err := w.ledger.Fleet().Halt(ctx)
	if err != nil {
		return Outcome{}, err
	}
	end = w.haltOutcome(halted, p)
	if end.Reason == "" {
		// The common case, many times a run: there is more to send.
		if more, err := w.ledger.Sendable(ctx, batch, 1); err != nil || len(more) > 0 {
			return Outcome{}, err
		}
	}
	f, err := w.ledger.Figures(ctx, batch)
	if err != nil {
		return Outcome{}, err
	}
	b, err := w.ledger.Batch(ctx, batch)
	if err != nil {
		return Outcome{}, err
	}
	moving := f.Later // may still be sent
	if !b.Paused && !b.Canceled && b.Approval.State != ledger.ApprovalNeeded {
		moving = f.Counts[filing.Ready] - f.Waiting()
	}
	switch {
	case f.Counts[filing.Placing] > 0:
		return Outcome{}, nil // answers are out: they may change anything
	case end.Reason == LedgerHalted && moving+f.Waiting() > 0, end.Reason != "" && moving > 0:
		return end, nil // rows that wait for these are held as they are
	case moving > 0:
		return Outcome{}, nil
	case f.Behind > 0:
		if waits, err := w.ledger.WaitsForMoving(ctx, batch); err != nil || waits {
			return Outcome{}, err
		}
	}
	return restOutcome(b, f, p), nil
}

// haltOutcome is the outcome that a hold of this process amounts to, if any.
func (w *Worker) haltOutcome(halted ledger.Halted, p WaitLimits) Outcome {
	now := w.now()
	away, err := w.queue.health.downFor(now)
	switch {
	case halted.Reason == filing.HaltKey:
		return Outcome{Reason: KeyRefused, Halted: halted}
	case halted.Reason == filing.HaltRestored, halted.Reason == filing.HaltVersion:
		return Outcome{Reason: LedgerHalted, Halted: halted}
	case p.Funds:
		return Outcome{}
	case halted.Reason == filing.HaltFunds && now.Before(halted.Until):
		return Outcome{Reason: OutOfFunds, Halted: halted}
	case halted.Reason == filing.HaltRate && halted.Until.Sub(now) > p.Silence:
		return Outcome{Reason: AskedToWait, Halted: halted}
	case away > 0:
		if away > p.Silence {
			return Outcome{Reason: QueueDown, Redis: fmt.Errorf("%w: %w", ErrQueueDown, err)}
		}
	case w.state.silence(now) > p.Silence:
		return Outcome{Reason: ServiceDown, Halted: halted}
	}
	return Outcome{}
}

// restOutcome is the outcome of a batch of which no row can be sent.
func restOutcome(b ledger.Batch, f ledger.Figures, p WaitLimits) Outcome {
	switch {
	case f.Short > 0 && p.Funds:
		return Outcome{}
	case f.Short > 0:
		return Outcome{Reason: OutOfFunds, Short: f.Short}
	case f.Increased > 0:
		return Outcome{Reason: CostsMore}
	case f.Behind == f.Counts[filing.Ready]:
		return Outcome{Reason: Finished}
	case b.Approval.State == ledger.ApprovalNeeded:
		return Outcome{Reason: NotApproved}
	}
	return Outcome{Reason: Paused}
}
