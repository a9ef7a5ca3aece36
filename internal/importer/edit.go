package importer

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// Edit is a correction of one cell. It has the effect of entering the text into the cell of a CSV.
// The value is always text. An empty text clears the cell, and a row without any text is blank.
//
// An edit corrects an existing row. An edit of a blank row, or of a row after the last, fails with
// a *sheet.FormatError when the rows are read.
type Edit struct {
	// Sheet is the name of a sheet. If it is empty, the edit applies to the sheet that is read.
	Sheet string `json:"sheet,omitempty"`
	// Row is the number that a spreadsheet program shows.
	Row int `json:"row"`
	// Column counts from 0. It is -1 if Header names the column.
	Column int `json:"column"`
	// Header is the name of one of our columns. If the sheet lacks the column, it is added after
	// the last header.
	Header string `json:"header,omitempty"`
	Text   string `json:"text"`
}

// Added columns follow the last header, in the order in which the edits first name them. Cells
// without a header move to the right, like cells after a column that is inserted in a spreadsheet
// program.

// editedFile is a file whose sheets are read with the edits.
type editedFile struct {
	*sheet.File
	edits []Edit
	// chosen are the edits of the sheet that is read. It is nil until the sheet is chosen.
	chosen *overlay
}

// overlay holds the edits of one sheet.
type overlay struct {
	// sheet is empty for a CSV.
	sheet string
	edits []Edit
	// rows are the edits with a column index, by row.
	rows map[int][]Edit

	// header is the number of the header row.
	header int
	// width is the number of columns with a header.
	width int
	// added are the headers of the columns that follow.
	added []string
}

func newEditedFile(o *Options, file *sheet.File) (*editedFile, error) {
	f := &editedFile{File: file}
	infos := f.Sheets()
	for _, e := range o.Edits {
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
			return nil, f.badEdit(e.Sheet, "a correction is for a sheet %q, which the file does not have", e.Sheet)
		}
		switch {
		case e.Row < 1, e.Column < -1, e.Column >= maxColumns:
			return nil, f.badEdit(e.Sheet, "a correction is for row %d and column %d, which no sheet has", e.Row,
				e.Column)
		case e.Column < 0 && e.Header == "":
			return nil, f.badEdit(e.Sheet, "a correction in row %d does not name a column", e.Row)
		case len(e.Text) > maxEdit:
			return nil, f.badEdit(e.Sheet, "a correction in row %d is longer than a cell can be", e.Row)
		}
		e.Sheet = name
		f.edits = append(f.edits, e)
	}
	return f, nil
}

// maxEdit is the size in bytes of the longest cell text, which has 32,767 characters.
const maxEdit = 4 * 32767

// sheetNamed finds a sheet by its exact name, or by its name in any case.
func sheetNamed(infos []sheet.Info, name string) int {
	if i := slices.IndexFunc(infos, func(s sheet.Info) bool { return s.Name == name }); i >= 0 {
		return i
	}
	return slices.IndexFunc(infos, func(s sheet.Info) bool { return strings.EqualFold(s.Name, name) })
}

