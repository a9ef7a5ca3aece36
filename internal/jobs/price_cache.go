package jobs

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
)

const (
	priceTTL   = 5 * time.Minute // how long prices and fees count without another request
	priceRetry = time.Minute     // and after a request that failed
)

// priceCache keeps the current prices and fees in a process that runs for months:
// people approve the cost of the day, and that cost has to be reserved and posted.
// The last prices count for a while, and for as long as newer ones cannot be read.
// It is no cache.Cache: a failure keeps the old value and is retried sooner.
type priceCache struct {
	ask pricing.Source // nil: the first prices count for good
	now func() time.Time
	log *slog.Logger

	// lock guards the fields below, also while a caller asks the filing service.
	lock   chan struct{}
	quoter pricing.Quoter
	due    time.Time // when to ask again
	failed bool      // the last time
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

// get returns the current prices; f asks the filing service. It returns errHalted,
// or the context's error, where nothing may be sent either. After that the last
// prices count for a while, so that a price list that stays busy does not keep
// orders back for good.
func (t *priceCache) get(ctx context.Context, f *lookup) (pricing.Quoter, error) {
	select {
	case t.lock <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-t.lock }()
	if t.ask == nil || t.now().Before(t.due) {
		return t.quoter, nil
	}
	fresh, err := ask(ctx, f, func() (pricing.Quoter, error) { return t.ask(ctx) })
	switch {
	case err == nil:
		t.quoter, t.failed, t.due = fresh, false, t.now().Add(priceTTL)
		return t.quoter, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, errHalted):
		return nil, err
	}
	if !t.failed {
		t.log.Warn("reading prices failed, the last ones count", "err", err)
	}
	t.failed, t.due = true, t.now().Add(priceRetry)
	if busy, ok := errors.AsType[*filingapi.Error](err); ok {
		t.due = t.due.Add(busy.RetryAfter) // or each retry would hold orders back
	}
	if errors.Is(err, filingapi.ErrBusy) || errors.Is(err, filingapi.ErrKeyRefused) {
		return nil, errHalted // the ledger has it from the request
	}
	return t.quoter, nil
}
