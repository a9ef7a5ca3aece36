package importer

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// messageHeader is the column that WriteChecked adds.
const messageHeader = "Message"

// WriteChecked writes the sheet to a workbook at path with every cell at its address, errors
// highlighted and commented, and a Message column. It writes nothing if there is no problem. The
// workbook appears only when it is complete.
func (im *Import) WriteChecked(ctx context.Context, path string) error {
	book, err := sheet.Create(path)
	if err != nil {
		return err
	}
	defer book.Abort()
	c, err := im.newChecked(book)
	if err != nil {
		return err
	}
	if err := im.Each(ctx, c.write); err != nil {
		return err
	}
	if c.problems == 0 {
		return nil
	}
	origin, err := c.origin()
	if err != nil {
		return err
	}
	if err := book.Properties(origin.Properties()); err != nil {
		return err
	}
	return book.Save()
}

// checked is the workbook that WriteChecked writes.
type checked struct {
	im    *Import
	name  string
	sheet *sheet.Writer
	// message is the index of the Message column. The Row column follows it.
	message  int
	added    bool
	cells    []sheet.OutCell
	problems int
	beside   []ledger.RowRemark
}

func (im *Import) newChecked(book *sheet.Workbook) (*checked, error) {
	c := &checked{im: im, message: len(im.layout.headings), added: true}
	if im.own.message >= 0 && im.own.row == im.own.message+1 {
		// The column of an earlier check is overwritten.
		c.message, c.added = im.own.message, false
	}
	widths := make([]float64, max(len(im.layout.headings), c.message+2))
	for i, h := range im.layout.headings {
		widths[i] = float64(min(max(utf8.RuneCountInString(h.text)+4, 12), 32))
	}
	widths[c.message] = 60
	c.name = cmp.Or(im.sheet, "Sheet1")
	var err error
	c.sheet, err = book.Sheet(c.name,
		sheet.SheetOptions{Widths: widths, HeaderRows: im.layout.row, AutoFilter: im.layout.row > 0})
	if err != nil {
		return nil, err
	}
	return c, c.writeHead()
}

// writeHead writes the titles and the header at their rows.
func (c *checked) writeHead() error {
	for _, row := range c.im.head {
		if row.Number > c.im.layout.row {
			break
		}
		c.cells = c.cells[:0]
		header := row.Number == c.im.layout.row
		for _, cell := range row.Cells {
			cell.Text = filing.HideSSNs(cell.Text)
			out := sheet.CopyOf(cell)
			if header {
				out = out.WithStyle(sheet.StyleHeader)
			}
			c.cells = append(c.cells, out)
		}
		if header {
			c.insert(sheet.Str(messageHeader).WithStyle(sheet.StyleHeader),
				sheet.Str(rowHeader).WithStyle(sheet.StyleHeader))
		}
		if err := c.writeRow(row.Number); err != nil {
			return err
		}
	}
	return nil
}

// writeRow writes the cells as row n, after the blank rows before it.
func (c *checked) writeRow(n int) error {
	for c.sheet.Rows() < n-1 {
		if err := c.sheet.Row(); err != nil {
			return err
		}
	}
	return c.sheet.Row(c.cells...)
}

// insert puts the message and the row's number into their columns. Cells after the header move to
// the right. No message names them.
func (c *checked) insert(ours ...sheet.OutCell) {
	for len(c.cells) <= c.message {
		c.cells = append(c.cells, sheet.OutCell{})
	}
	if c.added {
		c.cells = slices.Insert(c.cells, c.message, make([]sheet.OutCell, len(ours))...)
	}
	for len(c.cells) < c.message+len(ours) {
		c.cells = append(c.cells, sheet.OutCell{})
	}
	c.cells = c.cells[:min(len(c.cells), maxColumns)]
	if c.message < len(c.cells) {
		copy(c.cells[c.message:], ours)
	}
}

// origin returns the properties of the workbook. A workbook that is checked again keeps its first
// batch.
func (c *checked) origin() (ledger.Origin, error) {
	im := c.im
	if o := im.own.origin; o != nil && im.own.row >= 0 {
		return ledger.Origin{Batch: o.Batch, Sheet: c.name, Bought: o.Bought, Rows: o.Rows, Beside: c.beside}, nil
	}
	id, err := im.BatchID()
	return ledger.Origin{Batch: id, Sheet: c.name, Beside: c.beside}, err
}

// maxColumns is the limit of a workbook.
const maxColumns = 1 << 14

func (c *checked) write(r *Row) error {
	c.cells = c.cells[:0]
	for _, cell := range c.im.mapping.masked(r.Cells) {
		out := sheet.CopyOf(cell)
		if r.Result == filing.Skipped {
			out = out.WithStyle(sheet.StyleGrey)
		}
		c.cells = append(c.cells, out)
	}
	for len(c.cells) < len(c.im.layout.headings) {
		c.cells = append(c.cells, sheet.OutCell{})
	}
	number := r.Number
	if c.im.own.row >= 0 {
		number = c.im.own.numberOf(r.Cells)
	}
	messages := []string{r.Message}
	for i := range r.Problems {
		p := &r.Problems[i]
		c.problems++
		if p.beside != "" {
			c.beside = append(c.beside, ledger.RowRemark{Number: number, Text: p.beside})
		}
		// A skipped row has its reason already.
		if p.Severity == Warning && r.Result != filing.Skipped {
			messages = append(messages, "warning: "+p.Message)
		}
		if p.ColumnIndex >= 0 && p.ColumnIndex < len(c.cells) {
			mark(&c.cells[p.ColumnIndex], p)
		}
	}
	style := sheet.StyleGrey
	switch {
	case r.Result == filing.Invalid:
		style = sheet.StyleBad
	case len(messages) > 1:
		style = sheet.StyleWarn
	}
	message := strings.TrimPrefix(strings.Join(messages, "; "), "; ")
	at := sheet.OutCell{}
	if number > 0 {
		at = sheet.Int(int64(number)).WithStyle(sheet.StyleGrey)
	}
	c.insert(sheet.Str(message).WithStyle(style), at)
	return c.writeRow(r.Number)
}

// mark highlights a cell with a problem and adds the message to the cell's comment.
func mark(cell *sheet.OutCell, p *Problem) {
	if cell.Comment != "" {
		cell.Comment += "\n"
	}
	cell.Comment += p.Message
	// Otherwise a year that a person enters in the cell becomes a date again.
	if p.Rule == columns[filingYear].rule && cell.Kind == sheet.Date {
		*cell = sheet.Str(cell.Text).WithComment(cell.Comment)
	}
	if p.Severity == Error {
		cell.Style = sheet.StyleFault
	} else if cell.Style == sheet.StylePlain {
		cell.Style = sheet.StyleWarn
	}
}
