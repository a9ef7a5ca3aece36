package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// A corrected spreadsheet is a separate batch that names the batch it corrects. As soon as its rows
// may be sent, the rows that they replace are finished. The results of the finished rows are the
// results of the rows that replace them. No row moves to another batch.

// correction is a row of a batch of corrections, with the current state of its original. The
// original is the uploaded row or the latest correction of it.
type correction struct {
	ID     int64
	Number int
	Result filing.Result
	// Of is the number of the original, zero if the row was added.
	Of int
	// Same reports whether the cells equal the original's cells.
	Same bool
	// Repeats is the number of the earlier correction that it repeats, zero if it repeats none.
	Repeats int

	// Was is the ID of the original, zero if it has none.
	Was int64
	// WasIn is the batch of the original.
	WasIn     string
	WasResult filing.Result
	// Sent reports whether the service may have an order of the original or may still answer. It is
	// set if the original was ordered in part or an attempt had no answer, regardless of a person's
	// decision about it, unless the attempt was only assumed after a restore.
	Sent bool
}

// replaces reports whether the corrected row is sent instead of the original: nothing of the
// original was ordered, and something is different now. A refused order is tried again even if
// nothing is different.
func (c *correction) replaces() bool {
	switch c.WasResult {
	case filing.Rejected:
		return !c.Sent
	case filing.Invalid, filing.Skipped:
		return !c.Sent && (!c.Same || c.Result != c.WasResult)
	case filing.Ready:
		return !c.Sent && (!c.Same || c.leftOut())
	}
	return false
}

// leftOut reports whether the correction leaves the row out. It does not if the row is skipped
// because another row orders the same.
func (c *correction) leftOut() bool { return c.Result == filing.Skipped && c.Repeats == 0 }

// finishCorrected finishes the rows that a batch of corrections replaces, once. It does nothing for
// other batches or for one that may not be sent yet. A correction of a paused batch is paused.
func (tx *Tx) finishCorrected(ctx context.Context, batch string) error {
	var original, columns, fields string
	var waits, applied bool
	err := tx.QueryRowContext(ctx,
		`SELECT corrects, columns, fields, CASE WHEN open = 0 OR approval = 'wanted' THEN 1 ELSE 0 END,
				applied
			FROM batches
			WHERE id = $1`, batch).
		Scan(&original, &columns, &fields, &waits, &applied)
	if err != nil || original == "" || waits || applied {
		return err
	}
	switch s, err := tx.loadStage(ctx, original); {
	case errors.Is(err, ErrNotFound):
		return nil
	case err != nil:
		return err
	case !s.open && !s.prepared:
		if err := tx.refuseForeignImport(ctx, s.owner); err != nil {
			return err
		}
	}
	err = tx.withCorrections(ctx, original, func(b string) error {
		if b == batch {
			return nil // its own rows can be checked once it is open
		}
		return tx.requireChecked(ctx, b)
	})
	if err != nil {
		return err
	}
	all, err := listCorrections(ctx, tx.Tx, batch, original)
	if err != nil {
		return err
	}
	done := make(map[int]bool)
	withdrawn := make(map[int]bool)
	for _, c := range all {
		again := done[c.Of]
		done[c.Of] = c.Of != 0
		switch {
		case c.WasResult == filing.Uncertain && tx.control.restoredAt != 0:
			err = ErrUnchecked // the original or its correction may have been ordered
		case c.Was == 0 || again: // added, or one row made into two
			if c.Result != filing.Skipped {
				err = tx.addCorrected(ctx, c, original)
			}
		case c.replaces() && !withdrawn[c.Repeats]: // the repeated row is not withdrawn
			err = tx.finishOriginal(ctx, c)
		default:
			withdrawn[c.Number] = c.Sent && (!c.Same || c.leftOut()) || c.WasResult == filing.Canceled ||
				c.WasResult == filing.Rejected
			err = tx.skipCorrection(ctx, c, batch, original)
		}
		if err != nil {
			return fmt.Errorf("correct row %d of batch %s by row %d: %w", c.Of, original, c.Number, err)
		}
	}
	if _, err := tx.ExecContext(ctx,
		`UPDATE batches
			SET applied = 1, paused = CASE WHEN (SELECT paused FROM batches WHERE id = $2) <> 0 THEN 1 ELSE paused END
			WHERE id = $1`, batch, original); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx,
		`WITH RECURSIVE corrected (id) AS (
				SELECT $1
				UNION
				SELECT b.corrects FROM batches b JOIN corrected c ON b.id = c.id WHERE b.corrects <> '')
			UPDATE batches
			SET columns = $2, fields = $3,
				prepared = CASE WHEN open = 0 THEN 1 ELSE prepared END,
				rows = (SELECT COUNT(*) FROM rows WHERE batch = batches.id)
			WHERE id IN (SELECT id FROM corrected)`, original, columns, fields)
	return err
}

// refuseForeignImport returns ErrImporting if the owner of an import is another living process.
func (tx *Tx) refuseForeignImport(ctx context.Context, owner string) error {
	// The owners are read in the transaction so that an owner that was just added counts.
	owners, err := tx.db.listProcesses(ctx, tx)
	if err != nil {
		return err
	}
	for _, o := range owners {
		if o.ID == owner && o.ID != tx.db.owner.ID && o.Alive {
			return fmt.Errorf("%w: process %d on %s", ErrImporting, o.PID, o.Host)
		}
	}
	return nil
}

