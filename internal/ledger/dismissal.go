package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// Dismissed begins the message of a row that someone dismissed.
const Dismissed = "dismissed by "

// DismissRows skips the invalid and rejected rows of a batch: no one will correct
// them. It returns ErrStale if there are not as many as the caller has seen. A
// correction that is made of one already still takes its place.
func (l *Ledger) DismissRows(ctx context.Context, batch, by string, seen int) error {
	err := l.change(ctx, func(tx *sql.Tx, _ *control) error {
		// The reason of an invalid row is in its faults.
		n, err := affected(tx.ExecContext(ctx,
			`UPDATE rows
				SET message = CASE WHEN message = '' THEN CAST($3 AS TEXT) ELSE CAST($3 AS TEXT) || ': ' || message END,
					result = 'skipped', waits = '', due = 0, updated_at = $2
				WHERE batch = $1 AND result IN ('invalid', 'rejected') AND doubt = 0
				AND EXISTS (SELECT 1 FROM batches b WHERE b.id = $1 AND b.open = 1)`,
			batch, toMillis(l.now()), Dismissed+by))
		if err != nil {
			return err
		}
		if n != seen {
			return ErrStale
		}
		_, err = tx.ExecContext(ctx,
			`DELETE FROM secrets WHERE batch = $1 AND number IN (SELECT number FROM rows WHERE batch = $1
				AND result = 'skipped')`, batch)
		return err
	})
	return wrap("dismiss rows of batch "+batch, err)
}

// CountPendingCorrections counts the dismissed rows of a batch that are also in a
// correction: rows that are ready in it are ordered when it is approved.
func (l *Ledger) CountPendingCorrections(ctx context.Context, batch string) (n int, err error) {
	err = l.read.QueryRowContext(ctx,
		`SELECT COUNT(DISTINCT was.number) FROM rows was
			JOIN batches b ON b.corrects = was.batch AND `+pendingCorrection+`
			JOIN rows r ON r.batch = b.id AND r.corrects = was.number AND r.result <> 'skipped'
			WHERE was.batch = $1 AND was.result = 'skipped' AND was.message LIKE $2`, batch, Dismissed+"%").Scan(&n)
	return n, wrap("count the corrections of batch "+batch, err)
}

// pendingCorrection is the condition that a batch b with corrections has not taken the
// place of what it corrects, and may.
const pendingCorrection = `(b.open = 0 OR b.approval = 'wanted') AND b.canceled = 0`

// RowPlace is where a row is.
type RowPlace struct {
	Batch  string
	Number int
}

// FindCorrection finds the row that has taken the place of a row, or is about to;
// pending reports that it has not been approved. ok is false where there is none.
func (l *Ledger) FindCorrection(ctx context.Context, b Batch, r Row) (at RowPlace, pending, ok bool, err error) {
	if n, _ := fmt.Sscanf(r.Message, wasCorrected, &at.Number, &at.Batch); n == 2 && r.Result == filing.Skipped &&
		at.Batch == b.Corrects {
		return at, false, true, nil
	}
	err = l.read.QueryRowContext(ctx, selectOpenCorrection, b.ID, r.Number).Scan(&at.Batch, &at.Number)
	if errors.Is(err, sql.ErrNoRows) {
		return RowPlace{}, false, false, nil
	}
	if err != nil {
		return RowPlace{}, false, false, fmt.Errorf("find the correction of row %d of batch %s: %w", r.Number,
			b.ID, err)
	}
	return at, true, true, nil
}

// FindCorrected finds the row whose place a corrected row has taken; ok is false
// where the row is as it was first sent.
func (l *Ledger) FindCorrected(ctx context.Context, batch string, number int) (at RowPlace, ok bool, err error) {
	err = l.read.QueryRowContext(ctx, selectCorrected, batch, fmt.Sprintf(wasCorrected, number, batch)).
		Scan(&at.Batch, &at.Number)
	if errors.Is(err, sql.ErrNoRows) {
		return RowPlace{}, false, nil
	}
	if err != nil {
		return RowPlace{}, false, fmt.Errorf("find what row %d of batch %s was: %w", number, batch, err)
	}
	return at, true, nil
}

// FindWaitingCorrection finds the batch that corrects rows of another one and waits
// for approval.
func (l *Ledger) FindWaitingCorrection(ctx context.Context, of string) (batch string, ok bool, err error) {
	err = l.read.QueryRowContext(ctx,
		`SELECT id FROM batches WHERE corrects = $1 AND open = 1 AND approval = 'wanted' AND canceled = 0
			ORDER BY created_at LIMIT 1`, of).Scan(&batch)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("find the corrections of batch %s: %w", of, err)
	}
	return batch, true, nil
}

// The correction of a row is looked for in the batches of corrections, of which there
// are few: SQLite obeys the order of a CROSS JOIN, and would read all rows otherwise.
const (
	selectOpenCorrection = `SELECT b.id, r.number FROM batches b CROSS JOIN rows r
		WHERE r.batch = b.id AND b.corrects = $1 AND r.corrects = $2 AND ` + pendingCorrection + `
			AND r.result <> 'skipped'
		ORDER BY b.created_at DESC LIMIT 1`
	selectCorrected = `SELECT b.id, r.number FROM batches b CROSS JOIN rows r
		WHERE r.batch = b.id AND b.corrects = $1 AND r.result = 'skipped' AND r.message = $2
		ORDER BY r.updated_at DESC LIMIT 1`
)
