package webhook

import (
	"context"
	"log/slog"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/retry"
)

// Applier applies stored events, including the events that other processes stored.
type Applier struct {
	store eventStore
	log   *slog.Logger
	woken chan struct{}
}

// The intervals of an applier.
const (
	// interval is the time between checks for events that other processes stored.
	interval     = 2 * time.Second
	firstBackoff = time.Second
	lastBackoff  = time.Minute
	// drainTimeout limits the work on stored events when the applier ends.
	drainTimeout = 5 * time.Second
)

// newApplier returns an applier. Run runs it.
func newApplier(store eventStore, log *slog.Logger) *Applier {
	return &Applier{store: store, log: log, woken: make(chan struct{}, 1)}
}

// Wake makes the applier check for events immediately.
func (a *Applier) Wake() {
	select {
	case a.woken <- struct{}{}:
	default: // a check is already due
	}
}

// Run applies events until ctx ends, and then one last time. The next process applies the remaining
// events.
func (a *Applier) Run(ctx context.Context) {
	backoff := retry.Backoff{First: firstBackoff, Max: lastBackoff}
	for ctx.Err() == nil {
		err := a.drain(ctx)
		if ctx.Err() != nil {
			break
		}
		wait, woken := interval, a.woken
		if err == nil {
			backoff.Reset()
		} else {
			wait, woken = backoff.Next(), nil // a new event does not end the wait
			a.log.Error("applying events failed, retrying", "err", err, "retry_in", wait.String())
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-woken:
		case <-timer.C:
		}
		timer.Stop()
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	if err := a.drain(last); err != nil {
		a.log.Error("events left for the next process", "err", err)
	}
}

// drain applies events until none is left.
func (a *Applier) drain(ctx context.Context) error {
	for {
		if done, err := a.store.Apply(ctx); err != nil || done == 0 {
			return err
		}
	}
}
