package sheet

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// charset is how the text of a CSV is encoded. A nil decoder means that its
// bytes are taken as UTF-8.
type charset struct {
	name    string
	bom     int64 // bytes of byte order mark in front
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

// findCharset detects the encoding from the byte order mark, or else from the
// whole file: the first accented letter may be in its last line.
func findCharset(file io.ReaderAt, size int64, head []byte) (charset, error) {
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		return charset{name: "UTF-8", bom: 3}, nil
	case bytes.HasPrefix(head, []byte("\xff\xfe")):
		return charset{name: "UTF-16", bom: 2, decoder: utf16LE.NewDecoder}, nil
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		return charset{name: "UTF-16", bom: 2, decoder: utf16BE.NewDecoder}, nil
	}
	// Text in UTF-16 without a mark has a zero beside nearly every letter,
	// always on the same side.
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
	// Text in Windows-1252 hardly ever holds a whole sequence of UTF-8 by
	// chance, so that as many whole ones as broken ones are a UTF-8 text that
	// was damaged. Its damage stays where it is: every other letter is read as
	// it was meant.
	if invalid == 0 || valid > 0 && valid >= invalid {
		return charset{name: "UTF-8"}, nil
	}
	return charset{name: "Windows-1252", decoder: charmap.Windows1252.NewDecoder}, nil
}

// countSequences counts the multi-byte characters of UTF-8 and the runs of
// bytes that belong to none.
func countSequences(r io.Reader) (valid, invalid int, err error) {
	buf := make([]byte, headBytes)
	kept, broken := 0, false
	for {
		n, err := io.ReadFull(r, buf[kept:])
		chunk := buf[:kept+n]
		last := err != nil
		if last && err != io.EOF && err != io.ErrUnexpectedEOF {
			return 0, 0, err
		}
		for len(chunk) > 0 {
			ascii := asciiPrefix(chunk)
			chunk = chunk[ascii:]
			broken = broken && ascii == 0
			if len(chunk) < utf8.UTFMax && !last && !utf8.FullRune(chunk) {
				break
			}
			if len(chunk) == 0 {
				break
			}
			r, size := utf8.DecodeRune(chunk)
			isBroken := r == utf8.RuneError && size <= 1
			switch {
			case !isBroken:
				valid++
			case !broken:
				invalid++
			}
			broken = isBroken
			chunk = chunk[size:]
		}
		if last {
			return valid, invalid, nil
		}
		kept = copy(buf, chunk)
	}
}

// asciiPrefix is the number of ASCII bytes at the start of b.
func asciiPrefix(b []byte) int {
	n := 0
	for len(b)-n >= 8 && binary.NativeEndian.Uint64(b[n:])&0x8080808080808080 == 0 {
		n += 8
	}
	for n < len(b) && b[n] < utf8.RuneSelf {
		n++
	}
	return n
}

// lineFeeds turns the carriage returns of an old Macintosh text, and the pairs
// of Windows, into line feeds.
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
