package sheet

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The errors of malformed XML.
var (
	errXMLTruncated = errors.New("the XML ends too early")
	errXMLMalformed = errors.New("the XML is malformed")
	errXMLDoctype   = errors.New("the XML has a document type declaration, which no spreadsheet program writes")
	errXMLEntity    = errors.New("the XML refers to an unknown entity")
	errXMLDepth     = errors.New("the XML is nested too deeply")
	errXMLToken     = errors.New("the XML has a tag that is too long")
)

// token is the kind of the scanner's current token.
type token uint8

const (
	// tokenEnd is the end of an element. An empty element has it too.
	tokenEnd token = iota
	// tokenStart is the start of an element.
	tokenStart
	// tokenText is a piece of text. A long text has several.
	tokenText
	// tokenEOF is the end, after the root element.
	tokenEOF
)

const (
	// scannerBytes is the size of one read.
	scannerBytes  = 128 << 10
	maxTokenBytes = 1 << 20
	maxDepth      = 64
)

// scanner splits XML into tokens without allocating. It supports the XML in the parts of a workbook
// and refuses the rest: no document types, and no entities but the five of XML. It drops the
// prefixes of names. It is several times as fast as encoding/xml, and its memory does not depend on
// the input, while encoding/xml keeps every attribute of a tag.
type scanner struct {
	r   io.Reader
	buf []byte
	// buf[pos:end] is read and not yet consumed.
	pos, end int
	readErr  error

	// tokenBytes is the length of the longest allowed tag. The default is maxTokenBytes.
	tokenBytes int
	// allowance is the number of bytes that may still be read. A negative value means no limit.
	allowance int64
	// allowanceErr is the error beyond the allowance.
	allowanceErr error

	// name is the name of a start, without its prefix.
	name []byte
	// attributes are the raw attributes of a start.
	attributes []byte
	// text is the text of a text token, raw unless literal is set.
	text []byte
	// literal reports whether the text comes from a CDATA section.
	literal bool

	// empty reports whether the start belongs to an empty element. Its end is the next token.
	empty bool
	open  []byte
	// marks are the start offsets of the open names in open.
	marks []int
	// root reports whether the root element has started.
	root bool
}

func newScanner(r io.Reader) *scanner {
	return &scanner{r: r, buf: make([]byte, scannerBytes), tokenBytes: maxTokenBytes, allowance: -1}
}

// allow limits the bytes that are read from now on. A negative n removes the limit.
func (s *scanner) allow(n int64, err error) { s.allowance, s.allowanceErr = n, err }

// next returns the next token. Its name, attributes and text are valid until the next call.
func (s *scanner) next() (token, error) {
	if s.empty {
		s.empty = false
		s.pop()
		return tokenEnd, nil
	}
	for {
		if s.pos == s.end && !s.more() {
			return s.atEnd()
		}
		if s.buf[s.pos] == '<' {
			if t, found, err := s.readMarkup(); found || err != nil {
				return t, err
			}
			continue
		}
		s.readText()
		// Skip the text between the declaration and the root, or after the root.
		if len(s.marks) > 0 {
			s.literal = false
			return tokenText, nil
		}
	}
}

// readMarkup reads a tag or a CDATA section. found is false for a comment or a processing
// instruction, which are skipped.
func (s *scanner) readMarkup() (t token, found bool, err error) {
	for s.end-s.pos < len("<![CDATA[") && s.more() {
	}
	rest := s.buf[s.pos:s.end]
	switch {
	case len(rest) < 2:
		return 0, false, s.broken(errXMLTruncated)
	case rest[1] == '/':
		return tokenEnd, true, s.readEnd()
	case rest[1] == '?':
		return 0, false, s.skipPast("?>")
	case rest[1] != '!':
		return tokenStart, true, s.readStart()
	case bytes.HasPrefix(rest, []byte("<!--")):
		s.pos += len("<!--")
		return 0, false, s.skipPast("-->")
	case bytes.HasPrefix(rest, []byte("<![CDATA[")):
		if err = s.readCDATA(); err == nil && len(s.marks) == 0 {
			err = errXMLMalformed
		}
		return tokenText, true, err
	case bytes.HasPrefix(rest, []byte("<!DOCTYPE")):
		return 0, false, errXMLDoctype
	}
	return 0, false, errXMLMalformed
}

func (s *scanner) atEnd() (token, error) {
	if s.readErr != io.EOF {
		return 0, s.readErr
	}
	if len(s.marks) > 0 || !s.root {
		return 0, errXMLTruncated
	}
	return tokenEOF, nil
}

