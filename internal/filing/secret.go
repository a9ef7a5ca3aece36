package filing

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
	"unicode"
)

// ssnShape is what a Social Security number looks like in a text: nine digits
// that stand alone, whatever dashes they are written with. A ZIP code of nine has
// its dash elsewhere.
var ssnShape = regexp.MustCompile(`\b(?:\d{9}|\d{3}[-. \x{2010}-\x{2015}]\d{2}[-. \x{2010}-\x{2015}]?\d{4})\b`)

// IsSSNHeader recognises the header of a column of Social Security numbers,
// however it is worded: "Owner's SSN", "ssn_number", "Soc. Sec. No.". Letters
// within a word make none: "Business Name" is a name.
func IsSSNHeader(header string) bool {
	folded := FoldName(header)
	for _, whole := range []string{"ss", "ssn", "ssno", "ssnum", "ssnumber"} {
		if folded == whole {
			return true
		}
	}
	for _, part := range []string{"socialsecurity", "socsec"} {
		if strings.Contains(folded, part) {
			return true
		}
	}
	if strings.HasSuffix(folded, "socialno") || strings.HasSuffix(folded, "socialnum") {
		return true
	}
	for word := range strings.FieldsFuncSeq(apart(header), func(r rune) bool { return !unicode.IsLetter(r) }) {
		if word = strings.ToLower(word); strings.HasPrefix(word, "ssn") || strings.HasSuffix(word, "ssn") {
			return true
		}
	}
	return false
}

// apart sets the words of camelCase apart.
func apart(s string) string {
	var b strings.Builder
	lower := false
	for _, r := range s {
		if lower && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		lower = unicode.IsLower(r)
		b.WriteRune(r)
	}
	return b.String()
}

// HideSSNs is a text that may be shown and kept: what looks like a Social
// Security number in it is left by its last four digits, "***-**-1120".
func HideSSNs(text string) string {
	if !ssnShape.MatchString(text) {
		return text
	}
	var b strings.Builder
	from := 0
	for _, at := range ssnShape.FindAllStringIndex(text, -1) {
		b.WriteString(text[from:at[0]])
		if from = at[1]; at[0] > 0 && text[at[0]-1] == '.' {
			b.WriteString(text[at[0]:at[1]]) // the billionths of a second of a moment
		} else {
			b.WriteString("***-**-" + text[at[1]-4:at[1]])
		}
	}
	b.WriteString(text[from:])
	return b.String()
}

// HideSSNsInBody is a body, JSON or not, without such numbers. One that has none
// is returned as it is, to the byte; JSON stays JSON.
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
	value, found := hideIn(value)
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

// hideIn hides the numbers in a decoded value and reports whether it held any.
func hideIn(value any) (hidden any, found bool) {
	switch v := value.(type) {
	case string:
		text := HideSSNs(v)
		return text, text != v
	case json.Number:
		text := HideSSNs(v.String())
		if text != v.String() {
			return text, true
		}
	case []any:
		for i := range v {
			inner, has := hideIn(v[i])
			v[i], found = inner, found || has
		}
		return v, found
	case map[string]any:
		for key, of := range v {
			inner, has := hideIn(of)
			v[key], found = inner, found || has
		}
		return v, found
	}
	return value, false
}
