package sheet

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// An OpenDocument spreadsheet (.ods) is a zip archive whose part content.xml holds
// all sheets. Its cells carry their values as numbers, ISO dates and texts, so
// that number formats are not needed. Source: OASIS OpenDocument 1.3, part 3.

const odsContent = "content.xml"

// odsBody is an open OpenDocument spreadsheet.
type odsBody struct {
	*workbook
	odsTabs []Info
	struck  map[string]bool // styles of cells that strike their text through
}

// odsScanBytes bounds what is read to reach the sheets: each one is looked for
// from the beginning.
const odsScanBytes = 2 << 30

// maxStyleNames bounds the styles that are kept by their names.
const maxStyleNames = 1 << 16

// isODS reports whether an archive is an OpenDocument spreadsheet.
func isODS(parts map[string]*zip.File, mimetype string) bool {
	return parts[odsContent] != nil &&
		(mimetype == "" || strings.HasPrefix(mimetype, "application/vnd.oasis.opendocument.spreadsheet"))
}

func openODS(w *workbook) (*odsBody, error) {
	if err := refuseEncrypted(w); err != nil {
		return nil, err
	}
	o := &odsBody{workbook: w, struck: map[string]bool{}}
	content, err := w.open(odsContent, w.limits.PartBytes, &w.owner.watch)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	counted := &countingReader{Reader: content}
	l := odsList{odsBody: o, scanner: newScanner(counted), hidden: map[string]bool{}}
	if err := l.read(); err != nil {
		return nil, partError(odsContent, err)
	}
	switch {
	case len(o.odsTabs) == 0:
		return nil, &FormatError{
			Reason: "the workbook has no sheet with cells",
			Remedy: "Check that it is the right file",
		}
	case counted.n*int64(len(o.odsTabs)) > odsScanBytes:
		return nil, tooLarge("to read all its sheets takes", byteCount(odsScanBytes), remedyTrim)
	}
	if names := l.hiddenNames; len(names) > 0 {
		w.owner.note("Hidden sheets: " + quoteAll(names) + ".")
	}
	return o, nil
}

// refuseEncrypted refuses a file that is protected with a password.
func refuseEncrypted(w *workbook) error {
	const manifest = "meta-inf/manifest.xml"
	if w.parts[manifest] == nil {
		return nil
	}
	encrypted := false
	err := w.walk(manifest, func(e element) { encrypted = encrypted || string(e.name) == "encryption-data" })
	if err != nil || !encrypted {
		return err
	}
	return &FormatError{
		Reason: "the spreadsheet is protected with a password (encrypted)",
		Remedy: `Open it in LibreOffice and save it under another name without "Save with password"`,
	}
}

