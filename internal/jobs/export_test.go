package jobs

import (
	"context"
	"encoding/binary"

	"github.com/hibiken/asynq"
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

// MaxAttempts is how often an order is sent before a person has to look.
const MaxAttempts = maxAttempts
