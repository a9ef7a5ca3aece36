package importer

import (
	"regexp"
	"slices"
	"strings"

	"bulkfiling/internal/sheet"
)

// masked stands for what is never shown.
const masked = "•••"

// maskedSSN is how a Social Security number is shown: by its last four digits,
// where it has all nine of them.
func maskedSSN(text string) string {
	if strings.HasPrefix(text, "***") {
		return text // of a results workbook that is fed back
	}
	digits := strings.Map(func(r rune) rune {
		if isDigit(r) {
			return r
		}
		return -1
	}, text)
	if len(digits) != 9 {
		return "***"
	}
	return "***-**-" + digits[5:]
}

// isSecret reports whether a value at fault must not be shown: it stands in a
// column of Social Security numbers, or looks like one that slipped out of it.
func (c *checker) isSecret(b *binding, value string) bool {
	return b.kind == ssnKind || hideSSN(value) != value || c.im.isStray(b.id, value)
}

// ssnInText finds 000-00-0000 in any text, whatever dashes it is written with.
var ssnInText = regexp.MustCompile(`\b\d{3}[-. \x{2010}-\x{2015}]\d{2}[-. \x{2010}-\x{2015}]\d{4}\b`)

// hideSSN is a text that may be shown.
func hideSSN(text string) string {
	if !hasGroupOfThree(text) {
		return text
	}
	return ssnInText.ReplaceAllStringFunc(text, maskedSSN)
}

// hasGroupOfThree spares nearly every cell the regular expression.
func hasGroupOfThree(text string) bool {
	run := 0
	for i := 0; i < len(text); i++ {
		if isDigit(rune(text[i])) {
			run++
			continue
		}
		if run == 3 && len(text)-i >= len("-00-0000") {
			return true
		}
		run = 0
	}
	return false
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// isStray recognises nine bare digits in a column where they have no business,
// of a sheet that has Social Security numbers: the cells of a row may have
// shifted. Numbers of columns that are not known are left as they are.
func (im *Import) isStray(id columnID, text string) bool {
	if len(im.plan.secret) == 0 || len(text) != 9 || !isDigits(text) {
		return false
	}
	return id == none || id < firstOfficer && columns[id].kind != zipKind && columns[id].kind != companyKind
}

// masked are the cells without Social Security numbers.
func (im *Import) masked(cells []sheet.Cell) []sheet.Cell {
	shown := cells
	hide := func(i int, text string) {
		if &shown[0] == &cells[0] {
			shown = slices.Clone(cells)
		}
		shown[i] = sheet.Cell{Text: text, Kind: sheet.Text}
	}
	for i := range cells {
		if shown := hideSSN(cells[i].Text); shown != cells[i].Text {
			hide(i, shown)
		}
	}
	if len(im.plan.secret) == 0 {
		return shown
	}
	for _, i := range im.plan.secret {
		if i >= len(shown) || cells[i].Text == "" {
			continue
		}
		hide(i, maskedSSN(cells[i].Text))
		// The number may stand once more where nobody looks for it.
		digits := strings.ReplaceAll(cells[i].Text, "-", "")
		if len(digits) != 9 || !isDigits(digits) {
			continue
		}
		for j := range cells {
			if strings.Contains(shown[j].Text, digits) {
				hide(j, strings.ReplaceAll(shown[j].Text, digits, maskedSSN(digits)))
			}
		}
	}
	for i := len(im.layout.headings); i < len(cells); i++ {
		if im.isStray(none, cells[i].Text) {
			hide(i, maskedSSN(cells[i].Text))
		}
	}
	for _, b := range im.plan.bindings {
		if b != nil && b.index < len(cells) && im.isStray(b.id, cells[b.index].Text) {
			hide(b.index, maskedSSN(cells[b.index].Text))
		}
	}
	return shown
}
