package report

import (
	"context"
	"errors"
	"fmt"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/ledger"
	"bulkfiling/internal/sheet"
)

// corrections is the sheet Needs Attention. It begins with its first row, for
// one without rows has no header either: a reader of sheets must not take its
// friendly line for a filing.
type corrections struct {
	*projection
	book     *sheet.Workbook
	writer   *sheet.Writer
	officers officers

	rows   int // of the batch
	bought []ledger.BoughtRow
}

const attentionSheet = "Needs Attention"

// ErrNothingToCorrect is returned where no row of a batch could do with a correction.
var ErrNothingToCorrect = errors.New("nothing to correct")

// WriteAttention writes the sheet Needs Attention of a batch's results to a
// workbook of its own, fit to be corrected and fed back. Without a row on it
// nothing is written, and the error is ErrNothingToCorrect. The workbook appears
// under its name only when it is whole and synced.
func WriteAttention(ctx context.Context, l Ledger, batchID, path string) error {
	if err := writeAttention(ctx, l, batchID, path); err != nil {
		return fmt.Errorf("write the rows to correct of batch %s: %w", batchID, err)
	}
	return nil
}

func writeAttention(ctx context.Context, l Ledger, batchID, path string) error {
	batch, err := l.Batch(ctx, batchID)
	if err != nil {
		return err
	}
	layout, found := inputLayout(batch), false
	err = eachRow(ctx, l, batchID, func(row *ledger.Row, cells []sheet.Cell) error {
		layout.measure(row, cells) // of every row: the columns are those of the results
		found = found || correctable(row)
		return nil
	})
	if err != nil {
		return err
	}
	if !found {
		return ErrNothingToCorrect
	}
	book, err := sheet.Create(path)
	if err != nil {
		return err
	}
	defer book.Abort()
	attention := corrections{book: book, projection: &projection{batch: batch, layout: layout}}
	if err := eachRow(ctx, l, batchID, attention.add); err != nil {
		return err
	}
	if attention.writer == nil { // settled since it was measured
		return ErrNothingToCorrect
	}
	if err := attention.officers.write(ctx, l, batch, book); err != nil {
		return err
	}
	if err := attention.writeOrigin(ctx, l); err != nil {
		return err
	}
	return book.Save()
}

// add takes a row that a correction can help, and leaves out every other.
func (c *corrections) add(row *ledger.Row, cells []sheet.Cell) error {
	c.rows++
	if !correctable(row) {
		return nil
	}
	c.note(row)
	if c.writer == nil {
		if err := c.begin(); err != nil {
			return err
		}
	}
	c.officers.add(row)
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
			remark(&out[i], "Type the number again: reports do not show it.")
			text += " Type the number under " + column.header + " again: reports do not show it."
		}
	}
	c.cells = append(out, sheet.Str(text).WithStyle(sheet.StyleWrap),
		sheet.Int(int64(row.Number)).WithStyle(sheet.StyleGrey))
	return c.writer.Row(c.cells...)
}

func (c *corrections) begin() error {
	var err error
	c.writer, err = c.book.Sheet(attentionSheet, sheet.SheetOptions{
		Widths: append(c.layout.widths(), fit(c.layout.answers[colMessage], messageWidth),
			fit(len(rowHeader), maxWidth)),
		HeaderRows:    1,
		HeaderColumns: 1,
		AutoFilter:    true,
		TabColor:      "C00000",
		TextColumns:   c.layout.textColumns(),
	})
	if err != nil {
		return err
	}
	return c.writer.Row(c.header(resultColumns[colMessage], rowHeader)...)
}

// yearField is the column whose cells take a year. One that holds a date is
// written as text: the format of a date would make a date of the year, too, that
// a person types in its place.
const yearField = "annualReport.filingYear"

// mark fills a cell at fault and says at the cell what is wrong with it.
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

// finish sees to it that the sheet is there even when there is nothing on it.
func (c *corrections) finish() error {
	if c.writer != nil {
		return nil
	}
	w, err := c.book.Sheet(attentionSheet, sheet.SheetOptions{Widths: []float64{60}})
	if err != nil {
		return err
	}
	return w.Row(sheet.Str("Nothing to correct.").WithStyle(sheet.StyleGrey))
}
