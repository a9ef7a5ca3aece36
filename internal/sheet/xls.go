package sheet

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// A workbook of Excel 97 to 2003 (.xls) is a stream of records in a compound
// file. The libraries for it are not kept any more, and allocate what a file
// claims to need; this reader allocates no more than a few times the size of the
// file. Source: [MS-XLS], BIFF8.

// xlsFileBytes bounds an .xls file, which is in memory while it is read: 65,536
// rows of 40 cells take less.
const xlsFileBytes = 48 << 20

// The records that are read.
const (
	recFormula    = 0x0006
	recEOF        = 0x000A
	recDateMode   = 0x0022
	recFilePass   = 0x002F
	recFont       = 0x0031
	recContinue   = 0x003C
	recBoundSheet = 0x0085
	recMulRK      = 0x00BD
	recRString    = 0x00D6
	recXF         = 0x00E0
	recSST        = 0x00FC
	recLabelSST   = 0x00FD
	recNumber     = 0x0203
	recLabel      = 0x0204
	recBoolErr    = 0x0205
	recString     = 0x0207
	recRow        = 0x0208
	recRK         = 0x027E
	recFormat     = 0x041E
	recBOF        = 0x0809
)

// biff8 is the version of the records.
const biff8 = 0x0600

// xlsBody is an open .xls file.
type xlsBody struct {
	*workbook // its styles, number formats and shared strings
	stream    []byte
	xlsTabs   []xlsTab
}

type xlsTab struct {
	Info
	start int // of its records in the stream
}

// record is a record of the stream.
type record struct {
	kind uint16
	data []byte
	next int // where the next begins
}

// recordAt returns the record at a position; false at the end of the stream.
func recordAt(stream []byte, at int) (record, bool) {
	if at < 0 || at+4 > len(stream) {
		return record{}, false
	}
	length := int(binary.LittleEndian.Uint16(stream[at+2:]))
	if at+4+length > len(stream) {
		return record{}, false
	}
	return record{binary.LittleEndian.Uint16(stream[at:]), stream[at+4 : at+4+length], at + 4 + length}, true
}

