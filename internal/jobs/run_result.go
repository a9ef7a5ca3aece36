package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/retry"
)

// RunResult is why a run ended.
type RunResult struct {
	Reason StopReason
	// Halted is set for OutOfFunds, KeyRefused and ServiceDown.
	Halted ledger.Halted
	// Redis is the error of Redis or of the network. It is set for QueueDown.
	Redis error
	// Short is the number of rows that the recorded balance does not cover.
	Short int
}

// StopReason is the reason of a RunResult.
type StopReason string

// The reasons why a run ends.
const (
	// Finished means that nothing more can be placed.
	Finished StopReason = "finished"
	// OutOfFunds is an answer of the filing service, or follows from the recorded balance.
	OutOfFunds StopReason = "out of funds"
	KeyRefused StopReason = "key refused"
	// ServiceDown and QueueDown mean no answer for WaitLimits.Silence, and AskedToWait a request
	// to wait longer than that.
	ServiceDown StopReason = "service down"
	QueueDown   StopReason = "queue down"
	AskedToWait StopReason = "asked to wait"
	// Paused means that a person paused the batch.
	Paused StopReason = "paused"
	// NotApproved and CostsMore mean that rows wait for an approval, of the batch or of a cost.
	NotApproved StopReason = "not approved"
	CostsMore   StopReason = "costs more"
	Interrupted StopReason = "interrupted"
	// LedgerHalted means that the ledger went back in time or was prepared by a newer version.
	LedgerHalted StopReason = "ledger halted"
)

// WaitLimits limit how long Await waits.
type WaitLimits struct {
	// Silence is the longest time without an answer of the filing service, or without Redis.
	Silence time.Duration
	// Funds removes the limits, and has Await wait for funds, too.
	Funds bool
}

// awaitInterval is the shortest polling interval of Await while no task ends.
const awaitInterval = 50 * time.Millisecond

// Await returns when no more rows of the batch can be placed for now. It does not stop the
// worker.
func (w *Worker) Await(ctx context.Context, batch string, p WaitLimits) (RunResult, error) {
	for {
		began := time.Now()
		end, err := w.runResult(ctx, batch, p)
		if ctx.Err() != nil {
			return RunResult{Reason: Interrupted}, nil
		}
		if err != nil || end.Reason != "" {
			return end, err
		}
		// Looking takes a tenth of the time at most.
		took := time.Since(began)
		select {
		case <-ctx.Done():
		case <-w.handled:
			_ = retry.Sleep(ctx, 10*took)
		case <-time.After(max(awaitInterval, 10*took)):
		}
	}
}

// runResult returns why a batch has ended. The reason is empty if it has not.
func (w *Worker) runResult(ctx context.Context, batch string, p WaitLimits) (end RunResult, err error) {
	halted, err := w.ledger.Fleet().Halt(ctx)
	if err != nil {
		return RunResult{}, err
	}
	end = w.haltResult(halted, p)
	if end.Reason == "" {
		if more, err := w.ledger.Backlog().ListSendable(ctx, batch, 1); err != nil || len(more) > 0 {
			return RunResult{}, err
		}
	}
	// In-flight requests may change anything.
	if placing, err := w.ledger.Backlog().HasPlacing(ctx, batch); err != nil || placing {
		return RunResult{}, err
	}
	f, err := w.ledger.Figures(ctx, batch)
	if err != nil {
		return RunResult{}, err
	}
	b, err := w.ledger.Batch(ctx, batch)
	if err != nil {
		return RunResult{}, err
	}
	moving := f.Later // rows that may still be sent
	if !b.Paused && !b.Canceled && b.Approval.State != ledger.ApprovalNeeded {
		moving = f.Counts[filing.Ready] - f.Waiting()
	}
	switch {
	case f.Counts[filing.Placing] > 0:
		return RunResult{}, nil
	case end.Reason == LedgerHalted && moving+f.Waiting() > 0, end.Reason != "" && moving > 0:
		return end, nil
	case moving > 0:
		return RunResult{}, nil
	case f.Behind > 0:
		if waits, err := w.ledger.Backlog().WaitsForPlacing(ctx, batch); err != nil || waits {
			return RunResult{}, err
		}
	}
	return restResult(b, f, p), nil
}

// haltResult returns the result that a hold of this process implies, with no reason if none.
func (w *Worker) haltResult(halted ledger.Halted, p WaitLimits) RunResult {
	now := w.now()
	away, err := w.queue.health.downFor(now)
	switch {
	case halted.Reason == filing.HaltKey:
		return RunResult{Reason: KeyRefused, Halted: halted}
	case halted.Reason == filing.HaltRestored, halted.Reason == filing.HaltVersion:
		return RunResult{Reason: LedgerHalted, Halted: halted}
	case p.Funds:
		return RunResult{}
	case halted.Reason == filing.HaltFunds && now.Before(halted.Until):
		return RunResult{Reason: OutOfFunds, Halted: halted}
	case halted.Reason == filing.HaltRate && halted.Until.Sub(now) > p.Silence:
		return RunResult{Reason: AskedToWait, Halted: halted}
	case away > 0:
		if away > p.Silence {
			return RunResult{Reason: QueueDown, Redis: fmt.Errorf("%w: %w", ErrQueueDown, err)}
		}
	case w.state.silence() > p.Silence:
		return RunResult{Reason: ServiceDown, Halted: halted}
	}
	return RunResult{}
}

// restResult returns the result of a batch without sendable rows.
func restResult(b ledger.Batch, f ledger.Figures, p WaitLimits) RunResult {
	switch {
	case f.Short > 0 && p.Funds:
		return RunResult{}
	case f.Short > 0:
		return RunResult{Reason: OutOfFunds, Short: f.Short}
	case f.Increased > 0:
		return RunResult{Reason: CostsMore}
	case f.Behind == f.Counts[filing.Ready]:
		return RunResult{Reason: Finished}
	case b.Approval.State == ledger.ApprovalNeeded:
		return RunResult{Reason: NotApproved}
	}
	return RunResult{Reason: Paused}
}
