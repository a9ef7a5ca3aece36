package sheet

import "bytes"

// Range is a rectangle of cells. Columns are counted from 0, rows from 1.
type Range struct {
	FirstColumn, FirstRow int
	LastColumn, LastRow   int
}

// Merged lists the merged cells of a sheet that begin in its first rows, as a header has them. Only the first cell of each
// has a value. A file tells of them behind its last row, so this reads the whole sheet; a CSV has none.
func (f *File) Merged(sheet string, rows int) ([]Range, error) {
	w, ok := f.body.(*workbook)
	if !ok {
		return nil, nil
	}
	ranges, err := w.merged(sheet, rows)
	if err != nil {
		return nil, located(err, FormatError{File: f.name, Sheet: sheet})
	}
	return ranges, nil
}

func (w *workbook) merged(sheet string, rows int) ([]Range, error) {
	t, err := w.tab(sheet)
	if err != nil {
		return nil, err
	}
	content, err := w.open(t.part, w.limits.PartBytes)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	s := newScanner(content)
	var ranges []Range
	for {
		token, err := s.next()
		switch {
		case err != nil:
			return nil, partError(t.part, err)
		case token == tokenEOF:
			return ranges, nil
		case token != tokenStart:
		case string(s.name) == "sheetData":
			err = s.skip()
		case string(s.name) == "mergeCell":
			if r, ok := mergedRange(s.attributes); ok && r.FirstRow <= rows {
				ranges = append(ranges, r)
			}
		}
		if err != nil {
			return nil, partError(t.part, err)
		}
	}
}

func mergedRange(attributes []byte) (r Range, ok bool) {
	for {
		name, value, rest := nextAttribute(attributes)
		if len(name) == 0 {
			return r, false
		}
		if attributes = rest; string(name) != "ref" {
			continue
		}
		first, last, found := bytes.Cut(value, []byte(":"))
		if !found {
			return r, false
		}
		var ok1, ok2 bool
		r.FirstColumn, r.FirstRow, ok1 = parseCellName(first)
		r.LastColumn, r.LastRow, ok2 = parseCellName(last)
		return r, ok1 && ok2 && r.FirstColumn <= r.LastColumn && r.FirstRow <= r.LastRow
	}
}
