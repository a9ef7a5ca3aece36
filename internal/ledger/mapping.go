package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"
)

// Mapping is what a person said the columns of a spreadsheet are. It is kept by
// the sheet's shape, for the next one that has the same headers.
type Mapping struct {
	Shape     string            // names the headers; see importer.Survey
	Headers   []string          // for a reader
	Columns   map[string]string // their header to ours; to "" to leave it out
	CreatedBy string
	CreatedAt time.Time
}

// SetMapping keeps a mapping in place of an earlier one of the same shape.
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
			m.Shape, string(headers), string(columns), m.CreatedBy, toMillis(l.now()))
		return err
	})
	return wrap("save the column mapping", err)
}

const mappingColumns = `shape, headers, columns, created_by, created_at`

// FindMapping finds the mapping of a shape. It returns ErrNotFound.
func (l Uploads) FindMapping(ctx context.Context, shape string) (Mapping, error) {
	return find[Mapping](ctx, l.read, ErrNotFound, "find the column mapping "+shape,
		`SELECT `+mappingColumns+` FROM mappings WHERE shape = $1`, shape)
}

// ListMappings lists those that are kept, the newest first.
func (l Uploads) ListMappings(ctx context.Context) ([]Mapping, error) {
	return list[Mapping](ctx, l.read, "list the column mappings",
		`SELECT `+mappingColumns+` FROM mappings ORDER BY created_at DESC, shape`)
}

// DeleteMapping forgets a mapping. It returns ErrNotFound.
func (l Uploads) DeleteMapping(ctx context.Context, shape string) error {
	return wrap("delete the column mapping "+shape,
		changed(ErrNotFound)(l.exclusively(ctx, `DELETE FROM mappings WHERE shape = $1`, shape)))
}
