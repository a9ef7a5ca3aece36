package ledger

import (
	"context"
	"database/sql"
)

// Firm is what the firm that keeps this ledger has decided for itself.
type Firm struct {
	SecondPerson bool // whoever hands a batch in may not approve it
}

// Firm reads the firm's rules.
func (l *Ledger) Firm(ctx context.Context) (f Firm, err error) {
	err = l.read.QueryRowContext(ctx, `SELECT second_person FROM firm WHERE id = 1`).Scan(&f.SecondPerson)
	return f, wrap("read the firm's rules", err)
}

// KeepFirm changes the firm's rules.
func (l *Ledger) KeepFirm(ctx context.Context, f Firm) error {
	return wrap("change the firm's rules", l.change(ctx, func(tx *sql.Tx, _ *control) error {
		_, err := tx.ExecContext(ctx, `UPDATE firm SET second_person = $1 WHERE id = 1`, flag(f.SecondPerson))
		return err
	}))
}
