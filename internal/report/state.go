package report

import (
	"fmt"
	"strings"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/ledger"
)

// BatchState is how a batch stands in a few words: "paused: 3 placed, 2 ready".
func BatchState(b ledger.Batch, counts ledger.Counts) string {
	var words []string
	switch {
	case b.Applied():
		return "corrections of batch " + b.Corrects
	case b.Canceled:
		words = append(words, "canceled:")
	case !b.Open:
		words = append(words, "not started")
	case b.Paused:
		words = append(words, "paused:")
	case b.Approval.State == ledger.ApprovalWanted:
		words = append(words, "waits for approval:")
	}
	for _, r := range filing.Results {
		if n := counts[r]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s,", n, r))
		}
	}
	return strings.TrimSuffix(strings.Join(words, " "), ",")
}

// CanceledText says who canceled a batch, and when.
func CanceledText(b ledger.Batch) string {
	text := "This batch was canceled"
	if b.CanceledBy != "" {
		text += " by " + b.CanceledBy
	}
	if !b.CanceledAt.IsZero() {
		text += " on " + b.CanceledAt.Local().Format("2006-01-02 15:04")
	}
	return text
}

// Brief is what stands beside a row, in one line: of several faults the first.
func Brief(r ledger.Row) string {
	if r.Message != "" || len(r.Faults) == 0 {
		return r.Message
	}
	text := r.Faults[0].Message
	if more := len(r.Faults) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// HaltText is what halts the whole fleet, with the service's own words for it;
// "" where nothing does. What to do about it its reader has to be told, each in
// another way.
func HaltText(h ledger.Halted) string {
	switch h.Reason {
	case filing.HaltFunds:
		return fmt.Sprintf("the service says that the prepaid balance is too low (%s)", h.Note)
	case filing.HaltKey:
		return fmt.Sprintf("the service refuses the API key (%s)", h.Note)
	case filing.HaltRate:
		return "the service asked for a pause until " + clock(h)
	case filing.HaltRestored:
		return fmt.Sprintf(
			"the ledger went back in time (%s): what was sent since may look unsent, so nothing is sent", h.Note)
	case filing.HaltVersion:
		return h.Note
	}
	return ""
}

// AfterRestore is what to do about a ledger that went back in time.
const AfterRestore = "mark the rows that may have been sent since as uncertain and resume: importer resolve " +
	"restored (or, if no process that has ended can have sent any, importer resolve restored --nothing-sent)"

// DisagreeText says that the service has refused an order for insufficient funds
// although the recorded balance has some; "" where the two do not disagree. How to
// correct the record its reader has to be told, each in another way.
func DisagreeText(h ledger.Halted, book ledger.Balance) string {
	if !book.Contradicts(h.Reason) {
		return ""
	}
	return fmt.Sprintf(
		"The recorded balance is %s, but the filing service says that its balance is too low: the two disagree",
		book.Available().Dollars())
}

// HaltWords is HaltText in two or three words.
func HaltWords(h ledger.Halted) string {
	switch h.Reason {
	case filing.HaltFunds:
		return "waits for funds"
	case filing.HaltKey:
		return "key refused"
	case filing.HaltRate:
		return "asked to wait until " + clock(h)
	case filing.HaltRestored:
		return "ledger restored"
	case filing.HaltVersion:
		return "newer ledger"
	}
	return ""
}

func clock(h ledger.Halted) string { return h.Until.Local().Format("15:04:05") }

// Tone is what a line is to its reader; whoever shows it has a colour for it.
type Tone string

// The tones of a line.
const (
	Good  Tone = "good"
	Quiet Tone = "quiet" // neither good nor bad
	Waits Tone = "waits" // something is still to come
	Bad   Tone = "bad"   // something is to be corrected
)

// Line is the rows of one result, in words.
type Line struct {
	Result filing.Result
	Rows   int
	Text   string
	Tone   Tone
}

// Lines are the results that occur in the batch, as a run ends with them.
func (s Summary) Lines() []Line {
	invalid, rejected := "sheet Needs Attention", "sheet Needs Attention"
	if mediumOf(s.Output) == inCSV { // which has no other sheet
		const correct = "%s under Result: correct those rows and run the file again"
		invalid, rejected = fmt.Sprintf(correct, filing.Invalid), fmt.Sprintf(correct, filing.Rejected)
	}
	var lines []Line
	for _, line := range []Line{
		{Result: filing.Placed, Text: "placed", Tone: Good},
		{Result: filing.Exists, Text: "bought before; nothing was ordered", Tone: Good},
		{Result: filing.Skipped, Text: "skipped: repeats, other states, or covered already", Tone: Quiet},
		{Result: filing.Ready, Text: "not sent yet", Tone: Waits},
		{Result: filing.Invalid, Text: "to correct; never sent (" + invalid + ")", Tone: Bad},
		{Result: filing.Rejected, Text: "rejected; nothing was ordered (" + rejected + ")", Tone: Bad},
		{Result: filing.Uncertain, Text: "uncertain: sent, and no answer came", Tone: Waits},
		{Result: filing.Canceled, Text: "canceled", Tone: Quiet},
	} {
		if line.Rows = s.Counts[line.Result]; line.Rows > 0 {
			lines = append(lines, line)
		}
	}
	if s.Uncovered > 0 {
		lines = append(lines, Line{Result: filing.Skipped, Rows: s.Uncovered, Tone: Bad,
			Text: "not covered any more: the subscription is not sound (" + strings.TrimPrefix(invalid,
				"invalid under Result: ") + ")"})
	}
	return lines
}

// MoneyText is what the batch has spent, and what is held beside it.
func (s Summary) MoneyText() string {
	text := s.Spent.String() + " spent"
	if s.Held.Amount > 0 {
		text += ", " + s.Held.String() + " held for rows whose answer is not known"
	}
	return text
}

// Count is a number of things in words: "1 row", "12 rows".
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
