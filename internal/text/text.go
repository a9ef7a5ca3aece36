// Package text puts numbers, lists and foreign strings into sentences.
package text

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Number writes a whole number with a comma before each three digits: 12,345.
func Number(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Count writes a number and its noun: "1 row", "1,200 rows". The plural is the noun with an s.
// CountOf takes any plural.
func Count(n int, noun string) string { return CountOf(n, noun, noun+"s") }

// CountOf writes a number and its noun in the singular or the plural:
// "1 company", "2 companies".
func CountOf(n int, singular, plural string) string {
	if n == 1 {
		return "1 " + singular
	}
	return Number(n) + " " + plural
}

// List joins words as a sentence does: "a", "a and b", "a, b, and c".
func List(words []string) string {
	switch n := len(words); n {
	case 0:
		return ""
	case 1:
		return words[0]
	case 2:
		return words[0] + " and " + words[1]
	default:
		return strings.Join(words[:n-1], ", ") + ", and " + words[n-1]
	}
}

// FirstOf joins the first words of a longer list: "1, 2, 3, and 17 more".
func FirstOf(words []string, limit int) string {
	if len(words) <= limit {
		return strings.Join(words, ", ")
	}
	return fmt.Sprintf("%s, and %s more", strings.Join(words[:limit], ", "), Number(len(words)-limit))
}

// FirstQuoted quotes the first names of a longer list, without the blank ones.
func FirstQuoted(names []string, limit int) string {
	var quoted []string
	for _, name := range names {
		if name = strings.TrimSpace(name); name != "" {
			quoted = append(quoted, strconv.Quote(name))
		}
	}
	return FirstOf(quoted, limit)
}

// Shorten cuts a string to at most limit characters. The last character of a shortened string is an
// ellipsis.
func Shorten(s string, limit int) string {
	count := 0
	// end is the byte offset at which a shortened string ends, before the ellipsis.
	end := 0
	for i := range s {
		if count == limit-1 {
			end = i
		}
		if count++; count > limit {
			return s[:end] + "…"
		}
	}
	return s
}

// Line returns a foreign string as one line. Each white space becomes a blank. Characters that
// control a terminal or change the direction of a text are removed.
func Line(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, s)
}

// Capital makes the first letter of a text a capital.
func Capital(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + s[size:]
}

// Examples is a number of things and the names of the first few.
type Examples struct {
	Count int      `json:"count"`
	Names []string `json:"names,omitempty"`
}

// MaxExamples is how many names Examples keeps.
const MaxExamples = 20

// Add counts one more thing and keeps its name.
func (e *Examples) Add(name string) {
	if e.Count++; len(e.Names) < MaxExamples {
		e.Names = append(e.Names, name)
	}
}

// Summary lists the kept names and the number of further ones.
func (e Examples) Summary() string {
	list := strings.Join(e.Names, "; ")
	if more := e.Count - len(e.Names); more > 0 {
		list += fmt.Sprintf("; and %s more", Number(more))
	}
	return list
}

// UTC writes a time for a file, whose readers are in several time zones.
func UTC(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
