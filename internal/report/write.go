package report

import (
	"context"
	"fmt"
	"regexp"
	"unicode/utf8"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// Write writes the results of a batch to path, as CSV if its name ends in .csv and as an XLSX
// workbook otherwise. The file appears under its name only when it is complete and synced. Rows are
// streamed: the ledger is read twice, once to measure the columns and once to write. The figures
// are read before the rows, so that they never claim more than the rows show.
func Write(ctx context.Context, l Ledger, batchID, path string) (Summary, error) {
	return write(ctx, l, batchID, path, false)
}

// WriteRehearsal is Write for the workbook of a rehearsal. It opens on its summary, which says so. It
// has no sheet for corrections, and cannot be imported.
func WriteRehearsal(ctx context.Context, l Ledger, batchID, path string) (Summary, error) {
	return write(ctx, l, batchID, path, true)
}

func write(ctx context.Context, l Ledger, batchID, path string, rehearsal bool) (s Summary, err error) {
	defer explain(&err, "write the results of batch %s", batchID)
	p, err := measure(ctx, l, batchID)
	if err != nil {
		return Summary{}, err
	}
	p.rehearsal = rehearsal
	if p.summary, err = Summarize(ctx, l, batchID); err != nil {
		return Summary{}, err
	}
	p.summary.Output = path
	if err := p.openOriginal(ctx, l, mediumOf(path)); err != nil {
		return Summary{}, err
	}
	defer p.closeOriginal()
	if mediumOf(path) == inCSV {
		err = p.writeCSV(ctx, l, path)
	} else {
		err = p.writeWorkbook(ctx, l, path)
	}
	return p.summary, err
}

// explain adds the failed operation and its batch to an error.
func explain(err *error, format, batchID string) {
	if *err != nil {
		*err = fmt.Errorf(format+": %w", batchID, *err)
	}
}

// measure starts the report of a batch with the columns of its rows.
func measure(ctx context.Context, l Ledger, batchID string) (*projection, error) {
	batch, err := l.Batch(ctx, batchID)
	if err != nil {
		return nil, err
	}
	p := &projection{batch: batch, layout: inputLayout(batch)}
	return p, eachRow(ctx, l, batchID, func(row *ledger.Row, cells []sheet.Cell) error {
		p.layout.measure(row, cells)
		return nil
	})
}

// eachRow reads the rows of a batch with their cells, in input order.
func eachRow(ctx context.Context, l Ledger, batchID string, do func(*ledger.Row, []sheet.Cell) error) error {
	for row, err := range l.Results(ctx, batchID) {
		if err != nil {
			return err
		}
		var cells []sheet.Cell
		if len(row.Cells) > 0 {
			if cells, err = sheet.DecodeCells(row.Cells); err != nil {
				return fmt.Errorf("row %d: %w", row.Number, err)
			}
		}
		if err := do(&row, cells); err != nil {
			return err
		}
	}
	return nil
}

// projection is a report that is being written.
type projection struct {
	batch   ledger.Batch
	layout  *layout
	summary Summary
	cells   []sheet.OutCell
	// rehearsal marks the results as those of a rehearsal.
	rehearsal bool
	// copy is the workbook that the results are written into, or nil.
	copy *original
	// delimiter is the delimiter of the batch's CSV. Empty if the batch is not from a CSV.
	delimiter string
}

// signedNumber matches a number that begins like a formula: "-5.50".
var signedNumber = regexp.MustCompile(`^[-+][0-9.,]+$`)

func (p *projection) writeCSV(ctx context.Context, l Ledger, path string) error {
	file, err := sheet.CreateCSV(path)
	if err != nil {
		return err
	}
	defer file.Abort()
	if p.delimiter != "" {
		file.Delimiter, _ = utf8.DecodeRuneInString(p.delimiter)
	}
	if err := file.Row(p.header(resultColumns...)...); err != nil {
		return err
	}
	err = eachRow(ctx, l, p.batch.ID, func(row *ledger.Row, cells []sheet.Cell) error {
		for i, cell := range cells {
			if signedNumber.MatchString(cell.Text) {
				cells[i].Kind = sheet.Number
			}
		}
		return file.Row(p.result(row, cells, inCSV)...)
	})
	if err != nil {
		return err
	}
	return file.Save()
}

func (p *projection) writeWorkbook(ctx context.Context, l Ledger, path string) error {
	book, err := p.create(path)
	if err != nil {
		return err
	}
	defer book.Abort()
	results, err := p.beginResults(book)
	if err != nil {
		return err
	}
	attention := corrections{book: book, projection: p, results: resultsSheet}
	if p.copy != nil {
		attention.results = p.copy.sheet
	}
	err = eachRow(ctx, l, p.batch.ID, func(row *ledger.Row, cells []sheet.Cell) error {
		if err := results(row, cells); err != nil || p.rehearsal {
			return err
		}
		return attention.add(row, cells)
	})
	if err != nil {
		return err
	}
	if !p.rehearsal {
		if err := attention.finish(); err != nil {
			return err
		}
	}
	funds, err := l.Balance(ctx)
	if err != nil {
		return err
	}
	o := overview{batch: p.batch, summary: p.summary, book: funds, rehearsal: p.rehearsal}
	name := overviewSheet
	if p.rehearsal {
		name = "REHEARSAL"
	}
	if err := o.write(book, p.sheetName(name)); err != nil {
		return err
	}
	if p.rehearsal {
		err = book.Properties(ledger.RehearsalProperties())
	} else {
		err = attention.writeOrigin(ctx, l)
	}
	if err != nil {
		return err
	}
	return book.Save()
}

// create creates the workbook, with the sheets of the input if they are stored.
func (p *projection) create(path string) (*sheet.Workbook, error) {
	if p.copy != nil {
		return sheet.CreateFrom(path, p.copy.file)
	}
	return sheet.Create(path)
}

// beginResults begins the sheet of the results, and returns the function that adds a row to it.
func (p *projection) beginResults(book *sheet.Workbook) (func(*ledger.Row, []sheet.Cell) error, error) {
	if p.copy != nil {
		return p.beginResultColumns(book)
	}
	results, err := book.Sheet(resultsSheet, p.resultsOptions())
	if err != nil {
		return nil, err
	}
	return func(row *ledger.Row, cells []sheet.Cell) error {
		return results.Row(p.result(row, cells, inWorkbook)...)
	}, results.Row(p.header(resultColumns...)...)
}