// more reads more, keeps the bytes that are not consumed, and reports whether it read any.
func (s *scanner) more() bool {
	if s.readErr != nil {
		return false
	}
	if s.pos > 0 {
		s.end = copy(s.buf, s.buf[s.pos:s.end])
		s.pos = 0
	}
	if s.end == len(s.buf) {
		if len(s.buf) >= s.tokenBytes {
			s.readErr = errXMLToken
			return false
		}
		s.buf = append(s.buf, make([]byte, len(s.buf))...)
	}
	n, err := io.ReadAtLeast(s.r, s.buf[s.end:], 1)
	if s.allowance >= 0 {
		if s.allowance -= int64(n); s.allowance < 0 {
			s.readErr = s.allowanceErr
			return false
		}
	}
	s.end += n
	s.readErr = err
	return n > 0
}

// broken returns the error of the reader, or else err.
func (s *scanner) broken(err error) error {
	if s.readErr != nil && s.readErr != io.EOF {
		return s.readErr
	}
	return err
}

// readText reads the text up to the next tag, or as much of it as is in the buffer.
func (s *scanner) readText() {
	for {
		if i := bytes.IndexByte(s.buf[s.pos:s.end], '<'); i >= 0 {
			s.text = s.buf[s.pos : s.pos+i]
			s.pos += i
			return
		}
		if s.end-s.pos >= scannerBytes/2 || !s.more() {
			break
		}
	}
	s.text = s.buf[s.pos:s.end]
	// Keep a truncated entity until its second half is read.
	if tail := max(0, len(s.text)-maxEntity); s.readErr == nil {
		if i := bytes.LastIndexByte(s.text[tail:], '&'); i >= 0 && bytes.IndexByte(s.text[tail+i:], ';') < 0 {
			s.text = s.text[:tail+i]
		}
	}
	s.pos += len(s.text)
}

func (s *scanner) readCDATA() error {
	s.pos += len("<![CDATA[")
	for from := 0; ; {
		if i := bytes.Index(s.buf[s.pos+from:s.end], []byte("]]>")); i >= 0 {
			s.text = s.buf[s.pos : s.pos+from+i]
			s.pos += from + i + len("]]>")
			s.literal = true
			return nil
		}
		from = max(0, s.end-s.pos-2)
		if !s.more() {
			return s.broken(errXMLTruncated)
		}
	}
}

// skipPast consumes everything up to and including the mark.
func (s *scanner) skipPast(mark string) error {
	for {
		if i := bytes.Index(s.buf[s.pos:s.end], []byte(mark)); i >= 0 {
			s.pos += i + len(mark)
			return nil
		}
		s.pos = max(s.pos, s.end-len(mark)+1)
		if !s.more() {
			return s.broken(errXMLTruncated)
		}
	}
}

func (s *scanner) readEnd() error {
	tag, err := s.readTag()
	if err != nil {
		return err
	}
	name := bytes.TrimRight(tag[1:], blanks)
	if len(s.marks) == 0 || !bytes.Equal(localName(name), s.open[s.marks[len(s.marks)-1]:]) {
		return errXMLMalformed
	}
	s.pop()
	return nil
}

func (s *scanner) readStart() error {
	tag, err := s.readTag()
	if err != nil {
		return err
	}
	if len(s.marks) == 0 && s.root {
		// The document has a second root.
		return errXMLMalformed
	}
	if tag[len(tag)-1] == '/' {
		s.empty = true
		tag = tag[:len(tag)-1]
	}
	end := 0
	for end < len(tag) && !isBlank(tag[end]) {
		end++
	}
	s.name, s.attributes = localName(tag[:end]), tag[end:]
	if len(s.name) == 0 {
		return errXMLMalformed
	}
	if len(s.marks) == maxDepth {
		return errXMLDepth
	}
	s.root = true
	s.marks = append(s.marks, len(s.open))
	s.open = append(s.open, s.name...)
	return nil
}

// readTag consumes a tag and returns the text between its brackets, which is not empty.
func (s *scanner) readTag() ([]byte, error) {
	quote := byte(0)
	for i := 1; ; {
		for at, c := range s.buf[s.pos+i : s.end] {
			switch {
			case quote != 0:
				if c == quote {
					quote = 0
				}
			case c == '"' || c == '\'':
				quote = c
			case c == '>':
				tag := s.buf[s.pos+1 : s.pos+i+at]
				s.pos += i + at + 1
				if len(tag) == 0 {
					return nil, errXMLMalformed
				}
				return tag, nil
			case c == '<':
				return nil, errXMLMalformed
			}
		}
		i = s.end - s.pos
		if !s.more() {
			return nil, s.broken(errXMLTruncated)
		}
	}
}

