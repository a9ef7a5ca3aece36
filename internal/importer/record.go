package importer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// Recorder stores a batch. *ledger.Ledger implements it.
type Recorder interface {
	CreateBatch(ctx context.Context, b ledger.Batch) (created bool, err error)
	AddRows(ctx context.Context, batch string, rows []ledger.Row) error
}

// past is the part of a recorder that knows earlier batches and stores spreadsheets.
// *ledger.Ledger implements it. The runs of a schedule do not need it.
type past interface {
	Batch(ctx context.Context, id string) (ledger.Batch, error)
	Figures(ctx context.Context, batch string) (ledger.Figures, error)
	Originals() ledger.Originals
	ResultFiles() ledger.ResultFiles
}

// recording stores the rows of an Import as a batch.
type recording struct {
	im    *Import
	to    Recorder
	past  past
	batch ledger.Batch
	// original is the batch whose rows the sheet corrects, or nil.
	original *ledger.Batch
	target   *target

	// known reports whether this ledger has the batch of the workbook, or an order of that batch.
	known bool
	// elsewhere is the number of rows that were ordered through another ledger, and ordered are
	// their orders.
	elsewhere int
	ordered   []string
}

// Record stores the rows in the ledger as one batch. No row is sent before the caller opens the
// batch. The same file with the same options is the same batch. If the batch exists, created is
// false. by is the person or process that asks.
func (im *Import) Record(ctx context.Context, to Recorder, by string) (id string, created bool, err error) {
	r := recording{im: im, to: to}
	if im.options.Run == nil {
		r.past, _ = to.(past)
	}
	if r.batch, err = im.batch(); err != nil {
		return "", false, err
	}
	if err := r.findOriginal(ctx); err != nil {
		return "", false, err
	}
	r.target = targetFor(im.layout.headings, r.batch.Fields, r.original)
	r.batch.CreatedBy, r.batch.Columns, r.batch.Fields = by, r.target.columns, r.target.fields
	if created, err = to.CreateBatch(ctx, r.batch); err != nil || !created {
		return r.batch.ID, false, err
	}
	if im.options.Run == nil {
		err = r.addInOrder(ctx)
	} else {
		err = r.addByPriority(ctx)
	}
	r.noteBought()
	if err == nil && r.original == nil {
		err = r.saveOriginal(ctx)
	}
	return r.batch.ID, err == nil, err
}

// findOriginal finds the batch whose rows the sheet corrects, if this ledger has it.
func (r *recording) findOriginal(ctx context.Context) error {
	own := &r.im.own
	if r.past == nil || own.origin == nil {
		return nil
	}
	b, err := r.past.Batch(ctx, own.origin.Batch)
	r.known = err == nil && b.ID == own.origin.Batch
	if !r.known || own.row < 0 || b.ID == r.batch.ID || b.Product != r.batch.Product || b.Again != r.batch.Again {
		// The batch belongs to another ledger or has another product.
		return nil
	}
	if !b.Open && !b.Prepared {
		figures, err := r.past.Figures(ctx, b.ID)
		if err != nil || own.origin.Rows == 0 || figures.Counts.Total() != own.origin.Rows {
			// The batch was not recorded completely.
			return err
		}
	}
	r.original, r.batch.Corrects = &b, b.ID
	return nil
}

// addInOrder adds the rows in the order of the sheet while the sheet is read.
func (r *recording) addInOrder(ctx context.Context) error {
	rows := make([]*Row, 0, rowsAtOnce)
	add := func() error {
		if err := r.skipBought(ctx, rows); err != nil || len(rows) == 0 {
			return err
		}
		out := make([]ledger.Row, len(rows))
		for i, row := range rows {
			out[i] = r.row(row)
		}
		rows = rows[:0]
		return r.to.AddRows(ctx, r.batch.ID, out)
	}
	err := r.im.each(ctx, true, func(row *Row) error {
		if rows = append(rows, row); len(rows) < rowsAtOnce {
			return nil
		}
		return add()
	})
	if err != nil {
		return err
	}
	return add()
}

