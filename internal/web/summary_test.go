package web

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// slowSource sums up a batch in a second, and counts how often.
type slowSource struct {
	mu      sync.Mutex
	reads   map[string]int
	counts  ledger.Counts
	version string
}

func (s *slowSource) Version(context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version, nil
}

// commit is one of any rows.
func (s *slowSource) commit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version += "+"
}

func (s *slowSource) read(what string) {
	time.Sleep(time.Second)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads[what]++
}

func (s *slowSource) ResultFigures(context.Context, string) (ledger.Figures, error) {
	s.read("figures")
	return ledger.Figures{Counts: s.counts}, nil
}

func (s *slowSource) Filings(context.Context, string) (ledger.Filings, error) {
	s.read("filings")
	return ledger.Filings{}, nil
}

// Many readers of one batch cost the ledger no more than one, and a change is
// seen at once.
func TestSummaryIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &slowSource{reads: make(map[string]int), counts: ledger.Counts{filing.Ready: 1}}
		cache := newSummaryCache(source)
		load := func() {
			var all sync.WaitGroup
			for range 5 {
				all.Go(func() {
					if _, err := cache.loadFigures(t.Context(), "b"); err != nil {
						t.Error(err)
					}
					if _, err := cache.loadFilings(t.Context(), "b"); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
		}
		wants := func(figures, filings int) {
			t.Helper()
			load()
			if got := source.reads; got["figures"] != figures || got["filings"] != filings {
				t.Errorf("read %v, want %d and %d", got, figures, filings)
			}
		}
		wants(1, 1)
		time.Sleep(50 * time.Second) // nothing is committed
		wants(1, 1)
		source.commit()
		wants(2, 2)
		source.commit()
		wants(2, 2)
		time.Sleep(11 * time.Second) // ten times the second that the figures took
		wants(3, 2)
		source.commit()
		time.Sleep(40 * time.Second) // 25 times the second that the filings took
		wants(4, 3)
		cache.forget("b")
		wants(5, 4)
	})
}

// The figures of moving rows are read sooner again than those at rest.
func TestFiguresOfMovingRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &slowSource{reads: make(map[string]int), counts: ledger.Counts{filing.Ready: 1}}
		cache := newSummaryCache(source)
		wants := func(n int) {
			t.Helper()
			if _, err := cache.loadFigures(t.Context(), "b"); err != nil || source.reads["figures"] != n {
				t.Errorf("counted %d times, want %d; %v", source.reads["figures"], n, err)
			}
		}
		wants(1)
		source.commit()
		wants(1)
		time.Sleep(11 * time.Second)
		source.counts = ledger.Counts{filing.Placed: 1}
		wants(2)
		source.commit()
		time.Sleep(90 * time.Second)
		wants(2)
		time.Sleep(20 * time.Second)
		wants(3)
	})
}
