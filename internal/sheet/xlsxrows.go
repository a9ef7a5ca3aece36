package sheet

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"
)

// sheetSource reads the rows of one sheet of a workbook.
type sheetSource struct {
	*workbook
	part    string
	content io.ReadCloser
	scanner *scanner
	strings *stringTable

	// inData reports whether the scanner is within sheetData.
	inData bool
	// number is the number of the last row.
	number  int
	tally   tally
	formats formats
	value   []byte

	// filled and struckOut count cells of the current row.
	filled, struckOut int
	// text is the number of bytes in the texts of the current row.
	text int
}

func (s *sheetSource) close() error { return s.content.Close() }

// fill fills a block with rows. It returns io.EOF only if no rows are left.
func (s *sheetSource) fill(b *block) error {
	err := s.fillRows(b)
	if err == io.EOF && len(b.rows) > 0 {
		return nil
	}
	if err != nil && err != io.EOF {
		return partError(s.part, err)
	}
	return err
}

func (s *sheetSource) fillRows(b *block) error {
	if !s.inData {
		if err := s.findData(); err != nil {
			return err
		}
	}
	for !b.full() {
		t, err := s.scanner.next()
		switch {
		case err != nil:
			return err
		case t == tokenStart && string(s.scanner.name) == "row":
			err = s.readRow(b)
		case t == tokenStart:
			err = s.scanner.skip()
		case t == tokenEnd:
			return s.finish()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// findData advances to the rows.
func (s *sheetSource) findData() error {
	for {
		t, err := s.scanner.next()
		switch {
		case err != nil:
			return err
		case t == tokenEOF:
			// The sheet has no rows, or all of it is read.
			return io.EOF
		case t != tokenStart:
		case len(s.scanner.marks) == 1:
			if string(s.scanner.name) != "worksheet" {
				return refused("the sheet holds no cells (it may be a chart)", "Choose another sheet")
			}
		case string(s.scanner.name) == "sheetData":
			s.inData = true
			s.scanner.allow(-1, nil)
			return nil
		default:
			if err := s.scanner.skip(); err != nil {
				return err
			}
		}
	}
}

// finish reads the content after the rows.
func (s *sheetSource) finish() error {
	if err := s.scanner.readToEnd(); err != nil {
		return err
	}
	s.inData = false
	return io.EOF
}

// readToEnd reads the rest of a part, to detect a truncated part or a wrong checksum.
func (s *scanner) readToEnd() error {
	for {
		t, err := s.next()
		if err != nil || t == tokenEOF {
			return err
		}
	}
}

// readRow reads the row that starts at the current token.
func (s *sheetSource) readRow(b *block) error {
	row, err := s.rowAttributes()
	if err != nil {
		return err
	}
	start := len(b.cells)
	s.filled, s.struckOut, s.text = 0, 0, 0
	// next is the column of a cell without an address.
	next := 0
	for {
		t, err := s.scanner.next()
		switch {
		case err != nil:
			return err
		case t == tokenEnd:
			return s.endRow(b, start, row)
		case t != tokenStart:
		case string(s.scanner.name) == "c":
			next, err = s.readCell(b, start, next, &row)
		default:
			err = s.scanner.skip()
		}
		if err != nil {
			return err
		}
	}
}

// rowAttributes reads the number of the row that starts at the current token, and whether the row
// is hidden. The number is 0 if the row has none.
func (s *sheetSource) rowAttributes() (row Row, err error) {
	for rest := s.scanner.attributes; ; {
		var name, value []byte
		if name, value, rest = nextAttribute(rest); len(name) == 0 {
			return row, nil
		}
		switch string(name) {
		case "r":
			n, ok := parseCount(value)
			if !ok || n < 1 || n > s.limits.Rows {
				return row, damaged(fmt.Sprintf("a row has the number %.20q", value), nil)
			}
			if n <= s.number {
				return row, damaged(fmt.Sprintf("row %d follows row %d", n, s.number), nil)
			}
			row.Number = n
		case "hidden":
			row.Hidden = row.Hidden || isTrue(string(value))
		case "ht":
			row.Hidden = row.Hidden || string(value) == "0"
		}
	}
}

// endRow adds the row whose cells begin at start to the block. A row without a number follows the
// one before it.
func (s *sheetSource) endRow(b *block, start int, row Row) error {
	if row.Number == 0 {
		row.Number = s.number + 1
	}
	if row.Number > s.limits.Rows {
		return damaged(fmt.Sprintf("there are more than %d rows", s.limits.Rows), nil)
	}
	s.number = row.Number
	row.Struck = s.struckOut*2 > s.filled
	cells := len(b.cells) - start
	return s.tally.row(cells, b.endRow(row))
}

// readCell reads the cell that starts at the current token into its column of the row that begins
// at start. It returns the next column.
func (s *sheetSource) readCell(b *block, start, col int, row *Row) (next int, err error) {
	kind, style := typeNumber, 0
	for rest := s.scanner.attributes; ; {
		var name, value []byte
		if name, value, rest = nextAttribute(rest); len(name) == 0 {
			break
		}
		switch string(name) {
		case "r":
			c, r, ok := parseCellName(value)
			if row.Number == 0 && ok && r > s.number && r <= s.limits.Rows {
				// The row has no number.
				row.Number = r
			}
			if !ok || r != row.Number {
				return 0, damaged(fmt.Sprintf("row %d has a cell %.20q", max(row.Number, s.number+1), value), nil)
			}
			col = c
		case "s":
			style, _ = parseCount(value)
		case "t":
			kind = cellTypes[string(value)]
		}
	}
	if col >= s.limits.Columns {
		return 0, damaged(fmt.Sprintf("row %d has a cell beyond column %s, the last there can be",
			max(row.Number, s.number+1), ColumnName(s.limits.Columns-1)), nil)
	}
	if missing := start + col + 1 - len(b.cells); missing > 0 {
		b.cells = append(b.cells, make([]Cell, missing)...)
	}
	if err := s.readValue(b, start+col, kind, style); err != nil {
		return 0, locate(err, FormatError{Cell: CellName(col, max(row.Number, s.number+1))})
	}
	if b.cells[start+col].Kind != Blank {
		s.filled++
		if err := s.count(b, start+col, max(row.Number, s.number+1)); err != nil {
			return 0, err
		}
		if style < len(s.struck) && s.struck[style] {
			b.cells[start+col].Strike = AllStruck
		}
		if b.cells[start+col].Strike == AllStruck {
			s.struckOut++
		}
	}
	return col + 1, nil
}

// count counts a cell that is not blank, and its text. A shared text counts for each cell that
// shows it.
func (s *sheetSource) count(b *block, at, row int) error {
	text := len(b.cells[at].Text)
	if last := len(b.patches) - 1; last >= 0 && b.patches[last].cell == at {
		text = b.patches[last].end - b.patches[last].start
	}
	b.text += text
	if s.text += text; s.text > rowBytes {
		return tooLarge(fmt.Sprintf("the texts of row %d take", row), byteCount(rowBytes), "Shorten them")
	}
	return s.tally.cell(text)
}

// cellType is the encoding of a cell's value.
type cellType uint8

const (
	typeNumber cellType = iota
	// typeShared is the index of a shared string.
	typeShared
	// typeString is the text result of a formula.
	typeString
	typeInline
	typeBool
	typeError
	// typeDate is a date in ISO form.
	typeDate
)

var cellTypes = map[string]cellType{
	"n": typeNumber, "s": typeShared, "str": typeString, "inlineStr": typeInline, "b": typeBool, "e": typeError,
	"d": typeDate,
}

// cellValue is the content of a cell's element.
type cellValue struct {
	raw []byte
	// present reports whether the cell has a <v>, which may be empty.
	present bool
	// inline reports whether the text is in the cell's own <is>.
	inline  bool
	formula bool
	strike  Strike
}

// readCellValue reads the rest of a cell, up to its end.
func (s *sheetSource) readCellValue() (v cellValue, err error) {
	v.raw = s.value[:0]
	for {
		t, err := s.scanner.next()
		if err != nil {
			return v, err
		}
		if t == tokenEnd {
			s.value = v.raw
			return v, nil
		}
		if t != tokenStart {
			continue
		}
		switch name := s.scanner.name; {
		case string(name) == "v" && !v.inline:
			v.raw, err = s.readText(v.raw)
			v.present = true
		case string(name) == "is":
			v.raw, v.strike, err = s.scanner.richText(v.raw[:0], s.limits.CellBytes)
			v.inline = true
		default:
			v.formula = v.formula || string(name) == "f"
			err = s.scanner.skip()
		}
		if err != nil {
			return v, err
		}
	}
}

// readValue reads the rest of a cell, up to its end, into the cell of the block.
func (s *sheetSource) readValue(b *block, at int, kind cellType, style int) error {
	v, err := s.readCellValue()
	if err != nil {
		return err
	}
	if v.inline {
		kind = typeInline
		defer func() { b.cells[at].Strike = v.strike }()
	}
	if len(v.raw) == 0 {
		b.cells[at] = Cell{}
		if emptyText := v.present && kind == typeString; v.formula && !emptyText {
			b.cells[at].Kind = Formula
		}
		return nil
	}
	switch kind {
	case typeShared:
		return s.setShared(b, at, v.raw)
	case typeBool:
		b.cells[at] = Cell{Text: "FALSE", Kind: Bool}
		if isTrue(string(bytes.TrimSpace(v.raw))) {
			b.cells[at].Text = "TRUE"
		}
		return nil
	case typeError:
		s.setText(b, at, v.raw, Error)
		return nil
	case typeDate:
		start := len(b.scratch)
		if text, ok := appendISO(b.scratch, bytes.TrimSpace(v.raw)); ok {
			b.setScratch(text, start, at, Date)
			return nil
		}
	case typeNumber:
		if done, err := s.setNumber(b, at, bytes.TrimSpace(v.raw), style); done || err != nil {
			return err
		}
	}
	s.setText(b, at, unescape(v.raw), Text)
	return nil
}

// setShared sets a cell to the shared text of an index.
func (s *sheetSource) setShared(b *block, at int, index []byte) error {
	i, ok := parseCount(bytes.TrimSpace(index))
	if ok {
		b.cells[at].Text, ok = s.strings.at(i)
	}
	if !ok {
		return damaged(fmt.Sprintf("the cell refers to the shared text %.20q, which the file does not hold", index),
			nil)
	}
	b.cells[at].Kind = Blank
	if b.cells[at].Text != "" {
		b.cells[at].Kind, b.cells[at].Strike = Text, s.strings.struck[i]
	}
	return nil
}

// readText appends the text of the element that starts at the current token, up to its end.
func (s *sheetSource) readText(dst []byte) ([]byte, error) {
	for {
		t, err := s.scanner.next()
		switch {
		case err != nil:
			return dst, err
		case t == tokenEnd:
			return dst, nil
		case t == tokenStart:
			err = s.scanner.skip()
		case t == tokenText:
			dst, err = s.scanner.appendText(dst)
		}
		if err != nil {
			return dst, err
		}
		if len(dst) > 8*s.limits.CellBytes {
			return dst, longText(s.limits.CellBytes)
		}
	}
}

// setScratch makes the text appended to the scratch the text of a cell.
func (b *block) setScratch(scratch []byte, start, at int, kind Kind) {
	b.scratch = scratch
	b.cells[at] = Cell{Kind: kind}
	b.patches = append(b.patches, patch{at, start, len(scratch)})
}

// setText sets a cell to a text with normalized white space.
func (s *sheetSource) setText(b *block, at int, text []byte, kind Kind) {
	start := len(b.scratch)
	scratch := appendClean(b.scratch, text)
	if len(scratch) == start {
		b.cells[at] = Cell{}
		return
	}
	if bytes.ContainsRune(scratch[start:], utf8.RuneError) {
		s.owner.note(noteUnreadable)
	}
	b.setScratch(scratch, start, at, kind)
}

// setNumber sets a cell to the number, date or digits that a person sees. It returns false if raw
// is not a number.
func (s *sheetSource) setNumber(b *block, at int, raw []byte, style int) (bool, error) {
	start := len(b.scratch)
	format, err := s.formats.of(style)
	if err != nil {
		return false, err
	}
	if format != nil {
		value, err := strconv.ParseFloat(string(raw), 64)
		if err != nil {
			return false, nil
		}
		section := format.section(value)
		switch {
		case section.date || section.time:
			if s.date1904 && (section.date || value >= 1) {
				value += offset1904
			}
			if text, ok := appendSerial(b.scratch, value, section.date, section.time); ok {
				b.setScratch(text, start, at, Date)
				b.cells[at].Year = section.year
				return true, nil
			}
		case section.digits != nil && value >= 0 && value < 1e15 && value == math.Trunc(value):
			var digits [20]byte
			text := section.appendDigits(b.scratch, strconv.AppendInt(digits[:0], int64(value), 10))
			shown := bytes.TrimSpace(text[start:])
			text = text[:start+copy(text[start:], shown)]
			b.setScratch(text, start, at, Number)
			return true, nil
		}
	}
	text, ok := appendNumber(b.scratch, raw)
	if ok {
		b.setScratch(text, start, at, Number)
	}
	return ok, nil
}
