package report

import (
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// Headline is what a batch has come to, in one sentence: "785 of 800 placed, 7
// uncertain, 5 need attention, 3 waiting for funds". Its numbers add up to the rows
// of the batch, so that nothing is counted as done that is not.
type Headline struct {
	ledger.Figures
	Held       string        // why none of the other rows is sent, in two or three words; "" where they are
	Remaining  time.Duration // until those are sent; 0 where that is not known
	Exceptions int           // placed rows with a filing that stopped
}

// String is the sentence without its period.
func (h Headline) String() string {
	c := h.Counts
	placed := text.Number(c[filing.Placed]) + " of " + text.Number(c.Total()) + " placed"
	if h.Exceptions > 0 {
		placed += " (" + text.Number(h.Exceptions) + " with a filing exception)"
	}
	parts := []string{placed}
	add := func(n int, words string) {
		if n > 0 {
			parts = append(parts, text.Number(n)+" "+words)
		}
	}
	add(c[filing.Exists], "ordered before")
	short, dearer, left := h.Short, h.Increased, h.Moving()
	switch h.Held {
	case "":
		words := "to go"
		if h.Remaining > 0 {
			words += " (about " + Spell(h.Remaining) + ")"
		}
		add(left, words)
	case fundsWords:
		short += left
	case approvalWords:
		dearer += left
	case "paused":
		add(left, h.Held)
	default:
		add(left, "waiting ("+strings.TrimPrefix(h.Held, "waiting for ")+")")
	}
	add(c[filing.Uncertain], "uncertain")
	correct := c[filing.Invalid] + c[filing.Rejected]
	if correct == 1 {
		add(correct, "needs attention")
	} else {
		add(correct, "need attention")
	}
	add(dearer, approvalWords)
	add(short, fundsWords)
	add(c[filing.Skipped], "skipped")
	add(c[filing.Canceled], "canceled")
	return strings.Join(parts, ", ")
}

// fundsWords and approvalWords are what rows wait for, as jobs.Hold words them.
const (
	fundsWords    = "waiting for funds"
	approvalWords = "waiting for approval"
)

// Moving counts the rows that are sent, or would be if nothing held the batch.
func (h Headline) Moving() int { return h.Left() - h.Short - h.Increased }

// Spell is a duration in words: "40 seconds", "2 hours 5 minutes".
func Spell(d time.Duration) string {
	switch {
	case d < time.Minute:
		return text.Count(max(1, int(d.Seconds())), "second")
	case d < time.Hour:
		return text.Count(int(d.Round(time.Minute).Minutes()), "minute")
	}
	hours, minutes := int(d.Hours()), int(d.Minutes())%60
	if minutes == 0 {
		return text.Count(hours, "hour")
	}
	return text.Count(hours, "hour") + " " + text.Count(minutes, "minute")
}
