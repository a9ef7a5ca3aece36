package web

import (
	"context"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/cache"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// summarySource sums up the rows and orders of a batch; it is the ledger.
type summarySource interface {
	ResultFigures(ctx context.Context, batch string) (ledger.Figures, error)
	Filings(ctx context.Context, batch string) (ledger.Filings, error)
	versioned
}

// versioned names the state of the ledger, which differs after each commit.
type versioned interface {
	Version(ctx context.Context) (string, error)
}

// ledgerSource is the ledger as a summarySource.
type ledgerSource struct{ *ledger.Ledger }

func (s ledgerSource) Version(ctx context.Context) (string, error) { return s.Fleet().Version(ctx) }

// summaryCache keeps summaries of batches. Summing up a large batch takes the
// database a while: it is done once for all readers, and again after a commit and
// a multiple of the time that it took.
type summaryCache struct {
	source  summarySource
	figures *cache.Cache[string, loaded[ledger.Figures]]
	filings *cache.Cache[string, loaded[ledger.Filings]]
}

// loaded is a summary and how it was loaded.
type loaded[T any] struct {
	value   T
	version string    // of the ledger before it
	at      time.Time // when it ended
	took    time.Duration
}

// Summing up takes at most one part in so many of the time. What is read in less
// than instant is read every time.
const (
	movingShare  = 10
	filingsShare = 25  // filings move by events, hours after they were placed
	restShare    = 100 // rows at rest move when a person resolves one

	instant       = 10 * time.Millisecond
	maxSummaries  = 200
	maxSummaryAge = time.Hour

	maxFoundEntries = 50
)

func newSummaryCache(source summarySource) *summaryCache {
	return &summaryCache{
		source:  source,
		figures: cache.New[string](cache.Options[loaded[ledger.Figures]]{TTL: unlessInstant, Max: maxSummaries}),
		filings: cache.New[string](cache.Options[loaded[ledger.Filings]]{TTL: unlessInstant, Max: maxSummaries}),
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

// unlessInstant is the TTL of values that load judges.
func unlessInstant(took time.Duration) time.Duration {
	if took <= instant {
		return 0
	}
	return maxSummaryAge
}

// forget drops the summary of a batch that was changed.
func (s *summaryCache) forget(batch string) {
	s.figures.Delete(batch)
	s.filings.Delete(batch)
}

// loadFigures returns the figures of the rows.
func (s *summaryCache) loadFigures(ctx context.Context, batch string) (ledger.Figures, error) {
	return load(ctx, s.source, s.figures, batch, s.source.ResultFigures, func(f *ledger.Figures) (int, bool) {
		if f.Left() > 0 {
			return movingShare, f.Later == 0 // rows that are due later become sendable without a commit
		}
		return restShare, true
	})
}

// loadFilings returns the state of the orders at the filing service.
func (s *summaryCache) loadFilings(ctx context.Context, batch string) (ledger.Filings, error) {
	return load(ctx, s.source, s.filings, batch, s.source.Filings,
		func(*ledger.Filings) (int, bool) { return filingsShare, true })
}

// load returns a summary from a cache. A kept one holds if nothing was committed since
// and time alone changes nothing, or for one part in n of the time.
func load[T any](ctx context.Context, source versioned, kept *cache.Cache[string, loaded[T]], batch string,
	sum func(context.Context, string) (T, error), judge func(*T) (n int, atRest bool)) (T, error) {
	version, err := source.Version(ctx)
	if err != nil {
		var none T
		return none, err
	}
	kept.Expire(batch, func(last loaded[T]) bool {
		n, atRest := judge(&last.value)
		return (!atRest || version != last.version) && !time.Now().Before(last.at.Add(share(n)(last.took)))
	})
	now, err := kept.Get(ctx, batch, func(ctx context.Context) (loaded[T], error) {
		began := time.Now()
		value, err := sum(ctx, batch)
		return loaded[T]{value, version, time.Now(), time.Since(began)}, err
	})
	return now.value, err
}
