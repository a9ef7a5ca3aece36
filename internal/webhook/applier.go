package webhook

import (
	"context"
	"log/slog"
	"time"

	"bulkfiling/internal/retry"
)

// Applier applies stored events, whichever process stored them.
type Applier struct {
	store store
	log   *slog.Logger
	woken chan struct{}
}

// The waits of an applier.
const (
	lookAgain    = 2 * time.Second // for events that other processes stored
	firstBackoff = time.Second
	lastBackoff  = time.Minute
	farewell     = 5 * time.Second // for what is stored when it ends
)

// newApplier makes an applier. Run runs it.
func newApplier(store store, log *slog.Logger) *Applier {
	return &Applier{store: store, log: log, woken: make(chan struct{}, 1)}
}

// Wake lets the applier look at once.
func (a *Applier) Wake() {
	select {
	case a.woken <- struct{}{}:
	default: // it will look anyhow
	}
}

// Run applies events until ctx ends, and then once more those that are stored by
// then. The next process applies what is left.
func (a *Applier) Run(ctx context.Context) {
	backoff := retry.Backoff{First: firstBackoff, Max: lastBackoff}
	for ctx.Err() == nil {
		err := a.drain(ctx)
		if ctx.Err() != nil {
			break
		}
		wait, woken := lookAgain, a.woken
		if err == nil {
			backoff.Reset()
		} else {
			wait, woken = backoff.Next(), nil // new events do not mend what is wrong
			a.log.Error("applying events failed, retrying", "err", err, "wait", wait.String())
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-woken:
		case <-timer.C:
		}
		timer.Stop()
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	if err := a.drain(last); err != nil {
		a.log.Error("events left for the next process", "err", err)
	}
}

// drain applies until nothing is left.
func (a *Applier) drain(ctx context.Context) error {
	for {
		done, settled, err := a.store.Apply(ctx)
		for _, s := range settled {
			a.log.Info("uncertain row resolved by an event", "batch", s.Batch, "row", s.Number, "order", s.Order,
				"event", s.Event)
		}
		if err != nil || done == 0 {
			return err
		}
	}
}
