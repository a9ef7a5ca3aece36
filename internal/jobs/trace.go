package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/tracing"
)

// traceTimeout limits what a trace asks of the ledger.
const traceTimeout = 5 * time.Second

func tracedRow(row *ledger.Row) tracing.Row {
	r := tracing.Row{Batch: row.Batch, Number: row.Number, ID: row.ID, Tries: row.Tries}
	if row.Request != nil {
		r.Product = string(row.Request.Product)
	}
	return r
}

func noTrace() {}

// traceRow begins the span of a row, and returns what ends it. Without a tracer it does
// nothing.
func (p *placer) traceRow(ctx context.Context, row *ledger.Row) (context.Context, func()) {
	if p.tracer == nil {
		return ctx, noTrace
	}
	ctx, span := p.tracer.StartRow(ctx, tracedRow(row), func() time.Time { return p.firstAttempt(row.ID) })
	return ctx, func() {
		if span.End() {
			traceBatch(p.tracer, p.ledger, row.Batch)
		}
	}
}

// firstAttempt is when the first attempt of a row began.
func (p *placer) firstAttempt(row int64) time.Time {
	ctx, cancel := context.WithTimeout(context.Background(), traceTimeout)
	defer cancel()
	attempts, err := p.ledger.Attempts(ctx, row)
	if err != nil || len(attempts) == 0 {
		return time.Now()
	}
	return attempts[0].StartedAt
}

// traceBatch writes the span of a batch where no row of it is left to place. It is
// called when this process works on no other row of the batch.
func traceBatch(t *tracing.Tracer, l *ledger.Ledger, batch string) {
	ctx, cancel := context.WithTimeout(context.Background(), traceTimeout)
	defer cancel()
	// The common case first: it costs a large batch little.
	if more, err := l.Sendable(ctx, batch, 1); err != nil || len(more) > 0 {
		return
	}
	counts, err := l.Counts(ctx, batch)
	if err != nil || counts[filing.Ready]+counts[filing.Placing] > 0 {
		return
	}
	b, err := l.Batch(ctx, batch)
	if err != nil {
		return
	}
	results := make(map[string]int, len(counts))
	for result, rows := range counts {
		results[string(result)] = rows
	}
	t.EndBatch(tracing.Batch{
		ID:      b.ID,
		Product: string(b.Product),
		Rows:    b.Rows,
		Began:   b.CreatedAt,
		Results: results,
	})
}

// deferRow records a decision about a row that is not sent. Where another process was
// faster, its decision counts.
func (p *placer) deferRow(ctx context.Context, d ledger.Deferral) error {
	err := p.ledger.Defer(ctx, d)
	switch {
	case errors.Is(err, ledger.ErrTransition):
		return nil
	case err == nil:
		p.tracer.SetResult(d.Row, string(d.Next), 0)
	}
	return err
}
