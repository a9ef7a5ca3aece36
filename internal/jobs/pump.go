package jobs

import (
	"context"
	"log/slog"
	"maps"
	"sync"
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
	var committed <-chan struct{} // since the pump found nothing to do; nil while it has something
	for {
		next := w.ledger.Fleet().NextCommit()
		idle, err := w.pump(w.ctx, committed)
		if err != nil {
			w.report("pump", err)
		}
		switch {
		case !idle:
			committed = nil
			timer.Reset(pumpPause)
		case !isOpen(committed):
			committed = next
			fallthrough
		default:
			timer.Reset(idlePause)
		}
		select {
		case <-w.ctx.Done():
			return
		case <-timer.C:
		case <-committed:
		case <-w.wake:
			committed = nil
		}
	}
}

// isOpen reports whether there is a channel that has not been closed.
func isOpen(c <-chan struct{}) bool {
	select {
	case <-c:
		return false
	default:
		return c != nil
	}
}

// requeueAfter is how long a chunk that was enqueued is not enqueued again.
const requeueAfter = 2 * time.Second

// ahead is how much work waits on the queue: a small batch that comes later waits
// behind it.
const ahead = time.Second

// chunkTracker remembers which chunks this process has on the queue and in its
// handlers, and decides from that how many rows belong on the queue.
type chunkTracker struct {
	mu       sync.Mutex
	chunks   map[int64]queuedChunk
	handling map[int64]int // chunks that handlers of this process hold
	rows     int           // looked at to find chunks: least to window
	least    int
	shrunk   time.Time
}

// queuedChunk is a chunk that is on the queue, as far as this process knows.
type queuedChunk struct {
	since time.Time // when we enqueued it; zero if it was there already
	until time.Time // it is not enqueued again before this moment
}

// newChunkTracker starts with what the handlers can hold, and a little ahead.
func newChunkTracker(handlers int) *chunkTracker {
	least := min((handlers+4)*chunkRows, window)
	return &chunkTracker{chunks: make(map[int64]queuedChunk), handling: make(map[int64]int), rows: least, least: least}
}

func (q *chunkTracker) limit() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.rows
}

// grow makes the window larger: the queue ran dry while all its rows were being
// handled.
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

// addSoon lets a chunk that was on the queue already be enqueued again shortly:
// its task may have a handler that has ended, and the queue is about to delete it.
func (q *chunkTracker) addSoon(chunk int64, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.chunks[chunk] = queuedChunk{until: now.Add(2 * pumpPause)}
}

// forgetOthers forgets the chunks that have nothing left to send.
func (q *chunkTracker) forgetOthers(chunks map[int64][]int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	maps.DeleteFunc(q.chunks, func(chunk int64, _ queuedChunk) bool { return chunks[chunk] == nil })
}

// beginHandling notes that a handler of this process has the chunks of these
// rows, and makes the window smaller where they waited long on the queue. The
// handler calls end when it is done.
func (q *chunkTracker) beginHandling(rows []int64, now time.Time) (end func()) {
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

// lostAfter is how long a chunk may be on the queue without a handler, as far as
// this process can see, while its rows wait and nothing is pending. Then its task
// counts as lost and is enqueued again under another id. A server that stalls or
// fails over loses tasks in this way. Where another process has the chunk after
// all, the ledger lets no row through twice.
const lostAfter = 10 * time.Second

// stuckChunk is a chunk that Redis says it has already.
type stuckChunk struct {
	since  time.Time
	losses int
}

// pump puts the rows that may be sent now on the queue. It reports whether nothing is
// to be done before the ledger's next commit; committed is closed where there was one
// since it last reported so, and nil where it did not.
func (w *Worker) pump(ctx context.Context, committed <-chan struct{}) (idle bool, err error) {
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
	limit := w.chunks.limit()
	if halted.Reason == filing.HaltFunds && !now.Before(halted.Until) {
		w.state.letProbe()
		limit = 1 // one row asks for all
	}
	hold, blocked := w.state.hold(now)
	w.logHold(ctx, hold)
	if blocked {
		return false, nil
	}
	if isOpen(committed) {
		return true, w.logBatches(ctx, now)
	}
	pending, err := w.queue.countPending(ctx)
	if err != nil {
		w.noteWrite(ctx, err)
		return false, nil
	}
	if pending > 0 {
		w.queue.gate.open()
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
	w.chunks.forgetOthers(chunks)
	maps.DeleteFunc(w.stuck, func(chunk int64, _ stuckChunk) bool { return chunks[chunk] == nil })
	if len(order) == 0 {
		if pending == 0 {
			later, err := w.ledger.HasReady(ctx, w.batch)
			if err != nil {
				return false, err
			}
			idle = !later
		}
		return idle, w.logBatches(ctx, now)
	}
	w.idleSince = time.Time{}
	if pending == 0 && len(ids) >= w.chunks.limit() {
		w.chunks.grow()
	}
	w.noteWrite(ctx, w.enqueueChunks(ctx, order, chunks, pending, now))
	return false, nil
}

// enqueueChunks puts chunks on the queue. Its errors are those of Redis.
func (w *Worker) enqueueChunks(ctx context.Context, order []int64, chunks map[int64][]int64, pending int,
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

// noteWrite records how a write to Redis went, and logs when Redis goes down or
// comes back.
func (w *Worker) noteWrite(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return // the worker stops: that says nothing of Redis
	}
	switch now := w.now(); w.queue.health.record(now, err) {
	case redisDown:
		w.logHold(ctx, w.Hold())
	case redisUp:
		w.logHold(ctx, Hold{})
	}
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
