// Command worker places the open orders of the ledger until it is stopped. Any number of workers
// can share a ledger. `worker --help` explains it.
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

// The exit codes are stable for scripts.
const (
	// exitDone means stopped, and every answer is recorded.
	exitDone = 0
	// exitFailed means a usage or configuration error.
	exitFailed = 1
	// exitAtOnce means that a second signal ended the worker. The next process sweeps the rows in
	// flight.
	exitAtOnce = 130
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
		// The worker may have been stopped before it had started.
		return exitDone
	}
	log.Error("worker failed", "err", err)
	return exitFailed
}

// handleSignals stops the worker gracefully at the first signal and at once at the second. It
// handles both itself, because a signal has no default effect on the first process of a container.
func handleSignals(cancel context.CancelFunc, log *slog.Logger) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		log.Info("stopping", "signal", (<-signals).String())
		cancel()
		// The next process sweeps the orders in flight.
		log.Warn("stopped at once", "signal", (<-signals).String())
		os.Exit(exitAtOnce)
	}()
}
