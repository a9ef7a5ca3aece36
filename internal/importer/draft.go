package importer

import (
	"bytes"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// ErrDraftTooLarge is returned for a file with more rows or cells than a Draft can hold.
var ErrDraftTooLarge = errors.New("the spreadsheet is too large to be edited in a grid")

// The limits of a Draft.
const (
	maxDraftRows  = 100_000
	maxDraftBytes = 160 << 20
)

// Draft is a file in memory with the result of each row. Its rows are the same as the rows of an
// Import with the same edits. Each edit therefore checks all of them again.
//
// A Draft must not be used concurrently. The caller must close it.
type Draft struct {
	// base are the rows below the header without edits.
	base []sheet.Row
	// rows are the rows of base with the edits.
	rows    []DraftRow
	columns []DraftColumn
	overlay *overlay
	// options are the options with the present edits and exclusions.
	options Options
	file    *sheet.File
	// im has the present edits.
	im      *Import
	checker *checker
	// whole are the rows of the sheet without edits.
	whole []sheet.Row
	// scratch is the row that is being checked.
	scratch draft
	// records are the companies that were looked up, by reference.
	records map[string]filing.Company
	// refused are the reasons why rows were refused before, by their number in that batch.
	refused map[int]string
	size    int64
}

// DraftRow is a row of a Draft.
type DraftRow struct {
	// Row has no request.
	Row
	// Blank reports whether the edits cleared all cells. An Import does not have such a row.
	Blank bool
	// Name is the company's name in the sheet.
	Name string
	// Ref is the company's reference at the filing service. Empty if the sheet has none.
	Ref string
	// ServiceName is the company's name at the filing service. Empty if unknown.
	ServiceName string
	// NameDiffers reports whether the row is not sent because the names differ.
	NameDiffers bool
	// Excluded reports whether a person excluded the row.
	Excluded bool
}

// DraftColumn is a column of a Draft.
type DraftColumn struct {
	Index  int    `json:"index"`
	Header string `json:"header"`
	// Label is the column of ours as which it is read. Empty if it is not used.
	Label string `json:"-"`
	// Required reports whether every row needs the column.
	Required bool `json:"required"`
	// Secret reports whether the column holds Social Security numbers.
	Secret bool `json:"secret"`
	// Choices is nil if any text may be entered.
	Choices []string `json:"choices,omitempty"`
	// Added reports whether the edits added the column.
	Added bool `json:"added,omitempty"`
}

// OpenDraft reads a file as a Draft and applies the edits and exclusions of the options.
func OpenDraft(name string, content []byte, o Options) (*Draft, error) {
	im, err := OpenReader(name, bytes.NewReader(content), int64(len(content)), o)
	if err != nil {
		return nil, err
	}
	d := &Draft{options: im.options, file: im.file.File, size: int64(len(content))}
	d.options.Sheet = o.Sheet
	if err := d.load(im); err != nil {
		im.Close()
		return nil, hideInError(err)
	}
	return d, nil
}

// Close closes the file.
func (d *Draft) Close() error { return d.file.Close() }

// load reads the sheet of an Import, unless d has read it, and checks all rows.
func (d *Draft) load(im *Import) error {
	if d.im == nil || d.im.sheet != im.sheet {
		if err := d.readBase(im); err != nil {
			return err
		}
	}
	d.im, d.checker, d.overlay = im, im.newChecker(), im.file.chosen
	first, _ := findRow(d.whole, im.layout.row+1)
	d.base = d.whole[first:]
	for _, row := range slices.Sorted(maps.Keys(d.overlay.rows)) {
		if _, found := findRow(d.base, row); row > im.layout.row && !found {
			return im.file.missingRow(im.sheet, row)
		}
	}
	d.columns = im.draftColumns()
	d.checker.suggests = true
	return d.checkAll()
}

// findRow returns the index of a row by its number, or the index at which it would be.
func findRow(rows []sheet.Row, number int) (i int, found bool) {
	return slices.BinarySearchFunc(rows, number, func(r sheet.Row, number int) int { return r.Number - number })
}

// readBase reads all rows of the sheet without the edits.
func (d *Draft) readBase(im *Import) error {
	// Both are bytes of memory, including the row's result.
	const perRow, perCell = 400, 24
	d.whole = nil
	return im.file.EachRow(im.sheet, func(row *sheet.Row) error {
		d.size += perRow + perCell*int64(len(row.Cells))
		for i := range row.Cells {
			d.size += int64(len(row.Cells[i].Text))
		}
		if d.whole = append(d.whole, *row); len(d.whole) > maxDraftRows || d.size > maxDraftBytes {
			return ErrDraftTooLarge
		}
		return nil
	})
}

// Size returns the approximate size in memory, in bytes.
func (d *Draft) Size() int64 { return d.size }

// Edits returns the present edits.
func (d *Draft) Edits() []Edit { return d.options.Edits }

// Excluded returns the present exclusions.
func (d *Draft) Excluded() Exclusions { return d.options.Excluded }

// Sheet returns the name of the sheet. It is empty for a CSV.
func (d *Draft) Sheet() string { return d.im.sheet }

// Len returns the number of rows, including the rows that the edits made blank.
func (d *Draft) Len() int { return len(d.rows) }

// At returns a row by its index.
func (d *Draft) At(i int) *DraftRow { return &d.rows[i] }

// Find returns a row by its number, or nil.
func (d *Draft) Find(number int) *DraftRow {
	if i, found := findRow(d.base, number); found {
		return &d.rows[i]
	}
	return nil
}

// Columns lists the columns.
func (d *Draft) Columns() []DraftColumn { return d.columns }

// Masked returns the cells of a row without Social Security numbers.
func (d *Draft) Masked(r *DraftRow) []sheet.Cell { return d.im.mapping.masked(r.Cells) }

// FileText returns the text of a cell without the edits. It is empty in a column that the edits
// added.
func (d *Draft) FileText(row, column int) string {
	i, found := findRow(d.base, row)
	if o := d.overlay; !found || column >= o.width && column < o.width+len(o.added) {
		return ""
	} else if column >= o.width {
		column -= len(o.added)
	}
	return cellIn(d.base[i].Cells, column).Text
}

// ColumnOf returns the index of a column of ours by its name, or -1 if the sheet does not have it.
func (d *Draft) ColumnOf(header string) int {
	w, ok := wordings[filing.FoldName(header)]
	if !ok {
		return -1
	}
	if b := d.im.mapping.binding(w.column); b != nil {
		return b.index
	}
	if at := slices.Index(d.overlay.added, columns[w.column].header); at >= 0 {
		return d.overlay.width + at
	}
	return -1
}

// edited returns a row with the edits, and reports whether they made it blank.
func (d *Draft) edited(i int) (row sheet.Row, blank bool) {
	row = d.base[i]
	return row, !d.overlay.apply(&row)
}

// draftColumns lists the columns of the sheet that is read.
func (im *Import) draftColumns() []DraftColumn {
	all := make([]DraftColumn, len(im.layout.headings))
	for i, h := range im.layout.headings {
		all[i] = DraftColumn{
			Index:  i,
			Header: h.text,
			Secret: slices.Contains(im.mapping.secret, i),
			Added:  len(im.file.chosen.added) > 0 && i >= im.file.chosen.width,
		}
	}
	for _, b := range im.mapping.bindings {
		if b == nil {
			continue
		}
		c := &all[b.index]
		c.Label, c.Choices = b.header, b.values()
		c.Required = slices.Contains(templates[im.product].needed, b.id)
	}
	return all
}

// Set replaces the edits and exclusions. After an error nothing has changed.
func (d *Draft) Set(edits []Edit, excluded Exclusions) error {
	o := d.options
	o.Edits, o.Excluded = edits, excluded
	im, err := o.openOn(d.file)
	if err != nil {
		return err
	}
	next := *d
	next.options = o
	if err := next.load(im); err != nil {
		return hideInError(err)
	}
	*d = next
	return nil
}

// checkRow checks a row with its edits. The request of the row stays in the scratch.
func (d *Draft) checkRow(i int) {
	r := &d.rows[i]
	in, blank := d.edited(i)
	d.checker.check(&in, &r.Row, &d.scratch)
	if r.Blank = blank; blank {
		r.skip("The row is blank")
	}
	r.Excluded = d.options.Excluded.By(d.im.sheet, r.Number) != ""
	r.Name, r.Ref, r.ServiceName, r.NameDiffers = d.im.mapping.textIn(r.Cells, legalName), "", "", false
	if r.Read != nil {
		r.Ref = r.Read.Company.Ref
	}
}

// finishRow compares a row with the record of its company and drops its request.
func (d *Draft) finishRow(r *DraftRow) {
	if record, known := d.records[r.Ref]; known && r.Ref != "" {
		r.ServiceName = record.LegalName
		if r.Result == filing.Ready && r.Request != nil {
			d.compare(r, record)
		}
	}
	d.addRefusal(r)
	r.Request, r.Read = nil, nil
}

// SetRefused sets the reasons why the filing service refused rows, by their number in the batch
// that the sheet corrects. Such a row has a warning until one of its cells is edited, because it
// would be sent unchanged.
func (d *Draft) SetRefused(refused map[int]string) {
	d.refused = refused
	if len(refused) > 0 {
		// checkAll succeeded for these rows before.
		_ = d.checkAll()
	}
}

// addRefusal adds the reason why a row was refused, unless one of its cells was edited since.
func (d *Draft) addRefusal(r *DraftRow) {
	if len(d.refused) == 0 || r.Result != filing.Ready {
		return
	}
	why := d.refused[d.im.own.numberOf(r.Cells)]
	if why == "" || len(d.overlay.rows[r.Number]) > 0 {
		return
	}
	r.Problems = append(r.Problems, Problem{
		Sheet:       d.im.sheet,
		Row:         r.Number,
		ColumnIndex: -1,
		Severity:    Warning,
		Rule:        "row.refused-before",
		Message: "the filing service refused it: " +
			strings.TrimSuffix(strings.TrimPrefix(filing.HideSSNs(why), "the filing service refused it: "), ".") +
			". Correct it before you send it again",
	})
}

// compare adds the differences between a ready row and the filing service's record of its company.
func (d *Draft) compare(r *DraftRow, record filing.Company) {
	for _, difference := range r.Request.Differences(record) {
		w := wordings[filing.FoldName(difference.Column.Header)]
		severity := Warning
		if !difference.Warning {
			severity = Error
		}
		p := d.im.problemAt(&r.Row, w.column, severity, difference.Rule, difference.Message)
		if difference.Suggest != "" {
			p.Suggest, p.Confirm = []string{difference.Suggest}, true
		}
		r.Problems = append(r.Problems, p)
		if severity == Error && r.Result != filing.Invalid {
			r.Result, r.Message = filing.Invalid, difference.Message
		}
		r.NameDiffers = r.NameDiffers || severity == Error && difference.Rule == filing.RecordRule+"name"
	}
}

// checkAll checks all rows, in their order.
func (d *Draft) checkAll() error {
	d.rows = make([]DraftRow, len(d.base))
	repeats, err := d.im.findRepeats(func(do func(*Row) error) error {
		for i := range d.rows {
			d.checkRow(i)
			if err := do(&d.rows[i].Row); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	final := d.im.newFinalPass(repeats)
	for i := range d.rows {
		d.checkRow(i)
		final.addRow(&d.rows[i].Row)
		d.finishRow(&d.rows[i])
	}
	final.note()
	return nil
}

// SetRecords adds the filing service's records of companies by their reference in the sheet, and
// compares the rows with them. It reports whether a record is new.
func (d *Draft) SetRecords(records map[string]filing.Company) (added bool) {
	if d.records == nil {
		d.records = make(map[string]filing.Company, len(records))
	}
	for ref, record := range records {
		if old, known := d.records[ref]; !known || !reflect.DeepEqual(old, record) {
			d.records[ref], added = record, true
		}
	}
	if added {
		// checkAll succeeded for these rows before.
		_ = d.checkAll()
	}
	return added
}

// Refs lists the referenced companies whose records are not known yet.
func (d *Draft) Refs() []string {
	seen := make(map[string]bool)
	var refs []string
	for i := range d.rows {
		ref := d.rows[i].Ref
		if _, known := d.records[ref]; known || ref == "" || seen[ref] {
			continue
		}
		seen[ref] = true
		refs = append(refs, ref)
	}
	return refs
}

// Tally counts the rows by result. warned counts the rows with a warning and without an error.
func (d *Draft) Tally() (t Tally, warned int) {
	for i := range d.rows {
		r := &d.rows[i]
		t.add(r.Result)
		warned += oneIf(r.Warned())
	}
	return t, warned
}

// Warned reports whether the row is sent with a warning.
func (r *DraftRow) Warned() bool { return r.Result == filing.Ready && len(r.Problems) > 0 }

// IsNote reports whether the row is not a filing. It is a heading, a note, a total or blank.
func (r *DraftRow) IsNote() bool { return r.notAFiling || r.Blank }
