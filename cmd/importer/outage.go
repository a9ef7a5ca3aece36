package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/retry"
)

// calm is the time for which the database must respond before the next outage counts as another
// one.
const calm = 10 * time.Second

// throughOutage calls a repeatable function, and repeats it while the database is down. It repeats
// until the patience ends, or without a limit with --wait. printError explains the error in words.
func (r *filingRun) throughOutage(ctx context.Context, do func() error) error {
	return r.patiently(ctx, func(err error) (string, bool) {
		down := isDatabaseDown(err)
		if !down {
			return "", false
		}
		return fmt.Sprintf("The database is not responding: %s. Waiting for it.", ledger.DownText(err)), true
	}, do)
}

// patiently repeats do until it succeeds, its error is permanent, or the patience ends. passes
// reports whether an error is temporary and describes it. The description is printed whenever it
// changes.
func (r *filingRun) patiently(ctx context.Context, passes func(error) (string, bool), do func() error) error {
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
			r.say("%s", text)
			said = text
		}
		pause := backoff.Next()
		if answered, ok := errors.AsType[*filingapi.Error](err); ok {
			pause = max(pause, answered.RetryAfter)
		}
		if !r.flags.wait {
			left := r.flags.patience - now.Sub(since)
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

// isDatabaseDown reports whether an error is a database error that may pass without a person.
func isDatabaseDown(err error) bool {
	if _, ok := errors.AsType[*filingapi.Error](err); ok || errors.Is(err, jobs.ErrQueueDown) {
		// These errors also wrap network errors.
		return false
	}
	return err != nil && ledger.IsDown(err)
}

// explainOutage describes the next step while the database is down.
func (a *app) explainOutage(err error) string {
	recorded := "Everything that was done is recorded"
	if len(a.unrecorded) > 0 {
		recorded = "Everything else that was done is recorded"
	}
	return fmt.Sprintf("the database is not responding: %s. %s. Run the same command again later: it resumes, and "+
		"orders nothing twice", ledger.DownText(err), recorded)
}

// stopWorker stops a worker, and lists the answers that it could not record.
func (a *app) stopWorker(w *jobs.Worker) {
	w.Stop()
	if a.unrecorded = w.Unrecorded(); len(a.unrecorded) == 0 {
		return
	}
	a.say("%s of the filing service could not be recorded in the database:", count(len(a.unrecorded), "answer"))
	for _, u := range a.unrecorded {
		a.say("  row %d of batch %s: %s", u.Number, u.Batch, idsOf(u))
	}
	a.say("Write them down. When the database responds, look at these rows: resolve an uncertain one with importer " +
		"resolve.")
}

func idsOf(u *jobs.Unrecorded) string { return cmp.Or(strings.Join(u.IDs(), ", "), "no ID") }
