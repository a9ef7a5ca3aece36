package jobs

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/lookup"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
)

// priceTTL is how long prices and fees are used, and priceRetry the wait after a failed request.
const (
	priceTTL   = 5 * time.Minute
	priceRetry = time.Minute
)

// priceCache keeps the current prices and fees. A process may run for months, and the cost that
// people approve today has to be reserved and posted. It is not a cache.Cache because a failure
// keeps the old value and is retried sooner.
type priceCache struct {
	// ask returns the current prices. The first prices are used forever if it is nil.
	ask pricing.Source
	now func() time.Time
	log *slog.Logger

	// lock guards the fields below, also while a caller asks the filing service.
	lock   chan struct{}
	quoter pricing.Quoter
	// due is when to ask again.
	due time.Time
	// failed reports whether the last request failed.
	failed bool
}

func newPriceCache(first pricing.Quoter, ask pricing.Source, now func() time.Time, log *slog.Logger) *priceCache {
	return &priceCache{
		ask:    ask,
		now:    now,
		log:    log,
		lock:   make(chan struct{}, 1),
		quoter: first,
		due:    now().Add(priceTTL),
	}
}

// get returns the current prices, and asks the filing service through l if they are due. It
// returns lookup.ErrHalted, or the context's error, if no order may be sent either. The old prices are
// used again afterwards, so a price list that stays busy does not stop orders forever.
func (t *priceCache) get(ctx context.Context, l *lookup.Lookup) (pricing.Quoter, error) {
	select {
	case t.lock <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-t.lock }()
	if t.ask == nil || t.now().Before(t.due) {
		return t.quoter, nil
	}
	fresh, err := lookup.Ask(ctx, l, func() (pricing.Quoter, error) { return t.ask(ctx) })
	switch {
	case err == nil:
		t.quoter, t.failed, t.due = fresh, false, t.now().Add(priceTTL)
		return t.quoter, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, lookup.ErrHalted):
		return nil, err
	}
	if !t.failed {
		t.log.Warn("reading prices failed, using the last ones", "err", err)
	}
	t.failed, t.due = true, t.now().Add(priceRetry)
	if busy, ok := errors.AsType[*filingapi.Error](err); ok {
		t.due = t.due.Add(busy.RetryAfter) // otherwise each retry would stop orders
	}
	if errors.Is(err, filingapi.ErrBusy) || errors.Is(err, filingapi.ErrKeyRefused) {
		return nil, lookup.ErrHalted // recorded in the ledger by the request
	}
	return t.quoter, nil
}
