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

// hiding returns the function that hides Social Security numbers in the values of a column. Nine
// digits in a row may be an ID.
func (h *heading) hiding() func(text string) string {
	switch {
	case h.isSecret() && filing.IsSSNHeader(h.text):
		return func(text string) string { return filing.HideSSNsUnder(h.text, text) }
	case h.isSecret():
		return filing.MaskSSN
	case h.column != none && columns[h.column].kind == zipKind:
		return filing.HideSSNsInID
	case h.column != none && (columns[h.column].kind == companyKind || columns[h.column].kind == userKind):
		return func(text string) string {
			if strings.ContainsFunc(text, unicode.IsLetter) {
				return filing.HideSSNsInID(text)
			}
			return filing.HideSSNs(text)
		}
	case filing.IsIdentifierHeader(h.text):
		return filing.HideSSNsInID
	}
	return filing.HideSSNs
}

// hide returns the value of a column in a form that may be shown and kept.
func (p *mapping) hide(index int, text string) string {
	if index < 0 || index >= len(p.hiding) {
		return filing.HideSSNs(text)
	}
	return p.hiding[index](text)
}

// isSecret reports whether a value must not be shown. It is secret if its column is for Social
// Security numbers or if it contains one.
func (c *cellReader) isSecret(b *binding, value string) bool {
	return b.kind == ssnKind || c.im.mapping.hide(b.index, value) != value || c.im.mapping.isStray(b.id, value)
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
// [mapping.hide].
func (p *mapping) isStray(id columnID, text string) bool {
	if len(p.secret) == 0 || len(text) != 9 || !isDigits(text) {
		return false
	}
	return id == none || id < firstOfficer && columns[id].kind != zipKind && columns[id].kind != companyKind
}

// masked returns the cells without Social Security numbers.
func (p *mapping) masked(cells []sheet.Cell) []sheet.Cell {
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
		hide(i, p.hide(i, cells[i].Text))
	}
	if len(p.secret) == 0 {
		return shown
	}
	for _, i := range p.secret {
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
	for i := len(p.hiding); i < len(cells); i++ {
		if p.isStray(none, cells[i].Text) {
			hide(i, filing.MaskSSN(cells[i].Text))
		}
	}
	for b, cell := range p.over(cells) {
		if p.isStray(b.id, cell.Text) {
			hide(b.index, filing.MaskSSN(cell.Text))
		}
	}
	return shown
}
