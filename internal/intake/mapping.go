package intake

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/store"
)

// Mappings stores the column mappings that people have chosen.
type Mappings struct{ db *store.DB }

// NewMappings returns the column mappings of a database.
func NewMappings(db *store.DB) *Mappings { return &Mappings{db} }

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

// Set saves a mapping and replaces an earlier one of the same shape.
func (l *Mappings) Set(ctx context.Context, m Mapping) error {
	headers, err := json.Marshal(m.Headers)
	if err != nil {
		return fmt.Errorf("save the column mapping: %w", err)
	}
	columns, err := json.Marshal(m.Columns)
	if err != nil {
		return fmt.Errorf("save the column mapping: %w", err)
	}
	err = l.db.Change(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(
			ctx, `INSERT INTO mappings (shape, headers, columns, created_by, created_at)
				VALUES ($1,$2,$3,$4,$5)
				ON CONFLICT (shape) DO UPDATE SET headers = excluded.headers, columns = excluded.columns,
					created_by = excluded.created_by, created_at = excluded.created_at`,
			m.Shape, string(headers), string(columns), m.CreatedBy, store.ToMillis(l.db.Now()))
		return err
	})
	return store.Wrap("save the column mapping", err)
}

const mappingColumns = `shape, headers, columns, created_by, created_at`

// Find finds the mapping of a shape. It returns ErrNotFound if the shape has none.
func (l *Mappings) Find(ctx context.Context, shape string) (Mapping, error) {
	return store.Find[Mapping](ctx, l.db.Read, store.ErrNotFound, "find the column mapping "+shape,
		`SELECT `+mappingColumns+` FROM mappings WHERE shape = $1`, shape)
}

// List lists the stored mappings, the newest first.
func (l *Mappings) List(ctx context.Context) ([]Mapping, error) {
	return store.List[Mapping](ctx, l.db.Read, "list the column mappings",
		`SELECT `+mappingColumns+` FROM mappings ORDER BY created_at DESC, shape`)
}

// Delete deletes a mapping. It returns ErrNotFound if the shape has none.
func (l *Mappings) Delete(ctx context.Context, shape string) error {
	return store.Wrap("delete the column mapping "+shape,
		store.RequireChange(store.ErrNotFound)(l.db.ExecChange(ctx, `DELETE FROM mappings WHERE shape = $1`, shape)))
}
