package sheet

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/text/transform"
)

// smallPartBytes bounds the parts that are kept in memory: the relations, the list of sheets, the styles.
const smallPartBytes = 32 << 20

// workbook is an open XLSX file.
type workbook struct {
	owner    *File
	limits   Limits
	parts    map[string]*zip.File // by name, as partName has it
	twice    map[string]bool      // names that two parts have
	unpacked atomic.Int64         // bytes read from all parts

	tabs     []tab
	date1904 bool
	formats  []*numberFormat // by the style of a cell; nil for General
	struck   []bool          // by the style of a cell: its text is struck through
	strings  func() (*stringTable, error)

	stringsPart string // "" if there is none
}

// tab is a sheet that holds cells.
type tab struct {
	Info
	part string
}

func openXLSX(owner *File, file io.ReaderAt, size int64, limits Limits) (*workbook, error) {
	archive, err := zip.NewReader(file, size)
	if err != nil {
		return nil, damaged("the zip archive that it is cannot be opened", err)
	}
	w := &workbook{owner: owner, limits: limits, parts: map[string]*zip.File{}, twice: map[string]bool{}}
	for _, part := range archive.File {
		name := partName(part.Name)
		if w.parts[name] != nil {
			w.twice[name] = true
		}
		w.parts[name] = part
	}
	w.strings = sync.OnceValues(w.readStrings)
	main, err := w.findMain()
	if err != nil {
		return nil, err
	}
	if err := w.readMain(main); err != nil {
		return nil, err
	}
	return w, nil
}

