package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// BatchState describes a batch in a few words: "paused: 3 placed, 2 ready".
func BatchState(b ledger.Batch, counts ledger.Counts) string {
	var words []string
	switch {
	case b.Canceled:
		words = append(words, "canceled:")
	case !b.Open:
		words = append(words, "not started")
	case b.Paused:
		words = append(words, "paused:")
	case b.Approval.State == ledger.ApprovalNeeded:
		words = append(words, "waits for approval:")
	}
	for _, r := range filing.Results {
		if n := counts[r]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s,", n, r))
		}
	}
	text := strings.TrimSuffix(strings.Join(words, " "), ",")
	if b.Corrects != "" {
		text += "; corrects batch " + b.Corrects
	}
	return text
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

// Brief returns the message of a row in one line: the first of several errors.
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

// AfterRestore is what to do about a ledger that went back in time.
const AfterRestore = "run importer resolve restored and follow its steps"

// DisagreeText says that the filing service refused an order for insufficient
// funds although the recorded balance covers it; "" if the two agree. Callers add
// how to correct it.
func DisagreeText(h ledger.Halted, book ledger.Balance) string {
	if !book.Contradicts(h.Reason) {
		return ""
	}
	return fmt.Sprintf(
		"The recorded balance is %s, but the filing service says that its balance is too low: the two disagree",
		book.Available().Dollars())
}

// Tone says how good a line is for its reader. Each has a color.
type Tone string

// The tones of a line.
const (
	Good  Tone = "good"
	Quiet Tone = "quiet" // neither good nor bad
	Waits Tone = "waits" // not final yet
	Bad   Tone = "bad"   // a correction is needed
)

// Line counts the rows of one result.
type Line struct {
	Result filing.Result
	Rows   int
	Text   string
	Tone   Tone
}

// Lines lists the results that occur in the batch.
func (s Summary) Lines() []Line {
	var where string // to correct rows; the page has a link of its own
	switch {
	case s.Output != "" && mediumOf(s.Output) == inCSV: // which has no other sheet
		where = "; correct them and run the file again"
	case s.Output != "":
		where = "; correct them on the sheet Needs Attention"
	}
	var lines []Line
	for _, line := range []Line{
		{Result: filing.Placed, Text: "placed", Tone: Good},
		{Result: filing.Exists, Text: "exists: bought before, nothing was ordered", Tone: Good},
		{Result: filing.Skipped, Text: "skipped: duplicates, other states, or already covered", Tone: Quiet},
		{Result: filing.Ready, Text: "ready: not sent yet", Tone: Waits},
		{Result: filing.Invalid, Text: "invalid: not sent" + where, Tone: Bad},
		{Result: filing.Rejected, Text: "rejected: nothing was ordered" + where, Tone: Bad},
		{Result: filing.Uncertain, Text: "uncertain: sent, but not confirmed", Tone: Waits},
		{Result: filing.Canceled, Text: "canceled", Tone: Quiet},
	} {
		if line.Rows = s.Counts[line.Result]; line.Rows > 0 {
			lines = append(lines, line)
		}
	}
	if s.Filings.Uncovered > 0 {
		lines = append(lines, Line{Result: filing.Skipped, Rows: s.Filings.Uncovered, Tone: Bad,
			Text: "no longer covered: the subscription has lapsed" + where})
	}
	return lines
}

// MoneyText says what the batch has spent and what it reserves.
func (s Summary) MoneyText() string {
	text := s.Spent.String() + " spent"
	if s.Reserved.Amount > 0 {
		text += ", " + s.Reserved.String() + " reserved for rows that are not confirmed"
	}
	return text
}

// entryTexts are the kinds of entries of the balance: the page, the commands and
// the CSV call each by one name.
var entryTexts = map[ledger.EntryKind]string{
	ledger.Deposit: "Deposit", ledger.Adjustment: "Adjustment", ledger.Reserve: "Reserved", ledger.Posted: "Charged",
	ledger.Voided: "Released",
}

// EntryText returns the name of a kind of entry.
func EntryText(k ledger.EntryKind) string { return cmp.Or(entryTexts[k], string(k)) }
