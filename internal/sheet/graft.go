package sheet

import (
	"archive/zip"
	"bytes"
	"cmp"
	"fmt"
	"html"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Graft says how the sheets of a workbook are put into a copy. The first sheet of
// the workbook holds cells for a sheet of the copy: they replace or follow the
// cells of the same rows. The other sheets follow those of the copy.
type Graft struct {
	Sheet   string // of the copy
	First   int    // the first column of the cells; those of the copy from there to Last are replaced
	Last    int
	Header  int                  // the row of the headers: a filter of it gets the added columns; 0 for none
	Replace map[int]map[int]Cell // cells whose values have changed, by row number and column
}

// SaveInto completes the workbook and writes it, in one file with the copy, to
// its target. A copy that is not in the form of XLSX, or that cannot be extended,
// is an error; nothing is written then, and the workbook cannot be saved.
func (w *Workbook) SaveInto(original *File, g Graft) error {
	err := w.saveInto(original, g)
	if err != nil {
		w.Abort()
		return fmt.Errorf("save %s: %w", w.file.target, err)
	}
	w.book.Close()
	if err := w.file.commit(); err != nil {
		return fmt.Errorf("save %s: %w", w.file.target, err)
	}
	return nil
}

func (w *Workbook) saveInto(original *File, g Graft) error {
	base, ok := original.body.(*workbook)
	if !ok {
		return fmt.Errorf("the original is not an Excel workbook")
	}
	if err := w.finish(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bulkfiling-graft-")
	if err != nil {
		return fmt.Errorf("make a folder for the sheets that are added: %w", err)
	}
	defer os.RemoveAll(dir)
	added := filepath.Join(dir, "added.xlsx")
	if err := w.writeTo(added); err != nil {
		return err
	}
	file, err := Open(added, Limits{})
	if err != nil {
		return err
	}
	defer file.Close()
	m := &merger{Graft: g, base: base, added: file.body.(*workbook), replaced: map[string][]byte{}}
	if err := m.merge(zip.NewWriter(w.file)); err != nil {
		return err
	}
	return seal(w.file.File)
}

// writeTo writes the finished workbook to a file of its own.
func (w *Workbook) writeTo(name string) error {
	file, err := os.Create(name)
	if err == nil {
		err = w.writeArchive(file)
	}
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		return fmt.Errorf("write the sheets that are added: %w", err)
	}
	return nil
}

// merger puts the parts of an added workbook into those of a base.
type merger struct {
	Graft
	base, added *workbook

	replaced map[string][]byte // parts of the base that change, by name
	parts    []mergedPart      // that are added
	styles   int               // the number of styles of the base's cells
	filter   [2]string         // the range of the filter before and after the columns are added; "" for none
}

type mergedPart struct {
	name    string // as it is written
	content []byte
}

// graftPrefix is in the names of the parts that are added.
const graftPrefix = "bulkfiling-"

func (m *merger) merge(archive *zip.Writer) error {
	target, err := m.base.tab(m.Sheet)
	if err != nil {
		return err
	}
	stylesPart, err := m.mergeStyles()
	if err != nil {
		return err
	}
	if err := m.mergeCells(target.part); err != nil {
		return err
	}
	types, err := m.addParts()
	if err != nil {
		return err
	}
	if err := m.mergeMain(); err != nil {
		return err
	}
	if err := m.mergeTypes(types, stylesPart); err != nil {
		return err
	}
	for _, part := range m.base.archive {
		if data, changed := m.replaced[partName(part.Name)]; changed {
			err = writePart(archive, part.Name, data)
		} else {
			err = archive.Copy(part)
		}
		if err != nil {
			return err
		}
	}
	for _, p := range m.parts {
		if err := writePart(archive, p.name, p.content); err != nil {
			return err
		}
	}
	return archive.Close()
}

// styleParts is a styles part by its top elements.
type styleParts struct {
	tag     []byte // the start tag of the root
	prefix  string
	content map[string][]byte // of each element, without its tag
	tags    map[string][]byte // the start tag of those that are copied as they are
	count   map[string]int    // of the children of each
}

// The top elements of a styles part in their order. Source: ECMA-376 part 1,
// 18.8.39.
var styleOrder = []string{"numFmts", "fonts", "fills", "borders", "cellStyleXfs", "cellXfs", "cellStyles", "dxfs",
	"tableStyles", "colors", "extLst"}

func parseStyles(data []byte) (*styleParts, error) {
	s := &styleParts{content: map[string][]byte{}, tags: map[string][]byte{}, count: map[string]int{}}
	err := eachTag(data, func(x *rawXML, t *rawToken) (err error) {
		if s.tag == nil {
			s.tag, s.prefix = t.bytes, prefixOf(t.name)
			if t.kind == rawEmpty {
				s.tag = append(bytes.TrimSuffix(bytes.Clone(t.bytes), []byte("/>")), '>')
			}
			return nil
		}
		local := t.local()
		s.tags[local] = t.bytes
		if t.kind == rawEmpty {
			return nil
		}
		if s.content[local], err = x.inner(); err != nil {
			return err
		}
		return eachTag(s.content[local], func(x *rawXML, t *rawToken) error {
			s.count[local]++
			if t.kind == rawStart {
				return x.skip()
			}
			return nil
		})
	})
	if err == nil && s.tag == nil {
		err = errXMLMalformed
	}
	return s, err
}

var (
	formatID = regexp.MustCompile(`numFmtId="(\d+)"`)
	fontID   = regexp.MustCompile(`fontId="(\d+)"`)
	fillID   = regexp.MustCompile(`fillId="(\d+)"`)
	borderID = regexp.MustCompile(`borderId="(\d+)"`)
)

// firstCustomFormat is the first id of a number format that is not built in.
const firstCustomFormat = 164

// shiftIDs adds to the ids in a piece of XML those from a first one on.
func shiftIDs(data []byte, id *regexp.Regexp, first, by int) []byte {
	return id.ReplaceAllFunc(data, func(match []byte) []byte {
		open := bytes.IndexByte(match, '"')
		n, err := strconv.Atoi(string(match[open+1 : len(match)-1]))
		if err != nil || n < first {
			return match
		}
		return fmt.Appendf(nil, `%s"%d"`, match[:open], n+by)
	})
}

// mergeStyles adds the styles of the added workbook to those of the base. It
// returns the name of a styles part that the base did not have.
func (m *merger) mergeStyles() (newPart string, err error) {
	ours, err := m.added.readPart(m.added.stylesPart)
	if err != nil {
		return "", err
	}
	if m.base.parts[m.base.stylesPart] == nil {
		name := path.Join(path.Dir(m.base.parts[m.base.main].Name), graftPrefix+"styles.xml")
		m.parts = append(m.parts, mergedPart{name, ours})
		return name, nil
	}
	data, err := m.base.readPart(m.base.stylesPart)
	if err != nil {
		return "", err
	}
	theirs, err := parseStyles(data)
	if err != nil {
		return "", partError(m.base.stylesPart, err)
	}
	mine, err := parseStyles(ours)
	if err != nil {
		return "", partError(m.added.stylesPart, err)
	}
	highest := firstCustomFormat
	for _, match := range formatID.FindAllSubmatch(theirs.content["numFmts"], -1) {
		if n, err := strconv.Atoi(string(match[1])); err == nil && n < math.MaxInt16 {
			highest = max(highest, n+1)
		}
	}
	m.styles = theirs.count["cellXfs"]
	shift := func(element string) []byte {
		data := shiftIDs(mine.content[element], formatID, firstCustomFormat, highest-firstCustomFormat)
		if element == "cellXfs" {
			data = shiftIDs(data, fontID, 0, theirs.count["fonts"])
			data = shiftIDs(data, fillID, 0, theirs.count["fills"])
			data = shiftIDs(data, borderID, 0, theirs.count["borders"])
		}
		return data
	}
	var out bytes.Buffer
	out.WriteString(xmlDeclaration)
	out.Write(theirs.tag)
	p := theirs.prefix
	for _, element := range styleOrder {
		switch element {
		case "numFmts", "fonts", "fills", "borders", "cellXfs":
			total := theirs.count[element] + mine.count[element]
			if total == 0 {
				continue
			}
			fmt.Fprintf(&out, `<%s%s count="%d">`, p, element, total)
			out.Write(theirs.content[element])
			out.Write(withPrefix(shift(element), p))
			fmt.Fprintf(&out, "</%s%s>", p, element)
		default:
			tag, found := theirs.tags[element]
			if !found {
				continue
			}
			out.Write(tag)
			if !bytes.HasSuffix(tag, []byte("/>")) {
				out.Write(theirs.content[element])
				fmt.Fprintf(&out, "</%s%s>", p, element)
			}
		}
	}
	fmt.Fprintf(&out, "</%sstyleSheet>", p)
	m.replaced[m.base.stylesPart] = out.Bytes()
	return "", nil
}

// withPrefix puts a prefix before the names of all elements.
func withPrefix(data []byte, prefix string) []byte {
	if prefix == "" {
		return data
	}
	var out bytes.Buffer
	x := rawXML{data: data}
	for {
		t, ok, err := x.next()
		if err != nil || !ok {
			return out.Bytes()
		}
		switch t.kind {
		case rawStart, rawEmpty:
			out.WriteString("<" + prefix)
			out.Write(t.bytes[1:])
		case rawEnd:
			out.WriteString("</" + prefix)
			out.Write(t.bytes[2:])
		default:
			out.Write(t.bytes)
		}
	}
}

// addedRow is a row of the sheet whose cells are added.
type addedRow struct {
	number int
	height string // the attributes of its height
	cells  []byte
}

// shiftStyles adds the number of the base's styles to those of cells, rows or
// columns.
func (m *merger) shiftStyles(t *rawToken, attribute string) []byte {
	var out bytes.Buffer
	out.WriteByte('<')
	out.Write(t.name)
	found := false
	for rest := t.attributes; ; {
		var name, value []byte
		if name, value, rest = nextAttribute(rest); len(name) == 0 {
			break
		}
		if string(name) == attribute {
			if n, err := strconv.Atoi(string(value)); err == nil {
				value, found = strconv.AppendInt(nil, int64(n+m.styles), 10), true
			}
		}
		fmt.Fprintf(&out, ` %s="%s"`, name, value)
	}
	if !found && m.styles > 0 && string(t.name) == "c" {
		fmt.Fprintf(&out, ` %s="%d"`, attribute, m.styles)
	}
	if t.kind == rawEmpty {
		out.WriteByte('/')
	}
	out.WriteByte('>')
	return out.Bytes()
}

// shiftSheet returns a sheet of the added workbook with the styles as they are
// numbered in the base.
func (m *merger) shiftSheet(data []byte) ([]byte, error) {
	var out bytes.Buffer
	x := rawXML{data: data}
	for {
		t, ok, err := x.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			return out.Bytes(), nil
		}
		switch {
		case t.kind > rawEmpty:
			out.Write(t.bytes)
		case t.local() == "c":
			if kind, _ := t.attribute("t"); kind == "s" {
				return nil, fmt.Errorf("a sheet that is added has a shared text")
			}
			out.Write(m.shiftStyles(&t, "s"))
		case t.local() == "row":
			out.Write(m.shiftStyles(&t, "s"))
		case t.local() == "col":
			out.Write(m.shiftStyles(&t, "style"))
		case t.local() == "sheetView": // the tab that is open is one of the base
			out.Write(bytes.Replace(t.bytes, []byte(` tabSelected="true"`), nil, 1))
		default:
			out.Write(t.bytes)
		}
	}
}

