package importer

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// Edit is a correction of one cell. It has the effect of typing the text into
// the cell of a CSV: it is always text, an empty text clears the cell, and a
// row whose cells are all cleared is blank.
//
// An edit corrects an existing row. An edit of a blank row, or of one beyond
// the last, fails with a *sheet.FormatError when the rows are read.
type Edit struct {
	Sheet  string `json:"sheet,omitempty"` // empty: the sheet that is read
	Row    int    `json:"row"`             // as a spreadsheet program shows it
	Column int    `json:"column"`          // from 0; -1 where Header names the column
	// the name of one of our columns; if the sheet lacks it, it is added after
	// the last header
	Header string `json:"header,omitempty"`
	Text   string `json:"text"`
}

// Added columns follow the last header, in the order in which the edits first
// name them. Cells without a header move to the right, as when a column is
// inserted in a spreadsheet.

// edits are the edits of a file, by sheet.
type edits []*overlay

// overlay holds the edits of one sheet.
type overlay struct {
	sheet  string // empty for a CSV, and until the sheet of a workbook is chosen
	isMain bool   // of the sheet that is read
	used   bool   // the sheet is read
	edits  []Edit
	rows   map[int][]Edit // with a column index, by row

	header int      // the row of the headers
	width  int      // how many columns have one
	added  []string // headers of the columns that follow
}

func newEdits(o *Options, f *sheet.File) (edits, error) {
	var all edits
	infos := f.Sheets()
	for _, e := range o.Edits {
		refuse := func(format string, args ...any) error { return badEdit(f, e.Sheet, format, args...) }
		name := filing.HideSSNsInName(e.Sheet)
		switch {
		case name == "" && o.Sheet != "":
			name = o.Sheet
		case name == "" && len(infos) == 1:
			name = infos[0].Name
		}
		if i := sheetNamed(infos, name); i >= 0 {
			name = infos[i].Name
		} else if e.Sheet != "" {
			return nil, refuse("a correction is for a sheet %q, which the file does not have", e.Sheet)
		}
		switch {
		case e.Row < 1, e.Column < -1, e.Column >= maxColumns:
			return nil, refuse("a correction is for row %d and column %d, which no sheet has", e.Row, e.Column)
		case e.Column < 0 && e.Header == "":
			return nil, refuse("a correction in row %d does not name a column", e.Row)
		case len(e.Text) > maxEdit:
			return nil, refuse("a correction in row %d is longer than a cell can be", e.Row)
		}
		over := all.of(name)
		if over == nil {
			over = &overlay{sheet: name}
			all = append(all, over)
		}
		over.edits = append(over.edits, e)
	}
	for _, o := range all {
		o.index(o.edits)
	}
	return all, nil
}

// maxEdit is the number of bytes that the 32,767 characters of a cell can take.
const maxEdit = 4 * 32767

// sheetNamed finds a sheet by its exact name, or else regardless of case.
func sheetNamed(infos []sheet.Info, name string) int {
	if i := slices.IndexFunc(infos, func(s sheet.Info) bool { return s.Name == name }); i >= 0 {
		return i
	}
	return slices.IndexFunc(infos, func(s sheet.Info) bool { return strings.EqualFold(s.Name, name) })
}

// of returns the edits of a sheet; nil for none.
func (all edits) of(name string) *overlay {
	for _, o := range all {
		if o.sheet == name {
			return o
		}
	}
	return nil
}

// assignTo assigns the edits that name no sheet to the one that is read, and
// reports whether there are any.
func (all *edits) assignTo(name string) bool {
	unnamed := all.of("")
	if unnamed == nil || name == "" {
		return false
	}
	if named := all.of(name); named != nil {
		named.edits = append(named.edits, unnamed.edits...)
		named.index(named.edits)
		*all = slices.DeleteFunc(*all, func(o *overlay) bool { return o == unnamed })
		return true
	}
	unnamed.sheet = name
	return true
}

// index groups the edits with a column index by row.
func (o *overlay) index(all []Edit) {
	o.rows = make(map[int][]Edit)
	for _, e := range all {
		if e.Column >= 0 {
			o.rows[e.Row] = append(o.rows[e.Row], e)
		}
	}
}

// add adds the columns that the sheet lacks after its headers. find returns the
// name of our column and its index in the sheet, or -1.
func (o *overlay) add(row, width int, find func(header string) (name string, index int, err error)) error {
	o.used, o.header, o.width, o.added = true, row, width, nil
	placed := slices.Clone(o.edits)
	for i := range placed {
		e := &placed[i]
		if e.Column >= 0 {
			continue
		}
		name, index, err := find(e.Header)
		if err != nil {
			return err
		}
		if index < 0 {
			at := slices.Index(o.added, name)
			if at < 0 {
				at = len(o.added)
				o.added = append(o.added, name)
			}
			index = width + at
		}
		e.Column = index
	}
	o.index(placed)
	return nil
}

