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

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
)

// emptyPause is how long a server waits before it asks an empty queue again. Twenty times
// a second, it asks at a percent or two of a core.
const emptyPause = 50 * time.Millisecond

// Config sets a worker up.
type Config struct {
	Service      Service
	Ledger       *ledger.Ledger
	Queue        *Queue
	Quoter       pricing.Quoter // what things cost when it begins
	Ask          pricing.Source // what they cost since, asked every few minutes; nil for no change
	Concurrency  int            // orders in flight, and as many look-ups
	Throttle     Throttle       // of all requests; nil for none
	Batch        string         // pump this batch alone; empty for all
	DrainTimeout time.Duration  // how long Stop waits for answers; longer than the client's time-out; 0: 8 s
	Now          func() time.Time
	Log          *slog.Logger
	Unrecorded   func(*Unrecorded) // told when an answer cannot be recorded at once; nil for nobody
}

// Worker pumps, places and sweeps until it is stopped.
type Worker struct {
	ledger *ledger.Ledger
	queue  *Queue
	batch  string
	now    func() time.Time
	log    *slog.Logger

	state  *sendState
	placer *placer
	server *asynq.Server

	ctx          context.Context
	cancel       context.CancelFunc
	loops        sync.WaitGroup
	handling     sync.WaitGroup // chunks in hand, also those that the server has let go of
	drainTimeout time.Duration
	wake         chan struct{}       // a handler ended: there may be room on the queue
	enqueued     map[int64]time.Time // when a chunk was put on the queue; the pump's own
	logged       Hold                // the pump's own
	shared       string              // the hold that the other processes know; the pump's own
	handlers     int                 // chunks in hand at once

	mu         sync.Mutex
	reported   string // the failure that was logged last
	reportedAt time.Time
}

// Start starts a worker, which places the rows that may be sent until it is
// stopped. It sweeps first: see Sweep.
func Start(ctx context.Context, c Config) (*Worker, error) {
	if c.Now == nil {
		c.Now = c.Ledger.Now // due times and halts are those of its clock
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	c.Throttle = orUnlimited(c.Throttle)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 8*time.Second)
	w := &Worker{
		ledger:       c.Ledger,
		queue:        c.Queue,
		batch:        c.Batch,
		now:          c.Now,
		log:          c.Log,
		drainTimeout: c.DrainTimeout,
		state:        &sendState{breaker: c.Service},
		wake:         make(chan struct{}, 1),
		enqueued:     make(map[int64]time.Time),
	}
	// Handlers wait for look-ups and slots; with three times as many chunks as fill
	// the slots, the slots are never short of resolved rows. With a slow throttle,
	// what it lets through in two seconds is enough.
	w.handlers = max(4, 8*c.Concurrency/chunkRows)
	if p, ok := c.Throttle.(interface{ PerSecond() float64 }); ok {
		w.handlers = min(w.handlers, max(1, int(2*p.PerSecond()/chunkRows)))
	}
	w.ctx, w.cancel = context.WithCancel(ctx)
	w.placer = &placer{
		service:  c.Service,
		ledger:   c.Ledger,
		prices:   newPriceCache(c.Quoter, c.Ask, c.Now, c.Log),
		state:    w.state,
		now:      c.Now,
		log:      c.Log,
		slots:    make(chan struct{}, c.Concurrency),
		throttle: c.Throttle,
		warn:     c.Unrecorded,
		resolver: newResolver(c.Service, c.Ledger, c.Concurrency, c.Throttle, w.state, c.Now),
	}
	if err := w.sweep(w.ctx); err != nil {
		w.cancel()
		return nil, err
	}
	w.server = asynq.NewServerFromRedisClient(c.Queue.redis, asynq.Config{
		Concurrency:       w.handlers,
		Queues:            map[string]int{queueName: 1},
		TaskCheckInterval: emptyPause,
		// No task is scheduled, retried or kept, so these have nothing to do.
		DelayedTaskCheckInterval: time.Minute,
		JanitorInterval:          time.Minute,
		ShutdownTimeout:          c.DrainTimeout,
		Logger:                   asynqLogger{c.Log},
		LogLevel:                 asynq.WarnLevel,
		// Not w.ctx: the server does not wait for handlers whose context has ended,
		// and Stop has to wait for the answers that are out.
		BaseContext: func() context.Context { return context.WithoutCancel(ctx) },
	})
	if err := w.server.Start(asynq.HandlerFunc(w.handle)); err != nil {
		w.cancel()
		return nil, fmt.Errorf("start the queue's handlers: %w", err)
	}
	w.loops.Add(2)
	go w.pumpLoop()
	go w.sweepLoop()
	return w, nil
}

// Stop sends no more orders, waits for the answers that are out and records them. For
// those that it could not record, see Unsaved.
func (w *Worker) Stop() {
	w.cancel()
	late := time.After(w.drainTimeout)
	w.loops.Wait()
	w.server.Shutdown()
	// The server drops a task whose lease or time has run out, such as when Redis
	// is down; its orders are out all the same.
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
		w.log.Error("answer not recorded", "batch", u.Batch, "row", u.Number, "row_id", u.Outcome.Row,
			"attempt", u.Outcome.Try, "answer", u.Outcome.Answer.Kind, "orders", orderIDs(u.Outcome.Answer.Items),
			"company", u.Outcome.Answer.CompanyID)
	}
}

