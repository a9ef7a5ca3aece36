package jobs

import (
	"context"
	"encoding/binary"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

// Handle takes a chunk of rows as if the queue had delivered it, and does not
// know of it any more.
func (w *Worker) Handle(ctx context.Context, rows ...int64) error {
	var payload []byte
	for _, id := range rows {
		payload = binary.AppendVarint(payload, id)
	}
	return w.handle(ctx, asynq.NewTask(taskType, payload))
}

// Stopping is closed as soon as Stop has told the worker to begin nothing more.
func (w *Worker) Stopping() <-chan struct{} { return w.ctx.Done() }

// MaxAttempts is how often an order is sent before a person has to look.
const MaxAttempts = maxAttempts

// Pump looks once for rows to send, as the loop of a worker that has stopped did.
func (w *Worker) Pump(ctx context.Context, committed <-chan struct{}) (idle bool, err error) {
	return w.pump(ctx, committed)
}

// OnCommand calls f with the name of each command that the queue sends from now on.
func (q *Queue) OnCommand(f func(name string)) { q.redis.AddHook(commandHook(f)) }

type commandHook func(name string)

func (commandHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (commandHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h commandHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		h(cmd.Name())
		return next(ctx, cmd)
	}
}

// Flush empties the queue.
func (q *Queue) Flush(ctx context.Context) error { return q.redis.FlushAll(ctx).Err() }
