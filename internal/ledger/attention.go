package ledger

import (
	"context"
	"fmt"
	"time"
)

// Attention is what waits for a person or for the applier.
type Attention struct {
	Exceptions    int // orders that stand still until something is corrected
	NewEvents     int // stored, and not yet looked at
	UnknownEvents int // of orders that are in no row
	Approvals     int // batches that wait for approval
	Uncertain     int // rows that only a person or an event can resolve
}

// Attention counts what waits.
func (l *Ledger) Attention(ctx context.Context) (Attention, error) {
	var a Attention
	err := l.read.QueryRowContext(ctx,
		`SELECT (SELECT COUNT(*) FROM items WHERE exception <> 0),
				(SELECT COUNT(*) FROM events WHERE state = 'new'),
				(SELECT COUNT(*) FROM events WHERE state = 'unknown'),
				(SELECT COUNT(*) FROM batches WHERE approval = 'wanted' AND canceled = 0),
				(SELECT COUNT(*) FROM rows r WHERE r.result = 'uncertain' AND `+atRest+`)`).
		Scan(&a.Exceptions, &a.NewEvents, &a.UnknownEvents, &a.Approvals, &a.Uncertain)
	if err != nil {
		return a, fmt.Errorf("count what needs attention: %w", err)
	}
	return a, nil
}

// Lease is until when this process counts as alive without a renewal. Once it
// has passed, nothing more is sent by it.
func (l Fleet) Lease(ctx context.Context) (until time.Time, err error) {
	var at int64
	if err := l.read.QueryRowContext(ctx, `SELECT COALESCE((SELECT expires_at FROM owners WHERE id = $1), 0)`,
		l.owner.ID).Scan(&at); err != nil {
		return time.Time{}, fmt.Errorf("read the lease of process %s: %w", l.owner.ID, err)
	}
	return fromMillis(at), nil
}