// column is the width of some columns.
type columnRange struct {
	first, last int // from 1
	tag         rawToken
}

// readAddedRows reads the cells and the widths that are added to a sheet.
func (m *merger) readAddedRows() (rows []addedRow, columns []columnRange, err error) {
	data, err := m.added.readPart(m.added.tabs[0].part)
	if err == nil {
		data, err = m.shiftSheet(data)
	}
	if err != nil {
		return nil, nil, err
	}
	err = eachTag(data, func(x *rawXML, t *rawToken) error {
		switch {
		case t.local() == "col":
			columns = append(columns, rangeOf(*t))
		case t.kind == rawStart && t.local() == "row":
			number, _ := t.attribute("r")
			n, err := strconv.Atoi(number)
			if err != nil {
				return err
			}
			row := addedRow{number: n}
			if height, found := t.attribute("ht"); found {
				row.height = fmt.Sprintf(` ht="%s" customHeight="1"`, height)
			}
			inner, err := x.inner()
			if err == nil {
				row.cells, err = m.fromFirst(inner)
			}
			rows = append(rows, row)
			return err
		}
		return nil
	})
	return rows, columns, err
}

// fromFirst returns the cells of a row that are added.
func (m *merger) fromFirst(cells []byte) ([]byte, error) {
	x := rawXML{data: cells}
	for {
		before := x.pos
		t, ok, err := x.next()
		if err != nil || !ok {
			return nil, err
		}
		if t.kind > rawEmpty {
			continue
		}
		r, _ := t.attribute("r")
		if col, _, ok := parseCellName([]byte(r)); ok && col >= m.First {
			return cells[before:], nil
		}
		if t.kind == rawStart {
			if err := x.skip(); err != nil {
				return nil, err
			}
		}
	}
}

