package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// Meter measures the rate of a batch from the moment it is made.
type Meter struct {
	began  time.Time
	atOnce int // rows that were answered before
}

// NewMeter begins with how the batch stands at a time.
func NewMeter(start ledger.Progress, at time.Time) *Meter { return &Meter{at, answered(start.Counts)} }

// answered counts the rows that are done with.
func answered(c ledger.Counts) int { return c.Total() - c[filing.Ready] - c[filing.Placing] }

// Progress is how far a batch has come.
type Progress struct {
	ledger.Progress
	Answered, Total int
	Rate            float64       // rows a second; 0 where that is not known, or nothing moves
	Left            time.Duration // until all are answered, at that rate; 0 where that is not known
	Halted          ledger.Halted // what halts the whole fleet
}

// Read is how the batch stands at a later time.
func (m *Meter) Read(now ledger.Progress, halted ledger.Halted, at time.Time) Progress {
	p := Progress{Progress: now, Answered: answered(now.Counts), Total: now.Counts.Total(), Halted: halted}
	elapsed := at.Sub(m.began).Seconds()
	if halted.Reason != filing.NoHalt || elapsed <= 0 || p.Answered <= m.atOnce {
		return p
	}
	p.Rate = float64(p.Answered-m.atOnce) / elapsed
	p.Left = (time.Duration(float64(p.Total-p.Answered)/p.Rate) * time.Second).Round(time.Second)
	return p
}

// String is the progress in at most some eighty columns, without what halts it.
func (p Progress) String() string {
	parts := []string{fmt.Sprintf("%d/%d", p.Answered, p.Total), fmt.Sprintf("%d placed", p.Counts[filing.Placed])}
	for _, r := range []filing.Result{filing.Exists, filing.Rejected, filing.Uncertain} {
		if n := p.Counts[r]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, r))
		}
	}
	if p.Filed > 0 {
		parts = append(parts, fmt.Sprintf("%d filed", p.Filed))
	}
	if p.Waiting > 0 {
		parts = append(parts, fmt.Sprintf("%d waiting", p.Waiting))
	}
	parts = append(parts, p.Spent.String()+" spent")
	if p.Rate > 0 {
		parts = append(parts, fmt.Sprintf("%.0f/s", p.Rate))
		if p.Answered < p.Total {
			parts = append(parts, "about "+p.Left.String()+" left")
		}
	}
	return strings.Join(parts, "  ")
}
