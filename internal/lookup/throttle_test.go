package lookup

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// memoryBucket is a token bucket of one process among several.
type memoryBucket struct {
	free time.Time // when the next token counts
	err  error
}

func (b *memoryBucket) Reserve(_ context.Context, interval time.Duration,
	wanted, burst int) (time.Duration, error) {
	if b.err != nil {
		return 0, b.err
	}
	now := time.Now()
	if first := now.Add(-time.Duration(burst-1) * interval); b.free.Before(first) {
		b.free = first
	}
	first := b.free.Sub(now)
	b.free = b.free.Add(time.Duration(wanted) * interval)
	return first, nil
}

// A process takes its tokens as they come. While the bucket cannot be reached it keeps
// to a tenth of the rate. Unused
// tokens do not pile up, and a caller that gives up leaves its token.
func TestThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &memoryBucket{}
		p := NewThrottle(50, b)
		wants := func(least, most int) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			n := 0
			for p.Wait(ctx) == nil {
				n++
			}
			if n < least || n > most {
				t.Errorf("%d requests in two seconds, want %d to %d", n, least, most)
			}
		}
		b.err = errors.New("away")
		wants(9, 11) // a tenth of the rate
		b.err = nil
		time.Sleep(time.Second)
		wants(95, 107) // the rate, and what had piled up
		time.Sleep(time.Hour)
		wants(95, 107)
		p.tokens, b.free = 0, time.Now().Add(10*time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it did not wait: %v", err)
		}
		began := time.Now()
		if err := p.Wait(t.Context()); err != nil || time.Since(began) != 9*time.Second {
			t.Errorf("%v after %s: the token that was given up is lost", err, time.Since(began))
		}
	})
}

// A token that was given back lets the next request pass at once, for as long as the bucket would
// have kept it.
func TestThrottle_Release(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewThrottle(1, &memoryBucket{})
		waited := func() time.Duration {
			t.Helper()
			began := time.Now()
			if err := p.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			return time.Since(began)
		}
		waited()
		p.Release()
		if d := waited(); d != 0 {
			t.Errorf("a request waited %s although a token was given back", d)
		}
		if d := waited(); d != time.Second {
			t.Errorf("the request after it waited %s, want 1s", d)
		}
		p.Release()
		p.Release()
		time.Sleep(time.Minute)
		waited()
		if d := waited(); d != time.Second {
			t.Errorf("after a minute, two requests were sent within %s: tokens accumulate", d)
		}
		(*Throttle)(nil).Release()
	})
}
