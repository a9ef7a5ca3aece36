package webhook

import (
	"context"
	"log/slog"
	"time"
)

// Applier applies what is stored, whoever stored it and when.
type Applier struct {
	store Store
	log   *slog.Logger
	woken chan struct{}
}

// The waits of an applier.
const (
	lookAgain    = 2 * time.Second // for events that other processes stored
	firstBackoff = time.Second
	lastBackoff  = time.Minute
)

// NewApplier makes an applier that has yet to be run.
func NewApplier(store Store, log *slog.Logger) *Applier {
	return &Applier{store: store, log: log, woken: make(chan struct{}, 1)}
}

// Wake lets the applier look at once.
func (a *Applier) Wake() {
	select {
	case a.woken <- struct{}{}:
	default: // it will look anyhow
	}
}

// Run applies until ctx ends. What it leaves then is applied by whoever runs
// next.
func (a *Applier) Run(ctx context.Context) {
	backoff := firstBackoff
	for ctx.Err() == nil {
		err := a.drain(ctx)
		if ctx.Err() != nil {
			return
		}
		wait, woken := lookAgain, a.woken
		if err == nil {
			backoff = firstBackoff
		} else {
			a.log.Error("events wait to be applied", "error", err, "again in", backoff.String())
			wait, woken = backoff, nil // new events do not mend what is wrong
			backoff = min(2*backoff, lastBackoff)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-woken:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// drain applies until nothing is left.
func (a *Applier) drain(ctx context.Context) error {
	for {
		done, settled, err := a.store.ApplyEvents(ctx)
		for _, s := range settled {
			a.log.Info("an event settled an uncertain row", "batch", s.Batch, "row", s.Number, "order", s.Order, "event", s.Event)
		}
		if err != nil || done == 0 {
			return err
		}
	}
}
