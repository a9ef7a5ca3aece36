package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/retry"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// await tries until something is available, because containers start together with their
// dependencies. It retries only temporary errors. Any other error ends the process, for a person to
// correct.
func await[T any](ctx context.Context, w *worker, what string, passes func(error) bool,
	attempt func() (T, error)) (v T, err error) {
	w.health.setPhase(phase("waits for " + what))
	waited := false
	err = retry.Do(ctx, retry.Backoff{First: 500 * time.Millisecond, Max: 15 * time.Second}, func() (bool, error) {
		v, err = attempt()
		if err == nil || ctx.Err() != nil || !passes(err) {
			return true, err
		}
		waited = true
		w.log.Warn("waiting for dependency", "dependency", what, "err", err)
		return false, err
	})
	switch {
	case ctx.Err() != nil && err != nil:
		return v, ctx.Err()
	case err != nil:
		return v, fmt.Errorf("wait for %s: %w", what, err)
	case waited:
		w.log.Info("dependency available", "dependency", what)
	}
	return v, nil
}

// isQueueDown reports whether the error of Redis is temporary.
func isQueueDown(err error) bool { return errors.Is(err, jobs.ErrQueueDown) }

// isServiceDown reports whether the filing service may answer later, perhaps to another key. The
// ledger must also be able to record the answer.
func isServiceDown(err error) bool {
	if _, ok := errors.AsType[*filingapi.Error](err); ok {
		return !errors.Is(err, filingapi.ErrNotFound)
	}
	return store.IsDown(err)
}
