package importer

import (
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// masked replaces secret values.
const masked = "•••"

// hiding is the way in which Social Security numbers are hidden in a column.
type hiding uint8

const (
	// asText hides numbers anywhere in the text.
	asText hiding = iota
	// asID is like asText, but nine digits in a row are an ID.
	asID
	// asRef is like asID for a text with letters, and like asText for any other text.
	asRef
	// asSSN hides the whole text.
	asSSN
)

// hiding returns the way of hiding for a column. It is decided only once for all cells.
func (h *heading) hiding() hiding {
	switch {
	case h.isSecret():
		return asSSN
	case h.column != none && columns[h.column].kind == zipKind:
		return asID
	case h.column != none && (columns[h.column].kind == companyKind || columns[h.column].kind == userKind):
		return asRef
	case filing.IsIdentifierHeader(h.text):
		return asID
	}
	return asText
}

// hide returns the value of a column in a form that may be shown and kept.
func (h hiding) hide(header, text string) string {
	switch {
	case h == asID, h == asRef && strings.ContainsFunc(text, unicode.IsLetter):
		return filing.HideSSNsInID(text)
	case h == asText, h == asRef:
		return filing.HideSSNs(text)
	case filing.IsSSNHeader(header):
		return filing.HideSSNsUnder(header, text)
	}
	return filing.MaskSSN(text)
}

// hide returns the value of a column in a form that may be shown and kept.
func (im *Import) hide(index int, text string) string {
	if index < 0 || index >= len(im.mapping.hiding) {
		return filing.HideSSNs(text)
	}
	return im.mapping.hiding[index].hide(im.layout.headings[index].text, text)
}

// isSecret reports whether a value must not be shown. It is secret if its column is for Social
// Security numbers or if it contains one.
func (c *checker) isSecret(b *binding, value string) bool {
	return b.kind == ssnKind || c.im.hide(b.index, value) != value || c.im.isStray(b.id, value)
}

// hideInError hides Social Security numbers in an error, which may quote names of files and sheets,
// and cells.
func hideInError(err error) error {
	e, is := errors.AsType[*sheet.FormatError](err)
	if !is {
		return err
	}
	e.File, e.Sheet = filing.HideSSNsInName(e.File), filing.HideSSNsInName(e.Sheet)
	e.Reason, e.Remedy = filing.HideSSNs(e.Reason), filing.HideSSNs(e.Remedy)
	return err
}

// isStray reports whether a text is nine bare digits in the wrong column of a sheet with Social
// Security numbers. The cells of such a row may have moved. Values of unknown columns are left to
// [Import.hide].
func (im *Import) isStray(id columnID, text string) bool {
	if len(im.mapping.secret) == 0 || len(text) != 9 || !isDigits(text) {
		return false
	}
	return id == none || id < firstOfficer && columns[id].kind != zipKind && columns[id].kind != companyKind
}

// masked returns the cells without Social Security numbers.
func (im *Import) masked(cells []sheet.Cell) []sheet.Cell {
	shown := cells
	hide := func(i int, text string) {
		if text == shown[i].Text {
			return
		}
		if &shown[0] == &cells[0] {
			shown = slices.Clone(cells)
		}
		shown[i] = sheet.Cell{Text: text, Kind: sheet.Text}
	}
	for i := range cells {
		hide(i, im.hide(i, cells[i].Text))
	}
	if len(im.mapping.secret) == 0 {
		return shown
	}
	for _, i := range im.mapping.secret {
		if i >= len(shown) || cells[i].Text == "" {
			continue
		}
		hide(i, filing.MaskSSN(shown[i].Text))
		// Another cell may repeat the number.
		digits := strings.ReplaceAll(cells[i].Text, "-", "")
		if len(digits) != 9 || !isDigits(digits) {
			continue
		}
		for j := range cells {
			hide(j, strings.ReplaceAll(shown[j].Text, digits, filing.MaskSSN(digits)))
		}
	}
	for i := len(im.layout.headings); i < len(cells); i++ {
		if im.isStray(none, cells[i].Text) {
			hide(i, filing.MaskSSN(cells[i].Text))
		}
	}
	for b, cell := range im.mapping.over(cells) {
		if im.isStray(b.id, cell.Text) {
			hide(b.index, filing.MaskSSN(cell.Text))
		}
	}
	return shown
}
