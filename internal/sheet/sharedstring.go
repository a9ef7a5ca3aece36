package sheet

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// stringTable has the shared strings of a workbook, cleaned and concatenated.
type stringTable struct {
	text strings.Builder
	// ends are the end offsets of the strings.
	ends []uint32
	// struck are the strings that are struck through.
	struck map[int]Strike
}

// at returns the i-th string.
func (t *stringTable) at(i int) (string, bool) {
	if t == nil || i < 0 || i >= len(t.ends) {
		return "", false
	}
	start := uint32(0)
	if i > 0 {
		start = t.ends[i-1]
	}
	return t.text.String()[start:t.ends[i]], true
}

// readStrings reads the shared strings. A workbook without them is valid unless a cell refers to
// one. The counts that the part declares are ignored.
func (w *workbook) readStrings() (*stringTable, error) {
	if w.stringsPart == "" || w.parts[w.stringsPart] == nil {
		const usual = "xl/sharedstrings.xml"
		if w.parts[usual] == nil {
			return nil, nil
		}
		w.stringsPart = usual
	}
	content, err := w.open(w.stringsPart, w.limits.PartBytes)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	b := stringTableBuilder{limits: w.limits, table: new(stringTable)}
	// The texts take less space than the part. The size in the archive may be wrong.
	b.table.text.Grow(int(min(w.parts[w.stringsPart].UncompressedSize64, uint64(w.limits.StringBytes))))
	s := newScanner(content)
	for {
		token, err := s.next()
		if err == nil && token == tokenEOF {
			break
		}
		if err == nil && token == tokenStart && len(s.marks) == 1 && string(s.name) != "sst" {
			err = errXMLMalformed
		}
		if err == nil && token == tokenStart && string(s.name) == "si" {
			err = b.add(s)
		}
		if err != nil {
			return nil, partError(w.stringsPart, err)
		}
	}
	if b.unreadable {
		w.owner.note(noteUnreadable)
	}
	return b.table, nil
}

type stringTableBuilder struct {
	limits    Limits
	table     *stringTable
	raw, text []byte
	// unreadable reports whether a text contains U+FFFD.
	unreadable bool
}

func (b *stringTableBuilder) add(s *scanner) (err error) {
	var strike Strike
	if b.raw, strike, err = s.richText(b.raw[:0], b.limits.CellBytes); err != nil {
		return err
	}
	if len(b.table.ends) == b.limits.Strings {
		return tooLarge("its list of texts has", fmt.Sprintf("%d entries", b.limits.Strings), remedyTrim)
	}
	b.text = appendClean(b.text[:0], unescape(b.raw))
	b.unreadable = b.unreadable || bytes.ContainsRune(b.text, utf8.RuneError)
	b.table.text.Write(b.text)
	end := b.table.text.Len()
	if int64(end) > b.limits.StringBytes {
		return tooLarge("its texts take", byteCount(b.limits.StringBytes), remedyTrim)
	}
	if strike != NotStruck {
		if b.table.struck == nil {
			b.table.struck = map[int]Strike{}
		}
		b.table.struck[len(b.table.ends)] = strike
	}
	b.table.ends = append(b.table.ends, uint32(end))
	return nil
}

// richText appends the text of the element that starts at the current token (a shared or an inline
// string), up to its end. The text is the plain text, or the joined runs of a rich text. Runs that
// are struck through are left out, unless all of them are. Phonetic runs are left out too, because
// they only give the reading of a text.
func (s *scanner) richText(dst []byte, limit int) ([]byte, Strike, error) {
	start, inText := len(dst), 0
	runStruck := false
	// struck are the spans of dst that are struck through.
	var struck [][2]int
	for depth := len(s.marks); ; {
		token, err := s.next()
		if err != nil {
			return dst, NotStruck, err
		}
		switch token {
		case tokenStart:
			switch string(s.name) {
			case "t":
				inText = len(s.marks)
			case "r":
				runStruck = false
			case "strike":
				value, said := element{attributes: s.attributes}.find("val")
				runStruck = !said || isTrue(value)
			case "rPh":
				err = s.skip()
			}
		case tokenText:
			if inText > 0 && len(s.marks) == inText {
				from := len(dst)
				if dst, err = s.appendText(dst); runStruck {
					struck = append(struck, [2]int{from, len(dst)})
				}
			}
			if len(dst)-start > 8*limit {
				return dst, NotStruck, longText(limit)
			}
		case tokenEnd:
			if len(s.marks) < depth {
				dst, strike := withoutStruck(dst, start, struck)
				return dst, strike, nil
			}
			inText = 0
		}
		if err != nil {
			return dst, NotStruck, err
		}
	}
}

// withoutStruck removes the struck parts from the text that begins at start. If the text has no
// other part, it stays unchanged.
func withoutStruck(dst []byte, start int, struck [][2]int) ([]byte, Strike) {
	if struck == nil {
		return dst, NotStruck
	}
	kept, from := []byte{}, start
	for _, part := range struck {
		kept = append(kept, dst[from:part[0]]...)
		from = part[1]
	}
	kept = append(kept, dst[from:]...)
	if len(appendClean(nil, kept)) == 0 {
		return dst, AllStruck
	}
	return append(dst[:start], kept...), PartStruck
}
