package report

import (
	"context"
	"fmt"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// officersSheet is the name by which a reader of sheets recognizes a list of officers.
const officersSheet = "Officers"

// officers writes the officers of the companies on Needs Attention if the input has a sheet
// Officers, because a corrected workbook must be complete.
type officers struct {
	// of are the numbers of the rows on Needs Attention.
	of map[int]bool
	// faults are the errors by the officer's own row.
	faults map[int][]ledger.Fault
}

// add records a row on Needs Attention.
func (o *officers) add(row *ledger.Row) {
	if o.of == nil {
		o.of, o.faults = make(map[int]bool), make(map[int][]ledger.Fault)
	}
	o.of[row.Number] = true
	for _, f := range row.Faults {
		if at := f.Elsewhere; at != nil {
			f.Column = at.Column
			o.faults[at.Row] = append(o.faults[at.Row], f)
		}
	}
}

// write adds the sheet if it has at least one officer.
func (o *officers) write(ctx context.Context, l Ledger, batch ledger.Batch, book *sheet.Workbook) error {
	if batch.Officers == nil || o.of == nil {
		return nil
	}
	all, err := l.Officers(ctx, batch.ID)
	if err != nil {
		return err
	}
	layout := newLayout(batch.Officers, nil, nil)
	rows := make([][]sheet.Cell, 0, len(all))
	var numbers []int
	for _, officer := range all {
		// An officer of several rows appears once for each of them.
		if n := len(numbers); !o.of[officer.Row] || n > 0 && numbers[n-1] == officer.Number {
			continue
		}
		cells, err := sheet.DecodeCells(officer.Cells)
		if err != nil {
			return fmt.Errorf("row %d of the officers: %w", officer.Number, err)
		}
		layout.measureCells(cells)
		rows, numbers = append(rows, cells), append(numbers, officer.Number)
	}
	if len(rows) == 0 {
		return nil
	}
	p := projection{batch: batch, layout: layout}
	w, err := book.Sheet(officersSheet, layout.correctable())
	if err != nil {
		return err
	}
	if err := w.Row(p.header()...); err != nil {
		return err
	}
	for i, cells := range rows {
		out := p.echo(cells)
		for j := range out {
			mark(&out[j], &layout.columns[j], o.faults[numbers[i]])
		}
		if err := w.Row(out...); err != nil {
			return err
		}
	}
	return nil
}
