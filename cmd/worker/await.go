package main

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"bulkfiling/internal/filingapi"
	"bulkfiling/internal/jobs"
)

// await tries until something is there, for containers are started together
// with what they need. Only an error that passes is waited for; any other is
// for a person to mend, and ends the process.
func await[T any](ctx context.Context, w *worker, what string, passes func(error) bool,
	try func() (T, error)) (T, error) {
	w.health.setPhase(phase("waits for " + what))
	waited := false
	for wait := 500 * time.Millisecond; ; wait = min(2*wait, 15*time.Second) {
		v, err := try()
		switch {
		case err == nil:
			if waited {
				w.log.Info("there now: " + what)
			}
			return v, nil
		case ctx.Err() != nil:
			return v, ctx.Err()
		case !passes(err):
			return v, fmt.Errorf("wait for %s: %w", what, err)
		}
		waited = true
		w.log.Warn("waits for "+what, "error", err, "again_in", wait.String())
		select {
		case <-ctx.Done():
			return v, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// queueAway tells a Redis that may come back by itself from one that refuses for
// good.
func isQueueDown(err error) bool { return errors.Is(err, jobs.ErrQueueDown) }

// pricesAway tells a service that may answer yet, if to another key, from an
// address that is none of its. The ledger has to know of the answer, too.
func isServiceDown(err error) bool {
	if _, ok := errors.AsType[*filingapi.Error](err); ok {
		return !errors.Is(err, filingapi.ErrNotFound)
	}
	return isDatabaseDown(err)
}

// databaseAway tells a database that may come back by itself from one that
// refuses for good. Source: PostgreSQL's table of error codes, by class.
func isDatabaseDown(err error) bool {
	var refused *pgconn.PgError
	if errors.As(err, &refused) && len(refused.Code) == 5 {
		switch refused.Code[:2] {
		case "08", "53", "57": // connection, resources (too many clients), operator (starts up, shuts down)
			return true
		}
		return false
	}
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) || pgconn.SafeToRetry(err) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