func openXLS(owner *File, file io.ReaderAt, size int64, limits Limits) (body, error) {
	if size > xlsFileBytes {
		return nil, tooLarge("it has", byteCount(xlsFileBytes), "Save it as .xlsx")
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(io.NewSectionReader(file, 0, size), data); err != nil {
		return nil, err
	}
	x := &xlsBody{workbook: &workbook{owner: owner, limits: limits, codes: map[int]string{}}, stream: data}
	if isCompound(data) {
		var err error
		if x.stream, err = workbookStream(data); err != nil {
			return nil, err
		}
	}
	if err := x.readGlobals(); err != nil {
		return nil, err
	}
	return x, nil
}

// workbookStream returns the stream of a compound file that holds the workbook.
func workbookStream(data []byte) ([]byte, error) {
	c, err := openCompound(data)
	at, found := uint32(0), false
	if err == nil {
		at, found = c.streams()["workbook"]
	}
	if found {
		return c.stream(at)
	}
	// What another kind of file is called stands in it even if it is broken.
	if known, other := compoundError(bytes.NewReader(data)); known || err == nil {
		return nil, other
	}
	return nil, err
}

// readGlobals reads what belongs to all sheets.
func (x *xlsBody) readGlobals() error {
	r, ok := recordAt(x.stream, 0)
	if !ok || r.kind != recBOF || len(r.data) < 4 {
		return damaged("it does not begin as a workbook", nil)
	}
	if binary.LittleEndian.Uint16(r.data) != biff8 {
		return notASheet("a workbook of Excel 95 or older")
	}
	g := xlsGlobals{xlsBody: x}
	for {
		if r, ok = recordAt(x.stream, r.next); !ok {
			return damaged("it is cut short", nil)
		}
		if r.kind == recEOF {
			return g.finish()
		}
		if err := g.readRecord(&r); err != nil {
			return err
		}
	}
}

// xlsGlobals gathers what belongs to all sheets.
type xlsGlobals struct {
	*xlsBody
	fonts  []bool // struck through
	xfFont []int  // of each style
	hidden []string
	left   []string // sheets without cells
	table  *stringTable
	sheets int
}

// readRecord reads a record before the sheets.
func (g *xlsGlobals) readRecord(r *record) error {
	d := r.data
	switch r.kind {
	case recFilePass:
		return &FormatError{
			Reason: "the workbook is protected with a password (encrypted)",
			Remedy: "Open it in Excel, remove the password under File > Info > Protect Workbook > Encrypt with " +
				"Password, and save it",
		}
	case recDateMode:
		g.date1904 = len(d) >= 2 && binary.LittleEndian.Uint16(d) == 1
	case recFont:
		g.fonts = append(g.fonts, len(d) >= 4 && d[2]&0x08 != 0)
	case recFormat:
		if len(d) > 2 {
			if code, _, ok := unicodeText(d[2:], 2); ok && len(g.codes) < maxStyleNames {
				g.codes[int(binary.LittleEndian.Uint16(d))] = string(code)
			}
		}
	case recXF:
		if len(d) >= 4 {
			g.xfFont = append(g.xfFont, int(binary.LittleEndian.Uint16(d)))
			g.styles = append(g.styles, int32(binary.LittleEndian.Uint16(d[2:])))
		}
	case recBoundSheet:
		return g.addSheet(d)
	case recSST:
		return g.readSharedTexts(r)
	}
	return nil
}

// addSheet adds a sheet, if it has cells.
func (g *xlsGlobals) addSheet(d []byte) error {
	if len(d) < 8 {
		return damaged("its list of sheets is broken", nil)
	}
	if g.sheets++; g.sheets > g.limits.Sheets {
		return tooLarge("it has", fmt.Sprintf("%d sheets", g.limits.Sheets),
			"Save those that hold filings as a workbook of their own")
	}
	raw, _, ok := unicodeText(d[6:], 1)
	if !ok {
		return damaged("its list of sheets is broken", nil)
	}
	name := string(raw)
	t := xlsTab{Info: Info{Name: name, Visible: d[4]&3 == 0}, start: int(binary.LittleEndian.Uint32(d))}
	switch {
	case d[5] != 0: // a chart, or macros
		g.left = append(g.left, name)
		return nil
	case slices.ContainsFunc(g.xlsTabs, func(o xlsTab) bool { return o.Name == name || o.start == t.start }):
		return damaged("two of its sheets are one", nil)
	case d[4]&3 == 1:
		g.hidden = append(g.hidden, name)
	}
	g.xlsTabs = append(g.xlsTabs, t)
	return nil
}

// finish completes the styles, and notes the hidden sheets and those without cells.
func (g *xlsGlobals) finish() error {
	if len(g.xlsTabs) == 0 {
		return &FormatError{Reason: "the workbook has no sheet with cells", Remedy: "Check that it is the right file"}
	}
	for _, font := range g.xfFont {
		if font > 4 {
			font-- // there is no font of the number 4
		}
		g.struck = append(g.struck, font < len(g.fonts) && g.fonts[font])
	}
	table := g.table
	g.strings = func() (*stringTable, error) { return table, nil }
	if len(g.hidden) > 0 {
		g.owner.note("Hidden sheets: " + quoteAll(g.hidden) + ".")
	}
	if len(g.left) > 0 {
		g.owner.note("Sheets without cells (charts, dialogs, macros) were left out: " + quoteAll(g.left) + ".")
	}
	return nil
}

// unicodeText reads a text whose length takes so many bytes, and returns what
// follows it. Its letters are of one byte each, or of two.
func unicodeText(d []byte, lengthBytes int) (text, rest []byte, ok bool) {
	if len(d) < lengthBytes+1 {
		return nil, nil, false
	}
	n := int(d[0])
	if lengthBytes == 2 {
		n = int(binary.LittleEndian.Uint16(d))
	}
	flags := d[lengthBytes]
	d = d[lengthBytes+1:]
	if flags&0x08 != 0 && len(d) >= 2 { // runs of a rich text follow
		d = d[2:]
	}
	if flags&0x04 != 0 && len(d) >= 4 { // how it is read follows
		d = d[4:]
	}
	size := n
	if flags&1 != 0 {
		size = 2 * n
	}
	if len(d) < size {
		return nil, nil, false
	}
	var units textUnits
	units.add(d[:size], flags&1 != 0)
	return units.appendTo(nil), d[size:], true
}

// textUnits are the letters of a text as they are read, in UTF-16.
type textUnits struct{ units []uint16 }

func (u *textUnits) add(d []byte, wide bool) {
	if !wide {
		for _, c := range d {
			u.units = append(u.units, uint16(c))
		}
		return
	}
	for i := 0; i+1 < len(d); i += 2 {
		u.units = append(u.units, binary.LittleEndian.Uint16(d[i:]))
	}
}

// appendTo appends the text as UTF-8.
func (u *textUnits) appendTo(dst []byte) []byte {
	for i := 0; i < len(u.units); i++ {
		r := rune(u.units[i])
		if r >= 0xD800 && r < 0xE000 {
			low := rune(0)
			if i+1 < len(u.units) {
				low = rune(u.units[i+1])
			}
			if r < 0xDC00 && low >= 0xDC00 && low < 0xE000 {
				r = (r-0xD800)<<10 + (low - 0xDC00) + 0x10000
				i++
			} else {
				r = utf8.RuneError
			}
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

// pieces are the data of a record and of those that continue it.
type pieces struct {
	stream []byte
	data   []byte
	next   int // the record after data
}

// nextRecord goes on to the record that continues the last.
func (p *pieces) nextRecord() bool {
	r, ok := recordAt(p.stream, p.next)
	if !ok || r.kind != recContinue || len(r.data) == 0 {
		return false
	}
	p.data, p.next = r.data, r.next
	return true
}

// readBytes reads some bytes, which may lie in several records.
func (p *pieces) readBytes(dst []byte) bool {
	for len(dst) > 0 {
		if len(p.data) == 0 && !p.nextRecord() {
			return false
		}
		n := copy(dst, p.data)
		dst, p.data = dst[n:], p.data[n:]
	}
	return true
}

// skip goes past some bytes.
func (p *pieces) skip(n int64) bool {
	for n > 0 {
		if len(p.data) == 0 && !p.nextRecord() {
			return false
		}
		k := min(n, int64(len(p.data)))
		n, p.data = n-k, p.data[k:]
	}
	return true
}

// readSharedTexts reads the texts of the cells.
func (g *xlsGlobals) readSharedTexts(r *record) error {
	broken := func() error { return damaged("its list of texts is broken", nil) }
	p := &pieces{stream: g.stream, data: r.data, next: r.next}
	var head [8]byte
	if !p.readBytes(head[:]) {
		return broken()
	}
	b := stringTableBuilder{limits: g.limits}
	var units textUnits
	for range binary.LittleEndian.Uint32(head[4:]) {
		if err := g.owner.watch.check(); err != nil {
			return err
		}
		if len(p.data) == 0 && !p.nextRecord() {
			break // the count is not relied on: a cell that needs more is an error
		}
		if !p.readBytes(head[:3]) {
			return broken()
		}
		letters, flags := int(binary.LittleEndian.Uint16(head[:])), head[2]
		var runs, extra int64
		if flags&0x08 != 0 {
			if !p.readBytes(head[:2]) {
				return broken()
			}
			runs = int64(binary.LittleEndian.Uint16(head[:]))
		}
		if flags&0x04 != 0 {
			if !p.readBytes(head[:4]) {
				return broken()
			}
			extra = int64(binary.LittleEndian.Uint32(head[:]))
		}
		units.units = units.units[:0]
		if !p.readLetters(&units, letters, flags&1 != 0) || !p.skip(4*runs+extra) {
			return broken()
		}
		b.raw = units.appendTo(b.raw[:0])
		if err := b.addText(b.raw); err != nil {
			return err
		}
	}
	g.table = b.finish()
	if b.unreadable {
		g.owner.note(noteUnreadable)
	}
	return nil
}

// readLetters reads letters. Where a record ends among them, the next says again how
// many bytes each takes.
func (p *pieces) readLetters(units *textUnits, n int, wide bool) bool {
	for n > 0 {
		if len(p.data) == 0 {
			if !p.nextRecord() {
				return false
			}
			wide = p.data[0]&1 != 0
			p.data = p.data[1:]
		}
		size := 1
		if wide {
			size = 2
		}
		k := min(n, len(p.data)/size)
		if k == 0 && len(p.data) > 0 {
			return false // half a letter
		}
		units.add(p.data[:k*size], wide)
		n, p.data = n-k, p.data[k*size:]
	}
	return true
}

func (x *xlsBody) sheets() []Info {
	infos := make([]Info, len(x.xlsTabs))
	for i, t := range x.xlsTabs {
		infos[i] = t.Info
	}
	return infos
}

func (x *xlsBody) rows(sheet string) (source, error) {
	at := slices.IndexFunc(x.xlsTabs, func(t xlsTab) bool { return t.Name == sheet })
	if at < 0 {
		return nil, noSheet(sheet)
	}
	table, err := x.strings()
	if err != nil {
		return nil, err
	}
	s := &xlsSource{xlsBody: x, start: x.xlsTabs[at].start}
	s.cells = sheetSource{
		workbook: x.workbook,
		strings:  table,
		tally:    tally{limits: x.limits},
		formats:  formats{workbook: x.workbook},
		watch:    watch{limit: x.limits.Time},
	}
	return s, nil
}

// xlsCell is where a cell lies in the stream.
type xlsCell struct {
	row, col uint16
	kind     uint16 // of its record
	at       uint32 // of its record; of a part of one that holds several, of that part
}

// xlsSource reads the rows of one sheet. Its records are found first: they need
// not be in the order of the rows.
type xlsSource struct {
	*xlsBody
	start  int
	cells  sheetSource // which knows how to set a cell
	found  bool
	index  []xlsCell
	hidden map[uint16]bool
}

func (s *xlsSource) close() error { return nil }

func (s *xlsSource) fill(b *Block) error {
	s.cells.watch.start()
	defer s.cells.watch.stop()
	if !s.found {
		if err := s.findCells(); err != nil {
			return err
		}
		s.found = true
	}
	for !b.full() && len(s.index) > 0 {
		if err := s.readRow(b); err != nil {
			return err
		}
	}
	if len(b.Rows) == 0 && len(s.index) == 0 {
		return io.EOF
	}
	return nil
}

// findCells finds the cells of the sheet.
func (s *xlsSource) findCells() error {
	r, ok := recordAt(s.stream, s.start)
	if !ok || r.kind != recBOF {
		return damaged("a sheet does not begin where it should", nil)
	}
	s.hidden = map[uint16]bool{}
	depth := 0
	for {
		at := r.next
		if r, ok = recordAt(s.stream, at); !ok {
			return damaged("it is cut short", nil)
		}
		if len(s.index)%1024 == 0 {
			if err := s.cells.watch.check(); err != nil {
				return err
			}
		}
		switch r.kind {
		case recBOF: // of a chart in the sheet
			depth++
			continue
		case recEOF:
			if depth--; depth >= 0 {
				continue
			}
			s.sortCells()
			return nil
		}
		if depth > 0 || len(r.data) < 6 {
			continue
		}
		if err := s.addCells(&r, at); err != nil {
			return err
		}
	}
}

// sortCells brings the cells into the order of their rows, if they are not in it.
func (s *xlsSource) sortCells() {
	compare := func(a, b xlsCell) int { return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.col, b.col)) }
	if !slices.IsSortedFunc(s.index, compare) {
		slices.SortStableFunc(s.index, compare)
	}
}

// addCells adds the cells of a record.
func (s *xlsSource) addCells(r *record, at int) error {
	d := r.data
	row, col := binary.LittleEndian.Uint16(d), binary.LittleEndian.Uint16(d[2:])
	switch r.kind {
	case recRow:
		if len(d) >= 14 && d[12]&0x20 != 0 {
			s.hidden[row] = true
		}
		return nil
	case recMulRK:
		for i := 4; i+6 <= len(d)-2; i += 6 {
			s.index = append(s.index, xlsCell{row, col, recMulRK, uint32(at + 4 + i)})
			col++
		}
	case recLabelSST, recLabel, recRString, recNumber, recRK, recBoolErr, recFormula:
		s.index = append(s.index, xlsCell{row, col, r.kind, uint32(at)})
	default:
		return nil
	}
	if int64(len(s.index)) > s.limits.FilledCells {
		return tooLarge("it has", fmt.Sprintf("%d cells for its size", s.limits.FilledCells), remedyTrim)
	}
	return nil
}

// readRow reads the next row.
func (s *xlsSource) readRow(b *Block) error {
	number := s.index[0].row
	row := Row{Number: int(number) + 1, Hidden: s.hidden[number]}
	if row.Number > s.limits.Rows {
		return damaged(fmt.Sprintf("there are more than %d rows", s.limits.Rows), nil)
	}
	start := len(b.cells)
	s.cells.filled, s.cells.struckOut, s.cells.text = 0, 0, 0
	for len(s.index) > 0 && s.index[0].row == number {
		c := s.index[0]
		s.index = s.index[1:]
		col := int(c.col)
		if col >= s.limits.Columns {
			return damaged(fmt.Sprintf("row %d has a cell beyond column %s, the last there can be", row.Number,
				ColumnName(s.limits.Columns-1)), nil)
		}
		if len(b.cells) > start+col {
			continue // a second value for one cell
		}
		b.cells = append(b.cells, make([]Cell, start+col+1-len(b.cells))...)
		style, err := s.setValue(b, start+col, c)
		if err != nil {
			return locate(err, FormatError{Cell: CellName(col, row.Number)})
		}
		if b.cells[start+col].Kind == Blank {
			continue
		}
		s.cells.filled++
		if style < len(s.struck) && s.struck[style] {
			s.cells.struckOut++
		}
		if err := s.cells.count(b, start+col, row.Number); err != nil {
			return err
		}
	}
	row.Struck = s.cells.struckOut*2 > s.cells.filled
	cells := len(b.cells) - start
	return s.cells.tally.row(cells, b.endRow(row))
}

// setValue sets a cell, and returns its style.
func (s *xlsSource) setValue(b *Block, at int, c xlsCell) (style int, err error) {
	if c.kind == recMulRK {
		d := s.stream[c.at:]
		style = int(binary.LittleEndian.Uint16(d))
		return style, s.setNumber(b, at, rkValue(binary.LittleEndian.Uint32(d[2:])), style)
	}
	r, _ := recordAt(s.stream, int(c.at))
	d := r.data
	style = int(binary.LittleEndian.Uint16(d[4:]))
	d = d[6:]
	short := func(n int) bool { return len(d) < n }
	switch c.kind {
	case recLabelSST:
		if short(4) {
			break
		}
		var digits [20]byte
		return style, s.cells.setShared(b, at,
			strconv.AppendUint(digits[:0], uint64(binary.LittleEndian.Uint32(d)), 10))
	case recLabel, recRString:
		if text, _, ok := unicodeText(d, 2); ok {
			s.cells.setText(b, at, text, Text)
			return style, nil
		}
	case recNumber:
		if !short(8) {
			return style, s.setNumber(b, at, math.Float64frombits(binary.LittleEndian.Uint64(d)), style)
		}
	case recRK:
		if !short(4) {
			return style, s.setNumber(b, at, rkValue(binary.LittleEndian.Uint32(d)), style)
		}
	case recBoolErr:
		if !short(2) {
			s.setBoolOrError(b, at, d[0], d[1] == 1)
			return style, nil
		}
	case recFormula:
		if !short(8) {
			return style, s.setFormula(b, at, d, r.next, style)
		}
	}
	return style, damaged("a cell is cut short", nil)
}

// rkValue is a number in four bytes.
func rkValue(rk uint32) float64 {
	var v float64
	if rk&2 != 0 {
		v = float64(int32(rk) >> 2)
	} else {
		v = math.Float64frombits(uint64(rk&^3) << 32)
	}
	if rk&1 != 0 {
		v /= 100
	}
	return v
}

func (s *xlsSource) setNumber(b *Block, at int, v float64, style int) error {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		s.cells.setText(b, at, []byte("#NUM!"), Error)
		return nil
	}
	var raw [32]byte
	_, err := s.cells.setNumber(b, at, strconv.AppendFloat(raw[:0], v, 'g', -1, 64), style)
	return err
}

// xlsErrors are the errors of cells.
var xlsErrors = map[byte]string{
	0x00: "#NULL!", 0x07: "#DIV/0!", 0x0F: "#VALUE!", 0x17: "#REF!", 0x1D: "#NAME?", 0x24: "#NUM!", 0x2A: "#N/A",
	0x2B: "#GETTING_DATA",
}

func (s *xlsSource) setBoolOrError(b *Block, at int, value byte, isError bool) {
	if isError {
		s.cells.setText(b, at, []byte(cmp.Or(xlsErrors[value], "#N/A")), Error)
		return
	}
	b.cells[at] = Cell{Text: "FALSE", Kind: Bool}
	if value != 0 {
		b.cells[at].Text = "TRUE"
	}
}

// setFormula sets a cell to the last value of its formula. A text value is in a
// separate record after the formula.
func (s *xlsSource) setFormula(b *Block, at int, d []byte, next, style int) error {
	if d[6] != 0xFF || d[7] != 0xFF {
		return s.setNumber(b, at, math.Float64frombits(binary.LittleEndian.Uint64(d)), style)
	}
	switch d[0] {
	case 1, 2:
		s.setBoolOrError(b, at, d[2], d[0] == 2)
		return nil
	case 3:
		return nil
	}
	for range 4 { // what belongs to a shared formula, or an array, stands between
		r, ok := recordAt(s.stream, next)
		if !ok {
			break
		}
		if r.kind == recString {
			p := &pieces{stream: s.stream, data: r.data, next: r.next}
			var head [3]byte
			var units textUnits
			if !p.readBytes(head[:]) ||
				!p.readLetters(&units, int(binary.LittleEndian.Uint16(head[:])), head[2]&1 != 0) {
				return damaged("a cell is cut short", nil)
			}
			s.cells.setText(b, at, units.appendTo(nil), Text)
			return nil
		}
		next = r.next
	}
	b.cells[at] = Cell{Kind: Formula}
	return nil
}
