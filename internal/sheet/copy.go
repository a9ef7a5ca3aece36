package sheet

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"html"
	"io"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/xuri/excelize/v2"
	"golang.org/x/text/unicode/norm"
)

// ErrNoCopy is returned for a workbook that is too large to copy, or in a form that cannot be
// copied without a loss.
var ErrNoCopy = errors.New("the workbook cannot be copied")

// Limits of a copy. excelize keeps all cells in memory, and a row for each number up to the last.
const (
	maxCopiedCells = 200_000
	copyUnpacked   = 64 << 20
	// copyUnpackedOnce exceeds copyUnpacked, because excelize uses a temporary file for a larger
	// part.
	copyUnpackedOnce = copyUnpacked + 1
)

// Masking decides which content a copy shows.
type Masking struct {
	// Sheet is the sheet that receives the results.
	Sheet string
	// Row returns the cells of a row with sensitive content masked.
	Row func(sheet string, row *Row) ([]Cell, error)
	// Find returns the byte spans of a text to mask. If inCell is set, nine adjacent digits are
	// left to Row, because they may be an identifier.
	Find func(text string, inCell bool) [][2]int
	// Drop reports whether a sheet is left out. It may be nil.
	Drop func(sheet string) bool
}

// Copy returns a copy of a workbook without its macros. It compares every cell of the copy with the
// original.
func (f *File) Copy(m Masking) ([]byte, error) {
	copied, err := f.copy(m)
	if _, isFormat := errors.AsType[*FormatError](err); isFormat {
		return nil, ErrNoCopy
	}
	return copied, err
}

func (f *File) copy(m Masking) ([]byte, error) {
	if !f.hasUsualParts() {
		return nil, ErrNoCopy
	}
	original, err := reopen(f.bytes, f.size)
	if err != nil {
		return nil, err
	}
	original.names = f.names
	c := &copier{file: f, mask: m, secrets: map[string]bool{}, masks: map[string]map[cellAddress]string{}}
	if err := c.findMasks(original); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := c.write(&out); err != nil {
		return nil, err
	}
	return out.Bytes(), c.compare(original, out.Bytes())
}

// hasUsualParts reports whether the file is a workbook with its parts at the paths that excelize
// expects.
func (f *File) hasUsualParts() bool {
	book, ok := f.body.(*workbook)
	if !ok || book.strict || book.main != "xl/workbook.xml" {
		return false
	}
	for part, usual := range map[string]string{
		book.stringsPart: "xl/sharedstrings.xml", book.stylesPart: "xl/styles.xml",
	} {
		if part != "" && part != usual {
			return false
		}
	}
	return hasNumbersInARow(book.parts)
}

// numberedPart matches the parts that excelize numbers by their count.
var numberedPart = regexp.MustCompile(`^(xl/(?:drawings/drawing|drawings/vmldrawing|charts/chart|comments))(\d+)\.`)

// hasNumbersInARow reports whether the numbered parts have no gaps. With a gap, a new part could
// take the name of another.
func hasNumbersInARow(parts map[string]*zip.File) bool {
	count, highest := map[string]int{}, map[string]int{}
	for name := range parts {
		if m := numberedPart.FindStringSubmatch(name); m != nil {
			n, _ := parseCount([]byte(m[2]))
			count[m[1]]++
			highest[m[1]] = max(highest[m[1]], n)
		}
	}
	for kind, n := range highest {
		if n > count[kind] {
			return false
		}
	}
	return true
}

// reopen opens a workbook within the limits of a copy.
func reopen(content io.ReaderAt, size int64) (*File, error) {
	return OpenReader("copy.xlsx", content, size, Limits{
		TotalBytes: copyUnpacked,
		Rows:       maxCopiedCells,
		Cells:      maxCopiedCells,
	})
}

// openBook opens a workbook that is completely in memory.
func openBook(content io.ReaderAt, size int64) (*excelize.File, error) {
	book, err := excelize.OpenReader(io.NewSectionReader(content, 0, size), excelize.Options{
		UnzipSizeLimit:    copyUnpackedOnce,
		UnzipXMLSizeLimit: copyUnpackedOnce,
	})
	if err != nil {
		return nil, fmt.Errorf("open the workbook: %w", err)
	}
	return book, nil
}

// cellAddress is the row number and the column of a cell.
type cellAddress struct{ row, column int }

