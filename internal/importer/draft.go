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

// ErrDraftTooLarge is returned for a file with more rows or cells than a Draft
// holds.
var ErrDraftTooLarge = errors.New("the spreadsheet is too large to be edited in a grid")

// What a Draft holds at most.
const (
	maxDraftRows  = 100_000
	maxDraftBytes = 160 << 20
)

// Draft is a file in memory with the result of each row. Its rows are those that an
// Import with the same edits has: each edit checks all of them again.
//
// It is not for concurrent use. The caller closes it.
type Draft struct {
	options  Options // without edits
	file     *sheet.File
	im       *Import // of the present edits
	checker  *checker
	base     []sheet.Row // of the sheet that is read, as the file has them
	first    int         // the index in base of the first row below the header
	rows     []DraftRow  // those below the header; rows[i] is base[first+i]
	scratch  draft       // of the row that is being checked
	edits    []Edit
	excluded Exclusions
	records  map[string]filing.Company // that were looked up, by reference
	refused  map[int]string            // why rows were refused before, by their number in that batch
	size     int64
}

// DraftRow is a row of a Draft.
type DraftRow struct {
	Row                // without its request
	Blank       bool   // the edits cleared all of its cells: an Import does not have it
	Name        string // the company's name in the sheet
	Ref         string // the company as the sheet names it to the filing service; "" for none
	ServiceName string // the company's name at the filing service; "" while it is not known
	NameDiffers bool   // the row is not sent because the names differ
}

// DraftColumn is a column of a Draft.
type DraftColumn struct {
	Index    int
	Header   string
	Label    string   // the column of ours that it is read as; empty if it is not used
	Field    string   // the filing service's field
	Required bool     // every row needs it
	Secret   bool     // it holds Social Security numbers
	Choices  []string // nil if any text may be typed
	Added    bool     // the edits added it
}

// OpenDraft reads a file as a Draft. The edits and exclusions of the options
// are applied.
func OpenDraft(name string, content []byte, o Options) (*Draft, error) {
	im, err := OpenReader(name, bytes.NewReader(content), int64(len(content)), o)
	if err != nil {
		return nil, err
	}
	d := &Draft{
		options:  im.options,
		file:     im.file,
		edits:    o.Edits,
		excluded: o.Excluded,
		size:     int64(len(content)),
	}
	d.options.Sheet, d.options.ours = o.Sheet, nil
	if err := d.load(im); err != nil {
		im.Close()
		return nil, hideInError(err)
	}
	return d, nil
}

// Close closes the file.
func (d *Draft) Close() error { return d.file.Close() }

// load reads the sheet of an Import, unless d holds it, and checks all of its rows.
func (d *Draft) load(im *Import) error {
	if d.base == nil || d.im.sheet != im.sheet {
		base, size, err := readBase(im)
		if err != nil {
			return err
		}
		d.base, d.size = base, d.size+size
	}
	if err := checkEditedRows(im, d.base); err != nil {
		return err
	}
	d.im, d.checker = im, im.newChecker()
	d.checker.suggests = true
	d.first = 0
	for d.first < len(d.base) && d.base[d.first].Number <= im.layout.row {
		d.first++
	}
	return d.checkAll()
}

// checkEditedRows refuses edits of rows that the sheet does not have.
func checkEditedRows(im *Import, base []sheet.Row) error {
	over := im.edits.of(im.sheet)
	if over == nil {
		return nil
	}
	for _, row := range slices.Sorted(maps.Keys(over.rows)) {
		if !hasRow(base, row) {
			return im.missingRow(row)
		}
	}
	return nil
}

func (im *Import) missingRow(row int) error {
	return (&rowReader{im: im, sheet: im.sheet, pending: []int{row}}).missingRow()
}

func hasRow(base []sheet.Row, number int) bool {
	_, found := slices.BinarySearchFunc(base, number, func(r sheet.Row, n int) int { return r.Number - n })
	return found
}

// readBase reads all rows of the sheet without the edits.
func readBase(im *Import) (rows []sheet.Row, size int64, err error) {
	const perRow, perCell = 400, 24 // bytes, with the row's result
	err = im.file.EachRow(im.sheet, func(row *sheet.Row) error {
		size += perRow + perCell*int64(len(row.Cells))
		for i := range row.Cells {
			size += int64(len(row.Cells[i].Text))
		}
		if rows = append(rows, *row); len(rows) > maxDraftRows || size > maxDraftBytes {
			return ErrDraftTooLarge
		}
		return nil
	})
	return rows, size, err
}

