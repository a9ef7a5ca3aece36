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
	farewell     = 5 * time.Second // for what is stored when it ends
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

// Run applies until ctx ends, and then once more what is stored by then. What
// it cannot apply any more is applied by whoever runs next.
func (a *Applier) Run(ctx context.Context) {
	backoff := firstBackoff
	for ctx.Err() == nil {
		err := a.drain(ctx)
		if ctx.Err() != nil {
			break
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
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	if err := a.drain(last); err != nil {
		a.log.Error("events are left to be applied by the next process", "error", err)
	}
}

// drain applies until nothing is left.
func (a *Applier) drain(ctx context.Context) error {
	for {
		done, settled, err := a.store.ApplyEvents(ctx)
		for _, s := range settled {
			a.log.Info("an event settled an uncertain row", "batch", s.Batch, "row", s.Number, "order", s.Order,
				"event", s.Event)
		}
		if err != nil || done == 0 {
			return err
		}
	}
}
