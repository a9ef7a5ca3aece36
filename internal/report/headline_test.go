package report_test

import (
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/report"
)

// The sentence counts every row once, and none as done that is not.
func TestHeadline(t *testing.T) {
	counts := func(placed, ready, uncertain, rejected int) ledger.Figures {
		return ledger.Figures{Counts: ledger.Counts{filing.Placed: placed, filing.Ready: ready,
			filing.Uncertain: uncertain, filing.Rejected: rejected}}
	}
	short := counts(785, 3, 7, 5)
	short.Short = 3
	halted := counts(0, 9, 0, 0)
	halted.Short = 4
	increased := counts(1, 8, 0, 0)
	increased.Increased = 2
	for want, h := range map[string]report.Headline{
		"785 of 800 placed, 7 uncertain, 5 need attention, 3 waiting for funds": {Figures: short},
		"640 of 800 placed, 155 to go (about 2 minutes), 5 need attention": {
			Figures: counts(640, 155, 0, 5), Remaining: 2 * time.Minute},
		"800 of 800 placed (2 with a filing exception)": {Figures: counts(800, 0, 0, 0), Exceptions: 2},
		"0 of 10 placed, 9 paused, 1 needs attention":   {Figures: counts(0, 9, 0, 1), Held: "paused"},
		"0 of 9 placed, 9 waiting for funds":            {Figures: halted, Held: "waiting for funds"},
		"1 of 9 placed, 8 waiting for approval":         {Figures: increased, Held: "waiting for approval"},
		"0 of 9 placed, 9 waiting (no worker)":          {Figures: counts(0, 9, 0, 0), Held: "no worker"},
		"2 of 5 placed, 1 ordered before, 1 skipped, 1 canceled": {Figures: ledger.Figures{Counts: ledger.Counts{
			filing.Placed: 2, filing.Exists: 1, filing.Skipped: 1, filing.Canceled: 1}}},
	} {
		if got := h.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
