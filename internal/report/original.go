package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// original is the spreadsheet of the batch, which the results are written into.
type original struct {
	ledger.Original
	file  *sheet.File
	sheet string
	rows  map[int][]sheet.Cell // its cells, by row number
	graft sheet.Graft
}

// originals is a ledger that keeps the spreadsheets of batches.
type originals interface {
	LoadOriginal(ctx context.Context, batch string) (*ledger.Original, error)
}

// maxFirst is the last column that the result columns may begin in. A sheet that
// is wider has a stray cell.
const maxFirst = 2000

// openOriginal opens the spreadsheet of the batch, if the results can be written
// into it. It leaves the batch without one if there is none, as for batches that
// an earlier version has recorded, if it is of the other kind, and if its columns
// are not those of the batch in the same order.
func (p *projection) openOriginal(ctx context.Context, l Ledger, to medium) error {
	from, ok := l.(originals)
	if !ok || p.batch.Officers != nil {
		return nil // a corrected workbook has the officers of its own rows alone
	}
	o, err := from.LoadOriginal(ctx, p.batch.ID)
	if errors.Is(err, ledger.ErrNotFound) || errors.Is(err, ledger.ErrSealed) {
		return nil
	}
	if err != nil {
		return err
	}
	file, err := sheet.OpenReader(p.batch.File, bytes.NewReader(o.Content), int64(len(o.Content)), sheet.Limits{})
	if err != nil {
		return fmt.Errorf("open the spreadsheet of batch %s: %w", p.batch.ID, err)
	}
	c := &original{Original: *o, file: file, sheet: o.Sheet}
	if (file.Format() == sheet.CSV) != (to == inCSV) || !c.place(answersIn(p.batch)) {
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

// place finds the columns of the results: those behind the last that is used, or
// those of an earlier answer, which must be the last.
func (o *original) place(answers []int) bool {
	used := max(o.Used, o.Width)
	first := used
	for i := used - 1; i >= 0 && slices.Contains(answers, o.Column(i)); i-- {
		first = i
	}
	for i := range first {
		if slices.Contains(answers, o.Column(i)) {
			return false // other columns follow the earlier answer
		}
	}
	if o.HeaderRow < 1 || first > maxFirst || o.At != nil && o.Used > o.Width {
		return false
	}
	if o.file.Format() != sheet.CSV &&
		!slices.ContainsFunc(o.file.Sheets(), func(s sheet.Info) bool { return s.Name == o.sheet }) {
		if o.sheet = sheet.SafeName(o.sheet); !slices.ContainsFunc(o.file.Sheets(),
			func(s sheet.Info) bool { return s.Name == o.sheet }) {
			return false
		}
	}
	o.graft = sheet.Graft{
		Sheet:   o.sheet,
		First:   first,
		Last:    max(first+o.Added+int(resultColumnCount), used) - 1,
		Header:  o.HeaderRow,
		Replace: map[int]map[int]sheet.Cell{},
	}
	return true
}

// read reads the cells of the sheet.
func (o *original) read() error {
	o.rows = map[int][]sheet.Cell{}
	r, err := o.file.Rows(o.sheet)
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		var block sheet.Block
		if err := r.Read(&block); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		for _, row := range block.Rows {
			o.rows[row.Number] = row.Cells
		}
	}
}

// sheetName returns the name of one of our sheets: another than those of the
// spreadsheet.
func (p *projection) sheetName(name string) string {
	if p.copy == nil {
		return name
	}
	taken := func(name string) bool {
		return slices.ContainsFunc(p.copy.file.Sheets(), func(s sheet.Info) bool { return s.Name == name })
	}
	free := name
	for n := 2; taken(free); n++ {
		free = fmt.Sprintf("%s (%d)", name, n)
	}
	return free
}

// answersSheet is the name of the sheet whose cells go into that of the input. It
// is not in the file.
const answersSheet = "bulkfiling answers"

// beginResultColumns begins the columns that are added to the sheet of the input, and
// returns what adds the result of a row.
func (p *projection) beginResultColumns(book *sheet.Workbook) (func(*ledger.Row, []sheet.Cell) error, error) {
	c := p.copy
	widths := make([]float64, c.graft.First, c.graft.Last+1)
	for i := range c.Added {
		widths = append(widths, fit(p.columnAt(c.Width+i).width, maxWidth))
	}
	w, err := book.Sheet(answersSheet, sheet.SheetOptions{Widths: append(widths, p.layout.resultColumnWidths()...)})
	if err != nil {
		return nil, err
	}
	skipTo := func(number int) error {
		for w.Rows() < number-1 {
			if err := w.Row(); err != nil {
				return err
			}
		}
		return nil
	}
	if err := skipTo(c.HeaderRow); err != nil {
		return nil, err
	}
	head := make([]sheet.OutCell, c.graft.First)
	for _, name := range p.addedHeaders() {
		head = append(head, sheet.Str(name).WithStyle(sheet.StyleHeader))
	}
	if err := w.Row(head...); err != nil {
		return nil, err
	}
	return func(row *ledger.Row, cells []sheet.Cell) error {
		if row.Number <= c.HeaderRow {
			return fmt.Errorf("row %d is not below the header of its sheet", row.Number)
		}
		if err := skipTo(row.Number); err != nil {
			return err
		}
		p.noteChanges(row.Number, cells)
		p.cells = append(p.cells[:0], make([]sheet.OutCell, c.graft.First)...)
		for i := range c.Added {
			p.cells = append(p.cells, sheet.CopyOf(p.columnAt(c.Width+i).of(cells)))
		}
		answers := p.answers(row, inWorkbook)
		p.cells = append(p.cells, answers[:]...)
		return w.Row(p.cells...)
	}, nil
}

// addedHeaders are the headers of the columns that are added to the sheet: those
// that corrections added, and the result columns.
func (p *projection) addedHeaders() []string {
	var names []string
	for i := range p.copy.Added {
		names = append(names, p.columnAt(p.copy.Width+i).header)
	}
	return append(names, resultColumns...)
}

// columnAt returns a column of the batch by its position.
func (p *projection) columnAt(index int) *column {
	for i := range p.layout.columns {
		if p.layout.columns[i].index == index {
			return &p.layout.columns[i]
		}
	}
	return &column{index: index}
}

// noteChanges notes the cells of a row that are not those of the spreadsheet:
// corrected ones.
func (p *projection) noteChanges(number int, cells []sheet.Cell) {
	c := p.copy
	given := c.rows[number]
	for i := range c.graft.First {
		at := c.Column(i)
		if at < 0 {
			continue
		}
		var have sheet.Cell
		if i < len(given) {
			have = given[i]
		}
		want := p.columnOf(at).of(cells)
		if want.Text == have.Text {
			continue
		}
		want.Kind = kindOf(want, have)
		if c.graft.Replace[number] == nil {
			c.graft.Replace[number] = map[int]sheet.Cell{}
		}
		c.graft.Replace[number][i] = want
	}
}

// columnOf is columnAt without a search: the columns of most batches are at their
// positions.
func (p *projection) columnOf(index int) *column {
	if index < len(p.layout.columns) && p.layout.columns[index].index == index {
		return &p.layout.columns[index]
	}
	return p.columnAt(index)
}

// kindOf is the kind of a corrected cell. What is typed is text; a number that is
// typed over a number stays one.
func kindOf(want, have sheet.Cell) sheet.Kind {
	switch {
	case want.Text == "":
		return sheet.Blank
	case want.Kind == sheet.Number, have.Kind == sheet.Number && sheet.IsPlainNumber(want.Text):
		return sheet.Number
	}
	return sheet.Text
}

// writeIntoCSV writes the results behind the rows of the CSV itself.
func (p *projection) writeIntoCSV(ctx context.Context, l Ledger, path string) error {
	c := p.copy
	answers := map[int][]string{c.HeaderRow: p.addedHeaders()}
	var more [][]string
	err := eachRow(ctx, l, p.batch.ID, func(row *ledger.Row, cells []sheet.Cell) error {
		if err := p.count(row); err != nil {
			return err
		}
		p.noteChanges(row.Number, cells)
		var added []string
		for i := range c.Added {
			added = append(added, p.columnAt(c.Width+i).of(cells).Text)
		}
		for _, cell := range p.answers(row, inCSV) {
			added = append(added, cell.Text)
		}
		if _, found := c.rows[row.Number]; found {
			answers[row.Number] = added
			return nil
		}
		fields := make([]string, c.graft.First)
		for i, cell := range c.graft.Replace[row.Number] {
			fields[i] = cell.Text
		}
		more = append(more, append(fields, added...))
		return nil
	})
	if err != nil {
		return err
	}
	return c.file.SaveCSV(path, sheet.CSVEdit{
		First: c.graft.First,
		Row: func(number int, _ []string) sheet.CSVRow {
			change := sheet.CSVRow{Added: answers[number]}
			for i, cell := range c.graft.Replace[number] {
				if change.Replace == nil {
					change.Replace = map[int]string{}
				}
				change.Replace[i] = cell.Text
			}
			return change
		},
		More: func() [][]string { return more },
	})
}
