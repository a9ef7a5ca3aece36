package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/hibiken/asynq"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/lookup"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
)

// Config configures a Worker.
type Config struct {
	Service Service
	Ledger  *ledger.Ledger
	Queue   *Queue
	// Quoter has the prices at the start.
	Quoter pricing.Quoter
	// Prices returns the current prices and is called every few minutes. Prices do not change if it
	// is nil.
	Prices pricing.Source
	// Concurrency is the number of orders in flight, and of look-ups in flight.
	Concurrency int
	// Throttle spaces out all requests. There is no limit if it is nil.
	Throttle *lookup.Throttle
	// Batch limits the worker to one batch. It places the rows of all batches if Batch is empty.
	Batch string
	// DrainTimeout is how long Stop waits for in-flight requests, 8 seconds by default. It must
	// exceed the timeout of the client.
	DrainTimeout time.Duration
	// Now is the clock of due times and halts, the ledger's by default.
	Now func() time.Time
	Log *slog.Logger
	// Unrecorded is called with an answer that cannot be recorded at once. It may be nil.
	Unrecorded func(*Unrecorded)
}

// Worker places the orders of rows until it is stopped. It consists of a pump, which enqueues
// rows, of handlers, which take them off the queue and place them, and of a sweeper.
type Worker struct {
	ledger *ledger.Ledger
	queue  *Queue
	now    func() time.Time
	log    *slog.Logger

	state    *sendState
	pump     *pump
	placer   *Placer
	failures *failureLog

	ctx    context.Context
	cancel context.CancelFunc
	// handled wakes Await when a task has been handled.
	handled chan struct{}
	// loops are the goroutines of the pump and of the sweeper.
	loops sync.WaitGroup
	// handling are the tasks being handled, including tasks that the server has given up.
	handling     sync.WaitGroup
	drainTimeout time.Duration
}

// Start sweeps once and starts a worker. The caller must call Stop.
func Start(ctx context.Context, c Config) (*Worker, error) {
	c = c.withDefaults()
	placer := NewPlacer(c)
	w := &Worker{
		ledger:       c.Ledger,
		queue:        c.Queue,
		now:          c.Now,
		log:          c.Log,
		state:        placer.state,
		placer:       placer,
		failures:     placer.failures,
		drainTimeout: cmp.Or(c.DrainTimeout, 8*time.Second),
		handled:      make(chan struct{}, 1),
	}
	w.ctx, w.cancel = context.WithCancel(ctx)
	w.pump = &pump{
		ledger:   c.Ledger,
		queue:    c.Queue,
		state:    w.state,
		batch:    c.Batch,
		handlers: c.handlers(),
		now:      c.Now,
		failures: w.failures,
		log:      c.Log,
		wake:     make(chan struct{}, 1),
		enqueued: make(map[int64]time.Time),
	}
	w.pump.consumer = &consumer{
		redis:     c.Queue.redis,
		handler:   w.handle,
		idleAfter: consumerIdleAfter,
		config: asynq.Config{
			Concurrency:       w.pump.handlers,
			Queues:            map[string]int{queueName: 1},
			TaskCheckInterval: taskCheckInterval,
			// No task is scheduled, retried or kept, so these have nothing to do.
			DelayedTaskCheckInterval: time.Minute,
			JanitorInterval:          time.Minute,
			ShutdownTimeout:          w.drainTimeout,
			Logger:                   asynqLogger{c.Log},
			LogLevel:                 asynq.WarnLevel,
			// The server does not wait for handlers whose context has ended, and Stop has to wait
			// for in-flight requests.
			BaseContext: func() context.Context { return context.WithoutCancel(ctx) },
		},
	}
	sweeper := &sweeper{ledger: c.Ledger, queue: c.Queue, failures: w.failures, log: c.Log}
	sweeper.shareCommits(w.ctx)
	if err := sweeper.sweep(w.ctx); err != nil {
		w.cancel()
		return nil, err
	}
	w.loops.Go(func() { w.pump.run(w.ctx) })
	w.loops.Go(func() { sweeper.run(w.ctx) })
	return w, nil
}

