package filing

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// HideSSNs reduces each Social Security number or ITIN in a text to its last four digits,
// "***-**-1120", so that the text may be shown and stored. It finds
//
//   - three, two and four digits, with up to three separators between them, such as dashes of any
//     kind, dots, spaces, slashes and underscores
//   - three and six digits with a dash, a slash, an underscore or a space between them, if the number
//     can be an issued one
//   - nine digits in a row, if the number can be an issued one and no word before it gives it another
//     meaning ("EIN 123456789")
//   - seven to nine digits in any grouping after "SSN", "ITIN" or "Social Security"
//
// Digits of every script count, including full-width ones. A number of the first two kinds is also
// hidden if letters touch it.
//
// HideSSNs leaves other forms alone, such as an EIN with its dash (12-3456789), a ZIP+4
// (12345-6789), phone numbers, dates, decimals, amounts, and the digits within an identifier
// ("order_123456789").
func HideSSNs(text string) string { return hide(text, false, starred) }

// HideSSNsUnder is HideSSNs for a cell under a header. It treats a cell under the header of Social
// Security numbers like MaskSSN. In a column whose header names an identifier of nine digits, such
// as an EIN, a ZIP code or a state's file number, it leaves nine digits in a row alone.
func HideSSNsUnder(header, text string) string {
	if IsSSNHeader(header) {
		if dashedEIN.MatchString(text) && slices.ContainsFunc(words(header),
			func(w string) bool { return w == "ein" || w == "fein" }) {
			return text
		}
		return MaskSSN(text)
	}
	return hide(text, IsIdentifierHeader(header), starred)
}

// HideSSNsInID is HideSSNs for a value that is known to be an identifier. It leaves nine digits in
// a row alone.
func HideSSNsInID(text string) string { return hide(text, true, starred) }

// HideSSNsInName is HideSSNs for the name of a file or a sheet, which must not contain an asterisk:
// "clients xxx-xx-1120.xlsx".
func HideSSNsInName(name string) string { return hide(name, false, "xxx-xx-") }

// starred replaces the five hidden digits.
const starred = "***-**-"

// MaskSSN hides a value of a field for Social Security numbers. It shows the last four digits of a
// complete number.
func MaskSSN(text string) string {
	if text == "" || strings.HasPrefix(text, "***") {
		// The text is from a results workbook that is uploaded again.
		return text
	}
	digits := plainDigits(text)
	if len(digits) != 9 {
		return "***"
	}
	return starred + digits[5:]
}

// plainDigits returns the digits of a text in ASCII.
func plainDigits(text string) string {
	return strings.Map(func(r rune) rune {
		if d, is := digitOf(r); is {
			return d
		}
		return -1
	}, text)
}

// ssnHeader matches a folded header of a column of Social Security numbers.
var ssnHeader = regexp.MustCompile(`^ss(n|no|num|number)?$|socialsecurity|socsec|social(no|num)$`)

// IsSSNHeader reports whether a header names Social Security numbers or ITINs in any wording, such
// as "Owner's SSN", "ssn_number" and "Soc. Sec. No.". Letters within a word do not count, so
// "Business Name" is a name.
func IsSSNHeader(header string) bool {
	return ssnHeader.MatchString(FoldName(header)) || slices.ContainsFunc(words(header), func(word string) bool {
		return strings.HasPrefix(word, "ssn") || strings.HasSuffix(word, "ssn") || word == "itin" || word == "itins"
	})
}

// The headers of columns in which nine digits have another meaning.
var (
	// idSubjects have an ID number: "File No.", "Entity #", "Federal ID".
	idSubjects = setOf(
		"business charter check cheque confirmation control corp corporation doc document duns employer entity " +
			"fed federal file filing inv invoice license licence order parcel permit policy postal reg registration " +
			"routing sos state tax tracking ubi zip")
	idWords = setOf("id ids no nos num nbr nr number numbers code codes identifier")

	// identifiers do not need a word for a number.
	identifiers = setOf("ein eins fein feins duns ubi zip zipcode postcode " +
		"amount assets balance cost fee fees income price revenue sales shares total")

	// persons have Social Security numbers. An identifier of a person may therefore be one.
	persons = setOf(
		"applicant director employee grantor individual manager member officer organizer owner partner party person " +
			"personal president responsible signer spouse taxpayer")
)

