package jobs

import (
	"context"
	"fmt"
	"time"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/ledger"
)

// Ending is why a run is over.
type Ending struct {
	Reason EndReason
	Halted ledger.Halted // of OutOfFunds, KeyRefused and ServiceDown
	Redis  error         // of QueueDown: what Redis, or the way to it, says
	Short  int           // rows that the book cannot pay for
	Behind int           // rows that wait for an uncertain row's purchase
}

// EndReason names an ending.
type EndReason string

// How a run ends.
const (
	Finished    EndReason = "finished"     // nothing more can be placed
	OutOfFunds  EndReason = "out of funds" // by the service's word or by the book
	KeyRefused  EndReason = "key refused"
	ServiceDown EndReason = "service down"  // asked, and not one answer in the time of patience
	QueueDown   EndReason = "queue down"    // Redis was away for the time of patience
	AskedToWait EndReason = "asked to wait" // the service named a time beyond the patience
	Paused      EndReason = "paused"        // by a person
	Unapproved  EndReason = "not approved"  // nothing goes before somebody's approval
	Dearer      EndReason = "costs more"    // what is left costs more than was approved
	Interrupted EndReason = "interrupted"

	LedgerHalted EndReason = "ledger halted" // it went back in time, or a newer version has prepared it
)

// Patience says how long Await puts up with what.
type Patience struct {
	Silence time.Duration // without one answer of the service, or without Redis
	Funds   bool          // wait for funds, and for a service that is down, for ever
}

// Await returns when nothing more of the batch can be placed for now: it is
// finished, or only waiting would help. The worker goes on until it is stopped.
func (w *Worker) Await(ctx context.Context, batch string, p Patience) (Ending, error) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return Ending{Reason: Interrupted}, nil
		case <-tick.C:
		}
		end, err := w.ended(ctx, batch, p)
		if ctx.Err() != nil {
			return Ending{Reason: Interrupted}, nil
		}
		if err != nil || end.Reason != "" {
			return end, err
		}
	}
}

func (w *Worker) ended(ctx context.Context, batch string, p Patience) (Ending, error) {
	halted, err := w.ledger.Standstill(ctx)
	if err != nil {
		return Ending{}, err
	}
	end := w.halting(halted, p)
	if end.Reason == "" {
		// The common case, many times a run: there is more to send.
		more, err := w.ledger.Sendable(ctx, batch, 1)
		if err != nil || len(more) > 0 {
			return Ending{}, err
		}
	}
	left, err := w.ledger.Unfinished(ctx, batch)
	switch {
	case err != nil:
		return Ending{}, err
	case left.Placing > 0:
		return Ending{}, nil // answers are out: they may change anything
	case end.Reason == LedgerHalted && left.Sendable+left.Later+left.Funds+left.Keys > 0:
		return end, nil
	case end.Reason != "" && left.Sendable+left.Later > 0:
		return end, nil // what waits for one of these stands as still as they do
	case left.Sendable+left.Later+left.Moving > 0:
		return Ending{}, nil
	}
	return w.standing(ctx, batch, left, p)
}

// halting is the ending that what halts the fleet amounts to, if any.
func (w *Worker) halting(halted ledger.Halted, p Patience) Ending {
	now := w.now()
	away, err := w.queue.link.away(now)
	switch {
	case halted.Reason == filing.ForKey:
		return Ending{Reason: KeyRefused, Halted: halted}
	case halted.Reason == filing.ForRestore, halted.Reason == filing.ForVersion:
		return Ending{Reason: LedgerHalted, Halted: halted}
	case p.Funds:
		return Ending{}
	case halted.Reason == filing.ForFunds && now.Before(halted.Until):
		return Ending{Reason: OutOfFunds, Halted: halted}
	case halted.Reason == filing.ForRate && halted.Until.Sub(now) > p.Silence:
		return Ending{Reason: AskedToWait, Halted: halted}
	case away > 0:
		if away > p.Silence {
			return Ending{Reason: QueueDown, Redis: fmt.Errorf("%w: %w", ErrAway, err)}
		}
	case w.gate.silence() > p.Silence:
		return Ending{Reason: ServiceDown, Halted: halted}
	}
	return Ending{}
}

// standing is the ending of a batch of which nothing can be sent.
func (w *Worker) standing(ctx context.Context, batch string, left ledger.Unfinished, p Patience) (Ending, error) {
	switch {
	case left.Funds > 0 && p.Funds:
		return Ending{}, nil
	case left.Funds > 0:
		return Ending{Reason: OutOfFunds, Short: left.Funds, Behind: left.Keys}, nil
	case left.Dearer > 0:
		return Ending{Reason: Dearer, Behind: left.Keys}, nil
	case left.Keys > 0:
		return Ending{Reason: Finished, Behind: left.Keys}, nil
	}
	counts, err := w.ledger.Counts(ctx, batch)
	if err != nil {
		return Ending{}, err
	}
	if counts[filing.Ready] == 0 {
		return Ending{Reason: Finished}, nil
	}
	b, err := w.ledger.Batch(ctx, batch)
	if err == nil && b.Approval.State == ledger.ApprovalWanted {
		return Ending{Reason: Unapproved}, nil
	}
	return Ending{Reason: Paused}, err
}
