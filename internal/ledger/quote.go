package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"bulkfiling/internal/money"
)

// RowQuote is what a row is expected to cost.
type RowQuote struct {
	Row  int64
	Cost money.Cost
	Note string // in place of the cost, where nothing will be ordered
}

// KeepQuotes notes what rows that were never sent are expected to cost, for
// their reader and for the sum of what is still needed.
func (l *Ledger) KeepQuotes(ctx context.Context, quotes []RowQuote) error {
	records := make([]record, len(quotes))
	for i, q := range quotes {
		message := q.Note
		if message == "" {
			message = "not sent yet; it will cost " + q.Cost.String()
		}
		records[i] = record{q.Row, int64(q.Cost.Amount), int64(q.Cost.Certainty), message}
	}
	err := l.change(unasked(ctx), func(tx *sql.Tx, _ *control) error {
		return l.exec(ctx, tx, `UPDATE rows SET quoted = 1, cost = v.cost, certainty = v.certainty, message = v.message {{v}}
			WHERE rows.id = v.id AND rows.result = 'ready' AND rows.tries = 0 AND rows.waits = ''`,
			columns{"id bigint", "cost bigint", "certainty bigint", "message text"}, records)
	})
	if err != nil {
		return fmt.Errorf("keep the quotes of %d rows: %w", len(quotes), err)
	}
	return nil
}
