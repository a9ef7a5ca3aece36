package webhook

import (
	"context"
	"log/slog"

	"golang.org/x/time/rate"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// eventStore is the part of the ledger that events need.
type eventStore interface {
	// Keep stores an event durably and only once by its ID. It reports whether the event was new.
	Keep(ctx context.Context, e filing.Event, body []byte) (fresh bool, err error)
	// KeepUnreadable stores a signed body that is not an event only once by its content.
	KeepUnreadable(ctx context.Context, body []byte, why string) (fresh bool, err error)
	// Apply applies one group of stored events and returns their number, which is zero if no event
	// is left.
	Apply(ctx context.Context) (done int, err error)
}

// Path is the path at which this program receives events by default.
const Path = "/webhooks/filing"

// Handler returns the receiver that stores deliveries and the applier of stored events, which the
// caller runs. Several processes may run them on one ledger.
func Handler(store eventStore, v *HMAC, log *slog.Logger) (*Receiver, *Applier) {
	a := newApplier(store, log)
	return &Receiver{
		store:     store,
		verifier:  v,
		stored:    a.Wake,
		log:       log,
		refused:   &rate.Sometimes{Interval: warnInterval},
		unchecked: &rate.Sometimes{Interval: warnInterval},
		unstored:  &rate.Sometimes{Interval: warnInterval},
	}, a
}
