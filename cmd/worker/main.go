// Command worker places whatever the ledger holds open, for as long as it runs:
// the process of a fleet. `worker --help` explains it.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// The exit codes, stable by promise.
const (
	exitDone   = 0   // asked to end, and every answer is recorded
	exitFailed = 1   // it could not do its work: usage, configuration
	exitAtOnce = 130 // asked twice; rows in flight are settled by whoever looks next
)

func main() { os.Exit(run()) }

func run() int {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	handleSignals(cancel, log)
	err := command(log).ExecuteContext(ctx)
	var ill *unhealthyError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &ill):
		fmt.Fprintln(os.Stderr, "worker:", err) // for a person, or the engine's record of the check
		return exitFailed
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return exitDone // it was asked to end before it had begun
	}
	log.Error("the worker ends", "error", err)
	return exitFailed
}

// heed ends the work in good order at the first signal and at once at the
// second. Nothing is left to the signal's own effect: the first process of a
// container has none.
func handleSignals(cancel context.CancelFunc, log *slog.Logger) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		log.Info("asked to end", "signal", (<-signals).String())
		cancel()
		log.Warn("asked to end again: it ends at once, and the orders in flight are settled as crashed", "signal",
			(<-signals).String())
		os.Exit(exitAtOnce)
	}()
}
