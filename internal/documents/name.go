package documents

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxName limits a part of a path, in bytes. File systems allow 255, and the text after the name
// needs some of them. A document's ID has at most 200.
const maxName = 240

// reserved are names that Windows reserves for devices, with any ending.
var reserved = []string{"con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8",
	"com9", "lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9"}

// fileName converts a text to one part of a path. Every file system accepts it, it cannot leave its
// folder, and no spreadsheet program reads it as a formula.
func fileName(text string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune(`<>:"/\|?*`, r):
			return '-'
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == unicode.ReplacementChar:
			return -1 // invisible, or changes the direction of the text around it
		}
		return r
	}, text)
	// This step is last, because an accent may follow a removed character.
	clean = norm.NFC.String(strings.Join(strings.Fields(clean), " "))
	clean = strings.TrimLeft(clean, "=+-@. ")
	clean = cut(clean, maxName)
	stem, _, _ := strings.Cut(strings.ToLower(clean), ".")
	if slices.Contains(reserved, strings.TrimSpace(stem)) {
		clean = "_" + clean
	}
	return clean
}

// cut limits a name to a number of bytes without splitting a character. The result never ends with
// a dot or a blank.
func cut(name string, limit int) string {
	if len(name) > limit {
		for limit > 0 && name[limit]&0xC0 == 0x80 {
			limit--
		}
		name = name[:limit]
	}
	return strings.TrimRight(name, ". ")
}
