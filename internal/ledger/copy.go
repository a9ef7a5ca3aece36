package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// Copy describes a file that holds a copy of a ledger.
type Copy struct {
	AuditReport
	// At is the time of the last change.
	At            time.Time
	Mode          string
	Organizations []Organization
}

// CheckOwner returns ErrMode or ErrOrganization if the copy may not take the place of a
// ledger of that mode and these organizations.
func (c *Copy) CheckOwner(mode string, known []Organization) error {
	if c.Mode != "" && mode != "" && c.Mode != mode {
		return fmt.Errorf("%w: the backup holds %s orders and the ledger %s ones", ErrMode, c.Mode, mode)
	}
	for _, o := range c.Organizations {
		if slices.ContainsFunc(known, o.Same) {
			return nil
		}
	}
	if len(c.Organizations) > 0 && len(known) > 0 {
		return fmt.Errorf("%w: the backup holds the orders of %s, and the ledger is that of %s", ErrOrganization,
			c.Organizations[0], known[0])
	}
	return nil
}

// VerifyCopy checks that a file holds a complete ledger that adds up. It returns ErrCopy
// and ErrNewer.
func VerifyCopy(ctx context.Context, path string) (c Copy, err error) {
	db, err := store.OpenCopy(ctx, path)
	if err != nil {
		return c, err
	}
	defer db.Close()
	l := &Ledger{&database{DB: db}}
	var at int64
	if err := db.Read.QueryRowContext(ctx, `SELECT changed_at, mode FROM control WHERE id = 1`).
		Scan(&at, &c.Mode); err != nil {
		return c, fmt.Errorf("%w: %w", store.ErrCopy, err)
	}
	c.At = store.FromMillis(at)
	if c.Organizations, _, err = listOrganizations(ctx, db.Read); err != nil {
		return c, fmt.Errorf("%w: %w", store.ErrCopy, err)
	}
	if c.AuditReport, err = l.Verify(ctx); err != nil {
		return c, fmt.Errorf("%w: %w", store.ErrCopy, err)
	}
	return c, nil
}

// Replace puts the copy at path, which it consumes, in the place of the ledger of a data folder.
// Nothing is sent from the copy until its check has ended. Its schedules are paused and all people
// are signed out. The former ledger is kept in a folder. Replace returns the path of that folder,
// or an empty path if there was no ledger. It returns ErrInUse.
func Replace(ctx context.Context, dir, path string) (kept string, err error) {
	return store.ReplaceFile(ctx, dir, path, func(tx *sql.Tx) error {
		return store.Wrap("halt the restored ledger", haltCopy(ctx, tx))
	})
}

// haltCopy halts the ledger in a file that is to be restored.
func haltCopy(ctx context.Context, tx *sql.Tx) error {
	var c control
	if err := tx.QueryRowContext(ctx, `SELECT `+controlColumns+` FROM control WHERE id = 1`).
		Scan(c.fields().Targets()...); err != nil {
		return err
	}
	c.now = max(time.Now().UnixMilli(), c.changedAt+1)
	note := "it was restored from a backup of " + store.FromMillis(c.changedAt).Format("2006-01-02 15:04 MST")
	if err := c.haltRestored(ctx, tx, note, c.changedAt); err != nil {
		return err
	}
	for _, statement := range []string{`DELETE FROM sessions`, `DELETE FROM sign_in_links`} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, setControl, c.fields().AppendValues(nil)...); err != nil {
		return err
	}
	return audit.RecordIn(ctx, tx, store.FromMillis(c.now))
}
