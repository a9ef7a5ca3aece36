package sheet

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/xuri/excelize/v2"
)

// CreateFrom is Create for a workbook that begins with the sheets of another. [File.Copy] made the
// other.
func CreateFrom(path string, from *File) (*Workbook, error) {
	w, err := Create(path)
	if err != nil {
		return nil, err
	}
	w.book.Close()
	if w.book, err = openBook(from.bytes, from.size); err != nil {
		w.file.abort()
		return nil, err
	}
	w.from = from
	return w, nil
}

// AddedColumns are columns that are added to a list, or replace its last ones. Columns count from
// 0.
type AddedColumns struct {
	Sheet string
	// Header is the row number of the headers.
	Header int
	Names  []string
	// Fixed are the names that must not change, because a reader looks the columns up by them.
	Fixed  []string
	Widths []float64
	First  int
	// Last is the last column to replace. It is at least the last column of Names.
	Last int
}

// AddColumns adds columns with empty cells to a sheet that the workbook began with. It extends the
// filter of the headers and an Excel table to them.
func (w *Workbook) AddColumns(c AddedColumns) error {
	body := w.from.body.(*workbook)
	tab, err := body.tab(c.Sheet)
	if err != nil {
		return err
	}
	part := body.parts[tab.part].Name
	if content, ok := w.book.Pkg.Load(part); ok {
		w.book.Pkg.Store(part, w.widenFilter(content.([]byte), &c))
	}
	if err := w.widenTable(&c, tab.part); err != nil {
		return err
	}
	merged, err := w.book.GetMergeCells(c.Sheet, true)
	if err != nil {
		return err
	}
	for _, m := range merged {
		from, to, _ := strings.Cut(m[0], ":")
		left, top, _ := parseCellName([]byte(from))
		right, bottom, _ := parseCellName([]byte(to))
		w.merged = append(w.merged, mergedCells{m[0], left, top, right, bottom})
	}
	if err := w.book.SetSheetDimension(c.Sheet, ""); err != nil {
		return err
	}
	err = w.from.EachRow(c.Sheet, func(row *Row) error {
		return w.SetCells(c.Sheet, row.Number, c.First, make([]OutCell, max(len(row.Cells)-c.First, 0))...)
	})
	if err != nil {
		return err
	}
	header := make([]OutCell, len(c.Names))
	for i, name := range c.Names {
		header[i] = Str(name).WithStyle(StyleHeader)
		column := ColumnName(c.First + i)
		if err := w.book.SetColWidth(c.Sheet, column, column, c.Widths[i]); err != nil {
			return err
		}
	}
	return w.SetCells(c.Sheet, c.Header, c.First, header...)
}

// SetCells writes cells into a row of a sheet that the workbook began with.
func (w *Workbook) SetCells(sheet string, row, first int, cells ...OutCell) error {
	for i, cell := range cells {
		value, err := w.value(cell, false)
		if err != nil {
			return err
		}
		styled, ok := value.(excelize.Cell)
		if !ok {
			styled.Value = value
		}
		name := CellName(first+i, row)
		err = w.setValue(sheet, row, first+i, styled.Value)
		if err == nil {
			err = w.book.SetCellStyle(sheet, name, name, styled.StyleID)
		}
		if err != nil {
			return fmt.Errorf("write cell %s of sheet %q: %w", name, sheet, err)
		}
	}
	return nil
}

// Correct changes the value of a cell on a sheet that the workbook began with. The cell keeps its
// style.
func (w *Workbook) Correct(sheet string, row, col int, cell Cell) error {
	value, _ := content(OutCell{Cell: cell})
	if err := w.setValue(sheet, row, col, value); err != nil {
		return fmt.Errorf("correct cell %s of sheet %q: %w", CellName(col, row), sheet, err)
	}
	return nil
}

// mergedCells are cells that are shown as one.
type mergedCells struct {
	ref                      string
	left, top, right, bottom int
}

// setValue sets the value of a cell. If the cell is merged with one before it, setValue splits the
// range first, because excelize would change the first cell instead.
func (w *Workbook) setValue(sheet string, row, col int, value any) error {
	for i, m := range w.merged {
		if row < m.top || row > m.bottom || col < m.left || col > m.right || row == m.top && col == m.left {
			continue
		}
		from, to, _ := strings.Cut(m.ref, ":")
		if err := w.book.UnmergeCell(sheet, from, to); err != nil {
			return err
		}
		w.merged = slices.Delete(w.merged, i, i+1)
		break
	}
	return w.book.SetCellValue(sheet, CellName(col, row), value)
}

// last returns the last added column.
func (c *AddedColumns) last() int { return c.First + len(c.Names) - 1 }

// widen returns a range of the headers extended to the added columns. It returns other ranges
// unchanged, and ranges that end elsewhere than at the added columns.
func (c *AddedColumns) widen(ref string) string {
	from, to, _ := strings.Cut(strings.ReplaceAll(ref, "$", ""), ":")
	_, top, ok := parseCellName([]byte(from))
	right, bottom, isRange := parseCellName([]byte(to))
	if !ok || !isRange || top != c.Header || right < c.First-1 || right > c.Last {
		return ref
	}
	return from + ":" + CellName(c.last(), bottom)
}

