package jobs

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// pollInterval is the polling interval of the pump. idlePollInterval applies when no row is due.
// A commit of this process wakes the pump at once, so idlePollInterval is also the time until
// it notices a commit of another process.
const (
	pollInterval     = 100 * time.Millisecond
	idlePollInterval = time.Second
)

// requeueAfter is how long the pump does not enqueue a chunk again. It only spares the queue
// repetitions.
const requeueAfter = 500 * time.Millisecond

// window is the number of sendable rows that a pump considers. All pumps of a fleet find the
// same rows.
const window = 2048

// pump keeps the queue supplied with the rows that may be sent. It only remembers for a moment
// which chunks it enqueued, so a flushed Redis costs no more than that moment.
type pump struct {
	ledger *ledger.Ledger
	queue  *Queue
	state  *sendState
	// batch limits the pump to one batch. All batches are pumped if it is empty.
	batch    string
	consumer *consumer
	// handlers is the number of tasks that are handled at the same time.
	handlers int
	now      func() time.Time
	failures *failureLog
	log      *slog.Logger

	wake chan struct{}

	// enqueued has the time at which each chunk was enqueued.
	enqueued map[int64]time.Time
	// logged is the hold that was logged last, and shared the one that other processes see.
	logged Hold
	shared string
}

// run pumps until the context ends.
func (p *pump) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		committed := p.ledger.Fleet().NextCommit()
		idle, err := p.enqueueReady(ctx)
		if err != nil {
			p.failures.report(ctx, "pump", err)
		}
		p.consumer.stopIfIdle(p.now())
		if idle {
			timer.Reset(idlePollInterval)
		} else {
			committed = nil
			timer.Reset(pollInterval)
		}
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-committed:
		case <-p.wake:
		}
	}
}

// wakeUp has the pump look for rows at once.
func (p *pump) wakeUp() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// enqueueReady enqueues the rows that may be sent now. It reports whether the pump can wait for
// the next commit of the ledger.
func (p *pump) enqueueReady(ctx context.Context) (idle bool, err error) {
	now := p.now()
	if p.queue.health.idle(now) {
		p.recordWrite(ctx, p.queue.probe(ctx))
	}
	if down, _ := p.queue.health.downFor(now); down > 0 {
		p.publishHold(ctx, p.hold())
		return false, nil
	}
	halted, err := p.ledger.Fleet().Halt(ctx)
	if err != nil {
		return false, err
	}
	p.state.setHalt(halted)
	limit := window
	if halted.Reason == filing.HaltFunds && !now.Before(halted.Until) {
		p.state.admitProbe()
		limit = 1
	}
	hold, blocked := p.state.hold()
	p.publishHold(ctx, hold)
	if blocked {
		return false, nil
	}
	pending, err := p.queue.count(ctx, pendingKey)
	if err != nil {
		p.recordWrite(ctx, err)
		return false, nil
	}
	if pending > 0 {
		if err := p.consumer.start(now); err != nil {
			return false, err
		}
	}
	if pending > p.handlers/2 {
		return false, nil // the next free handler finds a task
	}
	ids, err := p.ledger.Backlog().ListSendable(ctx, p.batch, limit)
	if err != nil {
		return false, err
	}
	if len(ids) > 0 {
		err := p.enqueueChunks(ctx, ids, pending, now)
		if p.recordWrite(ctx, err); err != nil {
			return false, nil
		}
		// A consumer that starts earlier would find an empty queue and wait.
		return false, p.consumer.start(now)
	}
	if pending > 0 {
		return false, nil
	}
	later, err := p.ledger.Backlog().HasReady(ctx, p.batch)
	return err == nil && !later, err
}

// enqueueChunks enqueues rows in chunks, as many as the handlers need soon, because a small
// batch that comes later waits behind them. It returns errors of Redis.
func (p *pump) enqueueChunks(ctx context.Context, ids []int64, pending int, now time.Time) error {
	chunks := make(map[int64][]int64)
	var order []int64
	for _, id := range ids {
		chunk := id / chunkRows
		if chunks[chunk] == nil {
			order = append(order, chunk)
		}
		chunks[chunk] = append(chunks[chunk], id)
	}
	maps.DeleteFunc(p.enqueued, func(_ int64, at time.Time) bool { return now.Sub(at) >= requeueAfter })
	for _, chunk := range order {
		if pending >= 2*p.handlers {
			return nil
		}
		if _, known := p.enqueued[chunk]; known {
			continue
		}
		queued, err := p.queue.enqueue(ctx, chunk, now, chunks[chunk])
		if err != nil {
			return err
		}
		p.enqueued[chunk] = now
		if queued {
			pending++
		}
	}
	return nil
}

// recordWrite records whether a write to Redis succeeded, and logs a change.
func (p *pump) recordWrite(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return // the error is the context's
	}
	p.queue.health.record(p.now(), err)
	p.publishHold(ctx, p.hold())
}

// hold returns why this process sends no rows now. It is zero if the process sends rows.
func (p *pump) hold() Hold {
	now := p.now()
	if down, err := p.queue.health.downFor(now); down > 0 {
		h := newHold(HeldByRedis, err.Error())
		h.Since = now.Add(-down)
		return h
	}
	hold, _ := p.state.hold()
	return hold
}

// publishHold shares a hold with the other processes, and logs it if its reason changed.
func (p *pump) publishHold(ctx context.Context, hold Hold) {
	if err := p.shareHold(ctx, hold); err != nil {
		p.failures.report(ctx, "share hold", err)
	}
	before := p.logged
	if hold.Reason == before.Reason {
		return
	}
	p.logged = hold
	if hold.Reason == "" {
		p.log.InfoContext(ctx, "orders resumed", "reason", before.Reason, "text", before.Text, "since", before.Since)
		return
	}
	level := slog.LevelWarn
	if reasons[hold.Reason].person {
		level = slog.LevelError
	}
	p.log.Log(ctx, level, "orders held", "reason", hold.Reason, "text", hold.Text, "since", hold.Since,
		"until", hold.Until)
}

// shareHold records in the ledger what holds this process alone.
func (p *pump) shareHold(ctx context.Context, hold Hold) error {
	shared := ""
	if hold.Reason == HeldByBreaker || hold.Reason == HeldByRedis {
		hold.Until = time.Time{} // it changes with each probe
		encoded, err := json.Marshal(hold)
		if err != nil {
			return err
		}
		shared = string(encoded)
	}
	if shared == p.shared {
		return nil
	}
	err := p.ledger.Fleet().SetHold(ctx, shared)
	if err == nil {
		p.shared = shared
	}
	return err
}
