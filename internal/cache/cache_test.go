package cache

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// loads counts what a cache loads, a second each.
type loads struct {
	*testing.T
	*Cache[string, int]
	n int
}

func (l *loads) want(n int, keys ...string) {
	l.Helper()
	before := l.n
	for _, key := range keys {
		if _, err := l.Get(l.Context(), key, l.load); err != nil {
			l.Error(err)
		}
	}
	if l.n-before != n {
		l.Errorf("%v: loaded %d, want %d", keys, l.n-before, n)
	}
}

func (l *loads) load(context.Context) (int, error) {
	time.Sleep(time.Second)
	l.n++
	return l.n, nil
}

func TestLoadsOnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &loads{T: t, Cache: New[string](Options[int]{TTL: For(time.Minute)})}
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				if v, err := l.Get(t.Context(), "a", l.load); v != 1 || err != nil {
					t.Error(v, err)
				}
			})
		}
		all.Wait()
		l.want(0, "a")
		time.Sleep(time.Minute)
		l.want(1, "a")
	})
}

func TestMakesRoomForTheLastUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &loads{T: t, Cache: New[string](Options[int]{Max: 3})}
		l.want(3, "a", "b", "c")
		l.want(0, "a")
		l.want(1, "d") // in place of b
		l.want(0, "a", "c", "d")
		l.want(1, "b")
		heavy := &loads{T: t, Cache: New[string](Options[int]{Max: 3, Cost: func(int) int { return 10 }})}
		heavy.want(1, "a")
		heavy.want(0, "a") // alone, but there
		heavy.want(2, "b", "a")
	})
}

func TestSlowLoadsCountLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &loads{
			T:     t,
			Cache: New[string](Options[int]{TTL: func(took time.Duration) time.Duration { return 10 * took }}),
		}
		l.want(1, "a")
		time.Sleep(9 * time.Second)
		l.want(0, "a")
		time.Sleep(time.Second)
		l.want(1, "a")
	})
}

func TestDeletedWhileLoading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &loads{T: t, Cache: New[string](Options[int]{})}
		l.want(1, "a")
		l.Delete("a")
		old := make(chan int)
		go func() {
			v, _ := l.Get(t.Context(), "a", l.load)
			old <- v
		}()
		synctest.Wait()
		l.Delete("a")
		<-old
		l.want(1, "a") // the value from before the second change is not kept
	})
}

func TestFailedLoads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New[string](Options[error]{})
		failed := errors.New("failed")
		for range 2 {
			if v, err := c.Get(t.Context(), "a",
				func(context.Context) (error, error) { return nil, failed }); v != nil || err != failed {
				t.Error(v, err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Get(ctx, "a", func(context.Context) (error, error) {
			time.Sleep(time.Minute)
			return failed, nil
		}); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if v, ok := c.Peek("a"); v != failed || !ok {
			t.Error("what the caller did not wait for is not kept")
		}
	})
}

// A server recovers from a panic of its handler, but from none in a goroutine that
// the cache started.
func TestPanicOfALoadReachesItsCaller(t *testing.T) {
	c := New[string](Options[int]{})
	defer func() {
		if cause := recover(); cause == nil || !strings.Contains(fmt.Sprint(cause), "boom") {
			t.Errorf("recovered %v", cause)
		}
		v, err := c.Get(t.Context(), "k", func(context.Context) (int, error) { return 7, nil })
		if v != 7 || err != nil {
			t.Errorf("%d, %v", v, err)
		}
	}()
	_, _ = c.Get(t.Context(), "k", func(context.Context) (int, error) { panic("boom") })
	t.Error("no panic")
}
