package schedule

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// What lies on the shelf is made once for all who ask, is forgotten after a
// while, and makes room for what was used last.
func TestShelf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s shelf[int]
		var made atomic.Int32
		get := func(key string, rows int) {
			t.Helper()
			what, err := s.get(key, func() (int, int, error) {
				time.Sleep(time.Second)
				return int(made.Add(1)), rows, nil
			})
			if err != nil || what == 0 {
				t.Error(what, err)
			}
		}
		makes := func(n int32, keys ...string) {
			t.Helper()
			before := made.Load()
			for _, key := range keys {
				get(key, 100_000)
			}
			if n != made.Load()-before {
				t.Errorf("%v: made %d, want %d", keys, made.Load()-before, n)
			}
		}
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() { get("a", 100_000) })
		}
		all.Wait()
		if made.Load() != 1 {
			t.Errorf("made %d times for those who asked at once", made.Load())
		}
		makes(2, "b", "c", "a")
		makes(1, "d")           // in place of b, the longest unused
		makes(0, "a", "c", "d") // which are there
		makes(1, "b")
		time.Sleep(shelfLife)
		makes(1, "b")
		get("large", 2*shelfRows) // alone, but there
		makes(0, "large")
		wrong := errors.New("wrong")
		for i := range 2 {
			if _, err := s.get("wrong", func() (int, int, error) {
				return 0, 0, fmt.Errorf("%d: %w", i, wrong)
			}); !errors.Is(err, wrong) || err.Error() != fmt.Sprintf("%d: wrong", i) {
				t.Error(err)
			}
		}
	})
}
