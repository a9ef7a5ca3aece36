package sheet

import (
	"archive/zip"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/text/transform"

	"github.com/bulkfiling/bulkfiling/internal/text"
)

// workbook is an open XLSX file.
type workbook struct {
	owner  *File
	limits Limits
	// parts are the parts by their names, in the form of partName.
	parts map[string]*zip.File
	// duplicateParts are the names that two parts have.
	duplicateParts map[string]bool

	// opened are the parts that were opened before. Reading one again costs no further memory.
	opened map[string]bool
	// unpacked is the unpacked size of the opened parts in bytes.
	unpacked uint64

	tabs     []tab
	date1904 bool
	// styles are the number formats by cell style.
	styles []int32
	// codes are the number formats that are not built in.
	codes map[int]string
	// struck reports, by cell style, whether the text is struck through.
	struck  []bool
	strings func() (*stringTable, error)

	// stringsPart is empty if there are no shared strings.
	stringsPart string
	// main is the name of the part that lists the sheets.
	main       string
	stylesPart string
	// strict reports whether the workbook uses the strict form of the format, which has other
	// names.
	strict bool
}

// tab is a sheet with cells.
type tab struct {
	Info
	part string
}

// openPackage opens a zip archive that is a workbook.
func openPackage(owner *File, file io.ReaderAt, size int64, limits Limits) (body, error) {
	w, err := openArchive(owner, file, size, limits)
	if err != nil {
		return nil, err
	}
	main, err := w.findMain()
	if err != nil {
		return nil, err
	}
	w.main = main
	if err := w.readMain(main); err != nil {
		return nil, err
	}
	return w, nil
}

func openArchive(owner *File, file io.ReaderAt, size int64, limits Limits) (*workbook, error) {
	bounded := &directoryReader{ReaderAt: file, left: directoryBytes}
	archive, err := zip.NewReader(bounded, size)
	if bounded.left < 0 {
		return nil, tooLarge("the list of its parts takes", byteCount(directoryBytes), remedyRepair)
	}
	if err != nil {
		return nil, damaged("the zip archive that it is cannot be opened", err)
	}
	bounded.opened = true
	w := &workbook{
		owner:          owner,
		limits:         limits,
		parts:          map[string]*zip.File{},
		duplicateParts: map[string]bool{},
		opened:         map[string]bool{},
	}
	for _, part := range archive.File {
		name := partName(part.Name)
		if w.parts[name] != nil {
			w.duplicateParts[name] = true
		}
		w.parts[name] = part
	}
	w.strings = sync.OnceValues(w.readStrings)
	return w, nil
}

// directoryReader limits the bytes that opening an archive reads. These are its directory, and each
// entry of it takes ten times its size in memory.
type directoryReader struct {
	io.ReaderAt
	left   int64
	opened bool
}

func (d *directoryReader) ReadAt(p []byte, offset int64) (int, error) {
	if !d.opened {
		if d.left -= int64(len(p)); d.left < 0 {
			return 0, zip.ErrFormat
		}
	}
	return d.ReaderAt.ReadAt(p, offset)
}

