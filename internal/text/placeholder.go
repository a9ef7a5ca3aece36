package text

import (
	"bytes"
	"regexp"
	"strings"
)

// Placeholder is the meaning of a cell text. People and programs write some texts into cells that
// have no value.
type Placeholder uint8

// The meanings. Value is a real value. Nothing means that the cell is empty. StandIn means that the
// value is in another place or is not known yet.
const (
	Value Placeholder = iota
	Nothing
	StandIn
)

// placeholders lists the texts that are placeholders in all columns, in lower case and without
// spaces and punctuation. [PlaceholderOf] recognizes texts of punctuation alone.
var placeholders = WordTable(map[Placeholder]string{
	Nothing: `null nil na none nan nat blank empty undefined notapplicable nothing novalue nodata`,
	StandIn: `tbd tba tbc tbdlater pending unknown unk notknown unavailable notavailable notprovided notgiven
		notlisted notonfile noneonfile onfile asonfile notfound noinformation noinformationavailable missing
		same sameabove sameasabove samebelow sameaddress samename ditto idem ibid asabove above asbefore
		asprevious asbelow below asattached aslisted asnoted attached attachment enclosed various multiple
		self vacant placeholder todo dummy asdf qwerty fillin filllater later tofollow willfollow tocome
		unchanged nochange`,
})

// WordTable returns a table that maps each word of the lists to its meaning.
func WordTable[T comparable](lists map[T]string) map[string]T {
	all := map[string]T{}
	for meaning, list := range lists {
		for word := range strings.FieldsSeq(list) {
			all[word] = meaning
		}
	}
	return all
}

// elsewhere matches a reference to another place, such as "Same as principal office" or "Please see
// the attached list". It also matches a form field that was not filled in, such as "[Name]" or
// "{{city}}".
var elsewhere = regexp.MustCompile(`(?i)^[(*]*((please|pls|kindly) )*(same (as|addr\w*|street|city|name|info)|as per|` +
	`(see|per|refer)( to)?( the)?( \w+)? (above|below|attach\w*|doc|docs|documents?|notes?|comments?|sheet|tab|list|` +
	`file|page|other|row|column|cell|email|exhibit|schedule|previous|contract|agreement|website|records?|memo|` +
	`next)\b|to be (advised|announced|assigned|confirmed|determined|provided|supplied|sent)\b|` +
	`(needs?|no|missing|unknown) ` + field + `$|` + field + ` (unknown|needed|missing|required|to (come|follow))$)|` +
	`^[\[<{][^@]*[\]>}]$`)

// referring are the words with which a text begins that elsewhere matches, without "info…".
var referring = WordTable(map[bool]string{true: `please pls kindly same as see per refer to need needs no missing
	unknown address street suite unit city zip agent data`})

// mayRefer reports whether elsewhere may match a text. It is much cheaper than elsewhere.
func mayRefer(text string) bool {
	if strings.IndexByte("[<{", text[0]) >= 0 {
		return true
	}
	first, _, more := strings.Cut(strings.TrimLeft(text, "(*"), " ")
	first = strings.ToLower(first)
	return more && (referring[first] || strings.HasPrefix(first, "info"))
}

const field = `(address|street|suite|unit|city|zip|agent|info\w*|data)`

var companyEnding = regexp.MustCompile(`(?i)\b(llc|l\.l\.c|inc|corp|co|company|ltd|lp|llp)\.?$`)

// zeroDay matches the day 0 of spreadsheet programs and databases.
var zeroDay = regexp.MustCompile(`^(0000-00-00|0+/0+/0+|0?1/0?0/(19)?00|0-Jan-(19)?00|1900-01-00|1899-12-3[01]|` +
	`12/30/1899)([ T]|$)`)

// maxPlaceholder is the length of the longest placeholder in bytes.
const maxPlaceholder = 60

// PlaceholderOf returns the meaning of a cell text.
func PlaceholderOf(text string) Placeholder {
	if text == "" {
		return Nothing
	}
	if len(text) > maxPlaceholder {
		return Value
	}
	var folded [maxPlaceholder]byte
	n := 0
	for i := range len(text) {
		switch c := text[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			folded[n] = c
			n++
		case c >= 'A' && c <= 'Z':
			folded[n] = c + ('a' - 'A')
			n++
		case c >= 0x80 && !strings.ContainsAny(text, "–—―−…“”″〃‘’’ "):
			return Value
		}
	}
	switch {
	case n == 0:
		return punctuation(text)
	case text[0] == '#': // an error of a spreadsheet program
		return Value
	}
	if meaning, known := placeholders[string(folded[:n])]; known {
		return meaning
	}
	for _, mark := range []string{" - ", " – ", " — ", " (", ": "} { // "n/a – none", "TBD (ask Ana)"
		if head, _, more := strings.Cut(text, mark); more && head >= "A" && PlaceholderOf(head) != Value &&
			!companyEnding.MatchString(text) {
			return StandIn
		}
	}
	switch {
	case text == `\N` || text == `\n`, text[0] <= '1' && zeroDay.MatchString(text):
		return Nothing
	case strings.EqualFold(text, "do."), n > 1 && len(bytes.Trim(folded[:n], "x")) == 0,
		mayRefer(text) && elsewhere.MatchString(text) &&
			(!companyEnding.MatchString(text) || strings.EqualFold(text[:4], "same")):
		return StandIn
	}
	return Value
}

// punctuation returns the meaning of a text without letters and digits.
func punctuation(text string) Placeholder {
	switch {
	case strings.Trim(text, "-–—―−….,_$()[]<> ") == "":
		return Nothing
	case strings.Contains(text, "?"), strings.Trim(text, `"'“”″〃‘’, `) == "":
		return StandIn
	}
	return Value
}

// IsZero reports whether a text is the zero that a formula shows if it refers to a blank cell.
func IsZero(text string) bool {
	if text == "" || len(text) > 8 || !strings.Contains(text, "0") {
		return false
	}
	plain := strings.TrimSuffix(strings.TrimPrefix(text, "$"), "%")
	return plain == "0" || strings.Trim(plain, "0") == "." || text == "00:00:00"
}
