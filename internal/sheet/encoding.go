package sheet

import (
	"bufio"
	"bytes"
	"io"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// charset is the encoding of a CSV. If the decoder is nil, the bytes are UTF-8.
type charset struct {
	name string
	// bom is the length of the byte order mark in bytes.
	bom     int64
	decoder func() *encoding.Decoder
}

var (
	utf16LE = unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	utf16BE = unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
)

// reader reads the text of a file as UTF-8.
func (c charset) reader(file io.ReaderAt, size int64) io.Reader {
	raw := io.NewSectionReader(file, c.bom, size-c.bom)
	if c.decoder == nil {
		return raw
	}
	return transform.NewReader(bufio.NewReaderSize(raw, headBytes), c.decoder())
}

// findCharset detects the encoding from the byte order mark. Without a mark it reads the whole
// file, because the first accented letter may be in the last line.
func findCharset(file io.ReaderAt, size int64, head []byte) (charset, error) {
	tail := make([]byte, min(size, utf8.UTFMax-1))
	if _, err := file.ReadAt(tail, size-int64(len(tail))); err != nil && err != io.EOF {
		return charset{}, err
	}
	cut := endsInCharacter(tail)
	switch {
	case cut && bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		return charset{}, errCutOff
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		return charset{name: "UTF-8", bom: 3}, nil
	case bytes.HasPrefix(head, []byte("\xff\xfe")):
		return charset{name: "UTF-16", bom: 2, decoder: utf16LE.NewDecoder}, nil
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		return charset{name: "UTF-16", bom: 2, decoder: utf16BE.NewDecoder}, nil
	}
	// Text in UTF-16 without a mark has a zero byte beside nearly every letter, always on the same
	// side.
	var zeros [2]int
	for i, c := range head {
		if c == 0 {
			zeros[i%2]++
		}
	}
	pairs := len(head) / 2
	switch {
	case zeros[1] > pairs/2 && zeros[0] < pairs/20+1:
		return charset{name: "UTF-16", decoder: utf16LE.NewDecoder}, nil
	case zeros[0] > pairs/2 && zeros[1] < pairs/20+1:
		return charset{name: "UTF-16", decoder: utf16BE.NewDecoder}, nil
	}
	valid, invalid, err := countSequences(io.NewSectionReader(file, 0, size))
	if err != nil {
		return charset{}, err
	}
	// Text in Windows-1252 rarely contains a complete UTF-8 sequence by chance. At least as many
	// complete sequences as broken ones mean a damaged UTF-8 text. The damage stays in place, and
	// every other letter is read correctly.
	if cut && valid >= invalid-1 {
		return charset{}, errCutOff
	}
	if invalid == 0 || valid > 0 && valid >= invalid {
		return charset{name: "UTF-8"}, nil
	}
	return charset{name: "Windows-1252", decoder: charmap.Windows1252.NewDecoder}, nil
}

var errCutOff = refused("the file ends in the middle of a character: it was cut off, and rows may be missing",
	"Export it again as CSV UTF-8, and check that its last row is there")

// endsInCharacter reports whether text ends with the beginning of a multi-byte UTF-8 character.
func endsInCharacter(text []byte) bool {
	for i := range text {
		if utf8.RuneStart(text[i]) && !utf8.FullRune(text[i:]) {
			return true
		}
	}
	return false
}

// countSequences counts the multi-byte UTF-8 characters and the runs of bytes outside any
// character.
func countSequences(file io.Reader) (valid, invalid int, err error) {
	text := bufio.NewReaderSize(file, headBytes)
	for broken := false; ; {
		r, size, err := text.ReadRune()
		switch {
		case err == io.EOF:
			return valid, invalid, nil
		case err != nil:
			return 0, 0, err
		case r == utf8.RuneError && size == 1:
			if !broken {
				invalid++
			}
			broken = true
			continue
		case size > 1:
			valid++
		}
		broken = false
	}
}

// lineFeeds converts the carriage returns of old Macintosh text, and the pairs of Windows, to line
// feeds.
type lineFeeds struct {
	r      io.Reader
	lastCR bool
}

func (l *lineFeeds) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	kept := 0
	for _, c := range p[:n] {
		afterCR := l.lastCR
		l.lastCR = c == '\r'
		switch {
		case c == '\r':
			c = '\n'
		case c == '\n' && afterCR:
			continue
		}
		p[kept] = c
		kept++
	}
	return kept, err
}