// partName brings the name of a part into one form. Names are compared without regard to case, and some programs write
// them with backslashes.
func partName(name string) string {
	name = strings.ReplaceAll(name, `\`, "/")
	return strings.ToLower(strings.TrimPrefix(path.Clean("/"+name), "/"))
}

// open starts to read a part. It is bounded by the limits whatever its header says, and its checksum is verified by reading
// it to the end.
func (w *workbook) open(name string, limit int64) (io.ReadCloser, error) {
	part := w.parts[name]
	if part == nil {
		return nil, damaged(fmt.Sprintf("the part %q is missing", name), nil)
	}
	if w.twice[name] {
		return nil, damaged(fmt.Sprintf("it holds two parts of the name %q", name), nil)
	}
	limit = min(limit, w.limits.PartBytes)
	if part.UncompressedSize64 > uint64(limit) {
		return nil, w.tooLarge(name, limit)
	}
	content, err := part.Open()
	if err != nil {
		return nil, partError(name, err)
	}
	p := &partReader{workbook: w, name: name, content: content, left: limit}
	text := bufio.NewReaderSize(p, 16<<10)
	mark, err := text.Peek(2)
	if err != nil && err != io.EOF {
		content.Close()
		return nil, err
	}
	p.text = text
	switch string(mark) {
	case "\xff\xfe":
		p.text = transform.NewReader(text, utf16LE.NewDecoder())
	case "\xfe\xff":
		p.text = transform.NewReader(text, utf16BE.NewDecoder())
	}
	return struct {
		io.Reader
		io.Closer
	}{p.text, content}, nil
}

func (w *workbook) tooLarge(name string, limit int64) error {
	return &FormatError{
		Reason: fmt.Sprintf("the file is too large: its part %q unpacks to more than %s", name, byteCount(limit)),
		Remedy: remedySplit,
	}
}

// partReader reads a part within its limits.
type partReader struct {
	workbook *workbook
	name     string
	content  io.ReadCloser
	text     io.Reader
	left     int64
}

func (p *partReader) Read(b []byte) (int, error) {
	n, err := p.content.Read(b)
	p.left -= int64(n)
	if p.left < 0 {
		return 0, p.workbook.tooLarge(p.name, p.workbook.limits.PartBytes)
	}
	if p.workbook.unpacked.Add(int64(n)) > p.workbook.limits.TotalBytes {
		return 0, &FormatError{
			Reason: "the file is too large: it unpacks to more than " + byteCount(p.workbook.limits.TotalBytes),
			Remedy: remedySplit,
		}
	}
	if err != nil && err != io.EOF {
		err = partError(p.name, err)
	}
	return n, err
}

// partError says what is wrong with a part. An error that says so already is left alone.
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

// element is a start of an element in a small part: its name and attributes, without prefixes.
type element struct {
	name       string
	parent     string
	attributes map[string]string
}

// walk calls visit for each element of a small part, in order.
func (w *workbook) walk(name string, visit func(element)) error {
	content, err := w.open(name, smallPartBytes)
	if err != nil {
		return err
	}
	defer content.Close()
	decoder := xml.NewDecoder(content)
	decoder.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	var open []string
	root := false
	for {
		t, err := decoder.RawToken()
		if err == io.EOF && len(open) == 0 && root {
			return nil
		}
		if err == io.EOF {
			err = errXMLTruncated
		}
		if err != nil {
			return partError(name, err)
		}
		switch t := t.(type) {
		case xml.Directive:
			if bytes.HasPrefix(t, []byte("DOCTYPE")) {
				return partError(name, errXMLDoctype)
			}
		case xml.StartElement:
			root = true
			e := element{name: t.Name.Local, attributes: map[string]string{}}
			if len(open) > 0 {
				e.parent = open[len(open)-1]
			}
			for _, a := range t.Attr {
				e.attributes[a.Name.Local] = a.Value
				if a.Name.Space != "" {
					e.attributes[a.Name.Space+":"+a.Name.Local] = a.Value
				}
			}
			visit(e)
			if len(open) == maxDepth {
				return partError(name, errXMLDepth)
			}
			open = append(open, t.Name.Local)
		case xml.EndElement:
			if len(open) == 0 || open[len(open)-1] != t.Name.Local {
				return partError(name, errXMLMalformed)
			}
			open = open[:len(open)-1]
		}
	}
}

// relation is a part that another refers to.
type relation struct {
	kind   string // the last word of its type: "worksheet", "styles"
	target string // the name of the part
}

// relations reads what a part refers to. There need not be any.
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
		if e.name != "Relationship" || strings.EqualFold(e.attributes["TargetMode"], "External") {
			return
		}
		target := strings.ReplaceAll(e.attributes["Target"], `\`, "/")
		if !strings.HasPrefix(target, "/") {
			target = path.Join(folder, target)
		}
		found[e.attributes["Id"]] = relation{kind: path.Base(e.attributes["Type"]), target: partName(target)}
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

// readMain reads the list of sheets and what belongs to all of them.
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
	var skipped, hidden []string
	isWorkbook, sheets := false, 0
	err = w.walk(main, func(e element) {
		switch {
		case e.name == "workbook" && e.parent == "":
			isWorkbook = true
		case e.name == "workbookPr" && e.parent == "workbook": // an extension has another, further in
			w.date1904 = isTrue(e.attributes["date1904"])
		case e.name == "sheet" && e.parent == "sheets":
			if sheets++; sheets > w.limits.Sheets {
				return
			}
			t := tab{Info: Info{Name: e.attributes["name"], Visible: true}}
			state := strings.ToLower(e.attributes["state"])
			if state == "hidden" || state == "veryhidden" {
				t.Visible = false
			}
			r, ok := relations[sheetRelation(e)]
			// Some programs leave the relations out; the parts have their usual names then.
			usual := fmt.Sprintf("xl/worksheets/sheet%d.xml", len(w.tabs)+len(skipped)+1)
			switch {
			case ok && r.kind == "worksheet":
				t.part = r.target
			case !ok && w.parts[usual] != nil:
				t.part = usual
			default:
				skipped = append(skipped, t.Name)
				return
			}
			if state == "hidden" { // a very hidden sheet belongs to a program, and nobody knows of it
				hidden = append(hidden, t.Name)
			}
			w.tabs = append(w.tabs, t)
		}
	})
	if err != nil {
		return err
	}
	if !isWorkbook {
		return packageError(w.parts)
	}
	if sheets > w.limits.Sheets {
		return &FormatError{Reason: fmt.Sprintf("the workbook has more than %d sheets", w.limits.Sheets), Remedy: "Save those that hold filings as a workbook of their own"}
	}
	if len(w.tabs) == 0 {
		return &FormatError{Reason: "the workbook has no sheet with cells", Remedy: "Check that it is the right file"}
	}
	if len(hidden) > 0 {
		w.owner.note("Hidden sheets: " + quoteAll(hidden) + ".")
	}
	if len(skipped) > 0 {
		w.owner.note("Sheets without cells (charts, dialogs, macros) were left out: " + quoteAll(skipped) + ".")
	}
	if w.parts[styles] != nil {
		return w.readStyles(styles)
	}
	return nil
}

// sheetRelation is the id by which a sheet refers to its part. Its prefix varies.
func sheetRelation(e element) string {
	if id, ok := e.attributes["r:id"]; ok {
		return id
	}
	return e.attributes["id"]
}

func quoteAll(names []string) string {
	const most = 10
	var quoted []string
	for i, name := range names {
		if i == most {
			quoted = append(quoted, fmt.Sprintf("and %d more", len(names)-most))
			break
		}
		quoted = append(quoted, strconv.Quote(name))
	}
	return strings.Join(quoted, ", ")
}

func isTrue(value string) bool { return value == "1" || strings.EqualFold(value, "true") }

// readStyles reads the number format of each style that a cell can have, and
// whether it strikes its text through.
func (w *workbook) readStyles(part string) error {
	codes := map[int]string{}
	var ids []int
	var fonts []bool // by their ids: struck through
	cellFont := false
	err := w.walk(part, func(e element) {
		switch {
		case e.name == "numFmt" && e.parent == "numFmts":
			if id, err := strconv.Atoi(e.attributes["numFmtId"]); err == nil {
				codes[id] = e.attributes["formatCode"]
			}
		case e.name == "font":
			if cellFont = e.parent == "fonts"; cellFont { // others are of conditional formats
				fonts = append(fonts, false)
			}
		case e.name == "strike" && e.parent == "font" && cellFont:
			value, said := e.attributes["val"]
			fonts[len(fonts)-1] = !said || isTrue(value)
		case e.name == "xf" && e.parent == "cellXfs":
			font, err := strconv.Atoi(e.attributes["fontId"])
			w.struck = append(w.struck, err == nil && font >= 0 && font < len(fonts) && fonts[font])
			id, err := strconv.Atoi(e.attributes["numFmtId"])
			if err != nil {
				id = 0
			}
			ids = append(ids, id)
		}
	})
	if err != nil {
		return err
	}
	parsed := map[int]*numberFormat{}
	for _, id := range ids {
		format, ok := parsed[id]
		if !ok {
			code, custom := codes[id]
			if !custom {
				code = builtinFormats[id]
			}
			if f := parseNumberFormat(code); f.sections != nil {
				format = &f
			}
			parsed[id] = format
		}
		w.formats = append(w.formats, format)
	}
	return nil
}

func (w *workbook) sheets() []Info {
	infos := make([]Info, 0, len(w.tabs))
	for _, t := range w.tabs {
		if t.Visible || t.Name != propertiesSheet {
			infos = append(infos, t.Info)
		}
	}
	return infos
}

func noSheet(name string) error {
	return &FormatError{Reason: fmt.Sprintf("there is no sheet %q", name), Remedy: "Check the name on its tab"}
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
	content, err := w.open(t.part, w.limits.PartBytes)
	if err != nil {
		return nil, err
	}
	return &sheetSource{workbook: w, part: t.part, content: content, scanner: newScanner(content), strings: table}, nil
}