func (c Config) withDefaults() Config {
	if c.Now == nil {
		c.Now = c.Ledger.Now
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c
}

// handlers returns the number of tasks to handle at the same time. Handlers wait for look-ups
// and slots, so three times as many chunks as fill the slots keep the slots supplied. With a
// slow throttle, the requests of two seconds suffice.
func (c *Config) handlers() int {
	n := max(4, 8*c.Concurrency/chunkRows)
	if rate := c.Throttle.PerSecond(); rate > 0 {
		n = min(n, max(1, int(2*rate/chunkRows)))
	}
	return n
}

// Stop sends no more orders, waits for in-flight requests and records their answers. Unrecorded
// lists the answers that it could not record.
func (w *Worker) Stop() {
	w.cancel()
	late := time.After(w.drainTimeout)
	w.loops.Wait()
	w.pump.consumer.stop()
	// The server gives up a task whose lease or timeout has ended, for example while Redis is
	// down. Its orders are still in flight.
	recorded := make(chan struct{})
	go func() {
		w.handling.Wait()
		close(recorded)
	}()
	select {
	case <-recorded:
	case <-late:
	}
	for _, u := range w.Unrecorded() {
		w.log.Error("answer not recorded", u.attributes()...)
	}
}

// Unrecorded returns the answers that are not recorded in the ledger yet.
func (w *Worker) Unrecorded() []*Unrecorded { return w.placer.unrecorded.list() }

// handle places the rows of a chunk that may still be sent. Every outcome is in the ledger when
// handle returns, so the task is done in any case.
func (w *Worker) handle(taskCtx context.Context, task *asynq.Task) error {
	w.handling.Add(1)
	defer w.handling.Done()
	w.pump.consumer.active.Add(1)
	defer w.pump.consumer.active.Add(-1)
	defer func() {
		w.pump.wakeUp()
		select {
		case w.handled <- struct{}{}:
		default:
		}
	}()
	if w.ctx.Err() != nil {
		return nil
	}
	ids, err := decodeRows(task.Payload())
	if err != nil {
		w.log.Error("task dropped", "err", err)
		return nil
	}
	// Another process may have a task that has lost its lease, so no more of its orders are sent.
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	defer context.AfterFunc(taskCtx, cancel)()
	w.placer.Place(ctx, ids)
	return nil
}

// reportInterval is the interval at which a repeated failure is logged.
const reportInterval = 10 * time.Second

// failureLog logs failures that are retried several times a second, a repeated one only once in
// a while.
type failureLog struct {
	log *slog.Logger

	mu     sync.Mutex
	step   string
	logged time.Time
}

// report logs a failure of a step, unless the context has ended. The rows concerned stay in the
// ledger and are tried again.
func (f *failureLog) report(ctx context.Context, step string, err error, about ...any) {
	if ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return
	}
	f.mu.Lock()
	repeated := step == f.step && time.Since(f.logged) < reportInterval
	if !repeated {
		f.step, f.logged = step, time.Now()
	}
	f.mu.Unlock()
	if !repeated {
		line := []any{"step", step, "err", err}
		f.log.Error("retrying", append(line, about...)...)
	}
}

// asynqLogger passes asynq's messages on at debug level: the pump logs once when
// Redis is down, and every row that they concern is in the ledger. Panics are
// logged as errors.
type asynqLogger struct{ log *slog.Logger }

func (q asynqLogger) Debug(args ...any) {}
func (q asynqLogger) Info(args ...any)  {}
func (q asynqLogger) Warn(args ...any)  { q.log.Debug("asynq", "text", fmt.Sprint(args...)) }
func (q asynqLogger) Error(args ...any) {
	level := slog.LevelDebug
	text := fmt.Sprint(args...)
	if strings.Contains(text, "panic") {
		level = slog.LevelError
	}
	q.log.Log(context.Background(), level, "asynq", "text", text)
}
func (q asynqLogger) Fatal(args ...any) { q.log.Error("asynq", "text", fmt.Sprint(args...)) }
