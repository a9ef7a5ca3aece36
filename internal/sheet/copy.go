package sheet

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A copy of a workbook has the parts of the original, piece by piece as they are
// written, except for what must not be passed on:
//
//   - texts that [Masking] changes, in cells, shared strings, comments, names,
//     formulas, properties and the caches of charts and pivot tables;
//   - macros, embedded objects, controls, links to other workbooks, connections
//     and every other kind of part that is not listed in copiedKinds. The last
//     values of formulas that need them stay.

// ErrNoCopy is returned for a file that is too large for a copy in its own form.
var ErrNoCopy = errors.New("the file is too large to be copied as it is")

// Bounds of what is copied. All parts of a workbook pass through memory one by
// one.
const (
	copyFileBytes  = 32 << 20
	copyPartBytes  = 64 << 20
	copyTotalBytes = 192 << 20
)

// Masking says what a copy shows.
type Masking struct {
	// Row returns the cells of a row as they may be shown.
	Row func(sheet string, row *Row) ([]Cell, error)
	// Text returns any other text as it may be shown.
	Text func(text string) string
	// Drop reports whether a sheet is left out; nil for none.
	Drop func(sheet string) bool
}

// WriteCopy writes a copy of the file. A workbook in a form that cannot be copied
// part by part becomes an XLSX workbook with the cells alone; a CSV keeps its
// encoding and its form.
func (f *File) WriteCopy(w io.Writer, m Masking) error {
	if f.size > copyFileBytes {
		return ErrNoCopy
	}
	c := &copier{file: f, mask: m, secrets: map[string]bool{}, masks: map[string]map[cellAddress]string{}}
	if err := c.findMasks(); err != nil {
		return err
	}
	if f.format == CSV {
		return c.writeCSV(w)
	}
	body, ok := f.body.(*workbook)
	if !ok || body.strict {
		return c.writeCells(w)
	}
	c.book = body
	return c.writeParts(w)
}

// cellAddress is a cell by its row number and its column.
type cellAddress struct{ row, column int }

// copier writes one copy.
type copier struct {
	file    *File
	book    *workbook
	mask    Masking
	masks   map[string]map[cellAddress]string // by sheet: the cells that are masked
	secrets map[string]bool                   // the digits of what is masked

	kept  map[string]string // the parts that are copied, with their kinds
	rels  map[string][]copiedRelation
	total int64
}

