package web

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
	"time"

	"codeberg.org/go-pdf/fpdf"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/text/unicode/norm"
)

// The fonts of PDF files: DejaVu Sans Condensed 2.37, which has the letters of most
// names. A PDF file holds only the glyphs that it shows.
var (
	//go:embed fonts/DejaVuSansCondensed.ttf
	regularFont []byte
	//go:embed fonts/DejaVuSansCondensed-Bold.ttf
	boldFont []byte
)

// glyphs looks up which characters the fonts have.
var glyphs = sync.OnceValues(func() (*sfnt.Font, error) { return sfnt.Parse(regularFont) })

// Sizes of a PDF page: US Letter, in millimeters, and of its texts, in points.
const (
	pdfMargin = 18.0
	pdfWidth  = 215.9 - 2*pdfMargin
	pdfBottom = 20.0
	pdfLine   = 4.8
	pdfText   = 9.5
	pdfSmall  = 8.0
)

// noGlyph stands for a character that the fonts do not have.
const noGlyph = '□'

// pdfPaper is a PDF file in the making. Errors stay in it until it is written.
type pdfPaper struct {
	*fpdf.Fpdf
	font    *sfnt.Font
	buffer  sfnt.Buffer
	missing bool // a character that the fonts do not have was shown as noGlyph
}

// newPDF begins a PDF file of as many pages as its numbers say. The same content and
// moment make the same bytes.
func newPDF(title string, pages int, at time.Time) (*pdfPaper, error) {
	font, err := glyphs()
	if err != nil {
		return nil, fmt.Errorf("read the font of PDF files: %w", err)
	}
	f := &pdfPaper{Fpdf: fpdf.New("P", "mm", "Letter", ""), font: font}
	f.SetCatalogSort(true)
	f.SetCreationDate(at.UTC())
	f.SetModificationDate(at.UTC())
	f.SetProducer("Bulkfiling", true)
	f.SetTitle(f.legible(title), true)
	f.SetLang("en-US")
	f.AddUTF8FontFromBytes("text", "", regularFont)
	f.AddUTF8FontFromBytes("text", "B", boldFont)
	f.SetMargins(pdfMargin, pdfMargin, pdfMargin)
	f.SetAutoPageBreak(true, pdfBottom)
	f.SetCellMargin(0)
	footer := f.legible(title)
	f.SetFooterFunc(func() {
		f.SetY(-pdfBottom + 6)
		f.SetFont("text", "", pdfSmall)
		f.SetTextColor(90, 90, 90)
		f.CellFormat(pdfWidth-30, pdfLine, f.fit(footer, pdfWidth-32), "", 0, "L", false, 0, "")
		f.CellFormat(30, pdfLine, fmt.Sprintf("Page %d of %d", f.PageNo(), pages), "", 0, "R", false, 0, "")
		f.SetTextColor(0, 0, 0)
	})
	f.AddPage()
	return f, nil
}

// legible is a text as the fonts can show it.
func (f *pdfPaper) legible(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		if r == '\t' {
			return ' '
		}
		// The library knows no characters beyond the first 65,536.
		if i, err := f.font.GlyphIndex(&f.buffer, r); err != nil || i == 0 || r > 0xffff {
			f.missing = true
			return noGlyph
		}
		return r
	}, norm.NFC.String(legible(s)))
}

// fit cuts a text that is wider than a line.
func (f *pdfPaper) fit(s string, width float64) string {
	if f.GetStringWidth(s) <= width {
		return s
	}
	runes := []rune(s)
	for len(runes) > 0 && f.GetStringWidth(string(runes)+"…") > width {
		runes = runes[:len(runes)-1]
	}
	return string(runes) + "…"
}

// heading begins a part of the file, on a page that has room for some of it.
func (f *pdfPaper) heading(s string, size float64) {
	f.keep(4 * pdfLine)
	f.Ln(2.5)
	f.SetFont("text", "B", size)
	f.MultiCell(pdfWidth, size*0.5, f.legible(s), "", "L", false)
	f.Ln(1)
}