// copier writes one copy.
type copier struct {
	file *File
	mask Masking
	// masks are the masked texts of cells, by sheet.
	masks map[string]map[cellAddress]string
	// secrets are the digits of the masked texts and of their whole cells.
	secrets map[string]bool
}

func (c *copier) drops(sheet string) bool { return c.mask.Drop != nil && c.mask.Drop(sheet) }

// findMasks reads all sheets and finds the cells to mask.
func (c *copier) findMasks(original *File) error {
	left := maxCopiedCells
	for _, info := range original.Sheets() {
		masks := map[cellAddress]string{}
		c.masks[info.Name] = masks
		err := original.EachRow(info.Name, func(row *Row) error {
			if left -= len(row.Cells); left < 0 {
				return ErrNoCopy
			}
			cells, err := c.mask.Row(info.Name, row)
			if err != nil {
				return err
			}
			for i, shown := range cells {
				if i < len(row.Cells) && shown.Text != row.Cells[i].Text {
					masks[cellAddress{row.Number, i}] = shown.Text
					c.addSecrets(row.Cells[i].Text)
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

// write writes the copy.
func (c *copier) write(w io.Writer) (err error) {
	defer func() {
		// excelize panics if some parts are missing.
		if recover() != nil {
			err = ErrNoCopy
		}
	}()
	book, err := openBook(c.file.bytes, c.file.size)
	if err != nil {
		return ErrNoCopy
	}
	defer book.Close()
	// GetSheetList includes the sheets that File.Sheets leaves out.
	for _, name := range book.GetSheetList() {
		if c.drops(name) {
			if err := book.DeleteSheet(name); err != nil {
				return ErrNoCopy
			}
		}
	}
	for _, info := range c.file.Sheets() {
		if c.drops(info.Name) {
			continue
		}
		for at, text := range c.masks[info.Name] {
			if err := book.SetCellStr(c.file.ownName(info.Name), CellName(at.column, at.row), text); err != nil {
				return ErrNoCopy
			}
		}
	}
	// Try the calls that the results need later.
	if _, err := book.GetSheetDimension(c.file.ownName(c.mask.Sheet)); err != nil {
		return ErrNoCopy
	}
	// Comments need the default font.
	if _, err := book.GetDefaultFont(); err != nil {
		return ErrNoCopy
	}
	trial := Workbook{book: book, styles: map[look]int{}}
	if _, err := trial.style(look{style: StyleHeader, format: asMoney}); err != nil {
		return ErrNoCopy
	}
	for shown, own := range c.file.names {
		if err := book.SetSheetName(own, SafeName(shown)); err != nil {
			return ErrNoCopy
		}
	}
	// This name stands for a workbook that is neither a template nor has macros.
	book.Path = "copy.xlsx"
	archive := &hidingArchive{Writer: zip.NewWriter(w), copier: c}
	book.SetZipWriter(func(io.Writer) excelize.ZipWriter { return archive })
	return errors.Join(book.Write(io.Discard), archive.refused)
}

// compare compares the cells of the copy with those of the original.
func (c *copier) compare(original *File, copied []byte) error {
	again, err := reopen(bytes.NewReader(copied), int64(len(copied)))
	if err != nil {
		return err
	}
	for _, info := range original.Sheets() {
		if c.drops(info.Name) {
			continue
		}
		name := info.Name
		if c.file.names[name] != "" {
			name = SafeName(name)
		}
		var rows []*Row
		err := again.EachRow(name, func(row *Row) error {
			rows = append(rows, row)
			return nil
		})
		if err != nil {
			return err
		}
		err = original.EachRow(info.Name, func(row *Row) error {
			if len(rows) == 0 || !c.isCopy(info.Name, row, rows[0]) {
				return ErrNoCopy
			}
			rows = rows[1:]
			return nil
		})
		if err != nil {
			return err
		}
		if len(rows) > 0 {
			return ErrNoCopy
		}
	}
	return nil
}

// isCopy reports whether a row is the copy of another.
func (c *copier) isCopy(sheet string, row, copied *Row) bool {
	if row.Number != copied.Number || row.Hidden != copied.Hidden || row.Struck != copied.Struck ||
		len(row.Cells) != len(copied.Cells) {
		return false
	}
	for i, cell := range row.Cells {
		got := copied.Cells[i]
		if shown, isMasked := c.masks[sheet][cellAddress{row.Number, i}]; isMasked {
			if got.Text != shown {
				return false
			}
		} else if got != cell && len(c.find(cell.Text, true)) == 0 {
			return false
		}
	}
	return true
}

// hidingArchive masks all parts as they are written to the archive, and leaves macros out.
type hidingArchive struct {
	*zip.Writer
	copier *copier
	// refused is the refusal of a part. excelize keeps only the last error of each part.
	refused error
}

func (a *hidingArchive) Create(name string) (io.Writer, error) {
	if strings.Contains(strings.ToLower(name), "vbaproject") {
		return io.Discard, nil
	}
	part, err := a.Writer.Create(name)
	return hidingPart{part, strings.ToLower(name), a}, err
}

type hidingPart struct {
	io.Writer
	name    string
	archive *hidingArchive
}

// macroRelation is the relation of a workbook to its macros.
var macroRelation = regexp.MustCompile(`(?i)<Relationship [^>]*vbaProject[^>]*>(?:</Relationship>)?`)

// Write writes a part. excelize writes each part with one call.
func (p hidingPart) Write(part []byte) (int, error) {
	size := len(part)
	switch ext := path.Ext(p.name); ext {
	case ".xml", ".rels", ".vml", ".svg":
		if bytes.IndexByte(part, 0) >= 0 {
			// The text is not in UTF-8.
			p.archive.refused = ErrNoCopy
		}
		ofCells := p.name == "xl/sharedstrings.xml" || strings.HasPrefix(p.name, "xl/worksheets/")
		if !p.archive.copier.hide(part, ofCells) {
			p.archive.refused = ErrNoCopy
		}
		if ext == ".rels" {
			part = macroRelation.ReplaceAll(part, nil)
		}
	case ".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".emf", ".wmf":
	default:
		if !strings.Contains(p.name, "printersettings") {
			// The content of an embedded object is unknown.
			p.archive.refused = ErrNoCopy
		}
	}
	_, err := p.Writer.Write(part)
	return size, err
}

var (
	// nextRun matches the markup between two runs of one text.
	nextRun = regexp.MustCompile(`^</(?:\w+:)?t>\s*</(?:\w+:)?r>\s*<(?:\w+:)?r[ >]`)
	// valueEnd matches the end tag of a cell's value.
	valueEnd = regexp.MustCompile(`^</(?:\w+:)?v>`)
	number   = regexp.MustCompile(`^[-+0-9.eE]+$`)
)

// hide masks a part in place: its texts, including those split over several runs, and its
// attributes. The part keeps its length. It returns false if a text of the part is too long.
func (c *copier) hide(part []byte, ofCells bool) bool {
	var p piece
	for i := 0; i < len(part); {
		end := i + indexOrEnd(part[i:], "<")
		if len(p.text)+end-i > rowBytes {
			return false
		}
		if len(bytes.TrimSpace(part[i:end])) > 0 {
			p.add(part, i, end)
			if rest := part[end:min(end+64, len(part))]; !nextRun.Match(rest) {
				c.hidePiece(part, &p, ofCells, valueEnd.Match(rest))
			}
		}
		i = end
		if bytes.HasPrefix(part[i:], []byte("<![CDATA[")) {
			if end = i + indexOrEnd(part[i:], "]]>"); end-i > rowBytes {
				return false
			}
			p.add(part, i+len("<![CDATA["), end)
			c.hidePiece(part, &p, ofCells, false)
			i = end
			continue
		}
		end = i + indexOrEnd(part[i:], ">")
		if end-i > rowBytes {
			return false
		}
		c.hideAttributes(part, i, end, ofCells)
		i = end + 1
	}
	return true
}

var guid = regexp.MustCompile(`^\{[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\}$`)

// hideAttributes masks the attributes of a tag, except GUIDs.
func (c *copier) hideAttributes(part []byte, i, end int, ofCells bool) {
	var p piece
	for {
		i += indexOrEnd(part[i:end], "=") + 2
		if i >= end {
			return
		}
		length := indexOrEnd(part[i:end], string(part[i-1]))
		if length >= minSecret && !guid.Match(part[i:i+length]) {
			p.add(part, i, i+length)
			c.hidePiece(part, &p, ofCells, true)
		}
		i += length
	}
}

// indexOrEnd returns the index of a text in another, or the length of the other.
func indexOrEnd(in []byte, text string) int {
	if i := bytes.Index(in, []byte(text)); i >= 0 {
		return i
	}
	return len(in)
}

// piece is a text of a part, with the position of each byte in the part.
type piece struct {
	text []byte
	at   [][2]int
}

func (p *piece) add(part []byte, start, end int) {
	for i := start; i < end; {
		length := 1
		text := part[i : i+1]
		if semicolon := bytes.IndexByte(part[i:min(end, i+12)], ';'); part[i] == '&' && semicolon > 0 {
			length = semicolon + 1
			text = []byte(html.UnescapeString(string(part[i : i+length])))
		}
		for _, b := range text {
			p.text = append(p.text, b)
			p.at = append(p.at, [2]int{i, i + length})
		}
		i += length
	}
}

// hidePiece masks a piece, except the last four digits of each span, and clears it. A number stays
// a number if mayBeNumber is set, because most numbers are measures.
func (c *copier) hidePiece(part []byte, p *piece, ofCells, mayBeNumber bool) {
	defer func() { p.text, p.at = p.text[:0], p.at[:0] }()
	text := string(p.text)
	if countDigits(text) < minSecret {
		return
	}
	var spans [][2]int
	cover := byte('*')
	if mayBeNumber && number.MatchString(text) {
		spans, cover = c.findSecrets(text), '0'
	} else {
		spans = c.find(text, ofCells)
	}
	for _, span := range spans {
		for i, at := range p.at[span[0]:lastDigits(text, span)] {
			if b := text[span[0]+i]; b < utf8.RuneSelf && (b < '0' || b > '9') {
				continue
			}
			for j := at[0]; j < at[1]; j++ {
				part[j] = cover
			}
		}
	}
}

// lastDigits returns the index of the last four digits of a span.
func lastDigits(text string, span [2]int) int {
	end := span[1]
	for shown := 0; shown < 4 && end > span[0]; {
		r, size := utf8.DecodeLastRuneInString(text[span[0]:end])
		end -= size
		if unicode.IsNumber(r) {
			shown++
		}
	}
	return end
}

// Numbers of this length are searched for in all parts after a cell with them was masked. A number
// may have lost its leading zeros.
const (
	minSecret = 7
	maxSecret = 9
)

// addSecrets adds the digits of a masked text.
func (c *copier) addSecrets(text string) {
	if digits := digitsOf(text); len(digits) >= minSecret {
		c.secrets[padSecret(digits)] = true
	}
	for _, span := range c.mask.Find(text, false) {
		c.secrets[padSecret(digitsOf(text[span[0]:span[1]]))] = true
	}
}

// digitsOf returns the digits of a text. Digits of other scripts become ASCII.
func digitsOf(text string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, norm.NFKC.String(text))
}

func padSecret(digits string) string {
	return strings.Repeat("0", max(maxSecret-len(digits), 0)) + digits
}

// countDigits counts digits. Bytes beyond ASCII count too, because they may be digits of another
// script.
func countDigits(text string) (n int) {
	for i := range len(text) {
		if text[i] >= '0' && text[i] <= '9' || text[i] >= utf8.RuneSelf {
			n++
		}
	}
	return n
}

// find returns the spans of a text to mask.
func (c *copier) find(text string, inCell bool) [][2]int {
	return append(c.mask.Find(text, inCell), c.findSecrets(text)...)
}

// digitRuns matches adjacent digits.
var digitRuns = regexp.MustCompile(`[0-9]+`)

// findSecrets finds the masked digits of cells, in any grouping.
func (c *copier) findSecrets(text string) (found [][2]int) {
	if len(c.secrets) == 0 {
		return nil
	}
	if digits := digitsOf(text); len(digits) >= minSecret && c.secrets[padSecret(digits)] {
		return [][2]int{{0, len(text)}}
	}
	runs := digitRuns.FindAllStringIndex(text, -1)
	for i := 0; i < len(runs); i++ {
		digits := ""
		for j := i; j < len(runs) && len(digits) < maxSecret; j++ {
			if j > i && runs[j][0]-runs[j-1][1] > 3 {
				break
			}
			digits += text[runs[j][0]:runs[j][1]]
			if n := len(digits); n >= minSecret && n <= maxSecret && c.secrets[padSecret(digits)] {
				found = append(found, [2]int{runs[i][0], runs[j][1]})
				i = j
				break
			}
		}
	}
	return found
}
