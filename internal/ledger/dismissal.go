package ledger

import (
	"context"
	"fmt"

	"github.com/bulkfiling/bulkfiling/internal/store"
)

// Dismissed begins the message of a row that someone dismissed.
const Dismissed = "dismissed by "

// DismissRows skips the invalid and rejected rows of a batch and of its corrections, because no one
// will correct them. It returns ErrStale if their number is not the one that the caller has seen. A
// correction that was already made of such a row still replaces it.
func (l Corrections) DismissRows(ctx context.Context, batch, by string, seen int) error {
	err := l.change(ctx, func(tx *Tx) error {
		dismissed := 0
		err := tx.withCorrections(ctx, batch, func(batch string) error {
			// The reason of an invalid row is in its faults.
			n, err := store.Affected(tx.ExecContext(ctx,
				`UPDATE rows
					SET message = CASE WHEN message = '' THEN CAST($3 AS TEXT)
							ELSE CAST($3 AS TEXT) || ': ' || message END,
						result = 'skipped', `+clearBlock+`, due = 0, updated_at = $2
					WHERE batch = $1 AND result IN ('invalid', 'rejected') AND uncertain = 0
					AND EXISTS (SELECT 1 FROM batches b WHERE b.id = $1 AND b.open = 1)`,
				batch, store.ToMillis(l.Now()), Dismissed+by))
			if err != nil {
				return err
			}
			dismissed += n
			_, err = tx.ExecContext(ctx,
				`DELETE FROM secrets WHERE batch = $1 AND number IN (SELECT number FROM rows WHERE batch = $1
					AND result = 'skipped')`, batch)
			return err
		})
		if err == nil && dismissed != seen {
			err = ErrStale
		}
		return err
	})
	return store.Wrap("dismiss rows of batch "+batch, err)
}

// FindPending finds the newest batch with an unapproved correction of a row. The row
// number 0 stands for any row of the batch. It returns an empty string if there is none.
func (l Corrections) FindPending(ctx context.Context, of BatchRow) (batch string, err error) {
	return store.Find[string](ctx, l.Read, nil,
		fmt.Sprintf("find the correction of row %d of batch %s", of.Number, of.Batch), selectPendingCorrection,
		of.Batch, of.Number)
}

// selectPendingCorrection has a CROSS JOIN because SQLite keeps its order. Otherwise SQLite would
// read all rows.
const selectPendingCorrection = `SELECT b.id FROM batches b CROSS JOIN rows r
	WHERE r.batch = b.id AND b.corrects = $1 AND r.corrects > 0 AND (r.corrects = $2 OR $2 = 0)
		AND (b.open = 0 OR b.approval = 'wanted') AND b.canceled = 0 AND r.result <> 'skipped'
	ORDER BY b.created_at DESC LIMIT 1`

// FindWaiting finds the batch that corrects rows of another one and waits
// for approval.
func (l Corrections) FindWaiting(ctx context.Context, of string) (batch string, ok bool, err error) {
	batch, err = store.Find[string](ctx, l.Read, nil, "find the corrections of batch "+of,
		`SELECT id FROM batches WHERE corrects = $1 AND open = 1 AND approval = 'wanted' AND canceled = 0
			ORDER BY created_at LIMIT 1`, of)
	return batch, batch != "", err
}
