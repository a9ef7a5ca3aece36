// Package logs makes the loggers of the commands.
//
// Every line about the same thing has it under the same name, whichever command and
// package writes it. Ids are ids of the ledger or of the filing service; names of
// companies and people, numbers of either, and secrets are in no line.
package logs

import (
	"fmt"
	"io"
	"log/slog"
)

// Format is the format of log lines.
type Format string

// The formats of log lines.
const (
	JSON Format = "json"
	Text Format = "text"
)

// ParseFormat reads the name of a format; empty is otherwise.
func ParseFormat(name string, otherwise Format) (Format, error) {
	switch f := Format(name); f {
	case "":
		return otherwise, nil
	case JSON, Text:
		return f, nil
	}
	return otherwise, fmt.Errorf("FILING_LOG_FORMAT must be %s or %s", JSON, Text)
}

// NewHandler returns a handler that writes lines from a level on.
func NewHandler(w io.Writer, f Format, level slog.Level) slog.Handler {
	options := &slog.HandlerOptions{Level: level}
	if f == JSON {
		return slog.NewJSONHandler(w, options)
	}
	return slog.NewTextHandler(w, options)
}