func rangeOf(t rawToken) columnRange {
	first, _ := t.attribute("min")
	last, _ := t.attribute("max")
	c := columnRange{tag: t}
	c.first, _ = strconv.Atoi(first)
	c.last, _ = strconv.Atoi(last)
	return c
}

// write writes the range with other bounds.
func (c *columnRange) write(out *bytes.Buffer, prefix string, first, last int) {
	if first > last {
		return
	}
	out.WriteString("<" + prefix + "col")
	for rest := c.tag.attributes; ; {
		var name, value []byte
		if name, value, rest = nextAttribute(rest); len(name) == 0 {
			break
		}
		switch string(name) {
		case "min":
			value = strconv.AppendInt(nil, int64(first), 10)
		case "max":
			value = strconv.AppendInt(nil, int64(last), 10)
		}
		fmt.Fprintf(out, ` %s="%s"`, name, value)
	}
	out.WriteString("/>")
}

// sheetMerger puts cells into a sheet of the base.
type sheetMerger struct {
	*merger
	x       rawXML
	out     bytes.Buffer
	prefix  string
	rows    []addedRow
	columns []columnRange
	number  int // of the last row
	colsEnd bool
}

// mergeCells adds the cells to the sheet of the base.
func (m *merger) mergeCells(part string) error {
	data, err := m.base.readPart(part)
	if err != nil {
		return err
	}
	s := &sheetMerger{merger: m, x: rawXML{data: data}}
	if s.rows, s.columns, err = m.readAddedRows(); err != nil {
		return err
	}
	s.out.Grow(len(data) * 3 / 2)
	if err := s.run(); err != nil {
		return partError(part, err)
	}
	m.replaced[part] = s.out.Bytes()
	return nil
}

