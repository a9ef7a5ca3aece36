package report

import (
	"context"
	"errors"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// corrections writes the sheet Needs Attention. It writes the header with the first row, because a
// sheet without rows has only a message, which must not be read as a filing.
type corrections struct {
	*projection
	book   *sheet.Workbook
	writer *sheet.Writer
	// results is the sheet with the result of each row, or empty.
	results string

	// rows is the number of rows in the batch.
	rows   int
	bought []ledger.BoughtRow
	beside []ledger.RowRemark
	orders map[string]filing.Key
}

const attentionSheet = "Needs Attention"

// ErrNothingToCorrect is returned if no row of a batch needs attention.
var ErrNothingToCorrect = errors.New("no row needs attention")

// WriteAttention writes the sheet Needs Attention of a batch's results to a separate workbook,
// which can be corrected and run. If no row needs attention, it writes no file and returns
// ErrNothingToCorrect. The workbook appears under its name only when it is complete and synced.
func WriteAttention(ctx context.Context, l Ledger, batchID, path string) (err error) {
	defer explain(&err, "write the rows of batch %s that need attention", batchID)
	// Every row is measured, because the columns are the same as in the results.
	p, err := measure(ctx, l, batchID)
	if err != nil {
		return err
	}
	book, err := sheet.Create(path)
	if err != nil {
		return err
	}
	defer book.Abort()
	attention := corrections{book: book, projection: p}
	if err := eachRow(ctx, l, batchID, attention.add); err != nil {
		return err
	}
	if attention.writer == nil {
		return ErrNothingToCorrect
	}
	if err := attention.writeOrigin(ctx, l); err != nil {
		return err
	}
	return book.Save()
}

// add writes a row if a correction can fix it.
func (c *corrections) add(row *ledger.Row, cells []sheet.Cell) error {
	c.rows++
	c.noteOrder(row)
	if !correctable(row) {
		return nil
	}
	c.note(row)
	if c.writer == nil {
		if err := c.begin(); err != nil {
			return err
		}
	}
	out := c.echo(cells)
	text := Message(row)
	for i := range c.layout.columns {
		column := &c.layout.columns[i]
		mark(&out[i], column, row.Faults)
		for _, item := range row.Items {
			if column.concerns(item.Exception) {
				out[i].Style = sheet.StyleFault
				remark(&out[i], filing.ExceptionText(item.Exception, filing.HideSSNs(item.ExceptionNote)))
			}
		}
		if column.secret && out[i].Kind != sheet.Blank && !hasException(row) {
			out[i].Style = sheet.StyleFault
			remark(&out[i], "Enter the number again: reports do not show it.")
			text += " Enter the number under " + column.header + " again: reports do not show it."
		}
	}
	c.cells = append(out, sheet.Str(text).WithStyle(sheet.StyleWrap),
		sheet.Int(int64(row.Number)).WithStyle(sheet.StyleGrey))
	return c.writer.Row(c.cells...)
}

func (c *corrections) begin() error {
	var err error
	c.writer, err = c.book.Sheet(c.sheetName(attentionSheet), c.layout.correctable(
		fit(c.layout.answers[colMessage], messageWidth), fit(len(rowHeader), maxWidth)))
	if err != nil {
		return err
	}
	return c.writer.Row(c.header(resultColumns[colMessage], rowHeader)...)
}

// correctable returns the options of a sheet for corrections, with the input's columns and further
// columns of the given widths.
func (l *layout) correctable(more ...float64) sheet.SheetOptions {
	return sheet.SheetOptions{
		Widths:        append(l.widths(), more...),
		HeaderRows:    1,
		HeaderColumns: 1,
		AutoFilter:    true,
		TabColor:      "C00000",
		TextColumns:   l.textColumns(),
	}
}

// yearField is the field of the column with years. A date in it is written as text, because the
// cell's date format would turn a typed year into a date.
const yearField = "annualReport.filingYear"

// mark highlights a cell with an error and adds the message as a comment.
func mark(cell *sheet.OutCell, column *column, faults []ledger.Fault) {
	for _, f := range faults {
		if f.Column != column.index {
			continue
		}
		if !f.Warning {
			cell.Style = sheet.StyleFault
			if column.field == yearField && cell.Kind == sheet.Date {
				*cell = sheet.Str(cell.Text).WithStyle(cell.Style).WithComment(cell.Comment)
			}
		} else if cell.Style == sheet.StylePlain {
			cell.Style = sheet.StyleWarn
		}
		remark(cell, filing.HideSSNs(f.Message))
	}
}

// remark adds a line to the comment of a cell.
func remark(cell *sheet.OutCell, text string) {
	if cell.Comment != "" {
		cell.Comment += "\n"
	}
	cell.Comment += text
}

// finish writes the sheet even if it has no rows.
func (c *corrections) finish() error {
	if c.writer != nil {
		return nil
	}
	w, err := c.book.Sheet(c.sheetName(attentionSheet), sheet.SheetOptions{Widths: []float64{60}})
	if err != nil {
		return err
	}
	return w.Row(sheet.Str("No rows need attention.").WithStyle(sheet.StyleGrey))
}
