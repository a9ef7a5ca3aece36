// Command worker places the open orders of the ledger until it is stopped. Any
// number of workers form a fleet. `worker --help` explains it.
package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/bulkfiling/bulkfiling/internal/config"
	"github.com/bulkfiling/bulkfiling/internal/logs"
)

// The exit codes, stable by promise.
const (
	exitDone   = 0   // stopped, and every answer is recorded
	exitFailed = 1   // usage or configuration error
	exitAtOnce = 130 // a second signal; the next process sweeps the rows in flight
)

func main() { os.Exit(run()) }

func run() int {
	format, unreadable := config.LogFormat(os.Getenv, logs.JSON)
	log := slog.New(logs.NewHandler(os.Stderr, format, slog.LevelInfo))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	handleSignals(cancel, log)
	err := unreadable
	if err == nil {
		err = command(log).ExecuteContext(ctx)
	}
	if err == nil || ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return exitDone // perhaps it was stopped before it had started
	}
	log.Error("worker failed", "err", err)
	return exitFailed
}

// handleSignals stops the worker in good order at the first signal and at once at
// the second. It handles both itself: a signal has no default effect on the first
// process of a container.
func handleSignals(cancel context.CancelFunc, log *slog.Logger) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		log.Info("stopping", "signal", (<-signals).String())
		cancel()
		// The orders in flight are swept by the next process.
		log.Warn("stopped at once", "signal", (<-signals).String())
		os.Exit(exitAtOnce)
	}()
}
