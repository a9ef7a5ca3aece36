package jobs_test

import (
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// BenchmarkPlace places 6,000 annual reports of as many companies, 64 in flight, against
// a service that answers in 20 ms. Every intent is durable.
func BenchmarkPlace(b *testing.B) {
	const rows = 6000
	f := newFirm(b, servers{}, sandbox.Config{OpeningBalance: 1e12, Latency: 20 * time.Millisecond, AutoSeed: true})
	f.add("a", requests(rows, report)...)
	for b.Loop() {
		f.finish("a", func(c *jobs.Config) { c.Concurrency = 64 })
	}
	b.ReportMetric(rows/b.Elapsed().Seconds(), "rows/s")
}