func setOf(list string) map[string]bool {
	set := make(map[string]bool)
	for _, word := range strings.Fields(list) {
		set[word] = true
	}
	return set
}

// IsIdentifierHeader reports whether a header names identifiers or amounts of up to nine digits
// that do not belong to a person, such as "EIN", "ZIP", "File No.", "Entity #" and "Total Assets".
// "Owner Tax ID" may be a Social Security number, and so may "TIN" and "Client ID".
func IsIdentifierHeader(header string) bool {
	named, subject, id := false, false, strings.Contains(header, "#")
	for _, word := range words(header) {
		if persons[word] {
			return false
		}
		named = named || identifiers[word]
		subject = subject || idSubjects[word]
		id = id || idWords[word]
	}
	return named || (subject && id)
}

var camelCase = regexp.MustCompile(`(\p{Ll})(\p{Lu})`)

// words returns the words of a header in lower case. It splits camelCase.
func words(header string) []string {
	return strings.FieldsFunc(strings.ToLower(camelCase.ReplaceAllString(header, "$1 $2")),
		func(r rune) bool { return !unicode.IsLetter(r) })
}

var dashedEIN = regexp.MustCompile(`^\d\d-\d{7}$`)

func hide(text string, isID bool, stars string) string {
	found := FindSSNs(text, isID)
	if found == nil {
		return text
	}
	var b strings.Builder
	from := 0
	for _, span := range found {
		digits := plainDigits(text[span[0]:span[1]])
		b.WriteString(text[from:span[0]] + stars + digits[len(digits)-4:])
		from = span[1]
	}
	b.WriteString(text[from:])
	return b.String()
}

// mayHoldSSN reports whether a text has seven digits. Nearly all cells have fewer and need no
// search.
func mayHoldSSN(text string) bool {
	digits := 0
	for _, r := range text {
		if _, is := digitOf(r); is {
			if digits++; digits == 7 {
				return true
			}
		}
	}
	return false
}

// digitOf returns the ASCII digit of a character: "５" and "٥" are a five.
func digitOf(r rune) (digit rune, ok bool) {
	switch {
	case r >= '0' && r <= '9':
		return r, true
	case r < utf8.RuneSelf:
		return 0, false
	// The digits of each script are consecutive from its zero on.
	case unicode.Is(unicode.Nd, r):
		n := rune(0)
		for unicode.Is(unicode.Nd, r-n-1) {
			n++
		}
		return '0' + n%10, true
	// These are superscripts and circled digits.
	case unicode.Is(unicode.No, r):
		if plain := norm.NFKC.String(string(r)); len(plain) == 1 && plain[0] >= '0' && plain[0] <= '9' {
			return rune(plain[0]), true
		}
	}
	return 0, false
}

// digits is a run of digits in a text, with the kind of separator before it.
type digits struct {
	// start and end are byte offsets in the text.
	start, end int
	value      string
	gap        gap
	// point reports whether a single dot precedes the digits.
	point bool
}

// gap is the text between two groups of digits.
type gap uint8

const (
	// apart is any other text.
	apart gap = iota
	// loose is blanks, commas, or a colon, between the parts of one number or between two numbers.
	loose
	// tight is dashes, dots, slashes and the like, between the parts of one number.
	tight
)

// maxGap is how many characters may separate the parts of a number.
const maxGap = 3

