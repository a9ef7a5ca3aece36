package sheet

import (
	"unicode"
	"unicode/utf8"
)

// isPlain reports whether text needs no cleaning: printable ASCII without a space at either end.
// Nearly all cells are plain.
func isPlain[T string | []byte](text T) bool {
	if len(text) == 0 {
		return true
	}
	if text[0] == ' ' || text[len(text)-1] == ' ' {
		return false
	}
	for i := 0; i < len(text); i++ {
		if c := text[i]; c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

// TypedCell returns the cell for a text that a person types. It is the cell that a CSV with this
// text has.
func TypedCell(text string) Cell {
	text = removeGuard(text)
	if !isPlain(text) {
		text = string(appendClean(nil, []byte(text)))
	}
	if text == "" {
		return Cell{}
	}
	return Cell{Text: text, Kind: Text}
}

// appendClean appends text as a person sees it. See [Cell]. It does not change the content of dst.
func appendClean(dst, text []byte) []byte {
	if isPlain(text) {
		return append(dst, text...)
	}
	start := len(dst)
	// blanks and lineBreak describe the white space since the last visible character.
	blanks, lineBreak := 0, false
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		i += size
		switch class(r) {
		case invisible:
			continue
		case space:
			blanks++
			continue
		case newline:
			lineBreak = true
			continue
		}
		switch {
		case len(dst) == start:
		case lineBreak:
			dst = append(dst, ' ')
		default:
			for range blanks {
				dst = append(dst, ' ')
			}
		}
		blanks, lineBreak = 0, false
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

// runeClass is how appendClean treats a character.
type runeClass uint8

const (
	shown runeClass = iota
	space
	newline
	invisible
)

func class(r rune) runeClass {
	switch {
	case r > ' ' && r < 0x7f:
		return shown
	case r == ' ', r == '\t':
		return space
	case r == '\n', r == '\r', r == '\v', r == '\f', r == 0x85, r == 0x2028, r == 0x2029:
		return newline
	// These are control characters, including NUL.
	case r < 0xa0:
		return invisible
	// Characters of format are zero-width spaces, joiners, direction marks and the like. The other
	// one is the combining grapheme joiner.
	case unicode.Is(unicode.Cf, r), r == 0x34f:
		return invisible
	case unicode.Is(unicode.Zs, r):
		return space
	}
	return shown
}
