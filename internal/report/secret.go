package report

import (
	"cmp"
	"regexp"
	"strings"
	"unicode"

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

// secretWords are those that head a column of such numbers: "SSN/ITIN", "S.S.N.",
// "ssnNumber", "OWNERSSN", "Soc. Sec. No.", "SocialSecurity". No other word of a
// header begins or ends with ssn, while many have it within: "classname".
var secretWords = regexp.MustCompile(`\bssn|ssns?\b|\bs s n\b|\bsocialsecurity|\bsocsec|\bsoc(ial)? sec(urity)?\b`)

// isSecret reports whether a column holds Social Security numbers: by the field
// as which it was read, whatever heads it, and else by its header.
func isSecret(header, field string) bool {
	return secretWords.MatchString(headerWords(cmp.Or(field, header)))
}

// headerWords parts a header into its words, in lower case: "Owner's SSN" is
// "owners ssn", and "officer2FirstName" is "officer 2 first name".
func headerWords(header string) string {
	var words strings.Builder
	last := ' '
	for _, r := range header {
		switch {
		case r == '\'' || r == '’':
			continue
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			r = ' '
		case unicode.IsLower(last) && unicode.IsUpper(r), unicode.IsLetter(last) != unicode.IsLetter(r) && last != ' ':
			words.WriteByte(' ')
		}
		words.WriteRune(unicode.ToLower(r))
		last = r
	}
	return strings.Join(strings.Fields(words.String()), " ")
}

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