// digitsIn returns the groups of digits of a text.
func digitsIn(text string) (all []digits) {
	// The variables describe the text since the last digit.
	between, dots, g := maxGap+1, 0, loose
	for i, r := range text {
		_, is := digitOf(r)
		switch {
		case is:
			if between > maxGap {
				g = apart
			}
			if between > 0 {
				all = append(all, digits{start: i, gap: g, point: g != apart && between == 1 && dots == 1})
			}
			all[len(all)-1].end = i + utf8.RuneLen(r)
			between, dots, g = 0, 0, loose
		case r >= 'A' && r <= 'Z', r >= 'a' && r <= 'z':
			between = maxGap + 1
		// An invisible character separates nothing.
		case unicode.In(r, unicode.Cf, unicode.Mn):
		case unicode.IsSpace(r), strings.ContainsRune(",:;", r):
			between++
		case unicode.In(r, unicode.Pd, unicode.Pc), strings.ContainsRune("./\\·•*#|~−⁄．／", r):
			between++
			g = tight
			if r == '.' {
				dots++
			}
		default:
			between = maxGap + 1
		}
	}
	for i := range all {
		all[i].value = text[all[i].start:all[i].end]
		if strings.Trim(all[i].value, "0123456789") != "" {
			all[i].value = plainDigits(all[i].value)
		}
	}
	return all
}

// FindSSNs returns the byte offsets of the numbers that HideSSNs hides, or HideSSNsInID if isID is
// true.
func FindSSNs(text string, isID bool) (spans [][2]int) {
	if !mayHoldSSN(text) {
		return nil
	}
	all := digitsIn(text)
	for i := 0; i < len(all); {
		n := shapedAt(all[i:])
		if n == 0 {
			n = bareAt(text, all, i, isID)
		}
		if n > 0 {
			spans = append(spans, [2]int{all[i].start, all[i+n-1].end})
		}
		i += max(n, 1)
	}
	return spans
}

// shapedAt returns how many of the first groups form a number by their lengths.
func shapedAt(all []digits) int {
	long := func(i, n int) bool {
		return i < len(all) && len(all[i].value) == n && (i == 0 || all[i].gap != apart)
	}
	switch {
	case long(0, 3) && long(1, 2) && long(2, 4):
		first, second := &all[1], &all[2]
		if first.gap == tight && second.gap == tight ||
			// "146.16 3490" are two decimals.
			!first.point && !second.point && issued(all[0].value+first.value+second.value) {
			return 3
		}
	case long(0, 3) && long(1, 6) && !all[1].point && issued(all[0].value+all[1].value):
		// "150-031260-001" is part of a longer identifier.
		if len(all) == 2 || all[2].gap != tight {
			return 2
		}
	}
	return 0
}

// bareAt returns how many groups from the i-th on form a number. They form one because of a word
// before them or because nine digits stand in a row.
func bareAt(text string, all []digits, i int, isID bool) int {
	d := &all[i]
	before := text[:d.start]
	if d.gap == apart {
		n, total := 1, len(d.value)
		for ; total < 9 && i+n < len(all) && all[i+n].gap != apart; n++ {
			total += len(all[i+n].value)
		}
		if (total == 9 || n == 1 && (total == 7 || total == 8)) && saysSSN(before) {
			return n
		}
	}
	if isID || len(d.value) != 9 || !issued(d.value) {
		return 0
	}
	decimal := d.point || d.gap != apart && strings.HasSuffix(before, "0,") && len(all[i-1].value) == 1 ||
		i+1 < len(all) && all[i+1].point
	if decimal || isGlued(before, text[d.end:]) || saysOther(before) {
		return 0
	}
	return 1
}

// isGlued reports whether nine digits are part of an identifier. They are if more than one letter
// or digit touches them, if a prefix does ("order_123456789"), or if a sign precedes them that
// never precedes a Social Security number.
func isGlued(before, after string) bool {
	alnum := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
	last, size := utf8.DecodeLastRuneInString(before)
	rest := before[:len(before)-size]
	switch {
	case unicode.Is(unicode.Sc, last), last == '+':
		return true
	case last == '_' || alnum(last):
		if r, _ := utf8.DecodeLastRuneInString(rest); alnum(r) {
			return true
		}
	}
	next, size := utf8.DecodeRuneInString(after)
	if !alnum(next) {
		return false
	}
	next, _ = utf8.DecodeRuneInString(after[size:])
	return alnum(next)
}

