package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// classes describes the answers to attempts.
var classes = map[filing.AnswerKind]string{
	filing.NotSent:     "not sent",
	filing.Accepted:    "accepted",
	filing.Unreadable:  "unreadable answer",
	filing.NoAnswer:    "no answer",
	filing.ServerError: "the filing service failed",
	filing.Busy:        "the filing service was busy",
	filing.NoFunds:     "the balance was too low",
	filing.KeyRefused:  "the API key was refused",
	filing.HasItem:     "the filing service had it already",
	filing.Refused:     "refused",
}

// AnswerText describes the answer to an attempt: "the filing service failed
// (HTTP 502): bad gateway".
func AnswerText(a ledger.Attempt) string {
	if a.Supposed {
		return filing.HideSSNs(a.Message)
	}
	text := cmp.Or(classes[a.Class], string(a.Class))
	if a.Status != 0 {
		text += fmt.Sprintf(" (HTTP %d)", a.Status)
	}
	message := a.Message
	for _, class := range []string{
		"sent, and no answer came: ", "not sent: ",
	} { // an earlier version recorded it there, too
		message = strings.TrimPrefix(message, class)
	}
	if message != "" {
		text += ": " + message
	}
	return filing.HideSSNs(text)
}
