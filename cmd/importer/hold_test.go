package main

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
	"github.com/bulkfiling/bulkfiling/internal/report"
)

// lockedBuffer is written by one goroutine while another reads it.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// importer status says why rows are not sent, and what to do about it, and so does what
// a submission prints, but for workers.
func TestHoldsAreSaidAlike(t *testing.T) {
	t.Parallel()
	for cause, c := range map[string]struct {
		set  func(t *testing.T, l *ledger.Ledger) error
		want string
	}{
		"paused": {func(t *testing.T, l *ledger.Ledger) error { return l.PauseBatch(t.Context(), "b") },
			"This batch is paused. To resume it: importer resume b."},
		"approval": {func(t *testing.T, l *ledger.Ledger) error {
			return approval.New(l).Request(t.Context(), "b", "plan")
		}, "This batch is waiting for approval. Approve it on the page or with importer approve b."},
		"key": {func(t *testing.T, l *ledger.Ledger) error {
			return l.Fleet().RecordKeyRefused(t.Context(), "unknown key")
		},
			"The filing service refuses the API key (unknown key). Correct FILING_API_KEY and run again."},
		"Retry-After": {func(t *testing.T, l *ledger.Ledger) error {
			return l.Fleet().RecordBusy(t.Context(), time.Hour)
		}, "The filing service asked for a pause. Sending starts again at "},
		"queue": {func(t *testing.T, l *ledger.Ledger) error {
			return l.Fleet().SetHold(t.Context(), `{"reason":"redis","text":"The queue's Redis is down."}`)
		}, "The queue's Redis is down."},
	} {
		t.Run(cause, func(t *testing.T) {
			t.Parallel()
			l := ledgertest.Open(t, ledger.Config{})
			ledgertest.Submit(t, l, ledger.Batch{ID: "b", File: "b.csv", Product: filing.AnnualReport}, ledger.Row{
				Number: 2,
				Cells:  []byte(`["x"]`),
				Result: filing.Ready,
				Request: &filing.Request{
					Product: filing.AnnualReport,
					User:    filing.UserRef{ID: "user_1"},
					Company: filing.CompanyRef{Ref: "comp_1"},
					Order: filing.Order{
						FilingState:  "DE",
						AnnualReport: &filing.AnnualReportItem{FilingYear: "2026"},
					},
				},
			})
			must(t, l.Fleet().Announce(t.Context(), "worker", true))
			must(t, c.set(t, l))
			var out, said bytes.Buffer
			terminal := &terminal{out: &out, err: &said}
			b, err := l.Batch(t.Context(), "b")
			must(t, err)
			s, err := report.Summarize(t.Context(), l, "b")
			must(t, err)
			must(t, printStatus(t.Context(), terminal, l, b, s))
			must(t, sayWhoPlaces(t.Context(), terminal, l, "b"))
			if !strings.Contains(out.String(), c.want) || !strings.Contains(said.String(), c.want) {
				t.Errorf("status:\n%s\nsubmit:\n%s\nwant %s", out.String(), said.String(), c.want)
			}
		})
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
