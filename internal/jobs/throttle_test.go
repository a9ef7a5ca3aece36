package jobs_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/jobs"
)

// paced runs takers at each of several paces for a while and counts their turns.
func paced(t *testing.T, paces []jobs.Throttle, takers int, long time.Duration) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	var turns atomic.Int32
	var waiting sync.WaitGroup
	for _, p := range paces {
		for range takers {
			waiting.Go(func() {
				for p.Wait(ctx) == nil {
					turns.Add(1)
				}
			})
		}
	}
	waiting.Wait()
	return int(turns.Load())
}

func openPaces(t *testing.T, address string, n int, perSecond float64) []jobs.Throttle {
	t.Helper()
	dir := t.TempDir()
	paces := make([]jobs.Throttle, n)
	for i := range paces {
		q, err := jobs.OpenQueue(address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { q.Close() })
		paces[i] = q.Throttle(perSecond, dir)
	}
	return paces
}

// Four processes at 50 a second are 50 a second, also when one of them alone
// wants to go; and so are they without Redis, which they must not outrun.
func TestFleetPace(t *testing.T) {
	t.Parallel()
	s := startRedis(t, nil)
	address := "redis://" + s.addr()
	const burst = 5 // a tenth of a second, and each process's turns at once
	for _, c := range []struct {
		name      string
		paces     int
		perSecond float64
		long      time.Duration
	}{
		{"four processes", 4, 50, 3 * time.Second},
		{"one process", 1, 50, time.Second},
		{"a high rate", 4, 2000, time.Second},
		{"a fraction", 2, 2.5, 2 * time.Second},
	} {
		s.do("FLUSHALL")
		got := paced(t, openPaces(t, address, c.paces, c.perSecond), 8, c.long)
		want := c.perSecond * c.long.Seconds()
		over := max(1, c.perSecond/10) + float64(c.paces)*max(1, min(c.perSecond/20, 64))
		t.Logf("%s: %d turns in %s at %g a second", c.name, got, c.long, c.perSecond)
		if float64(got) > want+over || float64(got) < want*0.8-1 {
			t.Errorf("%s: %d turns in %s at %g a second", c.name, got, c.long, c.perSecond)
		}
	}

	s.do("FLUSHALL")
	paces := openPaces(t, address, 4, 50)
	if n := paced(t, paces, 1, 500*time.Millisecond); n > 25+burst+8 {
		t.Errorf("%d turns in half a second", n)
	}
	fresh := openPaces(t, address, 1, 50)
	s.kill()
	// Each has its quarter; of those in hand some may be left.
	if n := paced(t, paces, 8, 2*time.Second); n > 100+2*4+4 || n < 40 {
		t.Errorf("without Redis: %d turns in two seconds", n)
	}
	// Who never heard how many they are takes itself for one of many.
	if n := paced(t, fresh, 8, time.Second); n > 7 || n < 1 {
		t.Errorf("without Redis from the beginning: %d turns in a second", n)
	}
	s.start()
	if n := paced(t, paces, 8, 2*time.Second); n > 100+burst+12 || n < 60 {
		t.Errorf("with Redis back: %d turns in two seconds", n)
	}
}

// Turns that were not used do not pile up beyond a tenth of a second's.
func TestPaceDoesNotPileUp(t *testing.T) {
	t.Parallel()
	s := startRedis(t, nil)
	paces := openPaces(t, "redis://"+s.addr(), 2, 100)
	paced(t, paces, 1, 200*time.Millisecond)
	<-time.After(time.Second) // idle
	if n := paced(t, paces, 8, 200*time.Millisecond); n > 20+10+2*5 {
		t.Errorf("%d turns in a fifth of a second", n)
	}
}

// A clock that stood ahead, another server's, holds nobody up.
func TestPaceAfterAClockSetBack(t *testing.T) {
	t.Parallel()
	s := startRedis(t, nil)
	p := openPaces(t, "redis://"+s.addr(), 1, 10)
	s.do("SET", "bulkfiling:{filings}:pace", time.Now().Add(time.Hour).UnixMicro())
	if n := paced(t, p, 1, 500*time.Millisecond); n < 3 {
		t.Errorf("%d turns", n)
	}
}

// A caller that gives up waiting gets the context's error, and leaves the turn.
func TestPaceGivesUp(t *testing.T) {
	t.Parallel()
	s := startRedis(t, nil)
	p := openPaces(t, "redis://"+s.addr(), 1, 0.5)[0]
	if err := p.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := p.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it did not wait: %v", err)
	}
	began := time.Now()
	if err := p.Wait(t.Context()); err != nil || time.Since(began) > 2*time.Second {
		t.Errorf("%v after %s: the turn that was given up is lost", err, time.Since(began))
	}
}

// Processes over one data folder share their rate without Redis; a file of turns
// that cannot be read, or is of a clock that stood ahead, holds nobody up.
func TestPaceInOneFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var paces []jobs.Throttle
	for range 3 {
		q, err := jobs.OpenQueue("")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { q.Close() })
		paces = append(paces, q.Throttle(50, dir))
	}
	if n := paced(t, paces, 4, 2*time.Second); n > 100+5+3*2 || n < 70 {
		t.Errorf("%d turns in two seconds", n)
	}
	for _, content := range []string{"rubbish", strconv.FormatInt(time.Now().Add(time.Hour).UnixNano(), 10)} {
		if err := os.WriteFile(filepath.Join(dir, "pace.next"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if n := paced(t, paces, 1, time.Second); n < 20 {
			t.Errorf("%q: %d turns in a second", content, n)
		}
	}
}
