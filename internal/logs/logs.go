// Package logs creates the loggers of the commands.
//
// An attribute has the same name in every package and command. IDs are IDs of the ledger or of the
// filing service. No line contains the names or numbers of companies and people, or a secret.
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

// ParseFormat parses the name of a format. It returns otherwise if the name is empty.
func ParseFormat(name string, otherwise Format) (Format, error) {
	switch f := Format(name); f {
	case "":
		return otherwise, nil
	case JSON, Text:
		return f, nil
	}
	return otherwise, fmt.Errorf("FILING_LOG_FORMAT must be %s or %s", JSON, Text)
}

// NewHandler returns a handler that writes lines of a level and above.
func NewHandler(w io.Writer, f Format, level slog.Level) slog.Handler {
	options := &slog.HandlerOptions{Level: level}
	if f == JSON {
		return slog.NewJSONHandler(w, options)
	}
	return slog.NewTextHandler(w, options)
}