// addByPriority reads all rows of a schedule's run and adds them by due date. They are sent in this
// order.
func (r *recording) addByPriority(ctx context.Context) error {
	var out []ledger.Row
	err := r.im.each(ctx, true, func(row *Row) error {
		out = append(out, r.row(row))
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(out, func(a, b ledger.Row) int { return cmp.Compare(a.Priority, b.Priority) })
	for part := range slices.Chunk(out, rowsAtOnce) {
		if err := r.to.AddRows(ctx, r.batch.ID, part); err != nil {
			return err
		}
	}
	return nil
}

// rowsAtOnce is how many rows are added at once.
const rowsAtOnce = 500

// row returns a row in the form of the ledger.
func (r *recording) row(of *Row) ledger.Row {
	row := ledger.Row{
		Number:   of.Number,
		Corrects: r.im.own.numberOf(of.Cells),
		Repeats:  of.repeats,
		Cells:    sheet.EncodeCells(r.target.cells(r.im.mapping.masked(of.Cells))),
		Request:  of.Request,
		Result:   of.Result,
		Message:  of.Message,
		Priority: of.Priority,
	}
	if of.repeats != 0 {
		// The repeated row has another number in the results workbook.
		row.Message += " of " + r.im.file.Name()
	}
	for _, p := range of.Problems {
		fault := ledger.Fault{
			Column:  r.target.column(p.ColumnIndex),
			Rule:    p.Rule,
			Message: p.Message,
			Warning: p.Severity == Warning,
			Beside:  p.beside,
		}
		if fault.Column < 0 {
			fault.Header = p.Column
		}
		row.Faults = append(row.Faults, fault)
	}
	return row
}

// target maps the columns of the sheet to the columns of the batch. It leaves out the columns that
// a results workbook added. For corrections, it has the order of the corrected batch.
type target struct {
	columns []string
	fields  []string
	// at has the position of each column of the sheet, or -1 for a column that is left out.
	at []int
}

// targetFor finds the position of each column. original is the corrected batch, or nil.
func targetFor(headings []heading, fields []string, original *ledger.Batch) *target {
	t := &target{at: make([]int, len(headings))}
	if original != nil {
		t.columns, t.fields = slices.Clone(original.Columns), slices.Clone(original.Fields)
		for len(t.fields) < len(t.columns) {
			t.fields = append(t.fields, "")
		}
	}
	own := len(t.columns)
	taken := make([]bool, own)
	for i, h := range headings {
		if h.ours {
			t.at[i] = -1
			continue
		}
		j := -1
		for k, c := range t.columns[:own] {
			if !taken[k] && foldHeader(c) == foldHeader(h.text) {
				j = k
				break
			}
		}
		if j >= 0 {
			taken[j] = true
			t.fields[j] = cmp.Or(t.fields[j], fields[i])
		} else {
			j = len(t.columns)
			t.columns, t.fields = append(t.columns, h.text), append(t.fields, fields[i])
		}
		t.at[i] = j
	}
	return t
}

// cells returns a row's cells in the columns of the batch.
func (t *target) cells(in []sheet.Cell) []sheet.Cell {
	out := make([]sheet.Cell, len(t.columns))
	for i, c := range in {
		switch {
		// The cell is after the headers.
		case i >= len(t.at):
			out = append(out, c)
		case t.at[i] >= 0:
			out[t.at[i]] = c
		}
	}
	for len(out) > 0 && out[len(out)-1].Kind == sheet.Blank {
		out = out[:len(out)-1]
	}
	return out
}

// column returns the position of a column in the batch, or -1 if it is left out.
func (t *target) column(i int) int {
	if i < 0 || i >= len(t.at) {
		return i
	}
	return t.at[i]
}

// BatchID returns the batch's ID. It depends on the file's content and the options, but not on the
// file's name and folder.
func (im *Import) BatchID() (string, error) {
	b, err := im.batch()
	return b.ID, err
}

func (im *Import) batch() (ledger.Batch, error) {
	b := ledger.Batch{
		File:    im.file.Name(),
		Sheet:   im.sheet,
		Product: im.product,
		Options: im.identity(),
		Again:   im.options.Again,
		Columns: im.Columns(),
		Fields:  im.fields(),
	}
	content := sha256.New()
	if _, err := io.Copy(content, im.file.Content()); err != nil {
		return b, fmt.Errorf("read %s: %w", b.File, err)
	}
	whole := sha256.New()
	fmt.Fprintf(whole, "%x\n%s", content.Sum(nil), b.Options)
	b.ID = hex.EncodeToString(whole.Sum(nil))[:16]
	return b, nil
}

// fields returns the filing service's field for each column.
func (im *Import) fields() []string {
	fields := make([]string, len(im.Columns()))
	for _, b := range im.mapping.bindings {
		if b != nil {
			fields[b.index] = b.field
		}
	}
	return fields
}

// identity returns the options as command-line flags in a fixed order, with the detected sheet and
// product. A detected product differs from a given product, because agent orders are read in
// another way (see isChange).
func (im *Import) identity() string {
	o := &im.options
	var parts []string
	option := func(name, value string) {
		if value != "" {
			parts = append(parts, name+" "+shellQuote(value))
		}
	}
	if im.detected && slices.Contains(agentOrders, im.mapping.product) {
		// These words are part of the IDs of earlier batches.
		parts = append(parts, string(im.mapping.product)+" by its columns")
	} else {
		option("--product", string(im.mapping.product))
	}
	option("--state", string(o.State))
	option("--filing-year", o.FilingYear)
	option("--user", o.User)
	option("--sheet", im.sheet)
	option("--header-row", o.HeaderRow.String())
	var maps []string
	for theirs, ours := range o.Map {
		maps = append(maps, theirs+"="+strings.TrimSpace(ours))
	}
	sort.Strings(maps)
	for _, m := range maps {
		option("--map", m)
	}
	for _, filter := range o.Exclude {
		option("--exclude", filter)
	}
	for _, filter := range o.Include {
		option("--include", filter)
	}
	if o.VisibleOnly {
		parts = append(parts, "--visible-only")
	}
	option("--edits", im.file.chosen.hash(o.EditSalt))
	option("--excluded", hashExcluded(o.Excluded, im.sheet))
	option("--again", o.Again)
	if o.Run != nil {
		option("--season", o.Run.ID)
	}
	return filing.HideSSNs(strings.Join(parts, " "))
}

// shellQuote quotes a value that a shell would split.
func shellQuote(s string) string {
	if strings.ContainsAny(s, " \t\"'\\$&|;<>()*?#~`!=") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}
