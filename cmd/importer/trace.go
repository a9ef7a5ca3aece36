package main

import (
	"context"
	"log/slog"

	"github.com/bulkfiling/bulkfiling/internal/config"
	"github.com/bulkfiling/bulkfiling/internal/logs"
	"github.com/bulkfiling/bulkfiling/internal/tracing"
)

// logger writes log lines beside the results, from a level on.
func (a *app) logger(level slog.Level) (*slog.Logger, error) {
	format, err := config.LogFormat(a.getenv, logs.Text)
	return slog.New(logs.NewHandler(a.err, format, level)), err
}

// startTracer starts the traces that the environment asks for; nil for none. A
// wrong variable is a warning: orders do not depend on traces.
func (a *app) startTracer(ctx context.Context, log *slog.Logger) *tracing.Tracer {
	tracer, err := tracing.Start(ctx, tracing.Config{
		Getenv:  a.getenv,
		Service: "bulkfiling-importer",
		Version: readVersion().Version,
		Log:     log,
	})
	if err != nil {
		a.say("WARNING: no traces: %s", err)
	}
	return tracer
}
