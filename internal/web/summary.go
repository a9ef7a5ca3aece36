package web

import (
	"context"
	"time"

	"bulkfiling/internal/cache"
	"bulkfiling/internal/filing"
	"bulkfiling/internal/ledger"
)

// summarySource sums up the rows and orders of a batch; it is the ledger.
type summarySource interface {
	Counts(ctx context.Context, batch string) (ledger.Counts, error)
	Figures(ctx context.Context, batch string) (ledger.Figures, error)
	Filings(ctx context.Context, batch string) (ledger.Filings, error)
	Unfinished(ctx context.Context, batch string) (ledger.Unfinished, error)
}

// summaryCache keeps summaries of batches. Summing up a large batch takes the
// database a while: it is done once for all readers, and again after a multiple
// of the time that it took.
type summaryCache struct {
	source  summarySource
	counts  *cache.Cache[string, batchCounts]
	figures *cache.Cache[string, ledger.Figures]
	orders  *cache.Cache[string, batchOrders]
}

// batchCounts are the results of a batch's rows.
type batchCounts struct {
	ledger.Counts
	until time.Time // before the cache drops them, while rows are moving
}

// batchOrders is the state of a batch's orders at the filing service.
type batchOrders struct {
	filings    ledger.Filings
	unfinished ledger.Unfinished
}

// Summing up takes at most one part in so many of the time. What is read in less
// than instant is read every time.
const (
	movingShare = 10
	ordersShare = 25  // orders move by events, hours after they were placed
	restShare   = 100 // rows at rest move when a person resolves one

	instant      = 10 * time.Millisecond
	maxSummaries = 200
)

func newSummaryCache(source summarySource) *summaryCache {
	return &summaryCache{
		source:  source,
		counts:  cache.New[string](cache.Options[batchCounts]{TTL: share(restShare), Max: maxSummaries}),
		figures: cache.New[string](cache.Options[ledger.Figures]{TTL: share(movingShare), Max: maxSummaries}),
		orders:  cache.New[string](cache.Options[batchOrders]{TTL: share(ordersShare), Max: maxSummaries}),
	}
}

// share returns the TTL of values that may be loaded for one part in n of the
// time.
func share(n int) func(took time.Duration) time.Duration {
	return func(took time.Duration) time.Duration {
		if took <= instant {
			return 0
		}
		return time.Duration(n) * took
	}
}

// forget drops the summary of a batch that was changed.
func (s *summaryCache) forget(batch string) {
	s.counts.Delete(batch)
	s.figures.Delete(batch)
	s.orders.Delete(batch)
}

// loadCounts returns the results of the rows, for the list of batches. The other
// figures take longer.
func (s *summaryCache) loadCounts(ctx context.Context, batch string) (ledger.Counts, error) {
	if c, ok := s.counts.Peek(batch); ok && time.Now().After(c.until) {
		s.counts.Delete(batch)
	}
	c, err := s.counts.Get(ctx, batch, func(ctx context.Context) (c batchCounts, err error) {
		began := time.Now()
		c.Counts, err = s.source.Counts(ctx, batch)
		n := restShare
		if c.Counts[filing.Ready]+c.Counts[filing.Placing] > 0 {
			n = movingShare
		}
		c.until = time.Now().Add(share(n)(time.Since(began)))
		return c, err
	})
	return c.Counts, err
}

// load returns the figures of the rows and the state of the orders.
func (s *summaryCache) load(ctx context.Context, batch string) (f ledger.Figures, o batchOrders, err error) {
	f, err = s.figures.Get(ctx, batch, func(ctx context.Context) (ledger.Figures, error) {
		return s.source.Figures(ctx, batch)
	})
	if err != nil {
		return f, o, err
	}
	o, err = s.orders.Get(ctx, batch, func(ctx context.Context) (o batchOrders, err error) {
		if o.filings, err = s.source.Filings(ctx, batch); err == nil {
			o.unfinished, err = s.source.Unfinished(ctx, batch)
		}
		return o, err
	})
	return f, o, err
}
