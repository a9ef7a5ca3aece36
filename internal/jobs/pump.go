package jobs

import (
	"context"
	"log/slog"
	"maps"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// pumpPause is how often the pump looks when nothing wakes it; idlePause, while there
// is nothing that time alone would change. A commit of this process wakes it at once;
// idlePause is how late it sees a commit of another one.
const (
	pumpPause = 100 * time.Millisecond
	idlePause = time.Second
)

// pumpLoop keeps the queue supplied. It has no state that matters: it remembers
// for a moment what it enqueued, to spare Redis the repetition, so that a flushed
// Redis costs a moment.
func (w *Worker) pumpLoop() {
	defer w.loops.Done()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		committed := w.ledger.Fleet().NextCommit()
		idle, err := w.pump(w.ctx)
		if err != nil {
			w.report("pump", err)
		}
		if idle {
			timer.Reset(idlePause)
		} else {
			committed = nil
			timer.Reset(pumpPause)
		}
		select {
		case <-w.ctx.Done():
			return
		case <-timer.C:
		case <-committed:
		case <-w.wake:
		}
	}
}

// requeueAfter is how long a chunk that this process has put on the queue is not put
// there again. That only spares the queue repetitions.
const requeueAfter = 500 * time.Millisecond

// pump puts the rows that may be sent now on the queue. It reports whether nothing is
// to be done before the ledger's next commit.
func (w *Worker) pump(ctx context.Context) (idle bool, err error) {
	now := w.now()
	if w.queue.health.idle(now) {
		w.noteWrite(ctx, w.queue.probe(ctx))
	}
	if down, _ := w.queue.health.downFor(now); down > 0 {
		w.logHold(ctx, w.Hold())
		return false, nil
	}
	halted, err := w.ledger.Fleet().Halt(ctx)
	if err != nil {
		return false, err
	}
	w.state.setHalt(now, halted)
	limit := window
	if halted.Reason == filing.HaltFunds && !now.Before(halted.Until) {
		w.state.letProbe()
		limit = 1 // one row asks for all
	}
	hold, blocked := w.state.hold(now)
	w.logHold(ctx, hold)
	if blocked {
		return false, nil
	}
	pending, err := w.queue.countPending(ctx)
	if err != nil {
		w.noteWrite(ctx, err)
		return false, nil
	}
	if pending > w.handlers/2 {
		return false, nil // a handler that becomes free finds a chunk
	}
	ids, err := w.ledger.Sendable(ctx, w.batch, limit)
	if err != nil {
		return false, err
	}
	chunks := make(map[int64][]int64)
	var order []int64
	for _, id := range ids {
		chunk := id / chunkRows
		if chunks[chunk] == nil {
			order = append(order, chunk)
		}
		chunks[chunk] = append(chunks[chunk], id)
	}
	if len(order) == 0 {
		if pending == 0 {
			later, err := w.ledger.HasReady(ctx, w.batch)
			if err != nil {
				return false, err
			}
			idle = !later
		}
		return idle, nil
	}
	w.noteWrite(ctx, w.enqueueChunks(ctx, order, chunks, pending, now))
	return false, nil
}

// enqueueChunks puts chunks on the queue, as many as its handlers need soon: a small batch
// that comes later waits behind them. Its errors are those of Redis.
func (w *Worker) enqueueChunks(ctx context.Context, order []int64, chunks map[int64][]int64, pending int,
	now time.Time) error {
	maps.DeleteFunc(w.enqueued, func(_ int64, at time.Time) bool { return now.Sub(at) >= requeueAfter })
	for _, chunk := range order {
		if pending >= 2*w.handlers {
			return nil
		}
		if _, known := w.enqueued[chunk]; known {
			continue
		}
		queued, err := w.queue.enqueue(ctx, chunk, now, chunks[chunk])
		if err != nil {
			return err
		}
		w.enqueued[chunk] = now
		if queued {
			pending++
		}
	}
	return nil
}

// noteWrite records how a write to Redis went, and logs when Redis goes down or
// comes back.
func (w *Worker) noteWrite(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return // the worker stops: that says nothing of Redis
	}
	w.queue.health.record(w.now(), err)
	w.logHold(ctx, w.Hold())
}

// Hold is why this process sends no rows now; the zero value where it sends
// them. What keeps single rows back is their batch's affair: see ledger.Figures.
func (w *Worker) Hold() Hold {
	now := w.now()
	if down, err := w.queue.health.downFor(now); down > 0 {
		h := newHold(HeldByRedis, err.Error())
		h.Since = now.Add(-down)
		return h
	}
	hold, _ := w.state.hold(now)
	return hold
}

// logHold logs a hold when its reason changes, and its end, and shares it with
// the other processes. Only the pump's goroutine calls it.
func (w *Worker) logHold(ctx context.Context, hold Hold) {
	w.shareHold(ctx, hold)
	before := w.logged
	if hold.Reason == before.Reason {
		return
	}
	w.logged = hold
	if hold.Reason == "" {
		w.log.InfoContext(ctx, "orders resumed", "reason", before.Reason, "text", before.Text, "since", before.Since)
		return
	}
	level := slog.LevelWarn
	if hold.needsPerson() {
		level = slog.LevelError
	}
	about := []any{"reason", hold.Reason, "text", hold.Text}
	if !hold.Since.IsZero() {
		about = append(about, "since", hold.Since)
	}
	if !hold.Until.IsZero() {
		about = append(about, "until", hold.Until)
	}
	w.log.Log(ctx, level, "orders held", about...)
}
