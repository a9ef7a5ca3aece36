package web

import (
	"context"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/cache"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// summarySource sums up the rows and orders of a batch; it is the ledger.
type summarySource interface {
	Figures(ctx context.Context, batch string) (ledger.Figures, error)
	Filings(ctx context.Context, batch string) (ledger.Filings, error)
	Unfinished(ctx context.Context, batch string) (ledger.Unfinished, error)
	Version(ctx context.Context) (string, error) // differs after each commit
}

// ledgerSource is the ledger as a summarySource.
type ledgerSource struct{ *ledger.Ledger }

// Figures sums a batch up as its results show it.
func (s ledgerSource) Figures(ctx context.Context, batch string) (ledger.Figures, error) {
	return s.ResultFigures(ctx, batch)
}

func (s ledgerSource) Version(ctx context.Context) (string, error) { return s.Fleet().Version(ctx) }

// summaryCache keeps summaries of batches. Summing up a large batch takes the
// database a while: it is done once for all readers, and again after a commit and
// a multiple of the time that it took.
type summaryCache struct {
	source  summarySource
	figures *cache.Cache[string, batchFigures]
	orders  *cache.Cache[string, batchOrders]
}

// batchFigures are the rows of a batch, summed up.
type batchFigures struct {
	ledger.Figures
	loading
}

// loading is how a summary was loaded.
type loading struct {
	version string    // of the ledger before it
	at      time.Time // when it ended
	took    time.Duration
}

// isCurrent reports whether a summary holds: nothing was committed since, and time
// alone changes nothing; or it is kept for one part in n of the time.
func (l loading) isCurrent(version string, atRest bool, n int) bool {
	return (atRest && version == l.version) || time.Now().Before(l.at.Add(share(n)(l.took)))
}

// batchOrders is the state of a batch's orders at the filing service.
type batchOrders struct {
	filings    ledger.Filings
	unfinished ledger.Unfinished
	loading
}

// Summing up takes at most one part in so many of the time. What is read in less
// than instant is read every time.
const (
	movingShare = 10
	ordersShare = 25  // orders move by events, hours after they were placed
	restShare   = 100 // rows at rest move when a person resolves one

	instant       = 10 * time.Millisecond
	maxSummaries  = 200
	maxSummaryAge = time.Hour

	maxFoundEntries = 50
)

func newSummaryCache(source summarySource) *summaryCache {
	return &summaryCache{
		source:  source,
		figures: cache.New[string](cache.Options[batchFigures]{TTL: unlessInstant, Max: maxSummaries}),
		orders:  cache.New[string](cache.Options[batchOrders]{TTL: unlessInstant, Max: maxSummaries}),
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

// unlessInstant is the TTL of values that isCurrent judges.
func unlessInstant(took time.Duration) time.Duration {
	if took <= instant {
		return 0
	}
	return maxSummaryAge
}

// forget drops the summary of a batch that was changed.
func (s *summaryCache) forget(batch string) {
	s.figures.Delete(batch)
	s.orders.Delete(batch)
}

// loadFigures returns the figures of the rows, for the list of batches. Those of
// rows at rest are kept for longer.
func (s *summaryCache) loadFigures(ctx context.Context, batch string) (ledger.Figures, error) {
	return s.figuresOf(ctx, batch, restShare)
}

// figuresOf returns the figures of the rows, kept for one part in rest of the time
// while no row is moving.
func (s *summaryCache) figuresOf(ctx context.Context, batch string, rest int) (ledger.Figures, error) {
	version, err := s.source.Version(ctx)
	if err != nil {
		return ledger.Figures{}, err
	}
	s.figures.Expire(batch, func(f batchFigures) bool {
		n := rest
		if f.moving() {
			n = movingShare
		}
		return !f.isCurrent(version, true, n)
	})
	f, err := s.figures.Get(ctx, batch, func(ctx context.Context) (f batchFigures, err error) {
		began := time.Now()
		f.Figures, err = s.source.Figures(ctx, batch)
		f.loading = loading{version, time.Now(), time.Since(began)}
		return f, err
	})
	return f.Figures, err
}

// moving reports whether rows are sent, or may be.
func (f *batchFigures) moving() bool { return f.Counts[filing.Ready]+f.Counts[filing.Placing] > 0 }

// load returns the figures of the rows and the state of the orders.
func (s *summaryCache) load(ctx context.Context, batch string) (f ledger.Figures, o batchOrders, err error) {
	if f, err = s.figuresOf(ctx, batch, movingShare); err != nil {
		return f, o, err
	}
	version, err := s.source.Version(ctx)
	if err != nil {
		return f, o, err
	}
	// Rows that are due later become sendable without a commit.
	s.orders.Expire(batch, func(o batchOrders) bool {
		return !o.isCurrent(version, o.unfinished.Later == 0, ordersShare)
	})
	o, err = s.orders.Get(ctx, batch, func(ctx context.Context) (o batchOrders, err error) {
		began := time.Now()
		if o.filings, err = s.source.Filings(ctx, batch); err == nil {
			o.unfinished, err = s.source.Unfinished(ctx, batch)
		}
		o.loading = loading{version, time.Now(), time.Since(began)}
		return o, err
	})
	return f, o, err
}
