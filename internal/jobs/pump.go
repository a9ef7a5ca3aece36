package jobs

import (
	"context"
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
		if sent, ok := w.lately.Load(chunk); ok && now.Sub(sent.(time.Time)) < onItsWay {
			continue
		}
		w.lately.Store(chunk, now)
		if err := w.queue.put(ctx, chunk, chunks[chunk], now); err != nil {
			w.lately.Delete(chunk)
			return err
		}
	}
	return nil
}
