package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
)

// maxOriginal bounds the spreadsheet that is kept with a batch.
const maxOriginal = 64 << 20

// Original is the workbook of a batch, which its results are written into, and
// how its columns became those of the batch. Of a CSV it is the delimiter alone.
type Original struct {
	Delimiter string `json:"delimiter,omitempty"`
	Sheet     string `json:"sheet,omitempty"` // that was read
	HeaderRow int    `json:"headerRow"`       // 0 for none
	Width     int    `json:"width"`           // columns with a header
	Used      int    `json:"used"`            // columns with a cell
	Added     int    `json:"added,omitempty"` // columns of the batch that corrections added behind those
	// of each column with a header, its column in the batch, or -1; nil where
	// they are the same
	At []int `json:"at,omitempty"`

	Content []byte `json:"-"`
}

// Column returns the column of the batch that a column of the sheet became; -1
// for none.
func (o *Original) Column(i int) int {
	switch {
	case i >= o.Width:
		return i + o.Added
	case i < len(o.At):
		return o.At[i]
	}
	return i
}

// SaveOriginal stores the spreadsheet of a batch, which must not hold Social
// Security numbers, so that the results can be written into it. It is deleted
// with the batch.
func (l *Ledger) SaveOriginal(ctx context.Context, batch string, o Original, content io.Reader) error {
	head, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("encode how the spreadsheet of batch %s was read: %w", batch, err)
	}
	whole := io.MultiReader(bytes.NewReader(append(head, '\n')), content)
	return wrap("save the spreadsheet of batch "+batch, l.saveOriginal(withoutAudit(ctx), batch, whole))
}

func (l *Ledger) saveOriginal(ctx context.Context, batch string, content io.Reader) error {
	if _, err := l.exclusively(ctx, `DELETE FROM originals WHERE batch = $1`, batch); err != nil {
		return err
	}
	_, err := l.sealParts("original|"+batch, content, func(part int, sealed []byte) error {
		if part >= maxOriginal/sealedPart {
			return fmt.Errorf("it is larger than %d MB", maxOriginal>>20)
		}
		_, err := l.exclusively(ctx, `INSERT INTO originals (batch, part, sealed) VALUES ($1,$2,$3)`, batch, part,
			sealed)
		return err
	})
	return err
}

// LoadOriginal reads the spreadsheet that was stored with a batch. It returns
// ErrNotFound where there is none, and ErrSealed.
func (l *Ledger) LoadOriginal(ctx context.Context, batch string) (*Original, error) {
	content, err := l.openParts(ctx, "original|"+batch,
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
