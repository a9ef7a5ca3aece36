package importer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// leaveOutOthers removes the columns of another table that a blank column separates from the list,
// such as a legend of states and fees. The list is the table with the most known columns. Columns
// that the options map by their headers stay.
func (l *layout) leaveOutOthers(rows []sheet.Row) {
	type span struct{ from, to, known int }
	var list, at span
	for i := range len(l.headings) + 1 {
		switch {
		case i < len(l.headings) && !l.isBlankColumn(i, rows):
			at.to = i + 1
			at.known += oneIf(l.headings[i].column != none)
			continue
		case at.known > list.known:
			list = at
		}
		at = span{from: i + 1}
	}
	for i := range l.headings {
		if h := &l.headings[i]; (i < list.from || i >= list.to) && h.strength != mapped && list.known > 0 {
			l.known -= oneIf(h.column != none)
			h.outside, h.wording = true, wording{none, unknown}
		}
	}
}

// isBlankColumn reports whether a column has neither a header nor a value in the
// first rows.
func (l *layout) isBlankColumn(i int, rows []sheet.Row) bool {
	return l.headings[i].text == "" && !slices.ContainsFunc(rows, func(r sheet.Row) bool {
		return r.Number > l.row && i < len(r.Cells) && r.Cells[i].Kind != sheet.Blank
	})
}

// isOutside reports whether a cell of the sheet is beside the table.
func (l *layout) isOutside(column int) bool {
	return column < len(l.headings) && l.headings[column].outside
}

// noteOutside names the columns beside the table.
func (l *layout) noteOutside() []string {
	var names []string
	for i := range l.headings {
		if h := &l.headings[i]; h.outside && h.text != "" {
			names = append(names, h.name(l.row))
		}
	}
	if names == nil {
		return nil
	}
	return []string{fmt.Sprintf("A blank column ends the table. Not read: %s. If they belong to the list, delete the "+
		"blank column.", strings.Join(names[:min(len(names), maxListed)], ", "))}
}

// section is a heading inside the table that speaks against filing the rows below it.
type section struct {
	row  int
	text string
	// rows is the number of rows that follow it.
	rows int
}

// enterSection updates the section with a row of the table. A heading that speaks against filing
// begins a section. A short heading of another kind, after rows of companies, ends it.
func (c *remarkReader) enterSection(isHeading bool) {
	s := &c.section
	if c.row.Number <= c.lastRow {
		// The sheet is read again.
		*s = section{}
	}
	c.lastRow = c.row.Number
	if !isHeading {
		s.rows++
		return
	}
	text := ""
	for i := range c.row.Cells {
		if text = c.row.Cells[i].Text; text != "" && !c.im.layout.isOutside(i) {
			break
		}
	}
	switch {
	case c.speaks(text):
		*s = section{row: c.row.Number, text: strings.Clone(text)}
	case s.rows > 0 && len(text) <= maxSection && !strings.ContainsAny(text, "@*.!?"):
		*s = section{}
	}
}

// maxSection is the length of the longest text that ends a section. A longer text is a note.
const maxSection = 40

// speaks reports whether a heading speaks against filing.
func (c *remarkReader) speaks(heading string) bool {
	return noteRemark.judge(headingColumn, heading, c.year) != passes
}

// isHeading reports whether the row is a heading that speaks against filing. The row may have
// further cells if none of them can belong to an order.
func (c *remarkReader) isHeading(first int) bool {
	for b, cell := range c.im.mapping.over(c.row.Cells) {
		if is := valueTest(b.id); is != nil && b.index != first && b.kind != nameKind && is(cell.Text) {
			return false
		}
	}
	text := c.row.Cells[first].Text
	return c.speaks(text) && c.im.mapping.isNote(first, text)
}

// hearSection judges the heading above the row.
func (c *remarkReader) hearSection() {
	if c.section.text == "" {
		return
	}
	first := slices.IndexFunc(c.row.Cells, func(cell sheet.Cell) bool { return cell.Kind != sheet.Blank })
	b := cellAt(first, fmt.Sprintf("%s in row %d", headingColumn, c.section.row))
	c.hear(remark{b, noteRemark, headingColumn, c.section.text})
}
