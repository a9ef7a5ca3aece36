// Package logs makes the loggers of the commands, and names the attributes of log lines.
//
// Every line about the same thing has it under the same name, whichever command and
// package writes it: Names is the one list of these names, and a test compares every
// call of a logger with it. Ids are ids of the ledger or of the filing service; names of
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

// Name is the name of an attribute of log lines, as the documentation shows it.
type Name struct{ Name, Meaning string }

// Names lists the names of all attributes.
var Names = []Name{
	{"batch", "the ID of the batch"},
	{"row", "the row's number in the spreadsheet"},
	{"row_id", "the row's ID in the ledger"},
	{"attempt", "the number of the row's attempt"},
	{"answer", "the answer to the attempt, such as accepted, no-answer or no-funds"},
	{"result", "the row's result after it, such as placed or uncertain"},
	{"order", "the ID of an order"},
	{"orders", "the IDs of the orders that were made"},
	{"company", "the ID of the company"},
	{"cost", "what the row costs now"},
	{"approved", "what was approved for it"},
	{"rule", "the rule that holds the row back"},
	{"detail", "what the network said"},
	{"err", "the error"},
	{"reason", "why"},
	{"text", "the reason in words"},
	{"step", "what failed and is tried again"},
	{"retry_in", "when it is tried again"},
	{"times", "how often it happened, or was tried"},
	{"since", "when it began"},
	{"until", "when it ends"},
	{"after", "how long it was tried"},
	{"took", "how long it took"},
	{"at_most", "how long it takes at most"},
	{"schedule", "the ID of the schedule"},
	{"run", "the ID of the schedule's run"},
	{"filings", "the number of filings of a run"},
	{"missed", "the number of missed due dates"},
	{"approval", "whether a run waits for approval"},
	{"upload", "the ID of the upload"},
	{"uploads", "the number of uploads"},
	{"document", "the ID of the document"},
	{"event", "the ID of the filing service's event"},
	{"type", "the type of an event"},
	{"fresh", "whether an event is new"},
	{"account", "the ID of the account"},
	{"address", "the network address of a client"},
	{"route", "the route of the page"},
	{"page", "the method and the path of a request to the page"},
	{"reference", "what the page showed with an error"},
	{"what", "the act, as the audit log has it"},
	{"object", "what it was done to"},
	{"claim", "the claim of the sign-in provider"},
	{"provider", "the address of the sign-in provider"},
	{"kind", "the kind of a notification"},
	{"target", "where a notification goes, without a password"},
	{"notifications", "the number of notifications"},
	{"service", "the address of the filing service"},
	{"sample", "whether the page shows sample data"},
	{"concurrency", "how many orders may be in flight"},
	{"version", "the version of the program"},
	{"ledger", "the name of the ledger"},
	{"organization", "whose ledger it is"},
	{"folder", "a folder"},
	{"file", "a file of this machine"},
	{"bytes", "a size"},
	{"gomemlimit", "the memory limit of the environment"},
	{"listen", "the address of health and metrics"},
	{"check", "the health check"},
	{"dependency", "what the worker waits for"},
	{"signal", "the signal that stops it"},
	{"changes", "the number of changed prices"},
	{"examples", "the names of changed prices"},
}
