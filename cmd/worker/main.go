// Command worker places whatever the ledger holds open, for as long as it runs:
// the process of a fleet. It is configured by the environment that `importer
// help` explains, and ends in good order on SIGTERM.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"bulkfiling/internal/balance"
	"bulkfiling/internal/environment"
	"bulkfiling/internal/filingapi"
	"bulkfiling/internal/jobs"
	"bulkfiling/internal/ledger"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	if err := run(ctx, log); err != nil && !errors.Is(err, context.Canceled) {
		log.Error("the worker ends", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, log *slog.Logger) (err error) {
	env, err := environment.Read(os.Getenv)
	if err != nil {
		return err
	}
	client, err := env.Client()
	if err != nil {
		return err
	}
	l, err := env.OpenLedger(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if err := l.Bind(ctx, env.Mode()); err != nil {
		return err
	}
	quoter, err := prices(ctx, env, client, l, log)
	if err != nil {
		return err
	}
	queue, err := env.OpenQueue()
	if err != nil {
		return err
	}
	defer queue.Close()
	worker, err := jobs.Start(ctx, jobs.Config{
		Service: client, Ledger: l, Queue: queue, Quoter: quoter, Pace: env.Pace(), Concurrency: env.Concurrency,
		Drain: env.Timeout + 10*time.Second, Log: log,
	})
	if err != nil {
		return err
	}
	log.Info("the worker places", "service", env.BaseURL, "concurrency", env.Concurrency)
	<-ctx.Done()
	log.Info("the worker drains")
	worker.Stop()
	return nil
}

// prices asks for the price list until it is there: a worker outlives a service
// that is down, and a key that is corrected.
func prices(ctx context.Context, env environment.Environment, client *filingapi.Client, l *ledger.Ledger, log *slog.Logger) (*balance.Quoter, error) {
	for wait := time.Second; ; wait = min(2*wait, time.Minute) {
		list, err := client.Prices(ctx)
		if err == nil {
			if err := l.KeyAccepted(ctx); err != nil {
				return nil, err
			}
			return env.Quoter(list)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if errors.Is(err, filingapi.ErrNotFound) {
			return nil, fmt.Errorf("ask %s for its prices: %w", env.BaseURL, err)
		}
		log.Warn("no prices yet", "error", err, "again in", wait.String())
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}
