package ledger

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// Document is a file that the service has for a row's order.
type Document struct {
	ID      string // doc_<id>; empty where the event did not tell it
	Type    string // registered_agent for agent mail; an open set
	OrderID string
	Row     int64
	Batch   string
	Number  int // the row's number in its sheet
	Product filing.Product
	At      time.Time // when the service made it
	Event   string    // the event that named it
}

// OfBatch streams the documents of a batch, and of what was corrected in it, in the order of
// its rows.
func (l Documents) OfBatch(ctx context.Context, batch string) iter.Seq2[Document, error] {
	return l.documents(ctx, `result_rows`, `r.batch = $1`, batch)
}

// OfRow streams the documents of a row.
func (l Documents) OfRow(ctx context.Context, row int64) iter.Seq2[Document, error] {
	return l.documents(ctx, `rows`, `r.id = $1`, row)
}

func (l Documents) documents(ctx context.Context, from, where string, args ...any) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		found, err := l.read.QueryContext(ctx,
			`SELECT d.id, d.type, d.order_id, r.id, r.batch, r.number, i.product, d.created_at, d.event
			FROM `+from+` r JOIN items i ON i.row = r.id JOIN documents d ON d.order_id = i.order_id
			WHERE `+where+` AND i.order_id <> '' ORDER BY r.number, r.id, d.created_at, d.key`, args...)
		if err != nil {
			yield(Document{}, fmt.Errorf("list documents: %w", err))
			return
		}
		defer found.Close()
		for found.Next() {
			var d Document
			var at int64
			if err := found.Scan(&d.ID, &d.Type, &d.OrderID, &d.Row, &d.Batch, &d.Number, &d.Product, &at,
				&d.Event); err != nil {
				yield(d, fmt.Errorf("read a document: %w", err))
				return
			}
			d.At = fromMillis(at)
			if !yield(d, nil) {
				return
			}
		}
		if err := found.Err(); err != nil {
			yield(Document{}, fmt.Errorf("list documents: %w", err))
		}
	}
}