var (
	filterRef    = regexp.MustCompile(`<autoFilter\b[^>]*\sref="([^"]+)"`)
	tableRef     = regexp.MustCompile(`<table\b[^>]*\sref="([^"]+)"`)
	tableColumns = regexp.MustCompile(`(?s)<tableColumns [^>]*>.*</tableColumns>`)
	tableColumn  = regexp.MustCompile(`(?s)<tableColumn [^>]*/>|<tableColumn .*?</tableColumn>`)
	columnID     = regexp.MustCompile(`^<tableColumn [^>]*\bid="(\d+)"`)
	columnName   = regexp.MustCompile(`^<tableColumn [^>]*\bname="([^"]*)"`)
)

// widenRef widens the range that a pattern finds in a part.
func (c *AddedColumns) widenRef(part []byte, pattern *regexp.Regexp) (widened []byte, before, after string) {
	m := pattern.FindSubmatchIndex(part)
	if m == nil {
		return part, "", ""
	}
	before = string(part[m[2]:m[3]])
	after = c.widen(before)
	return slices.Concat(part[:m[2]], []byte(after), part[m[3]:]), before, after
}

// widenFilter widens the filter of a sheet, and the name of its range.
func (w *Workbook) widenFilter(part []byte, c *AddedColumns) []byte {
	part, before, after := c.widenRef(part, filterRef)
	if before == after || w.book.WorkBook.DefinedNames == nil {
		return part
	}
	names := w.book.WorkBook.DefinedNames.DefinedName
	for i := range names {
		sheet, ref, _ := strings.Cut(names[i].Data, "!")
		if names[i].Name == "_xlnm._FilterDatabase" && (sheet == c.Sheet || sheet == quoteSheet(c.Sheet)) &&
			strings.ReplaceAll(ref, "$", "") == strings.ReplaceAll(before, "$", "") {
			names[i].Data = sheet + "!" + absolute(after)
		}
	}
	return part
}

// absolute returns a range as a defined name writes it.
func absolute(ref string) string {
	from, to, _ := strings.Cut(ref, ":")
	left, top, _ := parseCellName([]byte(from))
	right, bottom, _ := parseCellName([]byte(to))
	return fmt.Sprintf("$%s$%d:$%s$%d", ColumnName(left), top, ColumnName(right), bottom)
}

// widenTable widens the Excel table of the headers. Excel requires unique column names, so an added
// column is renamed if the table has its name. A table with a column of a fixed name stays
// unchanged.
func (w *Workbook) widenTable(c *AddedColumns, sheetPart string) error {
	relations, err := w.from.body.(*workbook).relations(sheetPart)
	if err != nil {
		return err
	}
	for _, r := range relations {
		if r.kind != "table" {
			continue
		}
		w.book.Pkg.Range(func(name, content any) bool {
			part, _ := content.([]byte)
			if partName(name.(string)) != r.target {
				return true
			}
			if ref := submatch(tableRef, part); c.widen(ref) != ref {
				if widened := c.widenTablePart(part); widened != nil {
					w.book.Pkg.Store(name, widened)
				}
			}
			return false
		})
	}
	return nil
}

// widenTablePart returns the part of a table with the added columns, or nil if the table cannot
// have them.
func (c *AddedColumns) widenTablePart(part []byte) []byte {
	left, _, _ := parseCellName([]byte(submatch(tableRef, part)))
	list := tableColumns.Find(part)
	all := tableColumn.FindAll(list, -1)
	keep := c.First - left
	if keep < 1 || keep > len(all) || bytes.Contains(part, []byte(`tableType="queryTable"`)) {
		return nil
	}
	highest := 0
	names := map[string]bool{}
	for _, column := range all[:keep] {
		id, _ := strconv.Atoi(submatch(columnID, column))
		highest = max(highest, id)
		names[strings.ToLower(html.UnescapeString(submatch(columnName, column)))] = true
	}
	var columns bytes.Buffer
	fmt.Fprintf(&columns, `<tableColumns count="%d">%s`, keep+len(c.Names), bytes.Join(all[:keep], nil))
	given := c.Names
	c.Names = slices.Clone(given)
	for i, name := range c.Names {
		if names[strings.ToLower(name)] && !slices.Contains(c.Fixed, name) {
			name += " 2"
			c.Names[i] = name
		}
		if names[strings.ToLower(name)] || name == "" {
			c.Names = given
			return nil
		}
		names[strings.ToLower(name)] = true
		fmt.Fprintf(&columns, `<tableColumn id="%d" name="`, highest+1+i)
		_ = xml.EscapeText(&columns, []byte(name))
		columns.WriteString(`"/>`)
	}
	columns.WriteString("</tableColumns>")
	part = bytes.Replace(part, list, columns.Bytes(), 1)
	part, _, _ = c.widenRef(part, tableRef)
	part, _, _ = c.widenRef(part, filterRef)
	return part
}

// submatch returns the first group of a pattern in a text.
func submatch(pattern *regexp.Regexp, text []byte) string {
	if m := pattern.FindSubmatch(text); m != nil {
		return string(m[1])
	}
	return ""
}

// SafeName returns a name that a sheet of a workbook can have.
func SafeName(name string) string {
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune(`:\/?*[]`, r) {
			return ' '
		}
		return r
	}, name)
	if units := []rune(name); len(units) > 31 {
		name = string(units[:31])
	}
	return cmp.Or(strings.Trim(name, "' "), "Sheet")
}
