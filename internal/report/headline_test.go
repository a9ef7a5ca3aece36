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
	counts := func(placed, ready, uncertain, rejected int) ledger.Counts {
		return ledger.Counts{filing.Placed: placed, filing.Ready: ready, filing.Uncertain: uncertain,
			filing.Rejected: rejected}
	}
	for want, h := range map[string]report.Headline{
		"785 of 800 placed, 7 uncertain, 5 need attention, 3 waiting for funds": {
			Counts: counts(785, 3, 7, 5), Short: 3},
		"640 of 800 placed, 155 to go (about 2 minutes), 5 need attention": {
			Counts: counts(640, 155, 0, 5), Left: 2 * time.Minute},
		"800 of 800 placed (2 with a filing exception)": {Counts: counts(800, 0, 0, 0), Exceptions: 2},
		"0 of 10 placed, 9 paused, 1 needs attention":   {Counts: counts(0, 9, 0, 1), Held: "paused"},
		"0 of 9 placed, 9 waiting for funds": {
			Counts: counts(0, 9, 0, 0), Short: 4, Held: "waiting for funds"},
		"1 of 9 placed, 8 waiting for approval": {
			Counts: counts(1, 8, 0, 0), Increased: 2, Held: "waiting for approval"},
		"0 of 9 placed, 9 waiting (no worker)": {Counts: counts(0, 9, 0, 0), Held: "no worker"},
		"2 of 5 placed, 1 ordered before, 1 skipped, 1 canceled": {Counts: ledger.Counts{
			filing.Placed: 2, filing.Exists: 1, filing.Skipped: 1, filing.Canceled: 1}},
	} {
		if got := h.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
