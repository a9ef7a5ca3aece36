package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// original is the workbook of the batch that the results are written into.
type original struct {
	ledger.Original
	file  *sheet.File
	sheet string
	// rows are the cells of the sheet by row number.
	rows map[int][]sheet.Cell
	// first is the first column of the results.
	first int
}

// originals is a ledger that stores the workbooks of batches.
type originals interface {
	Originals() ledger.Originals
}

// maxFirst is the last column in which the result columns may begin. A wider sheet has a stray
// cell.
const maxFirst = 2000

// openOriginal opens the workbook of the batch if the results can be written into it. It leaves
// copy nil if no workbook was stored, or if its columns differ from those in the batch or have
// another order.
func (p *projection) openOriginal(ctx context.Context, l Ledger, to medium) error {
	from, ok := l.(originals)
	if !ok {
		return nil
	}
	o, err := from.Originals().Load(ctx, p.batch.ID)
	if errors.Is(err, ledger.ErrNotFound) || errors.Is(err, store.ErrSealed) {
		return nil
	}
	if err != nil {
		return err
	}
	p.delimiter = o.Delimiter
	if to == inCSV || o.Delimiter != "" {
		return nil
	}
	file, err := sheet.OpenReader(p.batch.File, bytes.NewReader(o.Content), int64(len(o.Content)), sheet.Limits{})
	if err != nil {
		return fmt.Errorf("open the spreadsheet of batch %s: %w", p.batch.ID, err)
	}
	c := &original{Original: *o, file: file, sheet: o.Sheet}
	if !c.place(answersIn(p.batch)) {
		return file.Close()
	}
	if err := c.read(); err != nil {
		file.Close()
		return fmt.Errorf("read the spreadsheet of batch %s: %w", p.batch.ID, err)
	}
	p.copy = c
	return nil
}

func (p *projection) closeOriginal() {
	if p.copy != nil {
		p.copy.file.Close()
	}
}

// place finds the columns of the results. They follow the last used column, or replace an earlier
// answer, which must be the last.
func (o *original) place(answers []int) bool {
	used := max(o.Used, o.Width)
	o.first = used
	for i := used - 1; i >= 0 && slices.Contains(answers, o.Column(i)); i-- {
		o.first = i
	}
	for i := range o.first {
		if slices.Contains(answers, o.Column(i)) {
			// Other columns follow the earlier answer.
			return false
		}
	}
	if o.HeaderRow < 1 || o.first > maxFirst || o.At != nil && o.Used > o.Width {
		return false
	}
	has := func(name string) bool {
		return slices.ContainsFunc(o.file.Sheets(), func(s sheet.Info) bool { return s.Name == name })
	}
	if !has(o.sheet) {
		o.sheet = sheet.SafeName(o.sheet)
	}
	return has(o.sheet)
}

// read reads the cells of the sheet.
func (o *original) read() error {
	o.rows = map[int][]sheet.Cell{}
	return o.file.EachRow(o.sheet, func(row *sheet.Row) error {
		o.rows[row.Number] = row.Cells
		return nil
	})
}

// sheetName returns a name for one of our sheets that the workbook does not use.
func (p *projection) sheetName(name string) string {
	if p.copy == nil {
		return name
	}
	taken := func(name string) bool {
		return slices.ContainsFunc(p.copy.file.Sheets(), func(s sheet.Info) bool {
			return strings.EqualFold(s.Name, name)
		})
	}
	free := name
	for n := 2; taken(free); n++ {
		free = fmt.Sprintf("%s (%d)", name, n)
	}
	return free
}

// beginResultColumns adds the result columns to the sheet of the input, and returns the function
// that adds the result of a row.
func (p *projection) beginResultColumns(book *sheet.Workbook) (func(*ledger.Row, []sheet.Cell) error, error) {
	c := p.copy
	columns := sheet.AddedColumns{Sheet: c.sheet, Header: c.HeaderRow, First: c.first, Last: max(c.Used, c.Width) - 1,
		Fixed: resultColumns[:3]}
	for i := range c.Added {
		column := p.columnAt(c.Width + i)
		columns.Names = append(columns.Names, column.header)
		columns.Widths = append(columns.Widths, fit(column.width, maxWidth))
	}
	columns.Names = append(columns.Names, resultColumns...)
	columns.Widths = append(columns.Widths, p.layout.resultColumnWidths()...)
	if err := book.AddColumns(columns); err != nil {
		return nil, err
	}
	return func(row *ledger.Row, cells []sheet.Cell) error {
		if row.Number <= c.HeaderRow {
			return fmt.Errorf("row %d is not below the header of its sheet", row.Number)
		}
		if err := p.writeChanges(book, row.Number, cells); err != nil {
			return err
		}
		p.cells = p.cells[:0]
		for i := range c.Added {
			p.cells = append(p.cells, sheet.CopyOf(p.columnAt(c.Width+i).of(cells)))
		}
		answers := p.answers(row, inWorkbook)
		p.cells = append(p.cells, answers[:]...)
		return book.SetCells(c.sheet, row.Number, c.first, p.cells...)
	}, nil
}

// columnAt returns a column of the batch by its position.
func (p *projection) columnAt(index int) *column {
	if index < len(p.layout.columns) && p.layout.columns[index].index == index {
		// In most batches the columns are at their positions.
		return &p.layout.columns[index]
	}
	for i := range p.layout.columns {
		if p.layout.columns[i].index == index {
			return &p.layout.columns[i]
		}
	}
	return &column{index: index}
}

// writeChanges writes the cells of a row that differ from the workbook, which are the corrected
// ones.
func (p *projection) writeChanges(book *sheet.Workbook, number int, cells []sheet.Cell) error {
	c := p.copy
	given := c.rows[number]
	for i := range c.first {
		at := c.Column(i)
		if at < 0 {
			continue
		}
		var have sheet.Cell
		if i < len(given) {
			have = given[i]
		}
		want := p.columnAt(at).of(cells)
		if want.Text == have.Text {
			continue
		}
		want.Kind = kindOf(want, have)
		if err := book.Correct(c.sheet, number, i, want); err != nil {
			return err
		}
	}
	return nil
}

// kindOf returns the kind of a corrected cell. Typed values are text. A number typed over a number
// stays a number.
func kindOf(want, have sheet.Cell) sheet.Kind {
	switch {
	case want.Text == "":
		return sheet.Blank
	case want.Kind == sheet.Number, have.Kind == sheet.Number && sheet.IsPlainNumber(want.Text):
		return sheet.Number
	}
	return sheet.Text
}
