package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/retry"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// waiter waits for the filing service, Redis, and the database, as long as the flags of a run allow.
type waiter struct {
	terminal *terminal
	limit    time.Duration
	// forever is --wait. There is no limit then.
	forever bool
}

// calm is the time for which the database must respond before the next outage counts as another
// one.
const calm = 10 * time.Second

// retry repeats do until it succeeds, its error is permanent, or the time is up. passes reports
// whether an error is temporary and describes it. The description is printed whenever it changes.
func (w waiter) retry(ctx context.Context, passes func(error) (string, bool), do func() error) error {
	var backoff retry.Backoff
	// since is the time of the first failure in a row.
	var since time.Time
	said := ""
	for {
		began := time.Now()
		err := do()
		if err == nil {
			return nil
		}
		text, again := passes(err)
		if !again {
			return err
		}
		now := time.Now()
		if since.IsZero() || isDatabaseDown(err) && now.Sub(began) > calm {
			since, said, backoff = now, "", retry.Backoff{First: 250 * time.Millisecond, Max: 5 * time.Second}
		}
		if text != said {
			w.terminal.say("%s", text)
			said = text
		}
		pause := backoff.Next()
		if answered, ok := errors.AsType[*filingapi.Error](err); ok {
			pause = max(pause, answered.RetryAfter)
		}
		if !w.forever {
			left := w.limit - now.Sub(since)
			if left <= 0 {
				return err
			}
			pause = min(pause, left)
		}
		if retry.Sleep(ctx, pause) != nil {
			return err
		}
	}
}

// throughOutage calls a repeatable function, and repeats it while the database is down.
func (w waiter) throughOutage(ctx context.Context, do func() error) error {
	return w.retry(ctx, func(err error) (string, bool) {
		if !isDatabaseDown(err) {
			return "", false
		}
		return fmt.Sprintf("The database is not responding: %s. Waiting for it.", store.DownText(err)), true
	}, do)
}

// isDatabaseDown reports whether an error is a database error that may pass without a person.
func isDatabaseDown(err error) bool {
	if _, ok := errors.AsType[*filingapi.Error](err); ok || errors.Is(err, jobs.ErrQueueDown) {
		// These errors also wrap network errors.
		return false
	}
	return err != nil && store.IsDown(err)
}

// endedError ends a run before its rows have results, although the command itself did not fail.
type endedError struct{ jobs.RunResult }

func (e *endedError) Error() string { return fmt.Sprintf("the run ended: %v", e.Reason) }

// askService asks the filing service until it answers or the time is up. These are the first
// requests of a run, so that a rejected key or an unavailable filing service is found before any
// order. It returns an endedError for both.
func (r *filingRun) askService(ctx context.Context, what string, ask func(context.Context) error) error {
	err := r.waiter.retry(ctx, func(err error) (string, bool) {
		_, ofService := errors.AsType[*filingapi.Error](err)
		passes := ofService && ctx.Err() == nil && !errors.Is(err, filingapi.ErrKeyRefused) &&
			!errors.Is(err, filingapi.ErrNotFound) && !errors.Is(err, filingapi.ErrRefused)
		return fmt.Sprintf("%s is not responding: %s. Retrying.", r.env.BaseURL, r.client.LastError()), passes
	}, func() error { return ask(ctx) })
	answered, ofService := errors.AsType[*filingapi.Error](err)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return &endedError{jobs.RunResult{Reason: jobs.Interrupted}}
	case !ofService:
		return err
	case errors.Is(err, filingapi.ErrKeyRefused):
		return &endedError{jobs.RunResult{
			Reason: jobs.KeyRefused,
			Halted: ledger.Halted{Reason: filing.HaltKey, Note: answered.Message},
		}}
	case errors.Is(err, filingapi.ErrNotFound), errors.Is(err, filingapi.ErrRefused):
		return fmt.Errorf("ask %s for %s: %w", r.env.BaseURL, what, err)
	}
	return &endedError{jobs.RunResult{Reason: jobs.ServiceDown}}
}

// openQueue opens the queue. A run waits for Redis if it is down, and returns an endedError if the
// time is up. submit needs the queue only for the rate of lookups.
func (r *filingRun) openQueue(ctx context.Context) (queue *jobs.Queue, err error) {
	open := r.env.OpenQueue
	if r.submits {
		open = r.env.NewQueue
	}
	err = r.waiter.retry(ctx, func(err error) (string, bool) {
		return fmt.Sprintf("Waiting: %v", err), errors.Is(err, jobs.ErrQueueDown)
	}, func() (err error) {
		queue, err = open()
		return err
	})
	switch {
	case !errors.Is(err, jobs.ErrQueueDown):
		return queue, err
	case ctx.Err() != nil:
		return nil, &endedError{jobs.RunResult{Reason: jobs.Interrupted}}
	}
	return nil, &endedError{jobs.RunResult{Reason: jobs.QueueDown, Redis: err}}
}