// findMasks reads all sheets and finds the cells that are masked.
func (c *copier) findMasks() error {
	for _, info := range c.file.Sheets() {
		masks := map[cellAddress]string{}
		c.masks[info.Name] = masks
		err := c.file.eachRow(info.Name, func(row *Row) error {
			cells, err := c.mask.Row(info.Name, row)
			if err != nil {
				return err
			}
			for i, shown := range cells {
				if i < len(row.Cells) && shown.Text != row.Cells[i].Text {
					masks[cellAddress{row.Number, i}] = shown.Text
					c.addSecret(row.Cells[i].Text)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eachRow calls do with each row of a sheet.
func (f *File) eachRow(sheet string, do func(*Row) error) error {
	r, err := f.Rows(sheet)
	if err != nil {
		return err
	}
	defer r.Close()
	var block Block
	for {
		if err := r.Read(&block); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		for i := range block.Rows {
			if err := do(&block.Rows[i]); err != nil {
				return err
			}
		}
	}
}

// Numbers of so many digits are looked for in all parts once they were masked in
// a cell. A number may have lost its leading zeros.
const (
	minSecret = 7
	maxSecret = 9
)

// addSecret adds the digits of a text that is masked.
func (c *copier) addSecret(text string) {
	var digits []byte
	for i := range len(text) {
		if text[i] >= '0' && text[i] <= '9' {
			digits = append(digits, text[i])
		}
	}
	if len(digits) >= minSecret && len(digits) <= maxSecret {
		c.secrets[strings.Repeat("0", maxSecret-len(digits))+string(digits)] = true
	}
}

func (c *copier) isSecret(digits string) bool {
	return len(digits) >= minSecret && len(digits) <= maxSecret &&
		c.secrets[strings.Repeat("0", maxSecret-len(digits))+digits]
}

// text returns a text as it may be shown.
func (c *copier) text(text string) string {
	if countDigits(text) < minSecret {
		return text
	}
	return c.hideSecrets(c.mask.Text(text))
}

// countDigits counts digits. Bytes beyond ASCII may be digits of another script.
func countDigits(text string) (n int) {
	for i := range len(text) {
		if text[i] >= '0' && text[i] <= '9' || text[i] >= 0x80 {
			n++
		}
	}
	return n
}

// masked stands for a number that was masked in a cell.
const masked = "***-**-"

// digitRun are digits of a text with nothing between them.
type digitRun struct{ start, end int }

// hideSecrets hides the numbers that were masked in cells, however their digits
// are grouped.
func (c *copier) hideSecrets(text string) string {
	if len(c.secrets) == 0 {
		return text
	}
	var runs []digitRun
	for i := 0; i < len(text); i++ {
		if text[i] < '0' || text[i] > '9' {
			continue
		}
		start := i
		for i < len(text) && text[i] >= '0' && text[i] <= '9' {
			i++
		}
		runs = append(runs, digitRun{start, i})
	}
	var out strings.Builder
	from := 0
	for i := 0; i < len(runs); i++ {
		digits := ""
		for j := i; j < len(runs) && len(digits) < maxSecret; j++ {
			if j > i && runs[j].start-runs[j-1].end > 3 {
				break
			}
			digits += text[runs[j].start:runs[j].end]
			if c.isSecret(digits) {
				out.WriteString(text[from:runs[i].start] + masked + digits[len(digits)-4:])
				from, i = runs[j].end, j
				break
			}
		}
	}
	if from == 0 {
		return text
	}
	return out.String() + text[from:]
}

// copiedKinds are the kinds of parts that are copied, by the last word of their
// relation. What is not here may run, call, or hold what no text search finds.
var copiedKinds = map[string]bool{
	"officeDocument":       true,
	"worksheet":            true,
	"chartsheet":           true,
	"styles":               true,
	"theme":                true,
	"themeOverride":        true,
	"sharedStrings":        true,
	"sheetMetadata":        true,
	"drawing":              true,
	"vmlDrawing":           true,
	"chart":                true,
	"chartEx":              true,
	"chartStyle":           true,
	"chartColorStyle":      true,
	"chartUserShapes":      true,
	"image":                true,
	"comments":             true,
	"threadedComment":      true,
	"person":               true,
	"table":                true,
	"pivotTable":           true,
	"pivotCacheDefinition": true,
	"pivotCacheRecords":    true,
	"core-properties":      true,
	"extended-properties":  true,
	"custom-properties":    true,
}

// copiedRelation is a relation of a part of the original.
type copiedRelation struct {
	relation
	raw      []byte // its element
	external bool
	keep     bool
}

// relationsPart is the name of the part with the relations of a part.
func relationsPart(of string) string {
	if of == "" {
		return "_rels/.rels"
	}
	return partName(path.Join(path.Dir(of), "_rels", path.Base(of)+".rels"))
}

// keepParts finds the parts that are copied: those that relations of kinds that
// are copied lead to.
func (c *copier) keepParts(of string) error {
	name := relationsPart(of)
	if c.book.parts[name] == nil || c.rels[of] != nil {
		return nil
	}
	data, err := c.read(name)
	if err != nil {
		return err
	}
	folder := path.Dir(of)
	if of == "" {
		folder = ""
	}
	all := []copiedRelation{}
	err = eachTag(data, func(_ *rawXML, t *rawToken) error {
		if t.local() == "Relationship" {
			all = append(all, c.relationOf(t, folder))
		}
		return nil
	})
	if err != nil {
		return partError(name, err)
	}
	c.rels[of] = all
	for _, r := range all {
		if r.keep && !r.external && c.kept[r.target] == "" {
			c.kept[r.target] = r.kind
			if err := c.keepParts(r.target); err != nil {
				return err
			}
		}
	}
	return nil
}

// relationOf reads a relation of a part in a folder.
func (c *copier) relationOf(t *rawToken, folder string) copiedRelation {
	kind, _ := t.attribute("Type")
	mode, _ := t.attribute("TargetMode")
	target, _ := t.attribute("Target")
	r := copiedRelation{raw: t.bytes, external: strings.EqualFold(mode, "External")}
	r.kind = path.Base(kind)
	if r.external {
		r.keep = r.kind == "hyperlink"
		return r
	}
	target = strings.ReplaceAll(target, `\`, "/")
	if !strings.HasPrefix(target, "/") {
		target = path.Join(folder, target)
	}
	r.target = partName(target)
	r.keep = copiedKinds[r.kind] && c.book.parts[r.target] != nil && !c.dropped(r.target)
	return r
}

// dropped reports whether a part is a sheet that is left out.
func (c *copier) dropped(part string) bool {
	if c.mask.Drop == nil {
		return false
	}
	return slices.ContainsFunc(c.book.tabs, func(t tab) bool { return t.part == part && c.mask.Drop(t.Name) })
}

// read reads a part of the original into memory.
func (c *copier) read(name string) ([]byte, error) {
	data, err := c.book.readPart(name)
	if c.total += int64(len(data)); c.total > copyTotalBytes {
		return nil, ErrNoCopy
	}
	return data, err
}

// readPart reads a part into memory, as UTF-8.
func (w *workbook) readPart(name string) ([]byte, error) {
	content, err := w.open(name, w.limits.PartBytes, nil)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	data, err := io.ReadAll(io.LimitReader(content, copyPartBytes+1))
	if err != nil {
		return nil, partError(name, err)
	}
	if len(data) > copyPartBytes {
		return nil, ErrNoCopy
	}
	return bytes.TrimPrefix(data, []byte("\ufeff")), nil
}

const contentTypesPart = "[content_types].xml"

// writeParts writes the copy of an XLSX workbook.
func (c *copier) writeParts(w io.Writer) error {
	c.kept, c.rels = map[string]string{}, map[string][]copiedRelation{}
	if err := c.keepParts(""); err != nil {
		return err
	}
	main := c.book.main
	c.kept[main] = "officeDocument"
	if err := c.keepParts(main); err != nil {
		return err
	}
	archive := zip.NewWriter(w)
	if err := c.writeTypes(archive); err != nil {
		return err
	}
	for of, name := range c.relationParts() {
		if err := writePart(archive, c.book.parts[name].Name, c.relationsOf(of)); err != nil {
			return err
		}
	}
	for _, name := range c.partNames() {
		if err := c.writePart(archive, name); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return fmt.Errorf("copy the workbook: %w", err)
	}
	return nil
}

// relationParts yields the parts whose relations are copied, in one order.
func (c *copier) relationParts() func(func(of, name string) bool) {
	return func(yield func(of, name string) bool) {
		owners := make([]string, 0, len(c.rels))
		for of := range c.rels {
			owners = append(owners, of)
		}
		slices.Sort(owners)
		for _, of := range owners {
			if !yield(of, relationsPart(of)) {
				return
			}
		}
	}
}

func (c *copier) partNames() []string {
	names := make([]string, 0, len(c.kept))
	for name := range c.kept {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

const xmlDeclaration = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"

// writePart adds a part to an archive.
func writePart(archive *zip.Writer, name string, content []byte) error {
	to, err := archive.Create(name)
	if err == nil {
		_, err = to.Write(content)
	}
	if err != nil {
		return fmt.Errorf("write the part %s: %w", name, err)
	}
	return nil
}

func (c *copier) relationsOf(part string) []byte {
	var out bytes.Buffer
	out.WriteString(xmlDeclaration +
		`<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">`)
	for _, r := range c.rels[part] {
		if !r.keep {
			continue
		}
		out.WriteString("<Relationship")
		t := rawToken{bytes: r.raw, attributes: relationAttributes(r.raw)}
		for _, name := range []string{"Id", "Type", "Target", "TargetMode"} {
			value, found := t.attribute(name)
			if !found {
				continue
			}
			if r.external && name == "Target" {
				value = c.text(value)
			}
			out.WriteString(" " + name + `="` + escapeXML(value) + `"`)
		}
		out.WriteString("/>")
	}
	out.WriteString("</Relationships>")
	return out.Bytes()
}

// relationAttributes are those of the tag of a relation.
func relationAttributes(raw []byte) []byte {
	at := bytes.IndexAny(raw, " \t\r\n")
	if at < 0 {
		return nil
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(raw[at:], []byte(">")), []byte("/"))
}

const workbookType = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"

// writeTypes writes the content types of the parts that are copied.
func (c *copier) writeTypes(archive *zip.Writer) error {
	data, err := c.read(contentTypesPart)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	out.WriteString(xmlDeclaration + `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">`)
	x := rawXML{data: data}
	mainWritten := false
	for {
		t, ok, err := x.next()
		if err != nil {
			return partError(contentTypesPart, err)
		}
		if !ok {
			break
		}
		if t.kind > rawEmpty {
			continue
		}
		of, _ := t.attribute("ContentType")
		switch t.local() {
		case "Default":
			extension, _ := t.attribute("Extension")
			if !c.hasExtension(extension) {
				continue
			}
			fmt.Fprintf(&out, `<Default Extension="%s" ContentType="%s"/>`, escapeXML(extension), escapeXML(of))
		case "Override":
			name, _ := t.attribute("PartName")
			part := partName(name)
			if c.kept[part] == "" {
				continue
			}
			if part == c.book.main {
				of, mainWritten = workbookType, true // without macros, and no template
			}
			fmt.Fprintf(&out, `<Override PartName="%s" ContentType="%s"/>`, escapeXML(name), escapeXML(of))
		}
	}
	if !mainWritten {
		fmt.Fprintf(&out, `<Override PartName="/%s" ContentType="%s"/>`,
			escapeXML(c.book.parts[c.book.main].Name), workbookType)
	}
	out.WriteString("</Types>")
	return writePart(archive, "[Content_Types].xml", out.Bytes())
}

// hasExtension reports whether a part that is copied has an extension.
func (c *copier) hasExtension(extension string) bool {
	suffix := "." + strings.ToLower(extension)
	if suffix == ".rels" || suffix == ".xml" {
		return true
	}
	for name := range c.kept {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}

// writePart copies a part.
func (c *copier) writePart(archive *zip.Writer, name string) error {
	part := c.book.parts[name]
	if c.kept[name] == "image" {
		if part.UncompressedSize64 > copyPartBytes {
			return ErrNoCopy
		}
		return archive.Copy(part)
	}
	data, err := c.read(name)
	if err != nil {
		return err
	}
	s := scrubber{copier: c, part: name, x: rawXML{data: data}, dropped: map[string]bool{}}
	for _, r := range c.rels[name] {
		if !r.keep {
			t := rawToken{attributes: relationAttributes(r.raw)}
			id, _ := t.attribute("Id")
			s.dropped[id] = true
		}
	}
	s.out.Grow(len(data) + len(data)/16)
	s.out.WriteString(xmlDeclaration)
	if err := s.scrub(); err != nil {
		return partError(name, err)
	}
	return writePart(archive, part.Name, s.out.Bytes())
}

// scrubber copies the XML of one part without what must not be passed on.
type scrubber struct {
	*copier
	part    string
	x       rawXML
	out     bytes.Buffer
	dropped map[string]bool // the ids of relations that are not copied

	open   []openElement
	group  int // the depth of the element whose texts are one text; 0 for none
	pieces []textPiece

	sheet        string // of a worksheet
	number       int    // of the row
	column       int    // that follows the last cell
	droppedTypes map[string]bool
	sheets       int   // seen so far in the list of sheets
	gone         []int // the positions of the sheets that are left out
}

type openElement struct {
	local string
	at    int // where it begins in out
}

type textPiece struct{ start, end int } // in out

// groups are elements whose texts are runs of one text.
var groups = map[string]bool{"si": true, "is": true, "text": true, "p": true}

// removed are elements that only make sense with parts that are not copied.
var removed = map[string]bool{
	"oleObjects": true, "controls": true, "externalReferences": true, "webPublishItems": true,
	"webPublishObjects": true, "customWorkbookViews": true, "smartTags": true, "fileSharing": true,
}

// positions are elements whose digits are a place on the sheet.
var positions = map[string]bool{"rowOff": true, "colOff": true, "row": true, "col": true, "posOffset": true}

func (s *scrubber) scrub() error {
	for _, t := range s.book.tabs {
		if t.part == s.part {
			s.sheet = t.Name
			for shown, own := range s.file.names {
				if own == t.Name {
					s.sheet = shown
				}
			}
		}
	}
	s.droppedTypes = map[string]bool{}
	for {
		t, ok, err := s.x.next()
		if err != nil || !ok {
			return err
		}
		switch t.kind {
		case rawOther:
		case rawText, rawCDATA:
			s.writeText(&t)
		case rawEnd:
			s.out.Write(t.bytes)
			s.open = s.open[:len(s.open)-1]
			if s.group > len(s.open) {
				s.endGroup()
			}
		default:
			if err := s.copyElement(&t); err != nil {
				return err
			}
		}
	}
}

func (s *scrubber) parent() string {
	if len(s.open) == 0 {
		return ""
	}
	return s.open[len(s.open)-1].local
}

// copyElement copies a start tag, or leaves its element out.
func (s *scrubber) copyElement(t *rawToken) error {
	local := t.local()
	if s.sheet != "" && local == "c" && s.parent() == "row" {
		return s.copyCell(t)
	}
	if s.sheet != "" && local == "row" && s.parent() == "sheetData" {
		s.startRow(t)
	}
	if s.part == s.book.main {
		switch local {
		case "definedName":
			return s.copyDefinedName(t)
		case "sheet":
			return s.copySheetTag(t)
		}
	}
	if removed[local] {
		return s.leaveOut(t)
	}
	drop := ""
	if len(s.dropped) > 0 {
		drop = s.droppedReference(t)
	}
	switch {
	case drop == "":
	case local == "pageSetup": // its printer settings
		s.writeTag(t, drop)
		return nil
	default:
		return s.leaveOutAround(t)
	}
	at := s.out.Len()
	s.writeTag(t, "")
	if t.kind == rawStart {
		s.open = append(s.open, openElement{local, at})
		if s.group == 0 && groups[local] {
			s.group, s.pieces = len(s.open), s.pieces[:0]
		}
	}
	return nil
}

// leaveOut leaves an element out.
func (s *scrubber) leaveOut(t *rawToken) error {
	if t.kind == rawStart {
		return s.x.skip()
	}
	return nil
}

// leaveOutAround leaves out an element that refers to a part that is not copied,
// with the extension that it belongs to.
func (s *scrubber) leaveOutAround(t *rawToken) error {
	for depth := len(s.open); depth > 0; depth-- {
		if o := s.open[depth-1]; o.local == "ext" || o.local == "AlternateContent" {
			s.out.Truncate(o.at)
			s.open = s.open[:depth-1]
			if s.group >= depth {
				s.group = 0
			}
			for len(s.x.open) >= depth {
				if _, ok, err := s.x.next(); err != nil || !ok {
					return cmpError(err)
				}
			}
			return nil
		}
	}
	return s.leaveOut(t)
}

func cmpError(err error) error {
	if err == nil {
		return errXMLTruncated
	}
	return err
}

// droppedReference returns the attribute that refers to a part that is not
// copied.
func (s *scrubber) droppedReference(t *rawToken) string {
	for rest := t.attributes; ; {
		var name, value []byte
		if name, value, rest = nextAttribute(rest); len(name) == 0 {
			return ""
		}
		if bytes.IndexByte(name, ':') > 0 && !bytes.HasPrefix(name, []byte("xmlns")) && s.dropped[string(value)] {
			return string(name)
		}
	}
}

// writeTag writes a tag without one of its attributes, and the others as they
// may be shown.
func (s *scrubber) writeTag(t *rawToken, without string) {
	if without == "" && countDigits(string(t.attributes)) < minSecret {
		s.out.Write(t.bytes)
		return
	}
	s.out.WriteByte('<')
	s.out.Write(t.name)
	for rest := t.attributes; ; {
		var name, value []byte
		if name, value, rest = nextAttribute(rest); len(name) == 0 {
			break
		}
		if string(name) == without {
			continue
		}
		text := attributeText(value)
		shown := s.attribute(string(name), text)
		s.out.WriteByte(' ')
		s.out.Write(name)
		s.out.WriteString(`="`)
		if shown == text && bytes.IndexByte(value, '"') < 0 {
			s.out.Write(value)
		} else {
			s.out.WriteString(escapeXML(shown))
		}
		s.out.WriteByte('"')
	}
	if t.kind == rawEmpty {
		s.out.WriteByte('/')
	}
	s.out.WriteByte('>')
}

// attribute returns the value of an attribute as it may be shown. Most numbers in
// attributes are measures; those of the caches of pivot tables are values.
func (s *scrubber) attribute(name, value string) string {
	switch {
	case strings.HasPrefix(name, "xmlns"), strings.Contains(value, "{"):
		return value
	case name == "formatCode", name != "v" && strings.Trim(value, "0123456789.-") == "":
		return s.hideSecrets(value)
	}
	return s.text(value)
}

// writeText writes a text as it may be shown. A text of a group is decided on at
// the end of the group.
func (s *scrubber) writeText(t *rawToken) {
	start := s.out.Len()
	parent := s.parent()
	if s.group > 0 && (parent == "t" || len(s.open) == s.group) {
		s.out.Write(t.bytes)
		s.pieces = append(s.pieces, textPiece{start, s.out.Len()})
		return
	}
	if positions[parent] || countDigits(string(t.bytes)) < minSecret {
		s.out.Write(t.bytes)
		return
	}
	text := t.text()
	if shown := s.text(text); shown != text {
		s.out.WriteString(escapeXML(shown))
		return
	}
	s.out.Write(t.bytes)
}

// endGroup puts the masked text of a group into its first piece.
func (s *scrubber) endGroup() {
	s.group = 0
	text := ""
	for _, p := range s.pieces {
		t := rawToken{kind: rawText, bytes: s.out.Bytes()[p.start:p.end]}
		if bytes.HasPrefix(t.bytes, []byte("<![CDATA[")) {
			t.kind = rawCDATA
		}
		text += t.text()
	}
	shown := s.text(text)
	if shown == text {
		return
	}
	all := bytes.Clone(s.out.Bytes()[s.pieces[0].start:])
	first := s.pieces[0].start
	s.out.Truncate(first)
	s.out.WriteString(escapeXML(shown))
	at := s.pieces[0].end
	for _, p := range s.pieces[1:] {
		s.out.Write(all[at-first : p.start-first])
		at = p.end
	}
	s.out.Write(all[at-first:])
}

// copyDefinedName copies a name, unless it leads to another workbook, runs something,
// or would show what is masked.
func (s *scrubber) copyDefinedName(t *rawToken) error {
	if t.kind == rawEmpty {
		return nil
	}
	inner, err := s.x.inner()
	if err != nil {
		return err
	}
	text := attributeText(inner)
	for _, flag := range []string{"function", "vbProcedure", "xlm"} {
		if value, found := t.attribute(flag); found && isTrue(value) {
			return nil
		}
	}
	name, _ := t.attribute("name")
	if needsOutside(text) || s.text(text) != text || s.text(name) != name {
		return nil
	}
	tag := string(t.bytes)
	if local, found := t.attribute("localSheetId"); found && len(s.gone) > 0 {
		n, err := strconv.Atoi(local)
		if err != nil || slices.Contains(s.gone, n) {
			return nil
		}
		before := 0
		for _, g := range s.gone {
			if g < n {
				before++
			}
		}
		tag = strings.Replace(tag, `localSheetId="`+local+`"`, `localSheetId="`+strconv.Itoa(n-before)+`"`, 1)
	}
	s.out.WriteString(tag)
	s.out.Write(inner)
	s.out.WriteString("</" + string(t.name) + ">")
	return nil
}

// copySheetTag copies a sheet of the list under the name by which it is known.
func (s *scrubber) copySheetTag(t *rawToken) error {
	position := s.sheets
	s.sheets++
	if s.droppedReference(t) != "" {
		s.gone = append(s.gone, position)
		return s.leaveOut(t)
	}
	name, _ := t.attribute("name")
	shown := name
	for as, own := range s.file.names {
		if own == name {
			shown = as
		}
	}
	if shown == name {
		s.out.Write(t.bytes)
	} else {
		s.out.WriteString("<" + string(t.name))
		for rest := t.attributes; ; {
			var key, value []byte
			if key, value, rest = nextAttribute(rest); len(key) == 0 {
				break
			}
			text := attributeText(value)
			if string(key) == "name" {
				text = shown
			}
			s.out.WriteString(" " + string(key) + `="` + escapeXML(text) + `"`)
		}
		s.out.WriteString("/>")
		if t.kind == rawStart {
			return s.x.skip()
		}
		return nil
	}
	if t.kind == rawStart {
		s.open = append(s.open, openElement{"sheet", s.out.Len()})
	}
	return nil
}

// startRow notes the number of a row.
func (s *scrubber) startRow(t *rawToken) {
	s.number++
	s.column = 0
	if r, found := t.attribute("r"); found {
		if n, err := strconv.Atoi(r); err == nil {
			s.number = n
		}
	}
}

// outside matches a reference to another workbook, and a function that calls
// something outside the workbook.
var (
	outside  = regexp.MustCompile(`(?:^|[^\w\]\.])\[\d+\]`)
	outcalls = regexp.MustCompile(
		`(?i)(?:^|[^\w.])(?:_xlfn\.)?(?:_xlws\.)?(?:WEBSERVICE|IMAGE|RTD|CALL|REGISTER(?:\.ID)?|EXEC)\s*\(`)
)

// needsOutside reports whether a formula reaches outside its workbook.
func needsOutside(formula string) bool {
	return outside.MatchString(formula) || outcalls.MatchString(formula)
}

// copyCell copies a cell of a worksheet.
func (s *scrubber) copyCell(t *rawToken) error {
	if r, found := t.attribute("r"); found {
		if col, row, ok := parseCellName([]byte(r)); ok {
			s.column = col
			if row > s.number { // of a row without a number
				s.number = row
			}
		}
	}
	at := cellAddress{s.number, s.column}
	s.column++
	if t.kind == rawEmpty {
		s.out.Write(t.bytes)
		return nil
	}
	inner, err := s.x.inner()
	if err != nil {
		return err
	}
	cell, err := parseRawCell(inner)
	if err != nil {
		return err
	}
	kind, _ := t.attribute("t")
	shown, isMasked := s.masks[s.sheet][at]
	if !isMasked && kind != "s" {
		if text := s.value(kind, &cell); text != cell.value {
			shown, isMasked = text, true
		}
	}
	formula := attributeText(cell.formula.text)
	shared := cell.formula.shared
	drop := isMasked || len(cell.formula.raw) > 0 &&
		(needsOutside(formula) || s.showsSecret(formula) || shared != "" && s.droppedTypes[shared])
	if drop && shared != "" && len(formula) > 0 {
		s.droppedTypes[shared] = true // the other cells of the group have lost their formula, too
	}
	switch {
	case isMasked:
		writeInline(&s.out, t, shown)
	case drop:
		s.out.Write(t.bytes)
		s.out.Write(inner[:cell.formula.start])
		s.out.Write(inner[cell.formula.end:])
		s.out.WriteString("</" + string(t.name) + ">")
	default:
		s.out.Write(t.bytes)
		s.out.Write(inner)
		s.out.WriteString("</" + string(t.name) + ">")
	}
	return nil
}

// joint matches what stands between two texts that a formula joins.
var joint = regexp.MustCompile(`"\s*&\s*"`)

// showsSecret reports whether a formula holds what is masked, in one text or in
// several that it joins.
func (s *scrubber) showsSecret(formula string) bool {
	joined := joint.ReplaceAllString(formula, "")
	return s.text(formula) != formula || s.text(joined) != joined
}

// value returns the value of a cell as it may be shown.
func (s *scrubber) value(kind string, cell *rawCell) string {
	switch kind {
	case "", "n":
		if len(s.secrets) == 0 {
			break
		}
		if f, err := strconv.ParseFloat(cell.value, 64); err == nil && f >= 0 && f < 1e9 && f == float64(int64(f)) {
			if digits := strconv.FormatInt(int64(f), 10); s.isSecret(digits) {
				return masked + digits[len(digits)-4:]
			}
		}
	case "str", "inlineStr":
		return s.text(cell.value)
	}
	return cell.value
}

// writeInline writes a cell that holds a text, with the style of the original.
func writeInline(out *bytes.Buffer, t *rawToken, text string) {
	prefix := prefixOf(t.name)
	out.WriteString("<" + string(t.name))
	for _, name := range []string{"r", "s"} {
		if value, found := t.attribute(name); found {
			out.WriteString(" " + name + `="` + escapeXML(value) + `"`)
		}
	}
	fmt.Fprintf(out, ` t="inlineStr"><%sis><%[1]st xml:space="preserve">%[2]s</%[1]st></%[1]sis></%[3]s>`, prefix,
		escapeXML(text), t.name)
}

// prefixOf returns the prefix of a name with its colon; "" for none.
func prefixOf(name []byte) string { return string(name[:bytes.IndexByte(name, ':')+1]) }

// rawCell is the content of a cell.
type rawCell struct {
	value   string // of <v>, or the text of <is>
	formula struct {
		raw, text  []byte
		start, end int // within the content
		shared     string
	}
}

func parseRawCell(inner []byte) (c rawCell, err error) {
	x := rawXML{data: inner}
	for {
		before := x.pos
		t, ok, err := x.next()
		if err != nil || !ok {
			return c, err
		}
		last := len(x.open) - 1
		switch {
		case t.kind <= rawEmpty && t.local() == "f" && (t.kind == rawEmpty || last == 0):
			if err := c.readFormula(&x, &t, before); err != nil {
				return c, err
			}
		case t.kind == rawText || t.kind == rawCDATA:
			if last < 0 {
				break
			}
			if name := string(localName(x.open[last])); name == "v" || name == "t" {
				c.value += t.text()
			}
		}
	}
}

// readFormula reads the formula of a cell, whose tag begins at a position.
func (c *rawCell) readFormula(x *rawXML, t *rawToken, start int) (err error) {
	c.formula.start = start
	if kind, _ := t.attribute("t"); kind == "shared" {
		c.formula.shared, _ = t.attribute("si")
	}
	if t.kind == rawStart {
		c.formula.text, err = x.inner()
	}
	c.formula.end = x.pos
	c.formula.raw = x.data[start:x.pos]
	return err
}
