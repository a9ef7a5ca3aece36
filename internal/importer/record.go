package importer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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

// Record stores the rows in the ledger as one batch. No row is sent before the caller opens the
// batch. The same file with the same options is the same batch. If the batch exists, created is
// false. by is the person or process that asks.
func (im *Import) Record(ctx context.Context, to Recorder, by string) (id string, created bool, err error) {
	batch, err := im.batch()
	if err != nil {
		return "", false, err
	}
	batch.CreatedBy = by
	original, err := im.findOriginal(ctx, to, &batch)
	if err != nil {
		return "", false, err
	}
	im.target = im.targetFor(original)
	batch.Columns, batch.Fields = im.target.columns, im.target.fields
	if original != nil {
		batch.Corrects = original.ID
	}
	other := im.newOtherPurchases(ctx, to)
	if created, err = to.CreateBatch(ctx, batch); err != nil || !created {
		return batch.ID, false, err
	}
	add := func(rows []ledger.Row) error { return to.AddRows(ctx, batch.ID, rows) }
	prepare := func(rows []Row) error {
		if original != nil {
			return nil
		}
		return other.skipBought(ctx, rows)
	}
	if im.options.Run == nil {
		err = im.addInOrder(ctx, prepare, add)
	} else {
		err = im.addByPriority(ctx, prepare, add)
	}
	other.note()
	if err == nil && original == nil {
		err = im.saveOriginal(ctx, to, batch.ID)
	}
	return batch.ID, err == nil, err
}

// addInOrder adds the rows in the order of the sheet while the sheet is read.
func (im *Import) addInOrder(ctx context.Context, prepare func([]Row) error, add func([]ledger.Row) error) error {
	var out []ledger.Row
	return im.eachChunk(ctx, func(rows []Row) error {
		if err := prepare(rows); err != nil || len(rows) == 0 {
			return err
		}
		out = out[:0]
		for i := range rows {
			out = append(out, im.ledgerRow(&rows[i]))
		}
		return add(out)
	})
}

// addByPriority reads all rows of a schedule's run and adds them by due date. They are sent in this
// order.
func (im *Import) addByPriority(ctx context.Context, prepare func([]Row) error, add func([]ledger.Row) error) error {
	var out []ledger.Row
	err := im.eachChunk(ctx, func(rows []Row) error {
		if err := prepare(rows); err != nil {
			return err
		}
		for i := range rows {
			row := im.ledgerRow(&rows[i])
			if err := cloneRow(&row); err != nil {
				return err
			}
			out = append(out, row)
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(out, func(a, b ledger.Row) int { return cmp.Compare(a.Priority, b.Priority) })
	for part := range slices.Chunk(out, scheduleChunk) {
		if err := add(part); err != nil {
			return err
		}
	}
	return nil
}

// cloneRow copies a row out of its chunk, whose memory is reused.
func cloneRow(row *ledger.Row) error {
	row.Message = strings.Clone(row.Message)
	for i := range row.Faults {
		row.Faults[i].Message = strings.Clone(row.Faults[i].Message)
	}
	if row.Request == nil {
		return nil
	}
	whole, err := json.Marshal(row.Request)
	if err != nil {
		return fmt.Errorf("copy row %d: %w", row.Number, err)
	}
	row.Request = new(filing.Request)
	if err := json.Unmarshal(whole, row.Request); err != nil {
		return fmt.Errorf("copy row %d: %w", row.Number, err)
	}
	return nil
}

// scheduleChunk is how many rows of a schedule's run are added at once.
const scheduleChunk = 1000

// ledgerRow returns the row in the form of the ledger.
func (im *Import) ledgerRow(r *Row) ledger.Row {
	row := ledger.Row{
		Number:   r.Number,
		Corrects: im.numberOf(r.Cells),
		Repeats:  r.repeats,
		Cells:    sheet.EncodeCells(im.target.cells(im.mapping.masked(r.Cells))),
		Request:  r.Request,
		Result:   r.Result,
		Message:  r.Message,
		Priority: r.Priority,
	}
	if r.repeats != 0 {
		// The repeated row has another number in the results workbook.
		row.Message += " of " + im.file.Name()
	}
	for _, p := range r.Problems {
		fault := ledger.Fault{
			Column:  im.target.column(p.ColumnIndex),
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
	option("--edits", im.file.overlay(im.sheet).hash(o.EditSalt))
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
