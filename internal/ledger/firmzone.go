package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/audit"

	"github.com/bulkfiling/bulkfiling/internal/store"
)

// FirmZone returns the firm's time zone, or an empty string if none is chosen.
func (l Schedules) FirmZone(ctx context.Context) (string, error) {
	var zone string
	err := l.Read.QueryRowContext(ctx, `SELECT zone FROM firm_zone WHERE id = 1`).Scan(&zone)
	return zone, store.Wrap("read the firm's time zone", err)
}

// SetFirmZone sets the firm's time zone, a name of the IANA database.
func (l Schedules) SetFirmZone(ctx context.Context, zone string) error {
	if _, err := time.LoadLocation(zone); err != nil || zone == "" || zone == "Local" {
		return fmt.Errorf("%q is not a time zone such as America/New_York", zone)
	}
	return store.Wrap("set the firm's time zone", l.change(ctx, func(tx *sql.Tx, _ *control) error {
		_, err := tx.ExecContext(ctx, `UPDATE firm_zone SET zone = $1, changed_by = $2, changed_at = $3 WHERE id = 1`,
			zone, audit.Person(ctx), store.ToMillis(l.Now()))
		return err
	}))
}
