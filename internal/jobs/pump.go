package jobs

import (
	"context"
	"sync"
	"time"

	"bulkfiling/internal/filing"
)

// pumpPause is how often the pump looks when nothing wakes it.
const pumpPause = 100 * time.Millisecond

// pumpLoop keeps the queue supplied. It keeps no state that matters: what it
// enqueued lately is remembered only to spare Redis the repetition, and is
// soon forgotten, so that a flushed Redis costs a moment.
func (w *Worker) pumpLoop() {
	defer w.loops.Done()
	tick := time.NewTicker(pumpPause)
	defer tick.Stop()
	for {
		if err := w.pump(w.ctx); err != nil {
			w.report("supply the queue", err)
		}
		select {
		case <-w.ctx.Done():
			return
		case <-tick.C:
		case <-w.wake:
		}
	}
}

// onItsWay is how long a chunk that was enqueued is not enqueued again.
const onItsWay = 2 * time.Second

// onQueue remembers which chunks this process enqueued lately and has not seen
// again.
type onQueue struct {
	mu     sync.Mutex
	chunks map[int64]time.Time
}

// half reports whether more than half of the window is on its way: then the
// ledger need not be asked for more.
func (q *onQueue) half(now time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.chunks)*chunkRows <= window/2 {
		return false
	}
	for chunk, at := range q.chunks {
		if now.Sub(at) >= onItsWay {
			delete(q.chunks, chunk)
		}
	}
	return len(q.chunks)*chunkRows > window/2
}

func (q *onQueue) add(chunk int64, now time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if at, ok := q.chunks[chunk]; ok && now.Sub(at) < onItsWay {
		return false
	}
	q.chunks[chunk] = now
	return true
}

// soon lets a chunk that was there already be enqueued again shortly: it may be
// a task whose handler has ended and which the queue is about to forget.
func (q *onQueue) soon(chunk int64, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.chunks[chunk] = now.Add(2*pumpPause - onItsWay)
}

func (q *onQueue) remove(chunk int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.chunks, chunk)
}

func (w *Worker) pump(ctx context.Context) error {
	now := w.now()
	limit := window
	halted, err := w.ledger.Standstill(ctx)
	if err != nil {
		return err
	}
	switch halted.Reason {
	case filing.Nothing:
		w.gate.clear()
	case filing.ForFunds:
		if now.Before(halted.Until) {
			return nil
		}
		// Its moment has come: one row asks for all.
		w.gate.clear()
		limit = 1
	default:
		w.gate.hold(now, halted)
		return nil
	}
	if !w.gate.open(now) {
		return nil
	}
	if w.onQueue.half(now) {
		return nil
	}
	ids, err := w.ledger.Sendable(ctx, w.only, limit)
	if err != nil {
		return err
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
	for _, chunk := range order {
		if !w.onQueue.add(chunk, now) {
			continue
		}
		queued, err := w.queue.put(ctx, *w.crew.Load(), chunk, chunks[chunk], now)
		switch {
		case err != nil:
			w.onQueue.remove(chunk)
			return err
		case !queued:
			w.onQueue.soon(chunk, now)
		}
	}
	return nil
}