// partName normalizes the name of a part. Names are case-insensitive, and some programs write them
// with backslashes.
func partName(name string) string {
	name = strings.ReplaceAll(name, `\`, "/")
	return strings.ToLower(strings.TrimPrefix(path.Clean("/"+name), "/"))
}

// open opens a part for reading. Reading it fails if the part is larger than the archive declares,
// or if its checksum is wrong.
func (w *workbook) open(name string, limit int64) (io.ReadCloser, error) {
	part := w.parts[name]
	if part == nil {
		return nil, damaged(fmt.Sprintf("the part %q is missing", name), nil)
	}
	if w.duplicateParts[name] {
		return nil, damaged(fmt.Sprintf("it holds two parts of the name %q", name), nil)
	}
	if limit = min(limit, w.limits.PartBytes); part.UncompressedSize64 > uint64(limit) {
		return nil, tooLarge(fmt.Sprintf("its part %q unpacks to", name), byteCount(limit), remedyTrim)
	}
	if !w.opened[name] {
		w.opened[name] = true
		w.unpacked += part.UncompressedSize64
	}
	if w.unpacked > uint64(w.limits.TotalBytes) {
		return nil, tooLarge("it unpacks to", byteCount(w.limits.TotalBytes), remedyTrim)
	}
	content, err := part.Open()
	if err != nil {
		return nil, partError(name, err)
	}
	text := bufio.NewReaderSize(content, 16<<10)
	mark, err := text.Peek(2)
	if err != nil && err != io.EOF {
		content.Close()
		return nil, partError(name, err)
	}
	var decoded io.Reader = text
	switch string(mark) {
	case "\xff\xfe":
		decoded = transform.NewReader(text, utf16LE.NewDecoder())
	case "\xfe\xff":
		decoded = transform.NewReader(text, utf16BE.NewDecoder())
	}
	return struct {
		io.Reader
		io.Closer
	}{decoded, content}, nil
}

// partError returns the error for a damaged part. It returns a FormatError unchanged.
func partError(name string, err error) error {
	var found *FormatError
	if errors.As(err, &found) {
		return err
	}
	reason := err.Error()
	switch {
	case errors.Is(err, zip.ErrChecksum):
		reason = "its checksum is wrong"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, errXMLTruncated):
		reason = "it is cut short"
	case errors.Is(err, zip.ErrFormat):
		reason = "its place in the archive is wrong"
	case errors.Is(err, zip.ErrAlgorithm):
		reason = "it is compressed in an unknown way, or encrypted"
	}
	return damaged(fmt.Sprintf("part %q: %s", name, reason), err)
}

// element is the start of an element of a small part. It is valid only during the visit.
type element struct {
	// name has no prefix. Neither has parent.
	name []byte
	// parent is empty for the root.
	parent []byte
	// attributes are the raw attributes.
	attributes []byte
}

// get returns the value of an attribute. A name without a prefix takes precedence over one with a
// prefix.
func (e element) get(name string) string {
	value, _ := e.find(name)
	return value
}

func (e element) find(name string) (value string, found bool) {
	var prefixed []byte
	for rest := e.attributes; ; {
		var key, raw []byte
		if key, raw, rest = nextAttribute(rest); len(key) == 0 {
			break
		}
		if string(key) == name {
			return attributeText(raw), true
		}
		if string(localName(key)) == name {
			prefixed, found = raw, true
		}
	}
	return attributeText(prefixed), found
}

// is reports whether the element and its parent have the given names.
func (e element) is(name, parent string) bool {
	return string(e.name) == name && string(e.parent) == parent
}

// walk calls visit for each element of a small part, in order.
func (w *workbook) walk(name string, visit func(element)) error {
	content, err := w.open(name, smallPartBytes)
	if err != nil {
		return err
	}
	defer content.Close()
	s := newScanner(content)
	s.tokenBytes = smallTagBytes
	for {
		t, err := s.next()
		switch {
		case err != nil:
			return partError(name, err)
		case t == tokenEOF:
			return nil
		case t == tokenStart:
			visit(element{name: s.name, parent: s.parent(), attributes: s.attributes})
		}
	}
}

// relation is a reference from one part to another.
type relation struct {
	// kind is the last word of the relation's type: "worksheet", "styles".
	kind string
	// target is the name of the part.
	target string
}

// relations reads the references of a part. A part may have no references.
func (w *workbook) relations(of string) (map[string]relation, error) {
	folder := path.Dir(of)
	name := partName(path.Join(folder, "_rels", path.Base(of)+".rels"))
	if of == "" {
		folder, name = "", "_rels/.rels"
	}
	found := map[string]relation{}
	if w.parts[name] == nil {
		return found, nil
	}
	err := w.walk(name, func(e element) {
		if string(e.name) != "Relationship" || strings.EqualFold(e.get("TargetMode"), "External") {
			return
		}
		target := strings.ReplaceAll(e.get("Target"), `\`, "/")
		if !strings.HasPrefix(target, "/") {
			target = path.Join(folder, target)
		}
		found[e.get("Id")] = relation{kind: path.Base(e.get("Type")), target: partName(target)}
	})
	return found, err
}

// findMain finds the part that lists the sheets.
func (w *workbook) findMain() (string, error) {
	const usual = "xl/workbook.xml"
	main := ""
	if w.parts["_rels/.rels"] != nil {
		relations, err := w.relations("")
		if err != nil {
			return "", err
		}
		for _, r := range relations {
			if r.kind == "officeDocument" && w.parts[r.target] != nil {
				main = r.target
			}
		}
	}
	if main == "" && w.parts[usual] != nil {
		main = usual
	}
	if main == "" || path.Ext(main) == ".bin" || strings.HasPrefix(main, "word/") || strings.HasPrefix(main, "ppt/") {
		return "", packageError(w.parts)
	}
	return main, nil
}

// readMain reads the list of sheets and the data that all of them share.
func (w *workbook) readMain(main string) error {
	relations, err := w.relations(main)
	if err != nil {
		return err
	}
	styles := ""
	for _, r := range relations {
		switch r.kind {
		case "styles":
			styles = r.target
		case "sharedStrings":
			w.stringsPart = r.target
		}
	}
	list := sheetList{workbook: w, relations: relations, taken: map[string]bool{}}
	if err := w.walk(main, list.element); err != nil {
		return err
	}
	if err := list.check(); err != nil {
		return err
	}
	if len(list.hidden) > 0 {
		w.owner.note("Hidden sheets: " + text.FirstQuoted(list.hidden, maxListed) + ".")
	}
	if len(list.skipped) > 0 {
		w.owner.note("Sheets without cells (charts, dialogs, macros) were left out: " +
			text.FirstQuoted(list.skipped, maxListed) + ".")
	}
	if w.stylesPart = styles; w.parts[styles] != nil {
		return w.readStyles(styles)
	}
	return nil
}

// maxListed is how many sheets a note lists.
const maxListed = 10

// sheetList collects the sheets that the main part lists.
type sheetList struct {
	*workbook
	relations map[string]relation

	isWorkbook bool
	sheets     int
	// taken are the parts that a sheet uses.
	taken map[string]bool
	// shared reports whether two sheets use the same part.
	shared   bool
	longName bool
	// skipped are the names of the sheets without cells.
	skipped []string
	// hidden excludes very hidden sheets. These belong to a program, and users do not know about
	// them.
	hidden []string
}

// element reads one element of the main part.
func (l *sheetList) element(e element) {
	switch {
	case e.is("workbook", ""):
		l.isWorkbook = true
		l.strict = bytes.Contains(e.attributes, []byte("purl.oclc.org/ooxml"))
	// An extension has another workbookPr at a deeper level.
	case e.is("workbookPr", "workbook"):
		l.date1904 = isTrue(e.get("date1904"))
	case e.is("sheet", "sheets"):
		if l.sheets++; l.sheets <= l.limits.Sheets {
			l.add(e)
		}
	}
}

// add adds a sheet if it has cells.
func (l *sheetList) add(e element) {
	t := tab{Info: Info{Name: e.get("name"), Visible: true}}
	l.longName = l.longName || len(t.Name) > maxNameBytes
	state := strings.ToLower(e.get("state"))
	if state == "hidden" || state == "veryhidden" {
		t.Visible = false
	}
	r, ok := l.relations[sheetRelation(e)]
	// Some programs omit the relations. The parts then have their usual names.
	usual := fmt.Sprintf("xl/worksheets/sheet%d.xml", len(l.tabs)+len(l.skipped)+1)
	switch {
	case ok && r.kind == "worksheet":
		t.part = r.target
	case !ok && l.parts[usual] != nil:
		t.part = usual
	default:
		l.skipped = append(l.skipped, t.Name)
		return
	}
	l.shared = l.shared || l.taken[t.part]
	l.taken[t.part] = true
	if state == "hidden" {
		l.hidden = append(l.hidden, t.Name)
	}
	l.tabs = append(l.tabs, t)
}

// check refuses a list that is not the list of a workbook with cells.
func (l *sheetList) check() error {
	switch {
	case !l.isWorkbook:
		return packageError(l.parts)
	case l.sheets > l.limits.Sheets:
		return refused(fmt.Sprintf("the workbook has more than %d sheets", l.limits.Sheets),
			"Save those that hold filings as a workbook of their own")
	case l.shared:
		return damaged("two of its sheets are one", nil)
	case l.longName:
		return damaged("a sheet has a name of more than "+byteCount(maxNameBytes), nil)
	case len(l.tabs) == 0:
		return refused("the workbook has no sheet with cells", "Check that it is the right file")
	}
	return nil
}

// sheetRelation returns the ID by which a sheet refers to its part. Its prefix varies.
func sheetRelation(e element) string {
	if id, ok := e.find("r:id"); ok {
		return id
	}
	return e.get("id")
}

func isTrue(value string) bool { return value == "1" || strings.EqualFold(value, "true") }

// readStyles reads the number format of each cell style, and whether the style strikes its text
// through.
func (w *workbook) readStyles(part string) error {
	w.codes = map[int]string{}
	// fonts reports, by font ID, whether the font is struck through.
	var fonts []bool
	cellFont := false
	return w.walk(part, func(e element) {
		switch {
		case e.is("numFmt", "numFmts"):
			if id, err := strconv.Atoi(e.get("numFmtId")); err == nil {
				w.codes[id] = e.get("formatCode")
			}
		case string(e.name) == "font":
			// Fonts elsewhere belong to conditional formats.
			if cellFont = string(e.parent) == "fonts"; cellFont {
				fonts = append(fonts, false)
			}
		case e.is("strike", "font") && cellFont:
			value, said := e.find("val")
			fonts[len(fonts)-1] = !said || isTrue(value)
		case e.is("xf", "cellXfs"):
			font, err := strconv.Atoi(e.get("fontId"))
			w.struck = append(w.struck, err == nil && font >= 0 && font < len(fonts) && fonts[font])
			id, err := strconv.ParseInt(e.get("numFmtId"), 10, 32)
			if err != nil {
				id = 0
			}
			w.styles = append(w.styles, int32(id))
		}
	})
}

// formats are the number formats of the cells in a sheet. Each is parsed for the first cell that
// has it, because workbooks carry thousands of unused ones.
type formats struct {
	workbook *workbook
	parsed   map[int32]*numberFormat
}

// of returns the number format of a style, or nil if it is General.
func (f *formats) of(style int) (*numberFormat, error) {
	if style >= len(f.workbook.styles) {
		return nil, nil
	}
	id := f.workbook.styles[style]
	format, ok := f.parsed[id]
	if ok {
		return format, nil
	}
	if len(f.parsed) == maxFormats {
		return nil, tooLarge("its cells use", fmt.Sprintf("%d number formats", maxFormats), remedyTrim)
	}
	code, custom := f.workbook.codes[int(id)]
	if !custom {
		code = builtinFormats[int(id)]
	}
	if parsed := parseNumberFormat(code); parsed.sections != nil {
		format = &parsed
	}
	if f.parsed == nil {
		f.parsed = map[int32]*numberFormat{}
	}
	f.parsed[id] = format
	return format, nil
}

func (w *workbook) sheets() []Info {
	infos := make([]Info, 0, len(w.tabs))
	for _, t := range w.tabs {
		if t.Visible || t.Name != PropertiesSheet {
			infos = append(infos, t.Info)
		}
	}
	return infos
}

func noSheet(name string) error {
	return refused(fmt.Sprintf("there is no sheet %q", name), "Check the name on its tab")
}

// tab finds a sheet by its name.
func (w *workbook) tab(sheet string) (tab, error) {
	for _, t := range w.tabs {
		if t.Name == sheet {
			return t, nil
		}
	}
	return tab{}, noSheet(sheet)
}

func (w *workbook) rows(sheet string) (source, error) {
	t, err := w.tab(sheet)
	if err != nil {
		return nil, err
	}
	table, err := w.strings()
	if err != nil {
		return nil, err
	}
	s := &sheetSource{
		workbook: w,
		part:     t.part,
		strings:  table,
		tally:    tally{limits: w.limits},
		formats:  formats{workbook: w},
	}
	if s.content, err = w.open(t.part, w.limits.PartBytes); err != nil {
		return nil, err
	}
	s.scanner = newScanner(s.content)
	s.scanner.allow(preludeBytes, tooLarge("what stands before its rows takes", byteCount(preludeBytes), remedyTrim))
	return s, nil
}
