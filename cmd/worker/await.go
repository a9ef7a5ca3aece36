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
	try func() (T, error)) (T, error) {
	w.health.setPhase(phase("waits for " + what))
	tries := retry.Backoff{First: 500 * time.Millisecond, Max: 15 * time.Second}
	for waited := false; ; waited = true {
		v, err := try()
		switch {
		case err == nil:
			if waited {
				w.log.Info("dependency available", "dependency", what)
			}
			return v, nil
		case ctx.Err() != nil:
			return v, ctx.Err()
		case !passes(err):
			return v, fmt.Errorf("wait for %s: %w", what, err)
		}
		wait := tries.Next()
		w.log.Warn("waiting for dependency", "dependency", what, "err", err, "retry_in", wait.String())
		if err := retry.Sleep(ctx, wait); err != nil {
			return v, err
		}
	}
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
