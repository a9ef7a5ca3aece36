package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// Meter measures the rate of a batch from its creation.
type Meter struct {
	began time.Time
	// atOnce is the number of rows answered before the measurement.
	atOnce int
}

// NewMeter starts a measurement with the given figures.
func NewMeter(start ledger.Figures, at time.Time) *Meter {
	return &Meter{at, start.Counts.Total() - start.Left()}
}

// Progress is the progress of a batch.
type Progress struct {
	ledger.Figures
	Answered, Total int
	// Filed is the number of filings that the state has accepted. The caller sets it.
	Filed int
	// Rate is in rows a second. Zero if unknown or if no row moves.
	Rate float64
	// Remaining is the time until all rows are answered at that rate. Zero if unknown.
	Remaining time.Duration
	// Halted is the halt of all workers.
	Halted ledger.Halted
}

// Read returns the progress at a later time.
func (m *Meter) Read(now ledger.Figures, halted ledger.Halted, at time.Time) Progress {
	p := Progress{Figures: now, Total: now.Counts.Total(), Halted: halted}
	p.Answered = p.Total - p.Left()
	elapsed := at.Sub(m.began).Seconds()
	if halted.Reason != filing.NoHalt || elapsed <= 0 || p.Answered <= m.atOnce {
		return p
	}
	p.Rate = float64(p.Answered-m.atOnce) / elapsed
	p.Remaining = (time.Duration(float64(p.Total-p.Answered)/p.Rate) * time.Second).Round(time.Second)
	return p
}

// String returns the progress in about eighty columns, without the halt.
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
	if n := p.Waiting(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d waiting", n))
	}
	parts = append(parts, p.Spent.String()+" spent")
	if p.Rate > 0 {
		rate := fmt.Sprintf("%.0f/s", p.Rate)
		if p.Rate < 10 {
			rate = fmt.Sprintf("%.0f/min", 60*p.Rate)
		}
		parts = append(parts, rate)
		if p.Answered < p.Total {
			parts = append(parts, "about "+Spell(p.Remaining)+" left")
		}
	}
	return strings.Join(parts, "  ")
}
