package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// maxOriginal is the largest spreadsheet that is stored with a batch, in bytes.
const maxOriginal = 64 << 20

// Original is the workbook of a batch, into which its results are written, and the mapping of its
// columns to the columns of the batch. A CSV file has only a delimiter.
type Original struct {
	Delimiter string `json:"delimiter,omitempty"`
	// Sheet is the sheet that was read.
	Sheet string `json:"sheet,omitempty"`
	// HeaderRow is the number of the header row. Zero if the sheet has none.
	HeaderRow int `json:"headerRow"`
	// Width is the number of columns with a header.
	Width int `json:"width"`
	// Used is the number of columns with a cell.
	Used int `json:"used"`
	// Added is the number of columns that corrections added to the batch after the columns with a
	// header.
	Added int `json:"added,omitempty"`
	// At has the column of the batch for each column with a header, or -1. Nil if they are the
	// same.
	At []int `json:"at,omitempty"`

	Content []byte `json:"-"`
}

// Column returns the column of the batch for a column of the sheet, or -1 if there is none.
func (o *Original) Column(i int) int {
	switch {
	case i >= o.Width:
		return i + o.Added
	case i < len(o.At):
		return o.At[i]
	}
	return i
}

// Save stores the spreadsheet of a batch, so that the results can be written into it. The
// spreadsheet must not contain Social Security numbers. It is deleted with the batch.
func (l Originals) Save(ctx context.Context, batch string, o Original, content io.Reader) error {
	head, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("encode how the spreadsheet of batch %s was read: %w", batch, err)
	}
	whole := io.MultiReader(bytes.NewReader(append(head, '\n')), content)
	return store.Wrap("save the spreadsheet of batch "+batch, l.save(audit.Without(ctx), batch, whole))
}

func (l Originals) save(ctx context.Context, batch string, content io.Reader) error {
	if _, err := l.Exec(ctx, `DELETE FROM originals WHERE batch = $1`, batch); err != nil {
		return err
	}
	_, err := l.SealParts("original|"+batch, content, func(part int, sealed []byte) error {
		if part >= maxOriginal/store.SealedPart {
			return fmt.Errorf("it is larger than %d MB", maxOriginal>>20)
		}
		_, err := l.Exec(ctx, `INSERT INTO originals (batch, part, sealed) VALUES ($1,$2,$3)`, batch, part,
			sealed)
		return err
	})
	return err
}

// Load reads the stored spreadsheet of a batch. It returns ErrNotFound if there is none,
// and ErrSealed.
func (l Originals) Load(ctx context.Context, batch string) (*Original, error) {
	content, err := l.UnsealParts(ctx, "original|"+batch,
		`SELECT sealed FROM originals WHERE batch = $1 ORDER BY part`, batch)
	if err == nil && len(content) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read the spreadsheet of batch %s: %w", batch, err)
	}
	head, rest, _ := bytes.Cut(content, []byte("\n"))
	o := &Original{Content: rest}
	if err := json.Unmarshal(head, o); err != nil {
		return nil, fmt.Errorf("read the spreadsheet of batch %s: %w", batch, err)
	}
	return o, nil
}