// issued reports whether nine digits can be a Social Security number or an ITIN. A Social Security
// number has no area 000, 666 or 900 to 999, no group 00 and no serial 0000. An ITIN has an area
// from 900 on and a group in certain ranges.
func issued(d string) bool {
	area, group, serial := d[:3], d[3:5], d[5:]
	switch {
	case area == "000" || area == "666" || group == "00" || serial == "0000":
		return false
	case area[0] == '9':
		return group >= "50" && group <= "65" || group >= "70" && group <= "88" || group >= "90"
	}
	return true
}

// lookBack is the length of the text before a number that is searched for a word about its meaning.
const lookBack = 48

var (
	ssnBefore = regexp.MustCompile(
		`(?i)(?:^|[^\pL])(?:ssns?|ss|itins?|s\.s\.n?\.?|social(?:[\s_-]*security)?|soc\.?[\s_-]*sec\.?)` +
			`[\s_]*(?:#|nos?\b\.?|num(?:ber)?s?|nr\.?|id)?[\s:#=._(\[\-–—]*(?:is|was|of)?[\s:]*$`)

	otherBefore = regexp.MustCompile(
		`(?i)(?:^|[^\pL])(?:f?eins?|ubi|duns|zip(?:\s*code|\+4)?|postal\s*code|employer\s+id\w*(?:\s+number)?|` +
			`(?:check|cheque|charter|confirmation|control|doc|document|entity|file|filing|invoice|` +
			`licen[sc]e|order|permit|reg|registration|tracking)` +
			`['’s]*[\s_.]*(?:id|nos?\b\.?|num(?:ber)?s?|nr\.?|#))[\s_]*(?:#|nos?\b\.?|num(?:ber)?s?|id)?` +
			`[\s:#=._(\[\-–—]*(?:is|was|of)?[\s:]*$`)

	personsWord = regexp.MustCompile(`(?i)(?:^|[^\pL])(?:ssn|itin|social|owner|taxpayer)`)
)

// saysSSN looks for the letters of all words for such a number before it searches for the words.
func saysSSN(before string) bool {
	before = tail(before)
	return strings.ContainsAny(before, "sSiIſ") && ssnBefore.MatchString(before)
}

func saysOther(before string) bool {
	before = tail(before)
	return otherBefore.MatchString(before) && !personsWord.MatchString(before)
}

// tail returns the end of a text. It begins with a complete character.
func tail(text string) string {
	at := max(0, len(text)-lookBack)
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return text[at:]
}

// HideSSNsInBody hides the numbers in a body, which may be JSON. It returns a body without numbers
// unchanged, and JSON stays valid JSON. The name of a field counts like a header.
func HideSSNsInBody(body []byte) []byte {
	var value any
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if err := dec.Decode(&value); err != nil {
		return []byte(HideSSNs(string(body)))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return []byte(HideSSNs(string(body)))
	}
	value, found := hideIn("", value)
	if !found {
		return body
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return []byte(HideSSNs(string(body)))
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// hideIn hides the numbers in a decoded value and reports whether there were any. name is the name
// of the field.
func hideIn(name string, value any) (hidden any, found bool) {
	switch v := value.(type) {
	case string:
		text := HideSSNsUnder(name, v)
		return text, text != v
	case json.Number:
		text := HideSSNsUnder(name, v.String())
		if text != v.String() {
			return text, true
		}
	case []any:
		for i := range v {
			inner, has := hideIn(name, v[i])
			v[i], found = inner, found || has
		}
		return v, found
	case map[string]any:
		for key, of := range v {
			inner, has := hideIn(key, of)
			shown := HideSSNs(key)
			if shown != key {
				delete(v, key)
				has = true
			}
			v[shown], found = inner, found || has
		}
		return v, found
	}
	return value, false
}