// overlay returns the edits of a sheet. Edits without a sheet are for the sheet that is read.
func (f *editedFile) overlay(name string) *overlay {
	if f.chosen != nil && f.chosen.sheet == name {
		return f.chosen
	}
	o := &overlay{sheet: name}
	for _, e := range f.edits {
		if e.Sheet == name || e.Sheet == "" && f.chosen == nil {
			o.edits = append(o.edits, e)
		}
	}
	o.index(o.edits)
	return o
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

// addColumns adds the columns that the sheet lacks after its headers.
func (f *editedFile) addColumns(o *overlay, l *layout) error {
	o.header, o.width, o.added = l.row, len(l.headings), nil
	_, claims := l.claims()
	placed := slices.Clone(o.edits)
	for i := range placed {
		e := &placed[i]
		if e.Column >= 0 {
			continue
		}
		w, ok := wordings[filing.FoldName(e.Header)]
		if !ok || w.strength < exact {
			return f.badEdit(o.sheet, "a correction is for a column %q, which does not exist", e.Header)
		}
		if winner, _ := strongest(claims[w.column]); len(claims[w.column]) > 0 {
			e.Column = winner.index
			continue
		}
		name := columns[w.column].header
		at := slices.Index(o.added, name)
		if at < 0 {
			at = len(o.added)
			o.added = append(o.added, name)
			folded := filing.FoldName(name)
			l.headings = append(l.headings,
				heading{text: name, folded: folded, index: o.width + at, wording: wordings[folded]})
			l.known++
		}
		e.Column = o.width + at
	}
	o.index(placed)
	return nil
}

// badEdit returns the error for an edit of a cell that does not exist.
func (f *editedFile) badEdit(name, format string, args ...any) error {
	return &sheet.FormatError{
		File: f.Name(), Sheet: name, Reason: fmt.Sprintf(format, args...), Remedy: "Undo the correction",
	}
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

// hash returns a hash of the edits for the batch's identity. The identity is shown, and the edits
// may contain Social Security numbers. It is empty without edits.
func (o *overlay) hash(salt string) string {
	var lines []string
	for row, edits := range o.rows {
		cells := make(map[int]string)
		for _, e := range edits {
			cells[e.Column] = sheet.TypedCell(e.Text).Text
		}
		for column, text := range cells {
			// The second place was the name of a sheet.
			lines = append(lines, fmt.Sprintf("%q %q %q %d %d %q\n", salt, "", o.added, row, column, text))
		}
	}
	return hashLines(lines)
}

// hashExcluded returns a hash of the excluded rows of a sheet for the batch's identity. It is empty
// if no row is excluded.
func hashExcluded(excluded Exclusions, sheet string) string {
	var lines []string
	for at, by := range excluded {
		if at.Sheet == sheet {
			lines = append(lines, fmt.Sprintf("%d %q %q\n", at.Row, at.Remark, by))
		}
	}
	return hashLines(lines)
}

// hashLines returns a hash of lines in any order. It is empty without lines.
func hashLines(lines []string) string {
	if lines == nil {
		return ""
	}
	slices.Sort(lines)
	whole := sha256.Sum256([]byte(strings.Join(lines, "")))
	return hex.EncodeToString(whole[:])[:16]
}

// eachRow calls do with each row of a sheet with the edits applied, until do returns sheet.ErrSkipRest.
func (f *editedFile) eachRow(name string, do func(*sheet.Row) error) error {
	o := f.overlay(name)
	pending := slices.Sorted(maps.Keys(o.rows))
	ended := false
	err := f.EachRow(name, func(row *sheet.Row) error {
		if len(pending) > 0 && pending[0] < row.Number {
			return f.missingRow(name, pending[0])
		}
		if len(pending) > 0 && pending[0] == row.Number {
			pending = pending[1:]
		}
		if !o.apply(row) {
			return nil
		}
		err := do(row)
		ended = err == sheet.ErrSkipRest
		return err
	})
	if err == nil && len(pending) > 0 && !ended {
		return f.missingRow(name, pending[0])
	}
	return err
}

// The limits of the first rows of a sheet, which are read to understand it.
const (
	maxFirstRows  = 512
	maxFirstCells = 1 << 14
	// maxFirstText is in bytes.
	maxFirstText = 1 << 20
)

// head reads the first rows of a sheet.
func (f *editedFile) head(name string) (head []sheet.Row, err error) {
	o, cells, text := f.overlay(name), 0, 0
	err = f.EachRow(name, func(row *sheet.Row) error {
		if o.apply(row) {
			head = append(head, *row)
		}
		cells += len(row.Cells)
		for _, c := range row.Cells {
			text += len(c.Text)
		}
		if len(head) > headRows && (len(head) >= maxFirstRows || cells >= maxFirstCells || text >= maxFirstText) {
			return sheet.ErrSkipRest
		}
		return nil
	})
	return head, err
}

// missingRow returns the error for an edit of a row that does not exist.
func (f *editedFile) missingRow(name string, row int) error {
	return f.badEdit(name, "a correction is for row %d, which is blank or beyond the last", row)
}