// Size is about how many bytes of memory the Draft takes.
func (d *Draft) Size() int64 { return d.size }

// Len is how many rows there are, with those that the edits made blank.
func (d *Draft) Len() int { return len(d.rows) }

// At returns a row by its index.
func (d *Draft) At(i int) *DraftRow { return &d.rows[i] }

// Find returns a row by its number; nil for none.
func (d *Draft) Find(number int) *DraftRow {
	if i := d.indexOf(number); i >= 0 {
		return &d.rows[i]
	}
	return nil
}

func (d *Draft) indexOf(number int) int {
	i, found := slices.BinarySearchFunc(d.base[d.first:], number,
		func(r sheet.Row, number int) int { return r.Number - number })
	if !found {
		return -1
	}
	return i
}

// Sheet is the name of the sheet that is read; empty for a CSV.
func (d *Draft) Sheet() string { return d.im.sheet }

// Product is the main product of the rows.
func (d *Draft) Product() filing.Product { return d.im.product }

// Edits are the present edits.
func (d *Draft) Edits() []Edit { return d.edits }

// Excluded are the present exclusions.
func (d *Draft) Excluded() Exclusions { return d.excluded }

// Place is a row of the sheet that is read.
func (d *Draft) Place(row int) RowAt { return RowAt{d.im.sheet, row} }

// Columns lists the columns.
func (d *Draft) Columns() []DraftColumn {
	im := d.im
	all := make([]DraftColumn, len(im.layout.headings))
	for i, h := range im.layout.headings {
		all[i] = DraftColumn{Index: i, Header: h.text, Secret: slices.Contains(im.mapping.secret, i)}
	}
	if o := im.edits.of(im.sheet); o != nil {
		for i := range o.added {
			all[o.width+i].Added = true
		}
	}
	for _, b := range im.mapping.bindings {
		if b == nil || b.index < 0 || b.index >= len(all) {
			continue
		}
		c := &all[b.index]
		c.Label, c.Field, c.Choices = b.header, b.field, b.values()
		c.Required = slices.Contains(templates[im.product].needed, b.id)
	}
	return all
}

// Masked returns the cells of a row without Social Security numbers.
func (d *Draft) Masked(r *DraftRow) []sheet.Cell { return d.im.masked(r.Cells) }

// Text returns the text of a cell as it is now, with a secret.
func (d *Draft) Text(row, column int) string {
	r := d.Find(row)
	if r == nil || column < 0 || column >= len(r.Cells) {
		return ""
	}
	return r.Cells[column].Text
}

// FileText returns the text of a cell without the edits. For a column that they
// added, it is empty.
func (d *Draft) FileText(row, column int) string {
	i := d.indexOf(row)
	if i < 0 || column < 0 {
		return ""
	}
	if o := d.im.edits.of(d.im.sheet); o != nil && len(o.added) > 0 && column >= o.width {
		if column < o.width+len(o.added) {
			return ""
		}
		column -= len(o.added)
	}
	if cells := d.base[d.first+i].Cells; column < len(cells) {
		return cells[column].Text
	}
	return ""
}

// ColumnOf returns the index of a column of ours by its name; -1 if the sheet
// does not have it.
func (d *Draft) ColumnOf(header string) int {
	w, ok := wordings[filing.FoldName(header)]
	if !ok {
		return -1
	}
	if b := d.im.mapping.binding(w.column); b != nil && b.officer == nil {
		return b.index
	}
	if o := d.im.edits.of(d.im.sheet); o != nil {
		if at := slices.Index(o.added, columns[w.column].header); at >= 0 {
			return o.width + at
		}
	}
	return -1
}

// Set puts edits and exclusions in place of the present ones. After an error nothing has
// changed.
func (d *Draft) Set(edits []Edit, excluded Exclusions) error {
	o := d.options
	o.Edits, o.Excluded = edits, excluded
	im, err := o.openOn(d.file)
	if err != nil {
		return hideInError(err)
	}
	next := *d
	next.edits, next.excluded = edits, excluded
	if err := next.load(im); err != nil {
		return hideInError(err)
	}
	*d = next
	return nil
}

// openOn is Open for a file that is open already.
func (o Options) openOn(f *sheet.File) (*Import, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	m, err := newMatcher(&o)
	if err != nil {
		return nil, err
	}
	im, err := o.beginOn(f, m)
	if err != nil {
		return nil, err
	}
	return im, im.readLayout(m)
}