func (s *sheetMerger) run() error {
	for {
		t, ok, err := s.x.next()
		if err != nil || !ok {
			return err
		}
		if t.kind > rawEmpty {
			s.out.Write(t.bytes)
			continue
		}
		switch local := t.local(); {
		case local == "worksheet":
			s.prefix = prefixOf(t.name)
			s.out.Write(t.bytes)
		case local == "dimension" && len(s.x.open) <= 2:
			s.writeDimension(&t)
		case local == "cols" && len(s.x.open) <= 2:
			err = s.mergeColumns(&t)
		case local == "sheetData" && len(s.x.open) <= 2:
			if !s.colsEnd {
				s.writeColumns(nil)
			}
			err = s.mergeRows(&t)
		case local == "autoFilter" && len(s.x.open) <= 2:
			s.writeAutoFilter(&t)
		default:
			s.out.Write(t.bytes)
		}
		if err != nil {
			return err
		}
	}
}

// writeDimension writes the range of the cells, ours included.
func (s *sheetMerger) writeDimension(t *rawToken) {
	ref, _ := t.attribute("ref")
	from, to, isRange := strings.Cut(ref, ":")
	if !isRange {
		to = from
	}
	col, row, ok := parseCellName([]byte(to))
	if !ok {
		s.out.Write(t.bytes)
		return
	}
	if n := len(s.rows); n > 0 {
		row = max(row, s.rows[n-1].number)
	}
	fmt.Fprintf(&s.out, `<%sdimension ref="%s:%s"/>`, s.prefix, escapeXML(from), CellName(max(col, s.Last), row))
	if t.kind == rawStart {
		_ = s.x.skip()
	}
}

// writeAutoFilter writes the range of the filter of the headers, our columns included.
func (s *sheetMerger) writeAutoFilter(t *rawToken) {
	ref, _ := t.attribute("ref")
	from, to, _ := strings.Cut(ref, ":")
	first, header, ok := parseCellName([]byte(from))
	col, row, is := parseCellName([]byte(to))
	if !ok || !is || header != s.Header || col >= s.Last {
		s.out.Write(t.bytes)
		return
	}
	if n := len(s.rows); n > 0 {
		row = max(row, s.rows[n-1].number)
	}
	s.filter = [2]string{ref, CellName(first, header) + ":" + CellName(s.Last, row)}
	s.out.Write(bytes.Replace(t.bytes, []byte(`ref="`+ref+`"`), []byte(`ref="`+s.filter[1]+`"`), 1))
}

