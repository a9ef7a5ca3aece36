package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// What stands beside rows that changed places.
const (
	wasCorrected = "corrected: the answer of the corrected row is in row %d of batch %s"
	staysAsItIs  = "left out: row %d of batch %s is %s, and stays as it is"
)

// correction is a row of a batch of corrections, and the row that it corrects.
type correction struct {
	id     int64
	number int
	result filing.Result
	of     int  // the number in the original; 0 for a row that was added
	same   bool // the cells are those of the original

	was       int64 // the original's id; 0 for none
	wasResult filing.Result
	doubt     bool
}

// replaces reports whether the corrected row takes the place of the original:
// nothing of that was ordered, and something is different now. A refused order
// is tried again as it is.
func (c *correction) replaces() bool {
	switch c.wasResult {
	case filing.Rejected:
		return true
	case filing.Invalid, filing.Skipped:
		return !c.same || c.result != c.wasResult
	case filing.Ready:
		return !c.doubt && !c.same && c.result != filing.Skipped
	}
	return false
}

// applyCorrections gives the rows of a batch of corrections that may be sent from
// now on the places of the rows that they correct. The original becomes whole by
// it, and the rows that were wrong are kept in the batch of corrections. Rows that
// were added are added to the original.
func (db *database) applyCorrections(ctx context.Context, tx *sql.Tx, batch string) error {
	var original, columns, fields, officers string
	var waits bool
	err := tx.QueryRowContext(ctx,
		`SELECT corrects, columns, fields, officers, CASE WHEN open = 0 OR approval = 'wanted' THEN 1 ELSE 0 END
			FROM batches
			WHERE id = $1`, batch).
		Scan(&original, &columns, &fields, &officers, &waits)
	if err != nil || original == "" || waits {
		return err
	}
	switch s, err := stageOf(ctx, tx, original); {
	case errors.Is(err, ErrNotFound):
		return nil
	case err != nil:
		return err
	case !s.open && !s.prepared:
		if err := db.refuseForeignImport(ctx, tx, s.owner); err != nil {
			return err
		}
	}
	if err := db.requireChecked(ctx, tx, original); err != nil {
		return err
	}
	if err := copyContributors(ctx, tx, batch, original); err != nil {
		return err
	}
	all, err := corrections(ctx, tx, batch, original)
	if err != nil {
		return err
	}
	var last int
	if err := tx.QueryRowContext(ctx, `SELECT COALESCE(MAX(number), 1) FROM rows WHERE batch = $1`,
		original).Scan(&last); err != nil {
		return err
	}
	done := make(map[int]bool)
	for _, c := range all {
		switch {
		case c.was == 0 || done[c.of]: // added, or one row made into two
			if c.result == filing.Skipped {
				continue
			}
			last++
			err = db.moveRow(ctx, tx, c.id, batch, c.number, original, last)
		case c.replaces():
			done[c.of] = true
			err = db.swapRows(ctx, tx, c, batch, original)
		default:
			done[c.of] = true
			err = skipCorrection(ctx, tx, c, batch, original)
		}
		if err != nil {
			return fmt.Errorf("give row %d the place of row %d of batch %s: %w", c.number, c.of, original, err)
		}
	}
	if _, err := tx.ExecContext(ctx,
		`UPDATE batches
			SET columns = $2, fields = $3, officers = CASE WHEN officers = '' THEN $4 ELSE officers END,
				prepared = CASE WHEN open = 0 THEN 1 ELSE prepared END,
				rows = (SELECT COUNT(*) FROM rows WHERE batch = $1)
			WHERE id = $1`, original, columns, fields, officers); err != nil {
		return err
	}
	return endNotification(ctx, tx, NotifyBatch, original) // it will end once more
}

