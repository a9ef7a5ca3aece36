package filing

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// FoldLegalName folds a legal name so that all spellings of one name compare equal. It folds
// Unicode compatibility forms and case, dashes, quotes, punctuation, symbols, spaces, invisible
// characters, and the common spellings of the entity ending. It keeps words and numbers apart.
// Names that differ in one of them belong to two companies.
func FoldLegalName(name string) string {
	folded := foldOnce(name)
	if isASCII(name) {
		return folded
	}
	// If a character between two others is removed, the two can combine. An example is a letter and
	// a mark that followed an apostrophe.
	for range 4 {
		next := foldOnce(folded)
		if next == folded {
			break
		}
		folded = next
	}
	return folded
}

func foldOnce(name string) string {
	plain := foldCharacters(name)
	var b strings.Builder
	b.Grow(len(plain) + 4)
	for i, r := range plain {
		switch {
		case r == '&':
			b.WriteString(" and ")
		case isApostrophe(r), r == '.' && !beforeDigit(plain[i+1:]):
			// "O'Neill" is "ONeill" and "L.L.C." is "LLC", but 1.5 is not 15.
		case r < utf8.RuneSelf && (r < 'a' || r > 'z') && (r < '0' || r > '9'),
			r >= utf8.RuneSelf && (unicode.IsSpace(r) || unicode.IsPunct(r) || unicode.IsSymbol(r) ||
				unicode.IsControl(r)):
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	folded := strings.Join(strings.Fields(b.String()), " ")
	if folded == "" {
		// A name with only symbols is kept.
		return strings.Join(strings.Fields(plain), " ")
	}
	for _, e := range legalEndings {
		if cut, ok := strings.CutSuffix(folded, e.written); ok {
			return cut + e.means
		}
	}
	return folded
}

// foldCharacters removes invisible characters and folds compatibility forms and case. Folding one
// of them can affect the other, so both run until nothing changes.
func foldCharacters(name string) string {
	if isASCII(name) {
		return strings.ToLower(name)
	}
	folded := name
	for range 4 {
		// This runs before the normal form, which would split an acute accent in place of an
		// apostrophe into a space and a mark.
		next := strings.Map(foldRune, folded)
		next = norm.NFKC.String(cases.Fold().String(norm.NFKC.String(next)))
		if next == folded {
			break
		}
		folded = next
	}
	return folded
}

// foldRune removes an invisible character and replaces every kind of apostrophe by the same one.
func foldRune(r rune) rune {
	switch {
	case isApostrophe(r):
		return '\''
	case r == '™' || r == '℠' || r == '®' || r == '©' || r == 'ⓒ' || r == 'Ⓡ':
		// The character is a mark beside the name. Its compatibility form would add letters to the
		// name.
		return ' '
	case unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
		return -1
	}
	return r
}

func isApostrophe(r rune) bool {
	switch r {
	case '\'', '`', '´', '‘', '’', '‚', '‛', '′', '‵', 'ʹ', 'ʻ', 'ʼ', 'ʽ', 'ʾ', 'ʿ', 'ˈ', '＇', '｀':
		return true
	}
	return false
}

func beforeDigit(rest string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	return unicode.IsDigit(next)
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

var legalEndings = []struct{ written, means string }{
	{" limited liability company", " llc"}, {" limited liability co", " llc"}, {" ltd liability company", " llc"},
	{" ltd liability co", " llc"}, {" l l c", " llc"},
	{" incorporated", " inc"}, {" corporation", " corp"}, {" company", " co"}, {" limited", " ltd"},
}

// nameEndings maps the words at the end of a folded name that name the kind of company to the
// entity type. The type is empty if it cannot be ordered.
var nameEndings = map[string]EntityType{
	"llc": LLC, "lc": LLC, "pllc": LLC, "inc": Corp, "corp": Corp, "co": "", "ltd": "", "pc": "", "pa": "", "lp": "",
	"llp": "", "lllp": "", "plc": "", "partnership": "", "chartered": "",
}

// comparableName splits a legal name into its ending, which may be empty, and the rest without
// accents and spaces. Numbers stay apart, so "1 12" is not "11 2".
func comparableName(name string) (rest, ending string) {
	words := strings.Fields(withoutMarks(FoldLegalName(name)))
	if last := len(words) - 1; last > 0 {
		if _, ok := nameEndings[words[last]]; ok {
			words, ending = words[:last], words[last]
		}
	}
	for _, w := range words {
		if rest != "" && beforeDigit(rest[len(rest)-1:]) && beforeDigit(w) {
			rest += " "
		}
		rest += w
	}
	return rest, ending
}

// afterEnding finds a text after the ending of a name. An ending that is also a common word needs a
// mark after it.
var afterEnding = regexp.MustCompile(`(?i)^.*[^\s,&][\s,]+(?:(?:p?l\.?\s?l\.?\s?c|inc|incorporated|corp|l\.?l\.?p|` +
	`limited liability company)(?:[.,]*[\s/]+|[.\s]*[,;:()\[*–—]\s*)|(?:corporation|company|co|limited|ltd|l\.?p)` +
	`(?:[.\s]*[,;:(\[*–—]|\.?\s-+\s)\s*)(.+)$`)

// partOfName matches a text after the ending that is still part of a company's name.
var partOfName = regexp.MustCompile(`(?i)^[-–—\s]*(?:(?:protected |a )?series\b|of\b|no\. ?\d|[ivx]+$)`)

// CutAfterEnding splits a legal name from the text after its ending, such as a status and its date,
// or a second ending. after is empty if the name ends with its ending or has no ending.
func CutAfterEnding(name string) (whole, after string) {
	const marks = " -–—,;:()[]*"
	lower, may := strings.ToLower(name), false
	for _, begin := range []string{" llc", " l.l", " l l", " pl", " p.l", " inc", " co", " l.p",
		" lp", " lim", " lt", ",l", ",i"} {
		at := strings.Index(lower, begin)
		may = may || at >= 0 && len(lower)-at > len(begin)+2
	}
	if !may {
		// Nearly all names return here without a search.
		return name, ""
	}
	found := afterEnding.FindStringSubmatch(name)
	if found == nil || partOfName.MatchString(found[1]) {
		return name, ""
	}
	after, whole = strings.Trim(found[1], marks), strings.TrimRight(strings.TrimSuffix(name, found[1]), marks)
	before, ending := comparableName(whole)
	words := strings.Fields(FoldLegalName("x " + after))
	_, ends := nameEndings[words[len(words)-1]]
	doubled := len(words) == 2 && before != "" && nameEndings[ending] != ""
	if ends && !doubled && !strings.HasPrefix(strings.ToLower(after), "a ") {
		// Examples are "Smith & Co., Inc." and "Acme Corp Holdings LLC".
		return name, ""
	}
	return whole, after
}

// BareName returns the part of a name that stays the same in names that differ only in their
// endings, accents and spaces.
func BareName(name string) string {
	rest, _ := comparableName(name)
	return rest
}

func withoutMarks(s string) string {
	if isASCII(s) {
		return s
	}
	var b strings.Builder
	for _, r := range norm.NFKD.String(s) {
		switch {
		case unicode.Is(unicode.Mn, r):
		case r == 'ø':
			b.WriteByte('o')
		case r == 'ł':
			b.WriteByte('l')
		case r == 'đ' || r == 'ð':
			b.WriteByte('d')
		case r == 'æ':
			b.WriteString("ae")
		case r == 'œ':
			b.WriteString("oe")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
