package jobs

import (
	"context"
	"maps"
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
	hands  map[int64]int // chunks that handlers of this process hold
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

// take notes that handlers of this process hold the chunks of these rows; what
// it returns, that they have let go of them.
func (q *onQueue) take(rows []int64) (release func()) {
	chunks := make(map[int64]bool)
	for _, id := range rows {
		chunks[id/chunkRows] = true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for chunk := range chunks {
		q.hands[chunk]++
	}
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		for chunk := range chunks {
			delete(q.chunks, chunk)
			if q.hands[chunk]--; q.hands[chunk] == 0 {
				delete(q.hands, chunk)
			}
		}
	}
}

func (q *onQueue) held(chunk int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.hands[chunk] > 0
}

func (q *onQueue) remove(chunk int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.chunks, chunk)
}

// lostAfter is how long a chunk may be with nobody, as far as this process can
// see, while its rows still wait and nothing is pending: then its task is given
// up for lost, and enqueued again under another id. A server that stalls or
// fails over loses tasks in this way. Where another process holds it after all,
// the ledger lets no row through twice.
const lostAfter = 10 * time.Second

// blocked is a chunk that Redis claims to have already.
type blocked struct {
	since time.Time
	again int
}

func (w *Worker) pump(ctx context.Context) error {
	now := w.now()
	if w.queue.link.quiet(now) {
		w.wrote(ctx, w.queue.probe(ctx))
	}
	if away, _ := w.queue.link.away(now); away > 0 {
		return nil
	}
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
	maps.DeleteFunc(w.blocked, func(chunk int64, _ blocked) bool { return chunks[chunk] == nil })
	if len(order) == 0 {
		return nil
	}
	w.wrote(ctx, w.supply(ctx, order, chunks, now))
	return nil
}

// supply enqueues chunks. Its errors are those of Redis.
func (w *Worker) supply(ctx context.Context, order []int64, chunks map[int64][]int64, now time.Time) error {
	pending, err := w.queue.pending(ctx)
	if err != nil {
		return err
	}
	idle := pending == 0
	for _, chunk := range order {
		if pending >= maxPending {
			return nil
		}
		if !w.onQueue.add(chunk, now) {
			continue
		}
		b, was := w.blocked[chunk]
		if was && idle && now.Sub(b.since) >= lostAfter && !w.onQueue.held(chunk) {
			b.since, b.again = now, b.again+1
			w.blocked[chunk] = b
		}
		queued, err := w.queue.put(ctx, *w.crew.Load(), chunk, b.again, chunks[chunk])
		switch {
		case err != nil:
			w.onQueue.remove(chunk)
			return err
		case queued:
			pending++
		default:
			w.onQueue.soon(chunk, now)
			if !was {
				w.blocked[chunk] = blocked{since: now}
			}
		}
	}
	return nil
}

// wrote takes in how a write to Redis went, and says in the log when that
// changes.
func (w *Worker) wrote(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return // we are stopping: that says nothing of Redis
	}
	switch news, since := w.queue.link.note(w.now(), err); news {
	case lostRedis:
		w.log.Error(news, "error", err)
	case foundRedis:
		w.log.Info(news, "after", w.now().Sub(since).Round(time.Millisecond).String())
	}
}
