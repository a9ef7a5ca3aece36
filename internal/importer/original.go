package importer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// Results are written into the workbook itself. Record stores a copy of the workbook with the
// batch, without Social Security numbers. Those are erased when an order is placed, and the content
// of an upload is deleted together with them. For a CSV, Record stores only the delimiter.

// saveOriginal stores the spreadsheet with the batch, unless it is too large or in a form that
// cannot be copied. The results of such a file are a table.
func (r *recording) saveOriginal(ctx context.Context) error {
	im := r.im
	if r.past == nil {
		return nil
	}
	if delimiter := im.file.Delimiter(); delimiter != 0 {
		only := ledger.Original{Delimiter: string(delimiter)}
		return r.past.Originals().Save(ctx, r.batch.ID, only, strings.NewReader(""))
	}
	o := ledger.Original{Sheet: im.sheet, HeaderRow: im.layout.row, Width: len(im.layout.headings)}
	o.Added = len(im.file.chosen.added)
	o.Width -= o.Added
	moved := r.target.at[:o.Width]
	for i, at := range moved {
		if at != i {
			o.At = moved
			break
		}
	}
	content, err := im.copyMasked(ctx, &o)
	if errors.Is(err, sheet.ErrNoCopy) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("copy the spreadsheet: %w", err)
	}
	return r.past.Originals().Save(ctx, r.batch.ID, o, bytes.NewReader(content))
}

// copyMasked copies the workbook without Social Security numbers.
func (im *Import) copyMasked(ctx context.Context, o *ledger.Original) ([]byte, error) {
	// others has the headers of the columns of each other sheet.
	others := map[string][]string{}
	mask := sheet.Masking{
		Sheet: im.sheet,
		Find:  filing.FindSSNs,
		Row: func(name string, row *sheet.Row) ([]sheet.Cell, error) {
			if name == im.sheet {
				o.Used = max(o.Used, len(row.Cells))
				// A header such as "SSN" hides nothing in the rows of the header.
				if row.Number <= im.layout.row {
					return hideUnder(new([]string), row.Cells), ctx.Err()
				}
				return im.mapping.masked(row.Cells), ctx.Err()
			}
			headers := others[name]
			shown := hideUnder(&headers, row.Cells)
			others[name] = headers
			return shown, ctx.Err()
		},
	}
	// The sheets of a results workbook are written again.
	if im.own.origin != nil {
		mask.Drop = func(name string) bool {
			return name != im.sheet && (name == attentionSheet || name == summarySheet || name == sheet.PropertiesSheet)
		}
	}
	return im.file.Copy(mask)
}

// The sheets of a results workbook besides that of the results.
const (
	attentionSheet = "Needs Attention"
	summarySheet   = "Summary"
)

// hideUnder returns the cells of a row of a sheet that is not read. A cell that is the header of
// Social Security numbers or of identifiers applies to the cells below it.
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