// listCorrections reads the rows of a batch of corrections together with the rows that they
// correct.
func listCorrections(ctx context.Context, tx *sql.Tx, batch, original string) (all []correction, err error) {
	return store.List[correction](ctx, tx, "read the corrections of batch "+original,
		`SELECT n.id, n.number, n.result, n.repeats, n.corrects AS "of",
				CASE WHEN n.cells = o.cells THEN 1 ELSE 0 END AS same,
				COALESCE(o.id, 0) AS was, COALESCE(o.batch, '') AS was_in, COALESCE(o.result, '') AS was_result,
				CASE WHEN o.result IN ('placing', 'uncertain')
					OR o.uncertain <> 0 OR o.spent <> 0
					OR EXISTS (SELECT 1 FROM items i WHERE i.row = o.id)
					OR EXISTS (SELECT 1 FROM attempts a WHERE a.row = o.id
						AND a.outcome IN ('unreadable', 'no-answer', 'server-error')
						AND NOT (a.owner = '`+assumedOwner+`' AND a.decision = '`+string(filing.DecidedNotPlaced)+`'))
					THEN 1 ELSE 0 END AS sent
			FROM rows n
			LEFT JOIN rows p ON p.batch = $2 AND p.number = n.corrects AND n.corrects > 0
			LEFT JOIN rows o ON o.id = CASE WHEN p.corrected_by <> 0 AND p.result = 'skipped' THEN p.corrected_by
				ELSE p.id END
			WHERE n.batch = $1
			ORDER BY n.number, n.id`, batch, original)
}

// finishOriginal finishes a row that another one replaces, and the rows that it replaced itself.
func (tx *Tx) finishOriginal(ctx context.Context, c correction) error {
	now := store.ToMillis(tx.Now())
	if _, err := tx.ExecContext(ctx,
		`UPDATE rows SET result = 'skipped', `+clearBlock+`, due = 0, corrected_by = $2, updated_at = $3
			WHERE id = $1`,
		c.Was, c.ID, now); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx,
		`UPDATE rows SET corrected_by = $2, updated_at = $3 WHERE corrected_by = $1 AND corrected_by <> 0`,
		c.Was, c.ID, now); err != nil {
		return err
	}
	for _, table := range []string{"secrets", "coverage"} {
		if _, err := tx.ExecContext(ctx, `DELETE FROM `+table+`
			WHERE (batch, number) IN (SELECT batch, number FROM rows WHERE id = $1)`, c.Was); err != nil {
			return err
		}
	}
	return nil
}

// addCorrected adds a row to the original that stands for an added row, so that the results include
// it.
func (tx *Tx) addCorrected(ctx context.Context, c correction, original string) error {
	_, err := tx.ExecContext(ctx,
		`INSERT INTO rows (batch, number, cells, result, corrected_by, updated_at)
			SELECT $2, (SELECT COALESCE(MAX(number), 1) + 1 FROM rows WHERE batch = $2), r.cells, 'skipped', r.id, $3
			FROM rows r
			WHERE r.id = $1`, c.ID, original, store.ToMillis(tx.Now()))
	return err
}

// skipCorrection skips a correction of a row that stays as it is, explains this in its message and
// deletes its sealed number. If the original was sent and the correction differs, the original is
// withdrawn: its orders count, and nothing more is sent of a row that a person has corrected.
func (tx *Tx) skipCorrection(ctx context.Context, c correction, batch, original string) error {
	message := fmt.Sprintf("left out: row %d of batch %s is %s, and stays as it is", c.Of, original, c.WasResult)
	if c.Sent && c.WasResult != filing.Placed && c.WasResult != filing.Exists {
		message += ": an order was sent for it and may exist"
		if !c.leftOut() {
			message += ". To order this instead, enter it in a new spreadsheet"
		}
	}
	if c.WasResult != filing.Rejected && (!c.Same || c.leftOut()) {
		if _, err := tx.ExecContext(ctx, `UPDATE rows SET withdrawn = 1 WHERE id = $1`, c.Was); err != nil {
			return err
		}
		if _, err := tx.cancelReady(ctx, c.WasIn, fmt.Sprintf("id = %d", c.Was), canceledCorrected); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx,
		`UPDATE rows
			SET result = 'skipped', `+clearBlock+`, message = $2
			WHERE id = $1 AND result IN ('ready', 'invalid', 'skipped')`, c.ID, message)
	if err == nil {
		_, err = tx.ExecContext(ctx, `DELETE FROM secrets WHERE batch = $1 AND number = $2`, batch, c.Number)
	}
	return err
}

// withCorrections calls do for a batch and for the batches of corrections whose rows its results
// show. An action of a person on a batch thereby applies to all rows that they see in it.
func (tx *Tx) withCorrections(ctx context.Context, batch string, do func(batch string) error) error {
	all, err := store.List[string](ctx, tx, "list the corrections of batch "+batch, selectWithCorrections, batch)
	if err != nil {
		return err
	}
	for _, b := range all {
		if err := do(b); err != nil {
			return err
		}
	}
	return nil
}

const selectWithCorrections = `WITH RECURSIVE shown (id) AS (
		SELECT id FROM batches WHERE id = $1
		UNION
		SELECT b.id FROM batches b JOIN shown s ON b.corrects = s.id WHERE b.open = 1 AND b.approval <> 'wanted')
	SELECT id FROM shown`

// List lists the batches of corrections whose rows the results of a batch show.
func (l Corrections) List(ctx context.Context, batch string) ([]Batch, error) {
	return l.listBatches(ctx, `WHERE id <> $1 AND id IN (`+selectWithCorrections+`) ORDER BY created_at, id`, batch)
}
