package report

import (
	"cmp"
	"fmt"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// classes are the descriptions of the answer kinds.
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
	text := cmp.Or(classes[a.Outcome], string(a.Outcome))
	if a.Status != 0 {
		text += fmt.Sprintf(" (HTTP %d)", a.Status)
	}
	if a.Message != "" {
		text += ": " + a.Message
	}
	return filing.HideSSNs(text)
}
