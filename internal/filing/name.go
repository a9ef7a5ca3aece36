package filing

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// FoldLegalName folds a legal name so that every way to write one name compares
// equal: Unicode compatibility forms and case, dashes, quotes, punctuation,
// symbols, spaces, invisible characters, and the common spellings of the entity
// ending. Words and numbers stay apart: names that differ in one of them are two
// companies.
func FoldLegalName(name string) string {
	folded := foldOnce(name)
	if isASCII(name) {
		return folded
	}
	// Where a character between two others is dropped, the two can form one:
	// a letter and a mark that stood behind an apostrophe.
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
		// A name of symbols only is kept as it is.
		return strings.Join(strings.Fields(plain), " ")
	}
	for _, e := range legalEndings {
		if cut, ok := strings.CutSuffix(folded, e.written); ok {
			return cut + e.means
		}
	}
	return folded
}

// foldCharacters removes what cannot be seen and folds compatibility forms and
// case. Folding one can make room for the other, so both run until nothing changes.
func foldCharacters(name string) string {
	if isASCII(name) {
		return strings.ToLower(name)
	}
	folded := name
	for range 4 {
		// Before the normal form, which would part an acute accent that stands for
		// an apostrophe into a space and a mark.
		next := strings.Map(foldRune, folded)
		next = norm.NFKC.String(cases.Fold().String(norm.NFKC.String(next)))
		if next == folded {
			break
		}
		folded = next
	}
	return folded
}

