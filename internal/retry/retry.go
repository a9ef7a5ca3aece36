// Package retry retries operations with increasing waits.
package retry

import (
	"context"
	"time"
)

// Backoff computes the wait before the next attempt. It doubles from First to Max. The first wait
// is First, because last is zero.
type Backoff struct {
	First, Max time.Duration
	last       time.Duration
}

// Next returns the next wait.
func (b *Backoff) Next() time.Duration {
	b.last = After(b.last, b.First, b.Max)
	return b.last
}

// Reset starts again from First after a successful attempt.
func (b *Backoff) Reset() { b.last = 0 }

// After returns the wait that follows last, for callers that store waits. It returns first if last
// is zero, and never more than limit.
func After(last, first, limit time.Duration) time.Duration {
	return min(max(2*last, first), limit)
}

// Sleep waits for d. It returns the context's error as soon as the context ends.
func Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Do calls attempt until it succeeds, reports that its error is final, or the context ends. It
// returns the error of the last attempt.
func Do(ctx context.Context, b Backoff, attempt func() (final bool, err error)) error {
	for {
		final, err := attempt()
		if err == nil || final {
			return err
		}
		if Sleep(ctx, b.Next()) != nil {
			return err
		}
	}
}
