package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// reportInterval is the interval at which a repeated failure is logged.
const reportInterval = 10 * time.Second

// failureLog logs failures that are retried several times a second, a repeated one only once in
// a while.
type failureLog struct {
	log *slog.Logger

	mu     sync.Mutex
	step   string
	logged time.Time
}

// report logs a failure of a step, unless the context has ended. The rows concerned stay in the
// ledger and are tried again.
func (f *failureLog) report(ctx context.Context, step string, err error, about ...any) {
	if ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return
	}
	f.mu.Lock()
	repeated := step == f.step && time.Since(f.logged) < reportInterval
	if !repeated {
		f.step, f.logged = step, time.Now()
	}
	f.mu.Unlock()
	if !repeated {
		line := []any{"step", step, "err", err}
		f.log.Error("retrying", append(line, about...)...)
	}
}

// asynqLogger passes asynq's messages on at debug level: the pump logs once when
// Redis is down, and every row that they concern is in the ledger. Panics are
// logged as errors.
type asynqLogger struct{ log *slog.Logger }

func (q asynqLogger) Debug(args ...any) {}
func (q asynqLogger) Info(args ...any)  {}
func (q asynqLogger) Warn(args ...any)  { q.log.Debug("asynq", "text", fmt.Sprint(args...)) }
func (q asynqLogger) Error(args ...any) {
	level := slog.LevelDebug
	text := fmt.Sprint(args...)
	if strings.Contains(text, "panic") {
		level = slog.LevelError
	}
	q.log.Log(context.Background(), level, "asynq", "text", text)
}
func (q asynqLogger) Fatal(args ...any) { q.log.Error("asynq", "text", fmt.Sprint(args...)) }