// foldRune drops a character that cannot be seen, and makes every apostrophe one.
func foldRune(r rune) rune {
	switch {
	case isApostrophe(r):
		return '\''
	case r == '™' || r == '℠' || r == '®' || r == '©' || r == 'ⓒ' || r == 'Ⓡ':
		return ' ' // a mark beside the name; its compatibility form would be letters of it
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
	{" incorporated", " inc"}, {" corporation", " corp"},
}

// Likeness grades how alike two company names are.
type Likeness int

// The likenesses, from the surest.
const (
	SameName      Likeness = iota // but for its ending, "the", "and", accents, spaces and punctuation
	SimilarName                   // a slip of a letter or two, or an abbreviation
	DifferentName                 // another company, as far as a name can tell
)

// CompareNames grades how alike two legal names are: that in a sheet and that of
// the filing service's record. Names that differ in a number, or in a single
// letter that stands for one, are different: a family of companies is numbered.
// A word more or less is another company too. An assumed name ("dba"), a former
// one ("fka") and a remark in parentheses may be on either side.
func CompareNames(a, b string) Likeness {
	best := DifferentName
	for _, x := range namesWithin(a) {
		for _, y := range namesWithin(b) {
			best = min(best, x.compare(y))
		}
	}
	return best
}

// bareName is a name prepared for comparison: its words without the ending, and
// the same words joined.
type bareName struct {
	words   []string
	numbers string // the words that count something, in their order
	text    string // the other words in one piece
}

// namesWithin returns the names in a text.
func namesWithin(text string) []bareName {
	var names []bareName
	add := func(text string) {
		if n := splitName(text); n.text != "" || n.numbers != "" {
			names = append(names, n)
		}
	}
	whole := FoldLegalName(text)
	add(whole)
	outside, inside := parentheses(text)
	if inside != "" {
		add(FoldLegalName(outside))
		whole = FoldLegalName(outside)
		for part := range strings.SplitSeq(inside, "\x00") {
			if rest, ok := cutAlias(FoldLegalName(part)); ok {
				add(rest)
			}
		}
	}
	padded := " " + whole + " "
	for _, between := range aliases {
		before, after, found := strings.Cut(padded, " "+between+" ")
		if found && strings.TrimSpace(before) != "" && strings.TrimSpace(after) != "" {
			add(strings.TrimSpace(before))
			add(strings.TrimSpace(after))
		}
	}
	return names
}

// aliases are the words, folded, between a company's name and another of its own.
var aliases = []string{"doing business as", "formerly known as", "also known as", "trading as", "dba", "d b a", "fka",
	"f k a", "aka", "a k a", "t a", "formerly", "previously"}

func cutAlias(folded string) (rest string, ok bool) {
	for _, a := range aliases {
		if rest, ok := strings.CutPrefix(folded, a+" "); ok {
			return rest, true
		}
	}
	return "", false
}

// parentheses parts a text from what stands in parentheses in it, each set of
// which ends with a NUL.
func parentheses(text string) (outside, inside string) {
	var out, in strings.Builder
	depth := 0
	for _, r := range norm.NFKC.String(text) {
		switch {
		case r == '(' || r == '[':
			depth++
		case (r == ')' || r == ']') && depth > 0:
			if depth--; depth == 0 {
				in.WriteByte(0)
			}
		case depth > 0:
			in.WriteRune(r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String(), in.String()
}

// endings are the words at the end of a name that say what kind of company it is.
var endings = map[string]bool{
	"llc": true, "inc": true, "corp": true, "co": true, "company": true, "ltd": true, "limited": true, "lc": true,
	"incorporated": true, "corporation": true,
	"pllc": true, "pc": true, "pa": true, "lp": true, "llp": true, "lllp": true, "plc": true, "chartered": true,
}

// splitName splits a folded name into its words without the ending.
func splitName(folded string) bareName {
	words := strings.Fields(withoutMarks(folded))
	for _, ending := range legalEndings { // "… limited liability company (Delaware)"
		if cut, ok := strings.CutSuffix(" "+strings.Join(words, " "), ending.written); ok {
			words = strings.Fields(cut)
		}
	}
	for len(words) > 1 && (endings[words[len(words)-1]] || words[len(words)-1] == "the") {
		words = words[:len(words)-1]
	}
	var n bareName
	var numbers []string
	for i, w := range words {
		switch w {
		case "the", "and", "n", "co", "company", "of":
			if len(words) > 1 {
				continue
			}
		}
		if number, ok := numeral(w, i, len(words)); ok {
			numbers = append(numbers, number)
			continue
		}
		if digits, rest := leading(w); digits != "" { // "24hr" is "24 hr"
			numbers = append(numbers, digits)
			w = rest
		}
		if word, ok := shortened[w]; ok {
			w = word
		}
		n.words = append(n.words, w)
	}
	n.numbers, n.text = strings.Join(numbers, " "), strings.Join(n.words, "")
	return n
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

func leading(w string) (digits, rest string) {
	rest = strings.TrimLeft(w, "0123456789")
	return w[:len(w)-len(rest)], rest
}

// numeral reads a word that counts: digits, a number word, a Roman numeral
// behind the first word, or a letter that stands alone.
func numeral(w string, at, of int) (string, bool) {
	if n, ok := numbers[w]; ok {
		return n, true
	}
	digits, rest := leading(w)
	switch rest {
	case "":
		return strings.TrimLeft(digits, "0"), true
	case "st", "nd", "rd", "th":
		if digits != "" {
			return digits, true
		}
	}
	if at > 0 && of > 1 {
		if n := slices.Index(romans, w); n >= 0 {
			return strconv.Itoa(n + 1), true
		}
		if utf8.RuneCountInString(w) == 1 {
			return w, true
		}
	}
	return "", false
}

var romans = []string{"i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii", "xiii", "xiv", "xv",
	"xvi", "xvii", "xviii", "xix", "xx"}

var numbers = map[string]string{
	"one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8",
	"nine": "9", "ten": "10", "eleven": "11", "twelve": "12",
	"first": "1", "second": "2", "third": "3", "fourth": "4", "fifth": "5", "sixth": "6", "seventh": "7",
	"eighth": "8", "ninth": "9", "tenth": "10",
}

// shortened maps abbreviations in company names.
var shortened = map[string]string{
	"intl": "international", "natl": "national", "assoc": "associates", "assocs": "associates", "assn": "association",
	"mgmt": "management", "mgt": "management", "mngmt": "management",
	"svc": "services", "svcs": "services", "serv": "services", "service": "services", "bros": "brothers",
	"mfg": "manufacturing", "ctr": "center", "centre": "center", "grp": "group",
	"ent": "enterprises", "enterprise": "enterprises", "dev": "development", "props": "properties",
	"hldgs": "holdings", "hldg": "holdings", "holding": "holdings", "ptnrs": "partners",
	"tech": "technologies", "technology": "technologies", "inv": "investments", "invs": "investments",
	"const": "construction", "constr": "construction", "dist": "distribution",
	"saint": "st", "street": "st", "mt": "mount", "ft": "fort", "am": "american", "amer": "american",
	"univ": "university", "hosp": "hospital", "sys": "systems", "eng": "engineering", "engr": "engineering",
	"transp": "transportation", "trans": "transportation", "ind": "industries", "inds": "industries",
	"indus": "industries", "fin": "financial", "ins": "insurance",
	"equip": "equipment", "prod": "productions", "prods": "products", "labs": "laboratories", "lab": "laboratory",
	"ave": "avenue", "blvd": "boulevard", "dept": "department",
}

func (x bareName) compare(y bareName) Likeness {
	switch {
	case x.numbers != y.numbers:
		return DifferentName
	case x.text == y.text:
		return SameName
	case slipOf(x.text, y.text):
		return SimilarName
	case len(x.words) != len(y.words):
		return DifferentName
	}
	for i := range x.words {
		if a, b := x.words[i], y.words[i]; a != b && !abbreviates(a, b) && !abbreviates(b, a) {
			return DifferentName
		}
	}
	return SimilarName
}

// abbreviates reports whether a is a short form of b: its first and last
// letter with some consonants between them, such as "blvd". The beginning of a
// word is often another word ("Bay", "Bayside"), and does not count.
func abbreviates(a, b string) bool {
	if len(a) < 3 || len(a) >= len(b) || a[0] != b[0] || a[len(a)-1] != b[len(b)-1] ||
		strings.ContainsAny(a[1:len(a)-1], "aeiou") {
		return false
	}
	rest := b
	for i := range len(a) {
		at := strings.IndexByte(rest, a[i])
		if at < 0 {
			return false
		}
		rest = rest[at+1:]
	}
	return true
}

// slipOf reports whether two texts differ by what a hand mistypes: one letter of
// four or more, two of twelve, three of very many.
func slipOf(a, b string) bool {
	n := min(utf8.RuneCountInString(a), utf8.RuneCountInString(b))
	switch {
	case n < 4:
		return false
	case n < 12:
		return withinEdits(a, b, 1)
	case n < 24:
		return withinEdits(a, b, 2)
	}
	return withinEdits(a, b, 3)
}

// withinEdits reports whether a becomes b by at most so many insertions,
// deletions, substitutions and swaps of neighbors.
func withinEdits(a, b string, most int) bool {
	x, y := []rune(a), []rune(b)
	if len(x)-len(y) > most || len(y)-len(x) > most {
		return false
	}
	before, last, now := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		now[0] = i
		least := i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			now[j] = min(last[j]+1, now[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				now[j] = min(now[j], before[j-2]+1)
			}
			least = min(least, now[j])
		}
		if least > most {
			return false
		}
		before, last, now = last, now, before
	}
	return last[len(y)] <= most
}

// NearNames finds names that are close to others of the same state: those that
// a person may have meant. Add and Find are not for concurrent use.
type NearNames struct {
	names map[string][]nearName // by the state, the numbers in the name, and its length
}

type nearName struct {
	text    string
	letters uint32 // which of a to z it has
	id      int
}

// Add adds a name under the caller's own number.
func (n *NearNames) Add(name string, state State, id int) {
	if n.names == nil {
		n.names = make(map[string][]nearName)
	}
	b := splitName(FoldLegalName(name))
	at := nearKey(state, b.numbers, utf8.RuneCountInString(b.text))
	n.names[at] = append(n.names[at], nearName{b.text, lettersOf(b.text), id})
}

// Find lists the numbers of the names that are close to one: the same but for
// the ending, the spaces or the accents, or a slip or two away. Names that
// differ in a number are not close.
func (n *NearNames) Find(name string, state State) []int {
	b := splitName(FoldLegalName(name))
	length, letters := utf8.RuneCountInString(b.text), lettersOf(b.text)
	var found []int
	for l := max(length-3, 0); l <= length+3; l++ {
		for _, other := range n.names[nearKey(state, b.numbers, l)] {
			// Each edit changes which letters there are by two at most.
			if bits.OnesCount32(letters^other.letters) <= 6 && (b.text == other.text || slipOf(b.text, other.text)) {
				found = append(found, other.id)
			}
		}
	}
	return found
}

func nearKey(state State, numbers string, length int) string {
	return string(state) + "|" + numbers + "|" + strconv.Itoa(length)
}

func lettersOf(text string) uint32 {
	var set uint32
	for _, r := range text {
		if r >= 'a' && r <= 'z' {
			set |= 1 << (r - 'a')
		}
	}
	return set
}