// filterName is the name that a program keeps for the range of a filter.
var filterName = regexp.MustCompile(`(<[^<>]*definedName [^<>]*_xlnm\._FilterDatabase[^<>]*>)([^<>]*)`)

// renameFilter gives the name of the filter's range its new range.
func (m *merger) renameFilter(main []byte) []byte {
	if m.filter[0] == "" {
		return main
	}
	absolute := func(ref string) string {
		from, to, _ := strings.Cut(ref, ":")
		dollars := func(cell string) string {
			col, row, _ := parseCellName([]byte(cell))
			return fmt.Sprintf("$%s$%d", ColumnName(col), row)
		}
		return dollars(from) + ":" + dollars(to)
	}
	before, after := absolute(m.filter[0]), absolute(m.filter[1])
	return filterName.ReplaceAllFunc(main, func(name []byte) []byte {
		ours := false
		for _, sheet := range []string{m.Sheet, "'" + strings.ReplaceAll(m.Sheet, "'", "''") + "'"} {
			ours = ours || strings.HasSuffix(html.UnescapeString(string(name)), ">"+sheet+"!"+before)
		}
		if !ours {
			return name
		}
		return append(bytes.TrimSuffix(bytes.Clone(name), []byte(before)), after...)
	})
}

// mergeColumns copies the widths of the columns, with ours.
func (s *sheetMerger) mergeColumns(t *rawToken) error {
	var theirs []columnRange
	if t.kind == rawStart {
		inner, err := s.x.inner()
		if err != nil {
			return err
		}
		err = eachTag(inner, func(_ *rawXML, t *rawToken) error {
			if t.local() == "col" {
				theirs = append(theirs, rangeOf(*t))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	s.writeColumns(theirs)
	return nil
}

// writeColumns writes the widths of the base's columns, and ours between them.
func (s *sheetMerger) writeColumns(theirs []columnRange) {
	s.colsEnd = true
	first, last := s.First+1, s.Last+1
	var ours []columnRange
	for _, c := range s.columns {
		if c.first >= first && c.last <= last {
			ours = append(ours, c)
		}
	}
	if len(ours)+len(theirs) == 0 {
		return
	}
	slices.SortFunc(ours, func(a, b columnRange) int { return cmp.Compare(a.first, b.first) })
	fmt.Fprintf(&s.out, "<%scols>", s.prefix)
	for i := range theirs {
		theirs[i].write(&s.out, s.prefix, theirs[i].first, min(theirs[i].last, first-1))
	}
	for i := range ours {
		ours[i].write(&s.out, s.prefix, ours[i].first, ours[i].last)
	}
	for i := range theirs {
		theirs[i].write(&s.out, s.prefix, max(theirs[i].first, last+1), theirs[i].last)
	}
	fmt.Fprintf(&s.out, "</%scols>", s.prefix)
}

// mergeRows copies the rows of the base, with the added rows between them.
func (s *sheetMerger) mergeRows(t *rawToken) error {
	end := "</" + string(t.name) + ">"
	if t.kind == rawEmpty {
		s.out.WriteString("<" + string(t.name) + ">")
		s.addRowsBefore(math.MaxInt)
		s.out.WriteString(end)
		return nil
	}
	s.out.Write(t.bytes)
	for {
		t, ok, err := s.x.next()
		switch {
		case err != nil || !ok:
			return cmpError(err)
		case t.kind == rawEnd:
			s.addRowsBefore(math.MaxInt)
			s.out.Write(t.bytes)
			return nil
		case t.kind <= rawEmpty && t.local() == "row":
			err = s.mergeRow(&t)
		default:
			s.out.Write(t.bytes)
		}
		if err != nil {
			return err
		}
	}
}

// addRowsBefore writes the added rows that the base does not have.
func (s *sheetMerger) addRowsBefore(number int) {
	for len(s.rows) > 0 && s.rows[0].number < number {
		r := s.rows[0]
		s.rows = s.rows[1:]
		cells := s.changed(r.number, nil)
		if len(r.cells)+len(cells) == 0 {
			continue
		}
		fmt.Fprintf(&s.out, `<%srow r="%d"%s>`, s.prefix, r.number, r.height)
		s.out.Write(cells)
		s.out.Write(withPrefix(r.cells, s.prefix))
		fmt.Fprintf(&s.out, "</%srow>", s.prefix)
	}
}

// changed returns the changed cells of a row that the base does not have, in
// order, without those that were written.
func (s *sheetMerger) changed(number int, written map[int]bool) []byte {
	var out bytes.Buffer
	for _, col := range slices.Sorted(maps.Keys(s.Replace[number])) {
		if !written[col] && col < s.First {
			s.writeChanged(&out, number, col, nil)
		}
	}
	return out.Bytes()
}

// writeChanged writes a cell that has changed, with the style of the original.
func (s *sheetMerger) writeChanged(out *bytes.Buffer, number, col int, original *rawToken) {
	cell := s.Replace[number][col]
	style := ""
	if original != nil {
		if value, found := original.attribute("s"); found {
			style = ` s="` + escapeXML(value) + `"`
		}
	}
	p := s.prefix
	name := CellName(col, number)
	switch {
	case cell.Kind == Blank || cell.Text == "":
		fmt.Fprintf(out, `<%sc r="%s"%s/>`, p, name, style)
	case cell.Kind == Number && isPlainNumber([]byte(cell.Text)):
		fmt.Fprintf(out, `<%sc r="%s"%s><%[1]sv>%[4]s</%[1]sv></%[1]sc>`, p, name, style, cell.Text)
	default:
		fmt.Fprintf(
			out, `<%sc r="%s"%s t="inlineStr"><%[1]sis><%[1]st xml:space="preserve">%[4]s</%[1]st></%[1]sis></%[1]sc>`,
			p, name, style, escapeXML(cell.Text))
	}
}

// mergeRow copies a row of the base with its changed and added cells.
func (s *sheetMerger) mergeRow(t *rawToken) error {
	s.number++
	if r, found := t.attribute("r"); found {
		if n, err := strconv.Atoi(r); err == nil {
			s.number = n
		}
	} else if t.kind == rawStart { // the first cell names the row
		x := rawXML{data: s.x.data, pos: s.x.pos}
		if c, ok, err := x.next(); err == nil && ok && c.kind <= rawEmpty {
			r, _ := c.attribute("r")
			if _, n, ok := parseCellName([]byte(r)); ok && n > s.number {
				s.number = n
			}
		}
	}
	s.addRowsBefore(s.number)
	var inner []byte
	if t.kind == rawStart {
		var err error
		if inner, err = s.x.inner(); err != nil {
			return err
		}
	}
	var ours []byte
	if len(s.rows) > 0 && s.rows[0].number == s.number {
		ours = s.rows[0].cells
		s.rows = s.rows[1:]
	}
	s.out.WriteString("<" + string(t.name))
	for rest := t.attributes; ; {
		var name, value []byte
		if name, value, rest = nextAttribute(rest); len(name) == 0 {
			break
		}
		if string(name) != "spans" { // it would have to name our columns
			fmt.Fprintf(&s.out, ` %s="%s"`, name, value)
		}
	}
	s.out.WriteByte('>')
	if err := s.writeCells(inner, ours); err != nil {
		return err
	}
	s.out.WriteString("</" + string(t.name) + ">")
	return nil
}

// writeCells writes the cells of a row: those of the base, the changed ones, and ours.
func (s *sheetMerger) writeCells(inner, ours []byte) error {
	pending := slices.Sorted(maps.Keys(s.Replace[s.number]))
	changedBefore := func(col int) {
		for len(pending) > 0 && pending[0] < col {
			s.writeChanged(&s.out, s.number, pending[0], nil)
			pending = pending[1:]
		}
	}
	behind := -1 // where what stands behind our columns begins
	next := 0
	err := eachTag(inner, func(x *rawXML, t *rawToken) error {
		start := x.pos - len(t.bytes)
		if t.kind == rawStart {
			if err := x.skip(); err != nil {
				return err
			}
		}
		if t.local() != "c" || behind >= 0 {
			return nil // what stands between cells is blank, or an extension of no use
		}
		col := next
		if r, found := t.attribute("r"); found {
			if c, _, ok := parseCellName([]byte(r)); ok {
				col = c
			}
		}
		next = col + 1
		changedBefore(min(col, s.First))
		switch {
		case col > s.Last:
			behind = start
		case col >= s.First: // ours stand there
		case len(pending) > 0 && pending[0] == col:
			pending = pending[1:]
			s.writeChanged(&s.out, s.number, col, t)
		default:
			s.out.Write(inner[start:x.pos])
		}
		return nil
	})
	if err != nil {
		return err
	}
	changedBefore(s.First)
	s.out.Write(withPrefix(ours, s.prefix))
	if behind >= 0 {
		s.out.Write(inner[behind:])
	}
	return nil
}

// addParts adds the parts of the sheets after the first, and returns the content
// types of the added workbook.
func (m *merger) addParts() (types map[string]string, err error) {
	types = map[string]string{}
	var visit func(part string) error
	seen := map[string]bool{}
	visit = func(part string) error {
		if seen[part] {
			return nil
		}
		seen[part] = true
		data, err := m.added.readPart(part)
		if err != nil {
			return err
		}
		if strings.Contains(part, "/worksheets/") {
			if data, err = m.shiftSheet(data); err != nil {
				return err
			}
		}
		name := m.added.parts[part].Name
		m.parts = append(m.parts, mergedPart{addedName(name), data})
		types[part] = addedName(name)
		relations := relationsPart(part)
		if m.added.parts[relations] == nil {
			return nil
		}
		data, err = m.added.readPart(relations)
		if err != nil {
			return err
		}
		m.parts = append(m.parts, mergedPart{
			path.Join(path.Dir(addedName(name)), "_rels", path.Base(addedName(name))+".rels"),
			renameTargets(data),
		})
		targets, err := m.added.relations(part)
		if err != nil {
			return err
		}
		for _, id := range slices.Sorted(maps.Keys(targets)) {
			if err := visit(targets[id].target); err != nil {
				return err
			}
		}
		return nil
	}
	for _, t := range m.added.tabs[1:] {
		if err := visit(t.part); err != nil {
			return nil, err
		}
	}
	return types, nil
}

// addedName is the name of an added part in the base.
func addedName(name string) string { return path.Join(path.Dir(name), graftPrefix+path.Base(name)) }

var internalTarget = regexp.MustCompile(`Target="([^"]*/)?([^"/]+)"`)

// renameTargets renames the targets of relations. excelize writes those of
// links with a mode behind the target.
func renameTargets(data []byte) []byte {
	var out bytes.Buffer
	x := rawXML{data: data}
	for {
		t, ok, err := x.next()
		if err != nil || !ok {
			return out.Bytes()
		}
		if mode, _ := t.attribute("TargetMode"); t.kind <= rawEmpty && mode != "External" {
			out.Write(internalTarget.ReplaceAll(t.bytes, []byte(`Target="${1}`+graftPrefix+`${2}"`)))
			continue
		}
		out.Write(t.bytes)
	}
}

// mergeMain adds the sheets and their names to the list of sheets.
func (m *merger) mergeMain() error {
	data, err := m.base.readPart(m.base.main)
	if err != nil {
		return err
	}
	theirs, err := m.added.readPart(m.added.main)
	if err != nil {
		return err
	}
	var sheets, relations bytes.Buffer
	prefix, count, highest := "", 0, 0
	err = eachTag(data, func(_ *rawXML, t *rawToken) error {
		switch t.local() {
		case "workbook":
			prefix = prefixOf(t.name)
		case "sheet":
			id, _ := t.attribute("sheetId")
			n, _ := strconv.Atoi(id)
			highest = max(highest, n)
			count++
		}
		return nil
	})
	if err != nil {
		return partError(m.base.main, err)
	}
	visible, names, err := addedNames(theirs, prefix, count)
	if err != nil {
		return err
	}
	for i, t := range m.added.tabs[1:] {
		state := ""
		if s := visible[t.Name]; s != "" && s != "visible" {
			state = ` state="` + s + `"`
		}
		fmt.Fprintf(&sheets,
			`<%ssheet name="%s" sheetId="%d"%s xmlns:bfr="%s" bfr:id="rIdBulkfiling%d"/>`, prefix, escapeXML(t.Name),
			highest+1+i, state, relationNamespace, i+1)
		fmt.Fprintf(&relations, `<Relationship Id="rIdBulkfiling%d" Type="%s/worksheet" Target="/%s"/>`, i+1,
			relationNamespace, escapeXML(addedName(m.added.parts[t.part].Name)))
	}
	if m.base.parts[m.base.stylesPart] == nil {
		fmt.Fprintf(&relations, `<Relationship Id="rIdBulkfilingStyles" Type="%s/styles" Target="/%s"/>`,
			relationNamespace, escapeXML(m.parts[0].name))
	}
	m.replaced[m.base.main] = insertMain(m.renameFilter(data), prefix, sheets.Bytes(), names)
	name := relationsPart(m.base.main)
	if m.base.parts[name] == nil {
		return fmt.Errorf("the original has no list of relations")
	}
	rels, err := m.base.readPart(name)
	if err != nil {
		return err
	}
	end := bytes.LastIndex(rels, []byte("</"))
	if end < 0 {
		return partError(name, errXMLMalformed)
	}
	m.replaced[name] = slices.Concat(rels[:end], relations.Bytes(), rels[end:])
	return nil
}

// addedNames reads from the list of the added sheets whether each is shown, and
// the names that belong to one of those after the first, as the base has them
// behind its count of sheets.
func addedNames(main []byte, prefix string, count int) (visible map[string]string, names []byte, err error) {
	visible = map[string]string{}
	err = eachTag(main, func(x *rawXML, t *rawToken) error {
		name, _ := t.attribute("name")
		switch t.local() {
		case "sheet":
			visible[name], _ = t.attribute("state")
		case "definedName":
			local, found := t.attribute("localSheetId")
			hidden, _ := t.attribute("hidden")
			inner, err := x.inner()
			if err != nil || !found || local == "0" {
				return err
			}
			n, _ := strconv.Atoi(local)
			more := ""
			if isTrue(hidden) {
				more = ` hidden="1"`
			}
			names = fmt.Appendf(names, `<%sdefinedName name="%s" localSheetId="%d"%s>%s</%[1]sdefinedName>`, prefix,
				escapeXML(name), count+n-1, more, inner)
		}
		return nil
	})
	return visible, names, err
}

const relationNamespace = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"

// insertMain inserts sheets and names into the list of sheets. Names follow the
// sheets, and the groups of functions and the links to other workbooks between
// them are not there.
func insertMain(data []byte, prefix string, sheets, names []byte) []byte {
	end := []byte("</" + prefix + "sheets>")
	at := bytes.Index(data, end)
	if at < 0 {
		return data
	}
	rest := data[at+len(end):]
	out := slices.Concat(data[:at], sheets, end)
	if len(names) == 0 {
		return append(out, rest...)
	}
	if at := bytes.Index(rest, []byte("</"+prefix+"definedNames>")); at >= 0 {
		return slices.Concat(out, rest[:at], names, rest[at:])
	}
	if at := bytes.Index(rest, []byte("<"+prefix+"functionGroups")); at >= 0 {
		return append(out, rest...) // the names of ours are for printing only
	}
	return slices.Concat(out, []byte("<"+prefix+"definedNames>"), names, []byte("</"+prefix+"definedNames>"), rest)
}

// mergeTypes adds the content types of the added parts.
func (m *merger) mergeTypes(added map[string]string, stylesPart string) error {
	data, err := m.base.readPart(contentTypesPart)
	if err != nil {
		return err
	}
	theirs, err := m.added.readPart(contentTypesPart)
	if err != nil {
		return err
	}
	has := map[string]bool{}
	err = eachTag(data, func(_ *rawXML, t *rawToken) error {
		if t.local() == "Default" {
			extension, _ := t.attribute("Extension")
			has[strings.ToLower(extension)] = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	var more bytes.Buffer
	err = eachTag(theirs, func(_ *rawXML, t *rawToken) error {
		of, _ := t.attribute("ContentType")
		switch t.local() {
		case "Default":
			extension, _ := t.attribute("Extension")
			if !has[strings.ToLower(extension)] {
				fmt.Fprintf(&more, `<Default Extension="%s" ContentType="%s"/>`, escapeXML(extension), escapeXML(of))
			}
		case "Override":
			name, _ := t.attribute("PartName")
			if to := added[partName(name)]; to != "" {
				fmt.Fprintf(&more, `<Override PartName="/%s" ContentType="%s"/>`, escapeXML(to), escapeXML(of))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if stylesPart != "" {
		fmt.Fprintf(&more, `<Override PartName="/%s" ContentType="application/`+
			`vnd.openxmlformats-officedocument.spreadsheetml.styles+xml"/>`, escapeXML(stylesPart))
	}
	end := bytes.LastIndex(data, []byte("</"))
	if end < 0 {
		return errXMLMalformed
	}
	m.replaced[contentTypesPart] = slices.Concat(data[:end], more.Bytes(), data[end:])
	return nil
}