// checkRow checks a row with its edits. Its request is in the scratch.
func (d *Draft) checkRow(i int) {
	r := &d.rows[i]
	in := d.base[d.first+i]
	blank := false
	if over := d.im.edits.of(d.im.sheet); over != nil {
		blank = !over.apply(&in)
	}
	d.checker.check(&in, &r.Row, &d.scratch)
	if r.Blank = blank; blank {
		r.skip("The row is blank")
	}
	r.Name, r.Ref, r.ServiceName, r.NameDiffers = "", "", "", false
	if b := d.im.mapping.binding(legalName); b != nil && b.index < len(r.Cells) {
		r.Name = r.Cells[b.index].Text
	}
	if r.Read != nil {
		r.Ref = r.Read.Company.Ref
	}
}

// finishRow ends the check of a row: it is compared with the record of its company,
// and forgets its request.
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

// SetRefused says why the filing service refused rows when they were sent, by
// their number in the batch that the sheet corrects. Until a cell of it is edited,
// such a row has a warning: it would be sent as it was.
func (d *Draft) SetRefused(refused map[int]string) {
	d.refused = refused
	if len(refused) > 0 {
		_ = d.checkAll() // which succeeded for these rows before
	}
}

// addRefusal adds why a row was refused, at the cell that the reason names.
func (d *Draft) addRefusal(r *DraftRow) {
	if len(d.refused) == 0 || r.Result != filing.Ready {
		return
	}
	why := d.refused[d.im.numberOf(r.Cells)]
	if over := d.im.edits.of(d.im.sheet); why == "" || over != nil && len(over.rows[r.Number]) > 0 {
		return
	}
	p := Problem{
		Sheet:       d.im.sheet,
		Row:         r.Number,
		ColumnIndex: -1,
		Severity:    Warning,
		Rule:        "row.refused-before",
		Message: "the filing service refused it: " +
			strings.TrimSuffix(strings.TrimPrefix(filing.HideSSNs(why), "the filing service refused it: "), ".") +
			". Correct it before you send it again",
	}
	if b := d.im.columnNamedIn(why); b != nil {
		p.Column, p.ColumnIndex, p.Cell = b.header, b.index, sheet.CellName(b.index, r.Number)
		if b.index < len(r.Cells) {
			p.Value = d.im.hide(b.index, r.Cells[b.index].Text)
		}
	}
	r.Problems = append(r.Problems, p)
}

// columnNamedIn finds the column that a text names by the filing service's field,
// by our header or by that of the sheet: the one with the longest name; nil for
// none.
func (im *Import) columnNamedIn(why string) *binding {
	var found *binding
	longest := 0
	folded, spaced := filing.FoldName(why), strings.ToLower(why)
	for _, b := range im.mapping.bindings {
		if b == nil || b.officer != nil || b.index < 0 || b.kind == ssnKind {
			continue
		}
		_, field, nested := strings.Cut(b.field, ".")
		if !nested {
			field = b.field
		}
		for _, name := range []string{filing.FoldName(field), filing.FoldName(b.column.header)} {
			if len(name) >= 5 && len(name) > longest && strings.Contains(folded, name) {
				found, longest = b, len(name)
			}
		}
		if name := strings.ToLower(b.header); len(name) >= 5 && len(name) > longest && strings.Contains(spaced, name) {
			found, longest = b, len(name)
		}
	}
	return found
}

// compare adds what differs between a ready row and the filing service's record
// of its company.
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
	d.rows = make([]DraftRow, len(d.base)-d.first)
	final := d.im.newFinalPass()
	final.namesakes.read, final.namesakes.named = true, make(map[string][]namesake)
	if d.im.mapping.binding(companyID) != nil && d.im.mapping.binding(legalName) != nil {
		for i := range d.rows {
			if d.checkRow(i); !d.rows[i].Blank {
				final.namesakes.add(&d.rows[i].Row)
			}
		}
	}
	for i := range d.rows {
		d.checkRow(i)
		if err := final.addRow(&d.rows[i].Row); err != nil {
			return err
		}
		d.finishRow(&d.rows[i])
	}
	final.note()
	return nil
}

// SetRecords adds records of companies at the filing service, by the reference in the
// sheet, and compares the rows with them. It reports whether one is new.
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
		_ = d.checkAll() // which succeeded for these rows before
	}
	return added
}

// Refs lists the companies that rows name and whose records are not known yet.
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

// Tally counts the rows by result. A row is warned if it has a warning and no
// error.
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

// IsNote reports whether the row is not a filing, but a heading, a note or a
// total, or is blank.
func (r *DraftRow) IsNote() bool { return r.notAFiling || r.Blank }
