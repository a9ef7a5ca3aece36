package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// RowQuote is the expected cost of a row.
type RowQuote struct {
	Row  int64
	Cost money.Cost
	// Missing names the entity and state whose state fee is not known, such as "TX LLC".
	Missing string
	// Note replaces the cost if the row will order nothing.
	Note string
}

// RefreshStatistics prepares PostgreSQL for the quotes of a batch that an import has just added.
// Without it, each quote would be compared with every ready row.
func (l Quotes) RefreshStatistics(ctx context.Context) error {
	return store.Wrap("refresh the statistics of the rows", l.Analyze(ctx, "rows"))
}

// Save saves the expected costs of rows that were never sent, for display and for the sum of
// the funds that are still needed.
func (l Quotes) Save(ctx context.Context, quotes []RowQuote) error {
	records := make([]store.Record, len(quotes))
	for i, q := range quotes {
		message := q.Note
		if message == "" {
			message = "not sent yet; it will cost " + q.Cost.Without(q.Missing)
		}
		records[i] = store.Record{
			store.Number("id", q.Row),
			store.Number("cost", q.Cost.Amount),
			store.Number("certainty", q.Cost.Certainty),
			store.Text("message", message),
		}
	}
	err := l.change(audit.Without(ctx), func(tx *Tx) error {
		return l.ExecRecords(
			ctx, tx.Tx, `UPDATE rows
			SET quoted = 1, cost = v.cost, certainty = v.certainty,
				message = CASE WHEN rows.blocked_on = '' THEN v.message ELSE rows.message END {{v}}
			WHERE rows.id = v.id AND rows.result = 'ready' AND rows.last_attempt = 0
			AND rows.blocked_on IN ('', '`+blockedOnApproval+`')`,
			records)
	})
	return store.Wrap(fmt.Sprintf("save the quotes of %d rows", len(quotes)), err)
}

// SaveBatch saves the quote of a batch in the form of the caller.
func (l Quotes) SaveBatch(ctx context.Context, batch string, quote []byte) error {
	err := l.change(audit.Without(ctx), func(tx *Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE batches SET quote = $2 WHERE id = $1`, batch, string(quote))
		return err
	})
	return store.Wrap("save the quote of batch "+batch, err)
}

// factSums are sums over the records that a quote may depend on. They detect a change of such a
// record, except a coincidence. Begin compares the cost of each order in any case. A time counts
// without its days, so that the sum of many times does not overflow.
var factSums = []string{
	`COALESCE(SUM(bought * row), 0) || ' ' || COALESCE(SUM(at % 86400000), 0) FROM purchases`,
	`COALESCE(SUM(CASE WHEN lower(filing_status) IN ('canceled', 'cancelled') THEN id ELSE 0 END), 0) || ' ' ||
		COALESCE(SUM(CASE WHEN lower(subscription_status) NOT IN ('', 'active') THEN id ELSE 0 END), 0) || ' ' ||
		COALESCE(SUM(subscription_at % 86400000), 0) FROM items`,
	`COALESCE(SUM(LENGTH(record)), 0) || ' ' || COALESCE(SUM(at % 86400000), 0) FROM companies`,
	`COALESCE(SUM(LENGTH(record)), 0) || ' ' || COALESCE(SUM(at % 86400000), 0) FROM users`,
	`COALESCE(SUM(opened + year), 0) || ' ' || COALESCE(SUM(at % 86400000), 0) FROM coverage`,
}

// Facts returns a text that differs if a purchase, a subscription, a company or a user has changed
// that a quote may depend on.
func (l Quotes) Facts(ctx context.Context) (facts string, err error) {
	// A subscription lapses at the end of a day.
	facts = l.Now().UTC().Format(time.DateOnly)
	for _, sums := range factSums {
		var sum string
		if err := l.Read.QueryRowContext(ctx, `SELECT COUNT(*) || ' ' || `+sums).Scan(&sum); err != nil {
			return "", fmt.Errorf("read the facts of a quote: %w", err)
		}
		facts += "; " + sum
	}
	return facts, nil
}

// LoadBatch returns the last saved quote of a batch, or an empty one if none was saved.
func (l Quotes) LoadBatch(ctx context.Context, batch string) ([]byte, error) {
	var quote string
	err := l.Read.QueryRowContext(ctx, `SELECT quote FROM batches WHERE id = $1`, batch).Scan(&quote)
	if err != nil {
		return nil, fmt.Errorf("read the quote of batch %s: %w", batch, err)
	}
	return []byte(quote), nil
}