// Unrecorded returns the answers that the database does not have yet.
func (w *Worker) Unrecorded() []*Unrecorded { return w.placer.unrecorded.list() }

// handle places the rows of a chunk that may still be sent: they are resolved side
// by side and sent as slots come free. Every outcome is in the ledger when handle
// returns, so the task is done whatever the outcomes are.
func (w *Worker) handle(taskCtx context.Context, task *asynq.Task) error {
	w.handling.Add(1)
	defer w.handling.Done()
	defer w.wakePump()
	if w.ctx.Err() != nil {
		return nil
	}
	ids, err := decodeRows(task.Payload())
	if err != nil {
		w.log.Error("task dropped", "err", err)
		return nil
	}
	// A task that has lost its lease may run in another process by now: the orders
	// that are out are waited for, and no more are sent.
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	defer context.AfterFunc(taskCtx, cancel)()
	rows, err := w.ledger.ReadyRows(ctx, ids)
	if err == nil && len(rows) > 0 {
		err = w.placer.resolver.loadKnown(ctx, rows)
	}
	if err != nil {
		w.report("load rows", err)
		return nil
	}
	var placing sync.WaitGroup
	defer placing.Wait()
	batches := make(map[string]ledger.Batch)
	for _, row := range rows {
		if ctx.Err() != nil || !w.state.mayOrder(w.now()) {
			break
		}
		b, known := batches[row.Batch]
		if !known {
			if b, err = w.ledger.Batch(ctx, row.Batch); err != nil {
				w.report("load rows", err)
				return nil
			}
			batches[row.Batch] = b
		}
		placing.Go(func() {
			if err := w.placer.place(ctx, row, b.Repetition()); err != nil {
				w.report("place row", err, "batch", row.Batch, "row", row.Number, "row_id", row.ID)
			}
		})
	}
	return nil
}

// reportEvery is how often the same failure is logged.
const reportEvery = 10 * time.Second

// report logs a failure after which the worker tries again: the row stays in the
// ledger. Tries come several times a second; the log line does not.
func (w *Worker) report(what string, err error, about ...any) {
	if w.ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return
	}
	w.mu.Lock()
	repeated := what == w.reported && time.Since(w.reportedAt) < reportEvery
	if !repeated {
		w.reported, w.reportedAt = what, time.Now()
	}
	w.mu.Unlock()
	if !repeated {
		line := []any{"step", what, "err", err}
		w.log.Error("retrying", append(line, about...)...)
	}
}

func (w *Worker) wakePump() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// sweep marks in-flight rows of dead processes as uncertain.
func (w *Worker) sweep(ctx context.Context) error {
	w.queue.shareCommits(ctx, w.ledger)
	return Sweep(ctx, w.ledger, w.log)
}

// Sweep records that rows which dead processes sent get no answer any more: they
// become uncertain or, where a repetition is harmless, ready again. Commands and
// the page sweep before they show or change a batch, so that a row that may have
// been bought never passes for unsent.
func Sweep(ctx context.Context, l *ledger.Ledger, log *slog.Logger) error {
	orphans, err := l.Fleet().Orphans(ctx)
	if err != nil {
		return err
	}
	for _, row := range orphans {
		var sent []filing.Product
		for _, c := range row.Claims {
			sent = append(sent, c.Product)
		}
		a := filing.Answer{
			Kind:    filing.NoAnswer,
			Message: "the process that sent it ended, or lost its connection, before it recorded the answer",
		}
		out := ledger.Outcome{
			Row:        row.ID,
			Of:         row.InBatch(),
			Try:        row.Tries,
			Owner:      row.Owner,
			Answer:     a,
			Claims:     row.Claims,
			Cost:       money.Cost{Amount: row.Reserved},
			Creates:    row.Creating,
			Repeatable: l.Repeatable(sent) && !row.Creating,
			Due:        row.Due,
			Exhausted:  row.Attempts >= maxAttempts,
			Explain: func(s filing.RowState) string {
				if row.Creating {
					return uncertainCreation(a)
				}
				return messageFor(a, s, nil)
			},
		}
		err := l.RecordOutcome(ctx, out)
		if err != nil && !errors.Is(err, ledger.ErrTransition) {
			return fmt.Errorf("sweep row %d of batch %s: %w", row.Number, row.Batch, err)
		}
		log.Warn("row swept", "batch", row.Batch, "row", row.Number, "row_id", row.ID, "attempt", row.Tries)
	}
	return nil
}

func (w *Worker) sweepLoop() {
	defer w.loops.Done()
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-w.ctx.Done():
			return
		case <-tick.C:
			if err := w.sweep(w.ctx); err != nil {
				w.report("sweep", err)
			}
		}
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
