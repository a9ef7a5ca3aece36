package importer

import (
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/agnivade/levenshtein"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// headerWords returns the words of a header in lower case. "#" and abbreviations of "number" at the
// end become the word number. "Entity #" therefore differs from "Entity" and equals "Entity No.",
// while "Officer #1" is "Officer 1".
func headerWords(text string) []string {
	words := splitHeader(text[:min(len(text), maxHeader)])
	last := len(words) - 1
	if last <= 0 {
		return words
	}
	switch words[last] {
	case "no":
		if words[last-1] != yes && words[last-1] != "y" {
			words[last] = "number"
		}
	case "nr", "num":
		words[last] = "number"
	}
	if words[last] == "number" && words[last-1] == "id" {
		words = words[:last]
	}
	return words
}

// pattern is a regular expression that is compiled at its first use, because a run needs few of
// them.
type pattern struct{ compiled func() *regexp.Regexp }

func newPattern(expression string) pattern {
	return pattern{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })}
}

// MatchString reports whether s has a match.
func (p pattern) MatchString(s string) bool { return p.compiled().MatchString(s) }

var (
	camelCase  = regexp.MustCompile(`(\p{Ll})([A-Z])`)
	ofNumber   = regexp.MustCompile(`[#№](\p{Nd})`) // "Officer #1"
	numberSign = regexp.MustCompile(`[#№]`)
)

// splitHeader splits a header into words of Latin letters and digits.
func splitHeader(text string) []string {
	text = camelCase.ReplaceAllString(text, "$1 $2")
	text = numberSign.ReplaceAllString(ofNumber.ReplaceAllString(text, " $1"), " number ")
	return strings.FieldsFunc(strings.ToLower(text),
		func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
}

// foldHeader folds a header. A header without Latin letters or digits stays unchanged, so that
// --map can still name it.
func foldHeader(text string) string {
	if folded := strings.Join(headerWords(text), ""); folded != "" {
		return folded
	}
	return strings.ToLower(strings.TrimSpace(text[:min(len(text), maxHeader)]))
}

// maxHeader is the maximal length of a header in bytes. A longer text is not a header.
const maxHeader = 500

// isIdentifier reports whether a header names numbers or IDs. "Entity #" is not the entity's name,
// and "Year No." is not a year.
func isIdentifier(words []string) bool {
	return len(words) > 0 && (words[len(words)-1] == "number" || words[len(words)-1] == "id")
}

// numbered are the kinds of columns whose values are numbers. "Phone #" therefore means the phone.
var numbered = []kind{phoneKind, ssnKind, zipKind}

// wordingOf finds the column that a header means.
func wordingOf(text string) (wording, bool) {
	w, ok := wordings[foldHeader(text)]
	if ok {
		return w, true
	}
	words := headerWords(text)
	if last := len(words) - 1; last > 0 && words[last] == "number" {
		w, ok = wordings[strings.Join(words[:last], "")]
		ok = ok && (slices.Contains(numbered, columns[w.column].kind) ||
			strings.HasSuffix(columns[w.column].field, "line2"))
		return w, ok
	}
	return w, false
}

// places are the words that distinguish one address, or one date, from another. A header with one
// of them is never taken for a misspelling of a header with another one.
var places = []string{"bill", "ship", "mail", "home", "deliver", "invoice", "remit", "principal", "agent", "officer",
	"physical", "personal"}

// samePlace reports whether two headers may mean the same address.
func samePlace(a, b string) bool {
	return !slices.ContainsFunc(places, func(p string) bool { return strings.Contains(a, p) != strings.Contains(b, p) })
}

// spelling is one wording of a column, split into words.
type spelling struct {
	folded string
	words  []string
	wording
}

// isSlip reports whether a header may be a misspelling of a wording. It must have nearly the same
// words, the same number of words and the same first letter. A header with one more word is another
// column. "Responsible Party" is not "Responsible Party SSN".
func (s *spelling) isSlip(words []string, folded string) bool {
	switch {
	case s.folded[0] != folded[0], isIdentifier(s.words) != isIdentifier(words), !samePlace(s.folded, folded):
		return false
	case s.strength >= alias && columns[s.column].kind == ssnKind:
		return strings.Contains(folded, "ss") || strings.Contains(folded, "soc")
	}
	short, long := words, s.words
	if len(short) > len(long) {
		short, long = long, short
	}
	if len(short) == len(long) {
		return true
	}
	for _, word := range short {
		if !slices.Contains(long, word) {
			// The header has two words without a space between them.
			return true
		}
	}
	return false
}

// nearest finds the column with the closest wording of at least the given strength.
func nearest(text string, least strength) (columnID, bool) {
	words := headerWords(text)
	folded := strings.Join(words, "")
	if len(folded) < 4 {
		return none, false
	}
	// bestDistance begins above the distance of a misspelling.
	best, bestDistance := none, 2
	switch {
	case len(folded) >= 12:
		bestDistance = 4
	case len(folded) >= 6:
		bestDistance = 3
	}
	for _, s := range spellings() {
		if s.strength < least || abs(len(s.folded)-len(folded)) > bestDistance || !s.isSlip(words, folded) {
			continue
		}
		d := levenshtein.ComputeDistance(s.folded, folded)
		if d < bestDistance || d == bestDistance && best != none && s.column < best {
			best, bestDistance = s.column, d
		}
	}
	return best, best != none
}

// didYouMean suggests the column of ours whose name is closest.
func didYouMean(ours string) string {
	near, ok := nearest(ours, exact)
	if !ok {
		return ""
	}
	return "; did you mean \"" + columns[near].header + "\"?"
}

// values yields the texts of the cells of a column below the header.
func (l *layout) values(index int, rows []sheet.Row) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, r := range rows {
			if r.Number > l.row && index < len(r.Cells) && r.Cells[index].Kind != sheet.Blank &&
				!yield(r.Cells[index].Text) {
				return
			}
		}
	}
}

