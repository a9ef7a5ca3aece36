package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// Results are written into the spreadsheet itself. Record stores a copy of it
// with the batch, without Social Security numbers: those are erased when an order
// is placed, and the content of an upload is deleted with it.

// maxOriginalRows is how many rows a sheet may have for its results to be written
// into it. The results of a longer one are a table.
const maxOriginalRows = 20_000

// originalStore stores the spreadsheet of a batch. *ledger.Ledger implements it.
type originalStore interface {
	SaveOriginal(ctx context.Context, batch string, o ledger.Original, content io.Reader) error
}

// saveOriginal stores the spreadsheet with the batch, unless it is too large or in
// a form that cannot be copied: its results are then a table.
func (im *Import) saveOriginal(ctx context.Context, to Recorder, batch string) error {
	store, ok := to.(originalStore)
	if !ok || im.options.Run != nil {
		return nil
	}
	o := ledger.Original{Sheet: im.sheet, HeaderRow: im.layout.row, Width: len(im.layout.headings)}
	if over := im.edits.of(im.sheet); over != nil {
		o.Added = len(over.added)
		o.Width -= o.Added
	}
	for i, at := range im.target.at[:min(o.Width, len(im.target.at))] {
		if at != i && o.At == nil {
			o.At = make([]int, 0, o.Width)
			for j := range i {
				o.At = append(o.At, j)
			}
		}
		if o.At != nil {
			o.At = append(o.At, at)
		}
	}
	file, err := os.CreateTemp("", "bulkfiling-original-")
	if err != nil {
		return fmt.Errorf("copy the spreadsheet: %w", err)
	}
	defer os.Remove(file.Name())
	defer file.Close()
	err = im.writeMasked(ctx, file, &o)
	var format *sheet.FormatError
	if errors.Is(err, sheet.ErrNoCopy) || errors.As(err, &format) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("copy the spreadsheet: %w", err)
	}
	return store.SaveOriginal(ctx, batch, o, file)
}

// writeMasked writes the file without Social Security numbers.
func (im *Import) writeMasked(ctx context.Context, w io.Writer, o *ledger.Original) error {
	rows := 0
	others := map[string][]string{} // the headers that say what the columns of another sheet hold
	mask := sheet.Masking{
		Text: filing.HideSSNs,
		Row: func(name string, row *sheet.Row) ([]sheet.Cell, error) {
			switch {
			case name == im.sheet:
				if rows++; rows > maxOriginalRows+im.layout.row {
					return nil, sheet.ErrNoCopy
				}
				o.Used = max(o.Used, len(row.Cells))
				if row.Number <= im.layout.row { // "SSN" is the name of a column
					return hideUnder(new([]string), row.Cells), ctx.Err()
				}
				return im.masked(row.Cells), ctx.Err()
			case im.officers != nil && name == im.officers.sheet:
				return im.officers.masked(row.Cells), nil
			}
			headers := others[name]
			shown := hideUnder(&headers, row.Cells)
			others[name] = headers
			return shown, ctx.Err()
		},
	}
	if im.origin != nil { // a results workbook, whose own sheets are written again
		mask.Drop = func(name string) bool {
			return name != im.sheet && (name == attentionSheet || name == summarySheet || name == sheet.PropertiesSheet)
		}
	}
	return im.file.WriteCopy(w, mask)
}

const summarySheet = "Summary"

// hideUnder returns the cells of a row of a sheet that is not read. A cell that
// says that its column holds numbers of persons, or identifiers, counts for the
// cells below it.
func hideUnder(headers *[]string, cells []sheet.Cell) []sheet.Cell {
	shown := cells
	for i, cell := range cells {
		header := ""
		if i < len(*headers) {
			header = (*headers)[i]
		}
		isHeader := cell.Kind == sheet.Text && len(cell.Text) < maxHeaderText &&
			(filing.IsSSNHeader(cell.Text) || filing.IsIdentifierHeader(cell.Text))
		if isHeader {
			for len(*headers) <= i {
				*headers = append(*headers, "")
			}
			(*headers)[i] = cell.Text
		}
		text := filing.HideSSNs(cell.Text)
		if !isHeader && header != "" {
			text = filing.HideSSNsUnder(header, cell.Text)
		}
		if text == cell.Text {
			continue
		}
		if &shown[0] == &cells[0] {
			shown = append([]sheet.Cell(nil), cells...)
		}
		shown[i] = sheet.Cell{Text: text, Kind: sheet.Text}
	}
	return shown
}

// maxHeaderText is the length of the longest text that counts as a header.
const maxHeaderText = 80
