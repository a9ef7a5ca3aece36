package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/store"
)

// Mapping is the meaning of a spreadsheet's columns as a person chose it. It is stored by the shape
// of the sheet and applies to the next sheet with the same headers.
type Mapping struct {
	// Shape identifies the headers. See importer.Survey.
	Shape string
	// Headers are the headers for display.
	Headers []string
	// Columns maps their headers to ours. An empty value leaves the column out.
	Columns   map[string]string
	CreatedBy string
	CreatedAt time.Time
}

// SetMapping saves a mapping and replaces an earlier one of the same shape.
func (l Uploads) SetMapping(ctx context.Context, m Mapping) error {
	headers, err := json.Marshal(m.Headers)
	if err != nil {
		return fmt.Errorf("save the column mapping: %w", err)
	}
	columns, err := json.Marshal(m.Columns)
	if err != nil {
		return fmt.Errorf("save the column mapping: %w", err)
	}
	err = l.change(ctx, func(tx *sql.Tx, _ *control) error {
		_, err := tx.ExecContext(
			ctx, `INSERT INTO mappings (shape, headers, columns, created_by, created_at)
				VALUES ($1,$2,$3,$4,$5)
				ON CONFLICT (shape) DO UPDATE SET headers = excluded.headers, columns = excluded.columns,
					created_by = excluded.created_by, created_at = excluded.created_at`,
			m.Shape, string(headers), string(columns), m.CreatedBy, store.ToMillis(l.Now()))
		return err
	})
	return store.Wrap("save the column mapping", err)
}

const mappingColumns = `shape, headers, columns, created_by, created_at`

// FindMapping finds the mapping of a shape. It returns ErrNotFound if the shape has none.
func (l Uploads) FindMapping(ctx context.Context, shape string) (Mapping, error) {
	return store.Find[Mapping](ctx, l.Read, ErrNotFound, "find the column mapping "+shape,
		`SELECT `+mappingColumns+` FROM mappings WHERE shape = $1`, shape)
}

// ListMappings lists the stored mappings, the newest first.
func (l Uploads) ListMappings(ctx context.Context) ([]Mapping, error) {
	return store.List[Mapping](ctx, l.Read, "list the column mappings",
		`SELECT `+mappingColumns+` FROM mappings ORDER BY created_at DESC, shape`)
}

// DeleteMapping deletes a mapping. It returns ErrNotFound if the shape has none.
func (l Uploads) DeleteMapping(ctx context.Context, shape string) error {
	return store.Wrap("delete the column mapping "+shape,
		store.Changed(ErrNotFound)(l.Exec(ctx, `DELETE FROM mappings WHERE shape = $1`, shape)))
}
