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

// calm is how long the database has to respond for the next outage to be another.
const calm = 10 * time.Second

// throughOutage does something that may be repeated, and repeats it while the
// database is down: until the patience ends, or with --wait for as long as it takes.
// printError explains the error in words.
func (r *filingRun) throughOutage(ctx context.Context, do func() error) error {
	return r.patiently(ctx, func(err error) (string, bool) {
		down := isDatabaseDown(err)
		if !down {
			return "", false
		}
		return fmt.Sprintf("The database is not responding: %s. Waiting for it.", ledger.DownText(err)), true
	}, do)
}

// patiently repeats do until it succeeds, its error does not pass, or the patience
// ends. passes also describes the error, which is printed whenever it is another one.
func (r *filingRun) patiently(ctx context.Context, passes func(error) (string, bool), do func() error) error {
	var backoff retry.Backoff
	var since time.Time // of the first failure in a row
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

// isDatabaseDown reports whether an error is one of the database that may pass
// without a person.
func isDatabaseDown(err error) bool {
	if _, ok := errors.AsType[*filingapi.Error](err); ok || errors.Is(err, jobs.ErrQueueDown) {
		return false // they wrap errors of the network, too
	}
	return err != nil && ledger.IsDown(err)
}

// explainOutage says what a person can do while the database is down.
func (a *app) explainOutage(err error) string {
	recorded := "Everything that was done is recorded"
	if len(a.unrecorded) > 0 {
		recorded = "Everything else that was done is recorded"
	}
	return fmt.Sprintf("the database is not responding: %s. %s. Run the same command again later: it resumes, and "+
		"orders nothing twice", ledger.DownText(err), recorded)
}

// stopWorker stops a worker, and names the answers that it could not record.
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
