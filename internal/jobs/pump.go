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
const requeueAfter = 2 * time.Second

// ahead is how much work should wait on the queue: who comes later, with a small
// batch, waits behind it.
const ahead = time.Second

// onQueue remembers which chunks this process enqueued lately and has not seen
// again, and from that how many rows are worth having on the queue.
type chunkTracker struct {
	mu       sync.Mutex
	chunks   map[int64]queuedChunk
	handling map[int64]int // chunks that handlers of this process hold
	rows     int           // looked at to find chunks: least to window
	least    int
	shrunk   time.Time
}

// sighting is a chunk that is on the queue, as far as we know.
type queuedChunk struct {
	since time.Time // when we enqueued it; zero if it was there already
	until time.Time // it is not enqueued again before this moment
}

// newOnQueue begins with what the handlers can hold, and a little ahead.
func newChunkTracker(handlers int) *chunkTracker {
	least := min((handlers+4)*chunkRows, window)
	return &chunkTracker{chunks: make(map[int64]queuedChunk), handling: make(map[int64]int), rows: least, least: least}
}

func (q *chunkTracker) limit() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.rows
}

// grow makes room: the queue ran dry, and all that was looked at was on its way.
func (q *chunkTracker) grow() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.rows = min(2*q.rows, window)
}

func (q *chunkTracker) add(chunk int64, now time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if now.Before(q.chunks[chunk].until) {
		return false
	}
	q.chunks[chunk] = queuedChunk{since: now, until: now.Add(requeueAfter)}
	return true
}

// soon lets a chunk that was there already be enqueued again shortly: it may be
// a task whose handler has ended and which the queue is about to forget.
func (q *chunkTracker) addSoon(chunk int64, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.chunks[chunk] = queuedChunk{until: now.Add(2 * pumpPause)}
}

// keep forgets the chunks of which nothing is left to send.
func (q *chunkTracker) forgetOthers(chunks map[int64][]int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	maps.DeleteFunc(q.chunks, func(chunk int64, _ queuedChunk) bool { return chunks[chunk] == nil })
}

// take notes that handlers of this process hold the chunks of these rows, and how
// long those lay on the queue; what it returns, that they have let go of them.
func (q *chunkTracker) beginHandling(rows []int64, now time.Time) (release func()) {
	chunks := make(map[int64]bool)
	for _, id := range rows {
		chunks[id/chunkRows] = true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for chunk := range chunks {
		q.handling[chunk]++
		if since := q.chunks[chunk].since; !since.IsZero() && now.Sub(since) > ahead && now.Sub(q.shrunk) > ahead/2 {
			q.rows, q.shrunk = max(q.rows*3/4, q.least), now
		}
	}
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		for chunk := range chunks {
			delete(q.chunks, chunk)
			if q.handling[chunk]--; q.handling[chunk] == 0 {
				delete(q.handling, chunk)
			}
		}
	}
}

func (q *chunkTracker) isHandling(chunk int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.handling[chunk] > 0
}

func (q *chunkTracker) remove(chunk int64) {
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
type stuckChunk struct {
	since  time.Time
	losses int
}

func (w *Worker) pump(ctx context.Context) error {
	now := w.now()
	if w.queue.health.idle(now) {
		w.noteWrite(ctx, w.queue.probe(ctx))
	}
	if away, _ := w.queue.health.downFor(now); away > 0 {
		return nil
	}
	limit := w.chunks.limit()
	halted, err := w.ledger.FleetHalt(ctx)
	if err != nil {
		return err
	}
	switch halted.Reason {
	case filing.NoHalt:
		w.gate.clear()
	case filing.HaltFunds:
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
	pending, err := w.queue.countPending(ctx)
	if err != nil {
		w.noteWrite(ctx, err)
		return nil
	}
	if pending > w.handlers/2 {
		return nil // whoever is free finds work for now
	}
	ids, err := w.ledger.Sendable(ctx, w.batch, limit)
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
	w.chunks.forgetOthers(chunks)
	maps.DeleteFunc(w.stuck, func(chunk int64, _ stuckChunk) bool { return chunks[chunk] == nil })
	if len(order) == 0 {
		return nil
	}
	if pending == 0 && len(ids) >= w.chunks.limit() {
		w.chunks.grow()
	}
	w.noteWrite(ctx, w.supply(ctx, order, chunks, pending, now))
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
		if !w.chunks.add(chunk, now) {
			continue
		}
		b, was := w.stuck[chunk]
		if was && idle && now.Sub(b.since) >= lostAfter && !w.chunks.isHandling(chunk) {
			b.since, b.losses = now, b.losses+1
			w.stuck[chunk] = b
		}
		queued, err := w.queue.enqueue(ctx, *w.membership.Load(), chunk, b.losses, chunks[chunk])
		switch {
		case err != nil:
			w.chunks.remove(chunk)
			return err
		case queued:
			pending++
		default:
			w.chunks.addSoon(chunk, now)
			if !was {
				w.stuck[chunk] = stuckChunk{since: now}
			}
		}
	}
	return nil
}

// wrote takes in how a write to Redis went, and says in the log when that
// changes.
func (w *Worker) noteWrite(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return // we are stopping: that says nothing of Redis
	}
	switch news, since := w.queue.health.record(w.now(), err); news {
	case redisDown:
		w.log.Error(news, "error", err)
	case redisUp:
		w.log.Info(news, "after", w.now().Sub(since).Round(time.Millisecond).String())
	}
}