// keep begins a page where the rest of this one is lower than that.
func (f *pdfPaper) keep(height float64) {
	_, page := f.GetPageSize()
	if f.GetY()+height > page-pdfBottom {
		f.AddPage()
	}
}

// paragraph writes a text; bold is "B" or "".
func (f *pdfPaper) paragraph(bold string, format string, args ...any) {
	f.SetFont("text", bold, pdfText)
	f.MultiCell(pdfWidth, pdfLine, f.legible(fmt.Sprintf(format, args...)), "", "L", false)
	f.Ln(0.8)
}

// item writes a line of a list, with its mark before it.
func (f *pdfPaper) item(mark, s string) {
	f.SetFont("text", "", pdfText)
	f.keep(pdfLine)
	f.CellFormat(6, pdfLine, mark, "", 0, "L", false, 0, "")
	f.SetLeftMargin(pdfMargin + 6)
	f.MultiCell(pdfWidth-6, pdfLine, f.legible(s), "", "L", false)
	f.SetLeftMargin(pdfMargin)
	f.SetX(pdfMargin)
}

// pair writes what a value is, and the value; nothing for no value.
func (f *pdfPaper) pair(name, value string) {
	if value == "" {
		return
	}
	const names = 42
	f.SetFont("text", "", pdfText)
	f.keep(pdfLine)
	f.SetTextColor(90, 90, 90)
	f.CellFormat(names, pdfLine, f.legible(name), "", 0, "L", false, 0, "")
	f.SetTextColor(0, 0, 0)
	f.SetLeftMargin(pdfMargin + names)
	f.MultiCell(pdfWidth-names, pdfLine, f.legible(value), "", "L", false)
	f.SetLeftMargin(pdfMargin)
	f.SetX(pdfMargin)
}

// pdfColumn is a column of a table.
type pdfColumn struct {
	name  string
	width float64
	right bool // its cells are numbers
}

// table writes a table, the head again on each page; the last row is the sum.
func (f *pdfPaper) table(columns []pdfColumn, rows [][]string) {
	head := make([]string, len(columns))
	for i, c := range columns {
		head[i] = c.name
	}
	f.tableRow(columns, head, "B")
	_, page := f.GetPageSize()
	for i, row := range rows {
		bold := ""
		if i == len(rows)-1 {
			bold = "B"
		}
		f.SetFont("text", bold, pdfText)
		if f.GetY()+f.rowHeight(columns, row) > page-pdfBottom {
			f.AddPage()
			f.tableRow(columns, head, "B")
		}
		f.tableRow(columns, row, bold)
	}
	f.Ln(2)
}

// cellGap is the room between columns of a table.
const cellGap = 3.0

// split breaks the text of a cell into lines.
func (f *pdfPaper) split(c pdfColumn, s string) []string {
	return f.SplitText(f.legible(s), c.width-cellGap)
}

func (f *pdfPaper) rowHeight(columns []pdfColumn, cells []string) float64 {
	lines := 1
	for i, c := range columns {
		lines = max(lines, len(f.split(c, cells[i])))
	}
	return float64(lines)*pdfLine + 1.6
}

func (f *pdfPaper) tableRow(columns []pdfColumn, cells []string, bold string) {
	f.SetFont("text", bold, pdfText)
	height := f.rowHeight(columns, cells)
	x, y := pdfMargin, f.GetY()
	for i, c := range columns {
		align, left := "L", x
		if c.right {
			align, left = "R", x+cellGap
		}
		for n, line := range f.split(c, cells[i]) {
			f.SetXY(left, y+0.8+float64(n)*pdfLine)
			f.CellFormat(c.width-cellGap, pdfLine, line, "", 0, align, false, 0, "")
		}
		x += c.width
	}
	f.SetDrawColor(190, 190, 190)
	f.Line(pdfMargin, y+height, pdfMargin+pdfWidth, y+height)
	f.SetXY(pdfMargin, y+height)
}