// fits reports whether at least half of a column's values can be values of the given column. It is
// true for a column without values.
func (l *layout) fits(id columnID, index int, rows []sheet.Row) bool {
	is := valueTest(id)
	if is == nil {
		return true
	}
	filled, fit := 0, 0
	for text := range l.values(index, rows) {
		filled++
		fit += oneIf(is(text))
	}
	return fit*2 >= filled
}

// all reports whether a column has values and all of them pass a test.
func (l *layout) all(is func(string) bool, index int, rows []sheet.Row) bool {
	filled := false
	for text := range l.values(index, rows) {
		if filled = true; !is(text) {
			return false
		}
	}
	return filled
}

// valueTest returns a function that recognizes values of a column, or nil if any text may be a
// value.
func valueTest(id columnID) func(string) bool {
	switch columns[id].kind {
	case companyKind:
		return func(s string) bool { return filing.IsCompanyID(s) || filing.IsSlug(s) && !isDigits(s) }
	case userKind:
		return filing.IsUserID
	case emailKind:
		return func(s string) bool { return strings.Contains(s, "@") }
	case stateKind:
		return func(s string) bool { _, ok := filing.ParseState(s); return ok }
	case entityKind:
		return func(s string) bool {
			_, ok := filing.ParseEntityType(s)
			_, other := otherEntityTypes[filing.FoldName(s)]
			return ok || other
		}
	case yearKind:
		return func(s string) bool { return len(s) == 4 && isDigits(s) }
	case nameKind:
		return func(s string) bool { return !isNumber(s) && !filing.IsEmail(s) }
	}
	return nil
}

// isNumber reports whether a text has digits and no letters. Such a text is a client number and not
// a name.
func isNumber(s string) bool {
	digits := false
	for _, r := range s {
		if unicode.IsLetter(r) {
			return false
		}
		digits = digits || unicode.IsDigit(r)
	}
	return digits
}
