package text

import (
	"bytes"
	"regexp"
	"strings"
)

// Placeholder is what a text means that people and programs write into a cell
// without a value.
type Placeholder uint8

// What a text means: a Value is no placeholder, Nothing means that the cell is empty,
// and a StandIn that its value stands elsewhere or is not known yet.
const (
	Value Placeholder = iota
	Nothing
	StandIn
)

// placeholders are such texts for all columns: lower case, without spaces and
// punctuation. Texts of punctuation alone follow from [PlaceholderOf].
var placeholders = WordTable(map[Placeholder]string{
	Nothing: `null nil na none nan nat blank empty undefined notapplicable nothing novalue nodata`,
	StandIn: `tbd tba tbc tbdlater tobedetermined tobeadvised tobeannounced tobeconfirmed tobeprovided tobesupplied
		tobeassigned pending unknown unk notknown unavailable notavailable notprovided notgiven notlisted notonfile
		noneonfile onfile asonfile notfound noinformation noinformationavailable missing same sameabove sameasabove
		samebelow sameaddress samename ditto idem ibid asabove above asbefore asprevious asbelow below asattached
		aslisted asnoted attached attachment enclosed various multiple self vacant placeholder todo dummy asdf qwerty
		fillin filllater later`,
})

// WordTable makes a table of words from their lists.
func WordTable[T comparable](lists map[T]string) map[string]T {
	all := map[string]T{}
	for meaning, list := range lists {
		for word := range strings.FieldsSeq(list) {
			all[word] = meaning
		}
	}
	return all
}

// references are the words that follow "see", "per" or "refer to" where a value
// stands elsewhere.
var references = WordTable(map[bool]string{true: `above below attached attachment attachments document documents doc
	docs note notes comment comments sheet tab list file page other row column cell email exhibit schedule previous
	prior contract agreement website system record records memo next`})

// maxPlaceholder is the length of the longest text that may be a placeholder.
const maxPlaceholder = 60

// PlaceholderOf recognizes placeholders.
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
	switch {
	case text == `\N` || text == `\n`, text[0] <= '1' && isZeroDate(text):
		return Nothing
	case strings.EqualFold(text, "do."), n > 1 && len(bytes.Trim(folded[:n], "x")) == 0, isBracketed(text),
		strings.IndexByte("SsPpRrAa(*", text[0]) >= 0 && refersElsewhere(text):
		return StandIn
	}
	return Value
}

// punctuation tells what a text without letters and digits means.
func punctuation(text string) Placeholder {
	switch {
	case strings.Trim(text, "-–—―−….,_$()[]<> ") == "":
		return Nothing
	case strings.Contains(text, "?"), strings.Trim(text, `"'“”″〃‘’, `) == "":
		return StandIn
	}
	return Value
}

// isBracketed recognizes the fields of a form that were not filled in: "[Name]",
// "<insert>", "{{street}}".
func isBracketed(text string) bool {
	for _, pair := range []string{"[]", "<>", "{}"} {
		if text[0] == pair[0] && text[len(text)-1] == pair[1] && !strings.Contains(text, "@") {
			return true
		}
	}
	return false
}

var companyEnding = regexp.MustCompile(`(?i)\b(llc|l\.l\.c|inc|corp|co|company|ltd|lp|llp)\.?$`)

// refersElsewhere recognizes "Same as principal office" and "Please see the attached list".
func refersElsewhere(text string) bool {
	words := strings.Fields(strings.ToLower(text))
	for len(words) > 1 && strings.Contains(" please pls kindly as to the ", " "+strings.Trim(words[0], "(*")+" ") {
		words = words[1:]
	}
	if len(words) < 2 {
		return false
	}
	switch strings.Trim(words[0], "(*") {
	case "same":
		return words[1] == "as"
	case "see", "per", "refer":
		for _, word := range words[1:min(len(words), 4)] {
			if references[strings.Trim(word, ".,:;()*")] {
				return !companyEnding.MatchString(text)
			}
		}
	}
	return false
}

// isZeroDate recognizes the day 0 of spreadsheet programs and databases.
func isZeroDate(text string) bool {
	day, _, _ := strings.Cut(strings.ReplaceAll(text, "T", " "), " ")
	switch day {
	case "0000-00-00", "00/00/0000", "0/0/0000", "1/0/1900", "01/00/1900", "1/0/00", "0-Jan-00", "0-Jan-1900",
		"1900-01-00", "1899-12-30", "1899-12-31", "12/30/1899":
		return true
	}
	return false
}

// IsZero recognizes what a formula shows that refers to a blank cell.
func IsZero(text string) bool {
	if text == "" || len(text) > 8 || !strings.Contains(text, "0") {
		return false
	}
	plain := strings.TrimSuffix(strings.TrimPrefix(text, "$"), "%")
	return plain == "0" || strings.Trim(plain, "0") == "." || text == "00:00:00"
}
