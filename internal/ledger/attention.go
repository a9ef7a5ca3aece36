package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/store"
)

// AttentionCounts counts the objects that wait for a person or for the applier.
type AttentionCounts struct {
	// Exceptions counts the orders that do not proceed until something is corrected.
	Exceptions int
	// NewEvents counts the stored events that are not processed yet.
	NewEvents int
	// UnknownEvents counts the events of orders that belong to no row.
	UnknownEvents int
	// Approvals counts the batches that wait for approval.
	Approvals int
	// Uncertain counts the rows that only a person or an event can resolve.
	Uncertain int
}

// Count counts the objects that need attention.
func (l Attention) Count(ctx context.Context) (AttentionCounts, error) {
	var a AttentionCounts
	err := l.Read.QueryRowContext(ctx,
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

// Lease returns the time until which this process counts as alive without a renewal. After that
// time the process sends nothing more.
func (l Fleet) Lease(ctx context.Context) (until time.Time, err error) {
	var at int64
	if err := l.Read.QueryRowContext(ctx, `SELECT COALESCE((SELECT expires_at FROM processes WHERE id = $1), 0)`,
		l.owner.ID).Scan(&at); err != nil {
		return time.Time{}, fmt.Errorf("read the lease of process %s: %w", l.owner.ID, err)
	}
	return store.FromMillis(at), nil
}
