package report

import (
	"cmp"
	"regexp"
	"strings"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/sheet"
)

// The importer masks Social Security numbers before the ledger sees a cell.
// What is here is the second lock on that door.

// masked stands for what is never shown.
const masked = "•••"

var (
	ssnInText = regexp.MustCompile(`\b\d{3}-\d{2}-\d{4}\b`)
	ssnAlone  = regexp.MustCompile(`^\d{3}[- ]?\d{2}[- ]?\d{4}$`)
)

// isSecret reports whether a column holds Social Security numbers: by the field
// as which it was read, whatever heads it, and else by its header.
func isSecret(header, field string) bool { return filing.IsSSNHeader(cmp.Or(field, header)) }

// maskCell hides a number in a column of them, however it is written.
func maskCell(c sheet.Cell) sheet.Cell {
	if ssnAlone.MatchString(strings.TrimSpace(c.Text)) {
		return sheet.Cell{Kind: sheet.Text, Text: masked}
	}
	c.Text = maskText(c.Text)
	return c
}

// maskText hides what has the shape of such a number in running text.
func maskText(s string) string {
	if strings.Count(s, "-") < 2 {
		return s
	}
	return ssnInText.ReplaceAllString(s, masked)
}
