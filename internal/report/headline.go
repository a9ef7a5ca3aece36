package report

import (
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// Headline summarizes a batch in one sentence: "785 of 800 placed, 7 uncertain, 5 need attention, 3
// waiting for funds". Its numbers add up to the rows of the batch, so that no unfinished row counts
// as done.
type Headline struct {
	ledger.Figures
	// Held is the reason in two or three words why no other row is sent. Empty if rows are sent.
	Held string
	// Remaining is the time until those rows are sent. Zero if unknown.
	Remaining time.Duration
	// Exceptions counts the placed rows with a stopped filing.
	Exceptions int
}

// String returns the sentence without its period.
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

// fundsWords and approvalWords are the reasons for waiting, as worded by jobs.Hold.
const (
	fundsWords    = "waiting for funds"
	approvalWords = "waiting for approval"
)

// Moving counts the rows that are sent, or would be if the batch were not held.
func (h Headline) Moving() int { return h.Left() - h.Short - h.Increased }

// Spell returns a duration in words: "40 seconds", "2 hours 5 minutes", "3 days 1 hour". It is exact
// to the tenth from ten seconds on.
func Spell(d time.Duration) string {
	seconds, tens, minutes := d.Round(time.Second), d.Round(10*time.Second), d.Round(time.Minute)
	switch {
	case seconds < time.Minute:
		return text.Count(max(1, int(seconds.Seconds())), "second")
	case tens < 10*time.Minute:
		return spell(tens, time.Minute, "minute", time.Second, "second")
	case minutes < time.Hour:
		return text.Count(int(minutes.Minutes()), "minute")
	case minutes < 24*time.Hour:
		return spell(minutes, time.Hour, "hour", time.Minute, "minute")
	}
	return spell(d.Round(time.Hour), 24*time.Hour, "day", time.Hour, "hour")
}

func spell(d, large time.Duration, largeName string, small time.Duration, smallName string) string {
	words := text.Count(int(d/large), largeName)
	if rest := d % large; rest > 0 {
		words += " " + text.Count(int(rest/small), smallName)
	}
	return words
}
