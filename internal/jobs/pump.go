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

// ahead is how much work should wait on the queue: who comes later, with a small
// batch, waits behind it.
const ahead = time.Second

// onQueue remembers which chunks this process enqueued lately and has not seen
// again, and from that how many rows are worth having on the queue.
type onQueue struct {
	mu     sync.Mutex
	chunks map[int64]sighting
	hands  map[int64]int // chunks that handlers of this process hold
	rows   int           // looked at to find chunks: least to window
	least  int
	shrunk time.Time
}

// sighting is a chunk that is on the queue, as far as we know.
type sighting struct {
	since time.Time // when we enqueued it; zero if it was there already
	until time.Time // it is not enqueued again before this moment
}

// newOnQueue begins with what the handlers can hold, and a little ahead.
func newOnQueue(handlers int) *onQueue {
	least := min((handlers+4)*chunkRows, window)
	return &onQueue{chunks: make(map[int64]sighting), hands: make(map[int64]int), rows: least, least: least}
}

func (q *onQueue) limit() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.rows
}

// grow makes room: the queue ran dry, and all that was looked at was on its way.
func (q *onQueue) grow() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.rows = min(2*q.rows, window)
}

func (q *onQueue) add(chunk int64, now time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if now.Before(q.chunks[chunk].until) {
		return false
	}
	q.chunks[chunk] = sighting{since: now, until: now.Add(onItsWay)}
	return true
}

// soon lets a chunk that was there already be enqueued again shortly: it may be
// a task whose handler has ended and which the queue is about to forget.
func (q *onQueue) soon(chunk int64, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.chunks[chunk] = sighting{until: now.Add(2 * pumpPause)}
}

// keep forgets the chunks of which nothing is left to send.
func (q *onQueue) keep(chunks map[int64][]int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	maps.DeleteFunc(q.chunks, func(chunk int64, _ sighting) bool { return chunks[chunk] == nil })
}

// take notes that handlers of this process hold the chunks of these rows, and how
// long those lay on the queue; what it returns, that they have let go of them.
func (q *onQueue) take(rows []int64, now time.Time) (release func()) {
	chunks := make(map[int64]bool)
	for _, id := range rows {
		chunks[id/chunkRows] = true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for chunk := range chunks {
		q.hands[chunk]++
		if since := q.chunks[chunk].since; !since.IsZero() && now.Sub(since) > ahead && now.Sub(q.shrunk) > ahead/2 {
			q.rows, q.shrunk = max(q.rows*3/4, q.least), now
		}
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
	limit := w.onQueue.limit()
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
	pending, err := w.queue.pending(ctx)
	if err != nil {
		w.wrote(ctx, err)
		return nil
	}
	if pending > w.handlers/2 {
		return nil // whoever is free finds work for now
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
	w.onQueue.keep(chunks)
	maps.DeleteFunc(w.blocked, func(chunk int64, _ blocked) bool { return chunks[chunk] == nil })
	if len(order) == 0 {
		return nil
	}
	if pending == 0 && len(ids) >= w.onQueue.limit() {
		w.onQueue.grow()
	}
	w.wrote(ctx, w.supply(ctx, order, chunks, pending, now))
	return nil
}

// supply enqueues chunks. Its errors are those of Redis.
func (w *Worker) supply(ctx context.Context, order []int64, chunks map[int64][]int64, pending int,
	now time.Time) error {
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
