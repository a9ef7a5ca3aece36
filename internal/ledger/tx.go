package ledger

import (
	"context"
	"database/sql"
	"iter"
	"time"
)

// Tx is one change of the ledger: a transaction that holds the lock of the control row. The methods
// of Ledger make whole changes. The methods of Tx are parts of one, for the packages beside the
// ledger whose records commit together with it. See Ledger.Change.
type Tx struct {
	*sql.Tx
	db      *database
	control *control
}

// Now returns the database's time.
func (tx *Tx) Now() time.Time { return tx.db.Now() }

// Figures returns the sums over the rows of a batch.
func (tx *Tx) Figures(ctx context.Context, batch string) (Figures, error) {
	return tx.db.sumFigures(ctx, tx, `rows`, batch)
}

// ReadyRows streams the ready rows of a batch in the order of the input, without their items.
func (tx *Tx) ReadyRows(ctx context.Context, batch string) iter.Seq2[Row, error] {
	return streamRows(ctx, tx, selectRows+`r.batch = $1 AND r.result = 'ready' ORDER BY r.number, r.id`, batch)
}
