package tracing

import (
	"context"
	"log/slog"

	"github.com/bulkfiling/bulkfiling/internal/logs"
)

// Logger returns a logger whose lines about a row or a batch have its trace. The lines
// need no context for that: the id follows from batch and row. Without a tracer it is
// log itself.
func (t *Tracer) Logger(log *slog.Logger) *slog.Logger {
	if t == nil {
		return log
	}
	return slog.New(logHandler{log.Handler()})
}

type logHandler struct{ slog.Handler }

func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	var batch string
	row, hasRow := int64(0), false
	r.Attrs(func(a slog.Attr) bool {
		switch {
		case a.Key == logs.Batch && a.Value.Kind() == slog.KindString:
			batch = a.Value.String()
		case a.Key == logs.Row && a.Value.Kind() == slog.KindInt64:
			row, hasRow = a.Value.Int64(), true
		}
		return true
	})
	switch {
	case batch != "" && hasRow:
		r = r.Clone()
		r.AddAttrs(slog.String(logs.TraceID, RowTrace(batch, int(row))))
	case batch != "":
		r = r.Clone()
		r.AddAttrs(slog.String(logs.TraceID, BatchTrace(batch)))
	}
	return h.Handler.Handle(ctx, r)
}

func (h logHandler) WithAttrs(all []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(all)}
}
func (h logHandler) WithGroup(name string) slog.Handler { return logHandler{h.Handler.WithGroup(name)} }