func (s *scanner) pop() {
	last := len(s.marks) - 1
	s.open = s.open[:s.marks[last]]
	s.marks = s.marks[:last]
}

// parent returns the name of the element around the latest start. It is empty for the root.
func (s *scanner) parent() []byte {
	if len(s.marks) < 2 {
		return nil
	}
	return s.open[s.marks[len(s.marks)-2]:s.marks[len(s.marks)-1]]
}

// skip reads to the end of the element with the latest start.
func (s *scanner) skip() error {
	for depth := len(s.marks); len(s.marks) >= depth; {
		if _, err := s.next(); err != nil {
			return err
		}
	}
	return nil
}

func localName(name []byte) []byte { return name[bytes.IndexByte(name, ':')+1:] }

const blanks = " \t\n\r"

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// nextAttribute splits off the first attribute. Its name keeps its prefix, and its value is raw.
// The name is empty if there is no readable attribute.
func nextAttribute(attributes []byte) (name, value, rest []byte) {
	attributes = trimBlanks(attributes)
	equals := bytes.IndexByte(attributes, '=')
	if equals <= 0 {
		return nil, nil, nil
	}
	value = trimBlanks(attributes[equals+1:])
	if len(value) == 0 || value[0] != '"' && value[0] != '\'' {
		return nil, nil, nil
	}
	length := bytes.IndexByte(value[1:], value[0])
	if length < 0 {
		return nil, nil, nil
	}
	return bytes.TrimRight(attributes[:equals], blanks), value[1 : 1+length], value[length+2:]
}

// trimBlanks removes the blanks in front of a text.
func trimBlanks(text []byte) []byte {
	for len(text) > 0 && isBlank(text[0]) {
		text = text[1:]
	}
	return text
}

// attributeText returns the value of an attribute as text.
func attributeText(raw []byte) string {
	if bytes.IndexByte(raw, '&') < 0 {
		return string(raw)
	}
	s := scanner{text: raw}
	text, err := s.appendText(nil)
	if err != nil {
		// The value is a name or a number, and a lookup with it will fail.
		return string(raw)
	}
	return string(text)
}

// maxEntity is the length of the longest valid reference, with a few leading zeros: the character
// reference x0010FFFF.
const maxEntity = 16

var entities = map[string]byte{"amp": '&', "lt": '<', "gt": '>', "quot": '"', "apos": '\''}

// appendText appends the text of the last token with its references resolved.
func (s *scanner) appendText(dst []byte) ([]byte, error) {
	if s.literal {
		return append(dst, s.text...), nil
	}
	text := s.text
	for {
		i := bytes.IndexByte(text, '&')
		if i < 0 {
			return append(dst, text...), nil
		}
		dst = append(dst, text[:i]...)
		text = text[i+1:]
		end := bytes.IndexByte(text[:min(len(text), maxEntity)], ';')
		if end < 1 {
			return dst, errXMLEntity
		}
		reference := text[:end]
		text = text[end+1:]
		if c, ok := entities[string(reference)]; ok {
			dst = append(dst, c)
			continue
		}
		r, ok := characterReference(reference)
		if !ok {
			return dst, errXMLEntity
		}
		dst = utf8.AppendRune(dst, r)
	}
}

// characterReference parses "#65" or "#x41".
func characterReference(reference []byte) (rune, bool) {
	digits, ok := strings.CutPrefix(string(reference), "#")
	base := 10
	if hex := strings.TrimLeft(digits, "xX"); len(hex) == len(digits)-1 {
		digits, base = hex, 16
	}
	r, err := strconv.ParseUint(digits, base, 31)
	return rune(r), ok && err == nil && r <= utf8.MaxRune
}

// unescape resolves the escapes for characters that XML cannot contain: _x000D_ is a carriage
// return, and _x005F_ is the underscore of a text that looks like an escape. It works in place.
func unescape(text []byte) []byte {
	i := bytes.Index(text, []byte("_x"))
	if i < 0 {
		return text
	}
	out := text[:i]
	for i < len(text) {
		if r, ok := escape(text[i:]); ok {
			// A rune takes at most three bytes, and its escape seven.
			out = utf8.AppendRune(out, r)
			i += len("_x000D_")
			continue
		}
		out = append(out, text[i])
		i++
	}
	return out
}

func escape(text []byte) (rune, bool) {
	if len(text) < 7 || text[0] != '_' || text[1] != 'x' || text[6] != '_' {
		return 0, false
	}
	r, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(r), err == nil
}
