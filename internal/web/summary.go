package web

import (
	"context"
	"sync"
	"time"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/ledger"
)

// sights are what is known of batches that somebody looks at. Summing a large
// one up takes the database a while: it is done once for all who look, and not
// again for some time that grows with it.
type summaryCache struct {
	mu sync.Mutex
	by map[string]*summary // by batch
}

func newSummaryCache() *summaryCache { return &summaryCache{by: make(map[string]*summary)} }

const maxSights = 200

func (s *summaryCache) of(batch string) *summary {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.by[batch]
	if one == nil {
		if len(s.by) >= maxSights {
			clear(s.by)
		}
		one = &summary{batch: batch}
		s.by[batch] = one
	}
	return one
}

// forget has a batch looked at anew: somebody has just changed it.
func (s *summaryCache) forget(batch string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.by, batch)
}

// summary is what is known of one batch.
type summary struct {
	batch string
	mu    sync.Mutex
	seen
	rows, orders age // of the two halves

	counts  ledger.Counts
	counted age
}

// seen is a batch in figures.
type seen struct {
	figures    ledger.Figures
	filings    ledger.Filings
	unfinished ledger.Unfinished
}

// age is when something was read, and how long that took.
type age struct {
	at   time.Time
	took time.Duration
}

// Reading takes up at most this part of the time; what is read in no time is
// read every time.
const (
	rowsShare   = 10
	ordersShare = 25 // orders move by events, hours after they were placed
	noTime      = 10 * time.Millisecond
	restShare   = 100 // rows at rest move when a person settles one
)

func (a *age) fresh(share int) bool {
	return a.took > noTime && time.Since(a.at) < time.Duration(share)*a.took
}

func (a *age) measure(read func() error) error {
	began := time.Now()
	err := read()
	if err == nil {
		a.at = time.Now()
		a.took = a.at.Sub(began)
	}
	return err
}

// count is what became of the rows, for the list of batches: read alone, for all
// else takes longer.
func (s *summary) count(ctx context.Context, l *ledger.Ledger) (ledger.Counts, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	share := rowsShare
	if s.counts[filing.Ready]+s.counts[filing.Placing] == 0 {
		share = restShare
	}
	if !s.counted.fresh(share) {
		if err := s.counted.measure(func() (err error) {
			s.counts, err = l.Counts(ctx, s.batch)
			return err
		}); err != nil {
			return nil, err
		}
	}
	return s.counts, nil
}

// look reads what is not fresh any more. Whoever comes meanwhile waits, and has
// the same.
func (s *summary) look(ctx context.Context, l *ledger.Ledger) (seen, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.rows.fresh(rowsShare) {
		if err := s.rows.measure(func() (err error) {
			s.figures, err = l.Figures(ctx, s.batch)
			return err
		}); err != nil {
			return seen{}, err
		}
	}
	if !s.orders.fresh(ordersShare) {
		if err := s.orders.measure(func() (err error) {
			if s.filings, err = l.Filings(ctx, s.batch); err == nil {
				s.unfinished, err = l.Unfinished(ctx, s.batch)
			}
			return err
		}); err != nil {
			return seen{}, err
		}
	}
	return s.seen, nil
}