type countingReader struct {
	io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

// odsList reads the list of sheets, and the styles before them.
type odsList struct {
	*odsBody
	scanner     *scanner
	hidden      map[string]bool // styles of sheets that are not shown
	hiddenNames []string
	style       string // the name of the style at hand
	family      string
	isSheet     bool // there is a list of sheets
}

func (l *odsList) read() error {
	s := l.scanner
	for {
		t, err := s.next()
		switch {
		case err != nil:
			return err
		case t == tokenEOF:
			if !l.isSheet {
				return notASheet("an OpenDocument file without a spreadsheet")
			}
			return nil
		case t != tokenStart:
			continue
		}
		e := element{name: s.name, parent: s.parent(), attributes: s.attributes}
		switch {
		case e.is("spreadsheet", "body"):
			l.isSheet = true
		case e.is("style", "automatic-styles"):
			l.style, l.family = e.get("style:name"), e.get("style:family")
		case e.is("table-properties", "style"):
			if l.family == "table" && e.get("table:display") == "false" && len(l.hidden) < maxStyleNames {
				l.hidden[l.style] = true
			}
		case e.is("text-properties", "style"):
			line := e.get("style:text-line-through-style")
			if l.family == "table-cell" && line != "" && line != "none" && len(l.struck) < maxStyleNames {
				l.struck[l.style] = true
			}
		case e.is("table", "spreadsheet"):
			if err := l.add(e); err != nil {
				return err
			}
			if err := s.skip(); err != nil {
				return err
			}
		}
	}
}

// add adds a sheet.
func (l *odsList) add(e element) error {
	info := Info{Name: e.get("table:name"), Visible: !l.hidden[e.get("table:style-name")]}
	switch {
	case len(l.odsTabs) == l.limits.Sheets:
		return tooLarge("it has", fmt.Sprintf("%d sheets", l.limits.Sheets),
			"Save those that hold filings as a workbook of their own")
	case len(info.Name) > maxNameBytes:
		return damaged("a sheet has a name of more than "+byteCount(maxNameBytes), nil)
	case slices.ContainsFunc(l.odsTabs, func(t Info) bool { return t.Name == info.Name }):
		return damaged("two of its sheets have one name", nil)
	}
	if !info.Visible {
		l.hiddenNames = append(l.hiddenNames, info.Name)
	}
	l.odsTabs = append(l.odsTabs, info)
	return nil
}

func (o *odsBody) sheets() []Info { return o.odsTabs }

func (o *odsBody) rows(sheet string) (source, error) {
	at := slices.IndexFunc(o.odsTabs, func(t Info) bool { return t.Name == sheet })
	if at < 0 {
		return nil, noSheet(sheet)
	}
	s := &odsSource{
		odsBody: o,
		before:  at,
		tally:   tally{limits: o.limits},
		watch:   watch{limit: o.limits.Time},
	}
	var err error
	if s.content, err = o.open(odsContent, o.limits.PartBytes, &s.watch); err != nil {
		return nil, err
	}
	s.scanner = newScanner(s.content)
	return s, nil
}

// odsSource reads the rows of one sheet.
type odsSource struct {
	*odsBody
	content io.ReadCloser
	scanner *scanner
	before  int // sheets that come before it
	depth   int // of its element
	inTable bool
	done    bool
	number  int // of the last row
	tally   tally
	watch   watch
	value   []byte

	repeat []Cell // a row that is repeated
	again  int    // how many times still
	row    Row

	filled, struckOut, text int // of the row at hand
}

func (s *odsSource) close() error { return s.content.Close() }

func (s *odsSource) fill(b *Block) error { return fillBlock(b, odsContent, &s.watch, s.fillRows) }

func (s *odsSource) fillRows(b *Block) error {
	if !s.inTable && !s.done {
		if err := s.findTable(); err != nil {
			return err
		}
	}
	for !b.full() {
		if s.again > 0 {
			if err := s.repeatRow(b); err != nil {
				return err
			}
			continue
		}
		if s.done {
			return io.EOF
		}
		t, err := s.scanner.next()
		switch {
		case err != nil:
			return err
		case t == tokenStart && string(s.scanner.name) == "table-row":
			err = s.readRow(b)
		case t == tokenStart && isRowGroup(s.scanner.name):
		case t == tokenStart:
			err = s.scanner.skip()
		case t == tokenEnd && len(s.scanner.marks) < s.depth:
			err = s.finish()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isRowGroup reports whether an element only groups rows.
func isRowGroup(name []byte) bool {
	switch string(name) {
	case "table-row-group", "table-header-rows", "table-rows":
		return true
	}
	return false
}

// findTable goes to the sheet.
func (s *odsSource) findTable() error {
	for {
		t, err := s.scanner.next()
		switch {
		case err != nil:
			return err
		case t == tokenEOF:
			return damaged("a sheet is missing", nil)
		case t == tokenStart && string(s.scanner.name) == "table" && string(s.scanner.parent()) == "spreadsheet":
			if s.before == 0 {
				s.inTable, s.depth = true, len(s.scanner.marks)
				return nil
			}
			s.before--
			err = s.scanner.skip()
		}
		if err != nil {
			return err
		}
	}
}

// finish reads what follows the sheet.
func (s *odsSource) finish() error {
	s.done, s.inTable = true, false
	return s.scanner.readToEnd()
}

// repeated reads how many times a row or a cell is repeated.
func repeated(e element, name string) int {
	n, ok := parseCount([]byte(e.get(name)))
	if !ok || n < 1 {
		return 1
	}
	return n
}

// readRow reads the row whose start came last.
func (s *odsSource) readRow(b *Block) error {
	e := element{attributes: s.scanner.attributes}
	times := repeated(e, "table:number-rows-repeated")
	visibility := e.get("table:visibility")
	row := Row{Hidden: visibility == "collapse" || visibility == "filter"}
	start := len(b.cells)
	patches := len(b.patches)
	s.filled, s.struckOut, s.text = 0, 0, 0
	col := 0
	for {
		t, err := s.scanner.next()
		if err != nil {
			return err
		}
		if t == tokenEnd {
			break
		}
		if t != tokenStart {
			continue
		}
		switch string(s.scanner.name) {
		case "table-cell":
			col, err = s.readCell(b, start, col)
		case "covered-table-cell": // a merged cell hides what it holds
			col = min(col, math.MaxInt32) + repeated(element{attributes: s.scanner.attributes},
				"table:number-columns-repeated")
			err = s.scanner.skip()
		default:
			err = s.scanner.skip()
		}
		if err != nil {
			return err
		}
	}
	if s.filled == 0 {
		b.cells, b.patches = b.cells[:start], b.patches[:patches]
		s.number = min(s.number, math.MaxInt32) + times
		return nil
	}
	s.number++
	if s.number > s.limits.Rows || times > s.limits.Rows-s.number+1 {
		return damaged(fmt.Sprintf("there are more than %d rows", s.limits.Rows), nil)
	}
	row.Number = s.number
	row.Struck = s.struckOut*2 > s.filled
	if s.again = times - 1; s.again > 0 {
		s.row = row
		s.repeat = s.repeat[:0]
		for i := start; i < len(b.cells); i++ {
			s.repeat = append(s.repeat, b.cells[i])
		}
		for _, p := range b.patches[patches:] {
			s.repeat[p.cell-start].Text = string(b.scratch[p.start:p.end])
		}
	}
	cells := len(b.cells) - start
	return s.tally.row(cells, b.endRow(row))
}

// repeatRow adds a row once more.
func (s *odsSource) repeatRow(b *Block) error {
	s.again--
	s.number++
	s.row.Number = s.number
	for _, c := range s.repeat {
		b.cells = append(b.cells, c)
		if c.Kind == Blank {
			continue
		}
		b.text += len(c.Text)
		if err := s.tally.cell(len(c.Text)); err != nil {
			return err
		}
	}
	return s.tally.row(len(s.repeat), b.endRow(s.row))
}

// readCell reads the cell whose start came last into its column of the row that
// begins at start, and returns the column after it.
func (s *odsSource) readCell(b *Block, start, col int) (next int, err error) {
	e := element{attributes: s.scanner.attributes}
	times := repeated(e, "table:number-columns-repeated")
	v := odsValue{
		kind:    e.get("office:value-type"),
		isError: e.get("calcext:value-type") == "error",
		formula: e.get("table:formula") != "",
	}
	struck := s.struck[e.get("table:style-name")]
	switch v.kind {
	case "float", "percentage", "currency":
		v.value = e.get("office:value")
	case "date":
		v.value = e.get("office:date-value")
	case "time":
		v.value = e.get("office:time-value")
	case "boolean":
		v.value = e.get("office:boolean-value")
	case "string":
		v.value, v.hasValue = e.find("office:string-value")
	}
	if v.shown, err = s.readShown(s.value[:0]); err != nil {
		return 0, locate(err, FormatError{Cell: CellName(min(col, 1<<14), s.number+1)})
	}
	s.value = v.shown
	if v.isBlank() {
		return min(col, math.MaxInt32) + times, nil
	}
	if times > s.limits.Columns || col+times > s.limits.Columns {
		return 0, damaged(fmt.Sprintf("row %d has a cell beyond column %s, the last there can be", s.number+1,
			ColumnName(s.limits.Columns-1)), nil)
	}
	for i := range times {
		at := start + col + i
		if missing := at + 1 - len(b.cells); missing > 0 {
			b.cells = append(b.cells, make([]Cell, missing)...)
		}
		s.set(b, at, &v)
		if b.cells[at].Kind == Blank {
			continue
		}
		s.filled++
		if struck {
			s.struckOut++
		}
		if err := s.count(b, at); err != nil {
			return 0, err
		}
	}
	return col + times, nil
}

// count counts a cell that is not blank.
func (s *odsSource) count(b *Block, at int) error {
	text := len(b.cells[at].Text)
	if last := len(b.patches) - 1; last >= 0 && b.patches[last].cell == at {
		text = b.patches[last].end - b.patches[last].start
	}
	b.text += text
	if s.text += text; s.text > rowBytes {
		return tooLarge(fmt.Sprintf("the texts of row %d take", s.number+1), byteCount(rowBytes), "Shorten them")
	}
	return s.tally.cell(text)
}

// odsValue is what a cell holds.
type odsValue struct {
	kind, value string
	hasValue    bool // of a text: it has an attribute of its own
	shown       []byte
	isError     bool
	formula     bool
}

func (v *odsValue) isBlank() bool {
	return v.value == "" && len(bytes.TrimSpace(v.shown)) == 0 && (!v.formula || v.kind != "")
}

// readShown reads the paragraphs of a cell, up to its end. Comments, pictures and
// tables within a cell are no part of its text.
func (s *odsSource) readShown(dst []byte) ([]byte, error) {
	depth := len(s.scanner.marks)
	paragraphs := 0
	for {
		t, err := s.scanner.next()
		if err != nil {
			return dst, err
		}
		switch t {
		case tokenEnd:
			if len(s.scanner.marks) < depth {
				return dst, nil
			}
		case tokenText:
			if len(s.scanner.marks) > depth { // within a paragraph
				dst, err = s.scanner.appendText(dst)
			}
		case tokenStart:
			switch name := string(s.scanner.name); {
			case name == "p" && len(s.scanner.marks) == depth+1:
				if paragraphs++; paragraphs > 1 {
					dst = append(dst, '\n')
				}
			case name == "s":
				spaces := repeated(element{attributes: s.scanner.attributes}, "text:c")
				dst = append(dst, bytes.Repeat([]byte{' '}, min(spaces, 64))...)
			case name == "tab", name == "line-break":
				dst = append(dst, ' ')
			case name == "span", name == "a":
			default:
				err = s.scanner.skip()
			}
		}
		if err != nil {
			return dst, err
		}
		if len(dst) > 8*s.limits.CellBytes {
			return dst, &FormatError{
				Reason: "the text is longer than the " + byteCount(int64(s.limits.CellBytes)) + " that a cell can hold",
				Remedy: "Shorten it",

				tooLarge: true,
			}
		}
	}
}

// duration matches the value of a time: PT14H30M00S.
var duration = regexp.MustCompile(`^PT(\d{1,6})H(\d{1,2})M(\d{1,2})(?:[.,]\d+)?S$`)

// set sets a cell to its value.
func (s *odsSource) set(b *Block, at int, v *odsValue) {
	start := len(b.scratch)
	switch {
	case v.isError:
		s.setText(b, at, v.shown, Error)
		return
	case v.formula && v.kind == "" && len(bytes.TrimSpace(v.shown)) == 0:
		b.cells[at] = Cell{Kind: Formula}
		return
	}
	switch v.kind {
	case "float", "percentage", "currency":
		if pair := string(v.shown) + v.value; v.formula && (pair == "TRUE1" || pair == "FALSE0") {
			b.cells[at] = Cell{Text: string(v.shown), Kind: Bool}
			return
		}
		if digits, ok := placedDigits(v.shown, v.value); ok {
			b.setScratch(append(b.scratch, digits...), start, at, Number)
			return
		}
		if text, ok := appendNumber(b.scratch, []byte(v.value)); ok {
			b.setScratch(text, start, at, Number)
			return
		}
	case "date":
		if text, ok := appendISO(b.scratch, []byte(v.value)); ok {
			b.setScratch(text, start, at, Date)
			b.cells[at].Year = len(v.shown) == 4 && strings.HasPrefix(v.value, string(v.shown))
			return
		}
	case "time":
		if m := duration.FindStringSubmatch(v.value); m != nil {
			h, _ := strconv.Atoi(m[1])
			minutes, _ := strconv.Atoi(m[2])
			seconds, _ := strconv.Atoi(m[3])
			if h < 24 {
				b.setScratch(fmt.Appendf(b.scratch, "%02d:%02d:%02d", h, minutes, seconds), start, at, Date)
			} else { // a duration, which is a number of days
				b.setScratch(appendDecimal(b.scratch, float64(h*3600+minutes*60+seconds)/86400), start, at, Number)
			}
			return
		}
	case "boolean":
		b.cells[at] = Cell{Text: "FALSE", Kind: Bool}
		if isTrue(v.value) {
			b.cells[at].Text = "TRUE"
		}
		return
	case "string":
		if v.hasValue {
			s.setText(b, at, []byte(v.value), Text)
			return
		}
	}
	s.setText(b, at, v.shown, Text)
}

func (s *odsSource) setText(b *Block, at int, text []byte, kind Kind) {
	setText(s.owner, b, at, text, kind)
}

// setText sets a cell to a text with its white space made plain.
func setText(owner *File, b *Block, at int, text []byte, kind Kind) {
	start := len(b.scratch)
	scratch := appendClean(b.scratch, text)
	if len(scratch) == start {
		b.cells[at] = Cell{}
		return
	}
	if bytes.ContainsRune(scratch[start:], utf8.RuneError) {
		owner.note(noteUnreadable)
	}
	b.setScratch(scratch, start, at, kind)
}

// placedDigits returns the digits of a whole number as they are shown, if its
// format does no more than place them: "02134", "000-12-3456". A format with dots
// or blanks may group thousands, which is another matter.
func placedDigits(shown []byte, value string) ([]byte, bool) {
	shown = bytes.TrimSpace(shown)
	var digits []byte
	placed := false
	for _, c := range shown {
		switch {
		case c >= '0' && c <= '9':
			digits = append(digits, c)
		case c == '-' || c == '(' || c == ')':
			placed = true
		case c != ' ':
			return nil, false
		}
	}
	plain := bytes.TrimLeft(digits, "0")
	if len(plain) == 0 {
		plain = []byte("0")
	}
	if string(plain) != value || len(digits) > 20 {
		return nil, false
	}
	return shown, placed || len(plain) < len(digits)
}
