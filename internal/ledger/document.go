package ledger

import (
	"context"
	"iter"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// Document is a file that the filing service has for a row's order.
type Document struct {
	// ID has the form doc_<id>. Empty if the event did not name it.
	ID string
	// Type is registered_agent for mail to the agent. The set of types is open.
	Type    string
	OrderID string
	Row     int64
	Batch   string
	// Number is the row's number in its sheet.
	Number  int
	Product filing.Product
	// At is the time when the service made the document.
	At time.Time
	// Event is the ID of the event that named the document.
	Event string
}

// OfBatch streams the documents of a batch and of its corrections, in the order of its rows.
func (l Documents) OfBatch(ctx context.Context, batch string) iter.Seq2[Document, error] {
	return l.listDocuments(ctx, `result_rows`, `r.batch = $1`, batch)
}

// OfRow streams the documents of a row.
func (l Documents) OfRow(ctx context.Context, row int64) iter.Seq2[Document, error] {
	return l.listDocuments(ctx, `rows`, `r.id = $1`, row)
}

func (l Documents) listDocuments(ctx context.Context, from, where string, args ...any) iter.Seq2[Document, error] {
	return store.Stream[Document](ctx, l.Read, "list documents",
		`SELECT d.id, d.type, d.order_id, r.id AS "row", r.batch, r.number, i.product, d.created_at AS at, d.event
			FROM `+from+` r JOIN items i ON i.row = r.id JOIN documents d ON d.order_id = i.order_id
			WHERE `+where+` AND i.order_id <> '' ORDER BY r.number, r.id, d.created_at, d.key`, args...)
}
