package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/bulkfiling/bulkfiling/internal/config"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/metrics"
	"github.com/bulkfiling/bulkfiling/internal/network"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// worker is the process.
type worker struct {
	env      config.Environment
	options  options
	log      *slog.Logger
	health   *health
	registry *prometheus.Registry
}

func newWorker(env config.Environment, o options, log *slog.Logger) *worker {
	w := &worker{
		env:      env,
		options:  o,
		log:      log,
		health:   newHealth(log),
		registry: metrics.NewRegistry(),
	}
	promauto.With(w.registry).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "bulkfiling_worker_placing",
		Help: "1 while this process places orders; 0 while it waits for what it needs, or drains.",
	}, func() float64 {
		if phase, _ := w.health.status(); phase == placing {
			return 1
		}
		return 0
	})
	promauto.With(w.registry).NewGauge(prometheus.GaugeOpts{
		Name: "bulkfiling_worker_concurrency",
		Help: "Orders that this process may have in flight.",
	}).Set(float64(env.Concurrency))
	return w
}

// run places orders until ctx ends, and then drains.
func (w *worker) run(ctx context.Context) (err error) {
	config.SpendMemory()
	config.LimitMemory(w.log)
	sheet.LimitReaders(2, 8)
	client, err := w.env.Client()
	if err != nil {
		return err
	}
	defer client.Close()
	stop, err := w.serve()
	if err != nil {
		return err
	}
	defer stop()
	// Before the first order, the prices show that the key belongs to the organization of the ledger.
	chosen, err := await(ctx, w, "the organization's ledger", isServiceDown,
		func() (config.Chosen, error) { return w.env.ChooseLedger(ctx) })
	if err != nil {
		return err
	}
	w.log.Info("ledger opened", "ledger", chosen.Name, "organization", chosen.Owner, "folder", chosen.Path)
	l, err := await(ctx, w, "the ledger", store.IsDown, func() (*ledger.Ledger, error) {
		l, err := w.env.OpenLedger(ctx)
		if err != nil {
			return nil, err
		}
		if err := l.Fleet().Announce(ctx, "worker", true); err != nil {
			return nil, errors.Join(err, l.Close())
		}
		return l, nil
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	quiet, err := w.env.SendNotifications(ctx, l, w.log)
	if err != nil {
		return err
	}
	defer quiet()
	queue, err := await(ctx, w, "the queue", isQueueDown, w.env.OpenQueue)
	if err != nil {
		return err
	}
	defer queue.Close()
	w.health.addCheck(check{"ledger", func(ctx context.Context) error { _, err := l.Fleet().Halt(ctx); return err }})
	w.health.addCheck(check{"lease", func(ctx context.Context) error { return checkLease(ctx, l) }})
	w.health.addCheck(check{"queue", func(ctx context.Context) error { _, err := queue.Depth(ctx); return err }})
	observed := metrics.Observe(client, w.registry)
	w.registry.MustRegister(metrics.NewFleet(l, l.Attention(), l.Fleet(), client, queue))

	quoter, err := await(ctx, w, "the filing service's prices", isServiceDown,
		func() (pricing.Quoter, error) { return w.env.PriceSource(l, client)(ctx) })
	if err != nil {
		return err
	}
	engine, err := await(ctx, w, "the ledger", store.IsDown, func() (*jobs.Worker, error) {
		c := w.env.WorkerConfig(l, client, queue, quoter, w.log)
		c.Service, c.Now = observed, w.health.clock
		return jobs.Start(ctx, c)
	})
	if err != nil {
		return err
	}
	defer start(ctx, w.env.Scheduler(l, client, w.log).Run)()
	w.health.setPhase(placing)
	w.log.Info("worker started", "service", w.env.BaseURL, "concurrency", w.env.Concurrency, "version",
		metrics.ReadBuild().Version)
	outdated := w.awaitEnd(ctx, l)

	w.health.setPhase(draining)
	w.log.Info("worker draining", "at_most", (w.env.Timeout + config.DrainMargin).String())
	began := time.Now()
	engine.Stop()
	w.log.Info("worker stopped", "took", time.Since(began).Round(time.Millisecond).String())
	// Stop before the ledger closes, because scrapes need the ledger.
	stop()
	return outdated
}

// currentEvery is the time between two checks that the ledger still has the worker's version.
const currentEvery = time.Second

// awaitEnd waits until ctx ends, or until this process can no longer work because a newer version
// has prepared the ledger or it was restored from a backup. It returns the reason.
func (w *worker) awaitEnd(ctx context.Context, l *ledger.Ledger) error {
	tick := time.NewTicker(currentEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		// A ledger that does not answer may recover. The health checks report it.
		if err := l.Fleet().RequireCurrent(ctx); errors.Is(err, store.ErrNewer) {
			w.log.Error("worker outdated", "err", err)
			return err
		}
	}
}

// checkLease verifies that this process still has its lease. Without a lease it sends nothing.
func checkLease(ctx context.Context, l *ledger.Ledger) error {
	until, err := l.Fleet().Lease(ctx)
	if err == nil && !until.After(time.Now()) {
		err = errors.New("this process did not renew its lease in time")
	}
	return err
}

// start runs a function in the background until it is stopped, or ctx ends.
func start(ctx context.Context, run func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

// serve answers probes and scrapes. It starts before any other part is available, and ends after
// the drain.
func (w *worker) serve() (stop func(), err error) {
	if w.options.listen == "" {
		return func() {}, nil
	}
	listener, err := net.Listen("tcp", w.options.listen)
	if err != nil {
		return nil, fmt.Errorf("listen for probes and scrapes: %w", err)
	}
	server := &http.Server{
		Handler:           w.handler(),
		ErrorLog:          slog.NewLogLogger(w.log.Handler(), slog.LevelWarn),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
	}
	w.log.Info("serving health and metrics", "listen", listener.Addr().String())
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	return sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.Shutdown(ctx)
		_ = server.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			w.log.Error("serving health and metrics failed", "err", err)
		}
	}), nil
}

// handler returns the handler of all paths that the worker serves.
func (w *worker) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", w.health.live)
	mux.HandleFunc("GET /readyz", w.health.ready)
	mux.Handle("GET /metrics", metrics.Handler(w.registry, w.log))
	return network.WithHeaders(mux, false)
}