// addTo adds the columns that the sheet of filings lacks.
func (im *Import) addTo(l *layout, o *overlay) error {
	o.isMain = true
	_, claims := l.claims()
	width := len(l.headings)
	err := o.add(l.row, width, func(header string) (string, int, error) {
		w, ok := wordings[filing.FoldName(header)]
		if !ok || w.strength < exact {
			return "", 0, im.badEdit(im.sheet, "a correction is for a column %q, which does not exist", header)
		}
		if len(claims[w.column]) > 0 {
			winner, _ := strongest(claims[w.column])
			return "", winner.index, nil
		}
		return columns[w.column].header, -1, nil
	})
	for i, name := range o.added {
		folded := filing.FoldName(name)
		l.headings = append(l.headings,
			heading{text: name, folded: folded, index: width + i, wording: wordings[folded]})
		l.known++
	}
	return err
}

// badEdit returns the error for an edit without a place.
func badEdit(f *sheet.File, name, format string, args ...any) error {
	return &sheet.FormatError{
		File: f.Name(), Sheet: name, Reason: fmt.Sprintf(format, args...), Remedy: "Undo the correction",
	}
}

func (im *Import) badEdit(name, format string, args ...any) error {
	return badEdit(im.file, name, format, args...)
}

// apply applies the edits to a row. It returns false if the row is then blank.
func (o *overlay) apply(row *sheet.Row) bool {
	typed, makesWay := o.rows[row.Number], len(o.added) > 0 && len(row.Cells) > o.width
	isHeader := row.Number == o.header && len(o.added) > 0
	if len(typed) == 0 && !makesWay && !isHeader {
		return true
	}
	cells := slices.Clone(row.Cells)
	if makesWay {
		cells = slices.Insert(cells, o.width, make([]sheet.Cell, len(o.added))...)
	}
	set := func(i int, cell sheet.Cell) {
		if missing := i + 1 - len(cells); missing > 0 {
			cells = append(cells, make([]sheet.Cell, missing)...)
		}
		cells[i] = cell
	}
	for _, e := range typed {
		set(e.Column, sheet.TypedCell(e.Text))
	}
	if isHeader {
		for i, name := range o.added {
			set(o.width+i, sheet.TypedCell(name))
		}
	}
	for len(cells) > 0 && cells[len(cells)-1].Kind == sheet.Blank {
		cells = cells[:len(cells)-1]
	}
	row.Cells = cells
	return len(cells) > 0
}

// hash represents the edits in the batch's identity, which is shown; the edits
// may hold Social Security numbers. It is empty without edits of the sheets
// that are read.
func (all edits) hash(salt string) string {
	var lines []string
	for _, o := range all {
		if !o.used {
			continue
		}
		name := o.sheet
		if o.isMain {
			name = ""
		}
		for row, edits := range o.rows {
			cells := make(map[int]string)
			for _, e := range edits {
				cells[e.Column] = sheet.TypedCell(e.Text).Text
			}
			for column, text := range cells {
				lines = append(lines, fmt.Sprintf("%q %q %q %d %d %q\n", salt, name, o.added, row, column, text))
			}
		}
	}
	return hashLines(lines)
}

// hashExcluded represents the excluded rows of a sheet in the batch's identity. It is
// empty for none.
func hashExcluded(excluded Exclusions, sheet string) string {
	var lines []string
	for at, by := range excluded {
		if at.Sheet == sheet {
			lines = append(lines, fmt.Sprintf("%d %q %q\n", at.Row, at.Remark, by))
		}
	}
	return hashLines(lines)
}

// hashLines represents lines in any order; none by "".
func hashLines(lines []string) string {
	if lines == nil {
		return ""
	}
	slices.Sort(lines)
	whole := sha256.Sum256([]byte(strings.Join(lines, "")))
	return hex.EncodeToString(whole[:])[:16]
}

// rowReader reads the rows of a sheet with the edits applied.
type rowReader struct {
	*sheet.Reader
	im      *Import
	sheet   string
	overlay *overlay // nil for none
	pending []int    // rows with edits that were not yet read; empty if only the first rows are read
}

// headOf opens a sheet whose first rows are read.
func (im *Import) headOf(name string) (*rowReader, error) {
	r, err := im.file.Rows(name)
	return &rowReader{Reader: r, im: im, sheet: name, overlay: im.edits.of(name)}, err
}

// rows opens a sheet that is read to its end.
func (im *Import) rows(name string) (*rowReader, error) {
	r, err := im.headOf(name)
	if r.overlay != nil {
		r.pending = slices.Sorted(maps.Keys(r.overlay.rows))
	}
	return r, err
}

func (r *rowReader) Read(b *sheet.Block) error {
	for {
		err := r.Reader.Read(b)
		if r.overlay == nil || err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		kept := b.Rows[:0]
		for _, row := range b.Rows {
			if len(r.pending) > 0 && r.pending[0] < row.Number {
				return r.missingRow()
			}
			if len(r.pending) > 0 && r.pending[0] == row.Number {
				r.pending = r.pending[1:]
			}
			if r.overlay.apply(&row) {
				kept = append(kept, row)
			}
		}
		if b.Rows = kept; len(kept) > 0 {
			return nil
		}
		if err != nil && len(r.pending) > 0 {
			return r.missingRow()
		}
		if err != nil {
			return err
		}
	}
}

func (r *rowReader) missingRow() error {
	return badEdit(r.im.file, r.sheet, "a correction is for row %d, which is blank or beyond the last", r.pending[0])
}
