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

// CanceledText names the person who canceled a batch, and the time.
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

// Brief returns the message of a row in one line. Of several errors it returns the first.
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

// AfterRestore is the remedy for a ledger that was restored from a backup.
const AfterRestore = "run importer resolve restored and follow its steps"

// DisagreeText explains that the filing service refused an order for insufficient funds although
// the recorded balance covers it. It returns "" if the two agree. Callers add how to correct the
// balance.
func DisagreeText(h ledger.Halted, book ledger.Balance) string {
	if !book.Contradicts(h.Reason) {
		return ""
	}
	return fmt.Sprintf(
		"The recorded balance is %s, but the filing service says that its balance is too low: the two disagree",
		book.Available().Dollars())
}

// Tone rates a line for its reader. Each tone has a color.
type Tone string

// The tones of a line.
const (
	Good Tone = "good"
	// Quiet is neither good nor bad.
	Quiet Tone = "quiet"
	// Waits is not final.
	Waits Tone = "waits"
	// Bad needs a correction.
	Bad Tone = "bad"
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
	// where names the place to correct rows. The page has its own link.
	var where string
	switch {
	// A CSV has no other sheet.
	case s.Output != "" && mediumOf(s.Output) == inCSV:
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

// MoneyText describes the spent and the reserved money of the batch.
func (s Summary) MoneyText() string {
	text := s.Spent.String() + " spent"
	if s.Reserved.Amount > 0 {
		text += ", " + s.Reserved.String() + " reserved for rows that are not confirmed"
	}
	return text
}

// entryTexts are the kinds of entries of the balance. The page, the commands and the CSV use the
// same name for each.
var entryTexts = map[ledger.EntryKind]string{
	ledger.Deposit: "Deposit", ledger.Adjustment: "Adjustment", ledger.Reserve: "Reserved", ledger.Posted: "Charged",
	ledger.Voided: "Released",
}

// EntryText returns the name of a kind of entry.
func EntryText(k ledger.EntryKind) string { return cmp.Or(entryTexts[k], string(k)) }