// refuseForeignImport returns ErrImporting where another process, which lives, is
// the owner of an import.
func (db *database) refuseForeignImport(ctx context.Context, tx *sql.Tx, owner string) error {
	owners, err := db.owners(ctx, tx)
	if err != nil {
		return err
	}
	for _, o := range owners {
		if o.ID == owner && o.ID != db.owner.ID && o.Alive {
			return fmt.Errorf("%w: process %d on %s", ErrImporting, o.PID, o.Host)
		}
	}
	return nil
}

// skipCorrection skips a correction of a row that stays as it is, and deletes what
// it has sealed.
func skipCorrection(ctx context.Context, tx *sql.Tx, c correction, batch, original string) error {
	_, err := tx.ExecContext(ctx,
		`UPDATE rows
			SET result = 'skipped', waits = '', message = $2
			WHERE id = $1 AND result IN ('ready', 'invalid', 'skipped')`,
		c.id, fmt.Sprintf(staysAsItIs, c.of, original, c.wasResult))
	if err == nil {
		_, err = tx.ExecContext(ctx, `DELETE FROM secrets WHERE batch = $1 AND number = $2`, batch, c.number)
	}
	return err
}

// corrections reads the rows of a batch of corrections beside those they correct.
func corrections(ctx context.Context, tx *sql.Tx, batch, original string) (all []correction, err error) {
	rows, err := tx.QueryContext(ctx,
		`SELECT n.id, n.number, n.result, n.corrects, CASE WHEN n.cells = o.cells THEN 1 ELSE 0 END,
				COALESCE(o.id, 0), COALESCE(o.result, ''), COALESCE(o.doubt, 0)
			FROM rows n
			LEFT JOIN rows o ON o.batch = $2 AND o.number = n.corrects AND n.corrects > 0
			WHERE n.batch = $1
			ORDER BY n.number, n.id`, batch, original)
	all, err = collect(rows, err, func(scan func(...any) error) (correction, error) {
		var c correction
		err := scan(&c.id, &c.number, &c.result, &c.of, &c.same, &c.was, &c.wasResult, &c.doubt)
		return c, err
	})
	return all, err
}

// swapRows puts the corrected row in the place of the original, and the original
// in its place.
func (db *database) swapRows(ctx context.Context, tx *sql.Tx, c correction, batch, original string) error {
	for _, query := range []string{`DELETE FROM secrets WHERE batch = $1 AND number = $2`,
		`DELETE FROM officers WHERE batch = $1 AND number = $2`} {
		if _, err := tx.ExecContext(ctx, query, original, c.of); err != nil {
			return err
		}
	}
	if err := db.moveRow(ctx, tx, c.id, batch, c.number, original, c.of); err != nil {
		return err
	}
	_, err := tx.ExecContext(
		ctx, `UPDATE rows
			SET batch = $2, number = $3, result = 'skipped', waits = '', message = $4, updated_at = $5
			WHERE id = $1`,
		c.was, batch, c.number, fmt.Sprintf(wasCorrected, c.of, original), toMillis(db.now()))
	return err
}

// moveRow moves a row to another batch, with its officers and its sealed number.
func (db *database) moveRow(ctx context.Context, tx *sql.Tx, id int64, from string, number int, to string,
	at int) error {
	if _, err := tx.ExecContext(ctx, `UPDATE rows SET batch = $2, number = $3, updated_at = $4 WHERE id = $1`, id, to,
		at, toMillis(db.now())); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE officers SET batch = $3, number = $4 WHERE batch = $1 AND number = $2`,
		from, number, to, at); err != nil {
		return err
	}
	var sealed string
	switch err := tx.QueryRowContext(ctx, `SELECT sealed FROM secrets WHERE batch = $1 AND number = $2`, from,
		number).Scan(&sealed); {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	secret, err := db.unseal(sealed, from, number)
	if err != nil {
		return err
	}
	if sealed, err = db.seal(to, at, secret); err != nil { // a sealed number is bound to its place
		return err
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM secrets WHERE batch = $1 AND number = $2`, from, number); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO secrets (batch, number, sealed) VALUES ($1, $2, $3)`, to, at, sealed)
	return err
}
