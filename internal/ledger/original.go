package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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
	aead, err := l.sealer()
	if err != nil {
		return err
	}
	if _, err := l.exclusively(ctx, `DELETE FROM originals WHERE batch = $1`, batch); err != nil {
		return err
	}
	part, size := make([]byte, uploadPart), 0
	for n := 0; ; n++ {
		read, err := io.ReadFull(content, part)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		last := err != nil
		if size += read; size > maxOriginal {
			return fmt.Errorf("it is larger than %d MB", maxOriginal>>20)
		}
		if read > 0 {
			if _, err := l.exclusively(ctx, `INSERT INTO originals (batch, part, sealed) VALUES ($1,$2,$3)`, batch, n,
				aead.Seal(nil, nil, part[:read], originalPlace(batch, n))); err != nil {
				return err
			}
		}
		if last {
			return nil
		}
	}
}

// originalPlace binds a sealed part to its place in its spreadsheet.
func originalPlace(batch string, part int) []byte {
	return fmt.Appendf(nil, "original|%s|%d", batch, part)
}

// LoadOriginal reads the spreadsheet that was stored with a batch. It returns
// ErrNotFound where there is none, and ErrSealed.
func (l *Ledger) LoadOriginal(ctx context.Context, batch string) (*Original, error) {
	aead, err := l.sealer()
	if err != nil {
		return nil, err
	}
	var content bytes.Buffer
	n := 0
	rows, err := l.read.QueryContext(ctx, `SELECT sealed FROM originals WHERE batch = $1 ORDER BY part`, batch)
	err = each(rows, err, func(scan func(...any) error) error {
		var sealed []byte
		if err := scan(&sealed); err != nil {
			return err
		}
		part, err := aead.Open(nil, nil, sealed, originalPlace(batch, n))
		if err != nil {
			return ErrSealed
		}
		n++
		content.Write(part)
		return nil
	})
	if err == nil && n == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read the spreadsheet of batch %s: %w", batch, err)
	}
	head, rest, _ := bytes.Cut(content.Bytes(), []byte("\n"))
	o := &Original{Content: rest}
	if err := json.Unmarshal(head, o); err != nil {
		return nil, fmt.Errorf("read the spreadsheet of batch %s: %w", batch, err)
	}
	return o, nil
}
