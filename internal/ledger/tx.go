package ledger

import (
	"context"
	"database/sql"
	"iter"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/store"
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

// ReadyRow is the part of a ready row that an approval covers.
type ReadyRow struct {
	Number int
	// Request is the request in the form of the database.
	Request string
	// Cost is the cost of the whole order.
	Cost money.Cost
}

// ReadyRows streams the ready rows of a batch in the order of the input.
func (tx *Tx) ReadyRows(ctx context.Context, batch string) iter.Seq2[ReadyRow, error] {
	return streamReady(ctx, tx, batch)
}

// ReadyRows streams the ready rows of a batch in the order of the input.
func (l *Ledger) ReadyRows(ctx context.Context, batch string) iter.Seq2[ReadyRow, error] {
	return streamReady(ctx, l.Read, batch)
}

func streamReady(ctx context.Context, q store.Lister, batch string) iter.Seq2[ReadyRow, error] {
	return store.Stream[ReadyRow](ctx, q, "read the ready rows of batch "+batch,
		`SELECT number, request, cost + spent AS "cost.amount",
				CASE WHEN certainty > spent_certainty THEN certainty ELSE spent_certainty END AS "cost.certainty"
			FROM rows WHERE batch = $1 AND result = 'ready'
			ORDER BY number, id`, batch)
}
