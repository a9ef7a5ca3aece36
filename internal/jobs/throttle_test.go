package jobs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/time/rate"
)

// memoryBucket is a token bucket of one process among several.
type memoryBucket struct {
	free time.Time // when the next token counts
	err  error
}

func (b *memoryBucket) reserve(_ context.Context, interval time.Duration,
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
		p := &throttle{bucket: b, rate: 50, burst: 5, batch: 2, queue: make(chan struct{}, 1),
			fallback: rate.NewLimiter(50/assumedSharers, 1)}
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

// Processes share the tokens of a bucket, of which no more than the burst pile up. A
// bucket that cannot be read, or is from before a clock was set back, holds nobody up.
func TestTokenBuckets(t *testing.T) {
	const interval = 100 * time.Hour // long beside what a loaded machine takes
	q, err := OpenQueue("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close() })
	path := filepath.Join(t.TempDir(), "pace")
	ahead := time.Now().Add(1_000_000 * time.Hour)
	for name, c := range map[string]struct {
		open  func() tokenBucket
		spoil []func() error
	}{
		"Redis": {
			func() tokenBucket { return &redisBucket{redis: q.redis} },
			[]func() error{
				func() error { return q.redis.Set(t.Context(), bucketKey, ahead.UnixMicro(), 0).Err() },
			},
		},
		"a folder": {
			func() tokenBucket { return &fileBucket{lock: flock.New(path)} },
			[]func() error{
				func() error { return os.WriteFile(path+".next", []byte("rubbish"), 0o600) },
				func() error {
					return os.WriteFile(path+".next", strconv.AppendInt(nil, ahead.UnixNano(), 10), 0o600)
				},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			one, two := c.open(), c.open()
			wants := func(b tokenBucket, want time.Duration) {
				t.Helper()
				first, err := b.reserve(t.Context(), interval, 1, 3)
				if err != nil || (first-want).Abs() > interval/2 {
					t.Errorf("a token in %s, %v; want %s", first, err, want)
				}
			}
			wants(one, -2*interval) // two have piled up
			wants(two, -interval)
			wants(one, 0)
			wants(two, interval)
			wants(one, 2*interval)
			for _, spoil := range c.spoil {
				if err := spoil(); err != nil {
					t.Fatal(err)
				}
				if first, err := one.reserve(t.Context(), interval, 1, 3); err != nil || first > interval/2 {
					t.Errorf("a token in %s, %v", first, err)
				}
			}
		})
	}
}
