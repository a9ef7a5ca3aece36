package web

import (
	"context"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/cache"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// Summing up a large batch takes the database a while: it is done once for all readers, and
// for at most one part in loadShare of the time. What is read in less than instant is read
// every time.
const (
	loadShare    = 20
	instant      = 10 * time.Millisecond
	maxSummaries = 200
)

// sharedTTL is the TTL of values that take so long to load.
func sharedTTL(took time.Duration) time.Duration {
	if took <= instant {
		return 0
	}
	return loadShare * took
}

func newSummaries[T any]() *cache.Cache[string, T] {
	return cache.New[string](cache.Options[T]{TTL: sharedTTL, Max: maxSummaries})
}

// loadFigures returns the figures of a batch's rows.
func (s *Site) loadFigures(ctx context.Context, batch string) (ledger.Figures, error) {
	return s.figures.Get(ctx, batch, func(ctx context.Context) (ledger.Figures, error) {
		return s.Ledger.ResultFigures(ctx, batch)
	})
}

// loadFilings returns the state of a batch's orders at the filing service.
func (s *Site) loadFilings(ctx context.Context, batch string) (ledger.Filings, error) {
	return s.filings.Get(ctx, batch, func(ctx context.Context) (ledger.Filings, error) {
		return s.Ledger.Filings(ctx, batch)
	})
}
