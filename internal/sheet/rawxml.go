package sheet

import (
	"bytes"
	"strings"
)

// rawKind is the kind of a piece of XML.
type rawKind uint8

const (
	rawStart rawKind = iota // the start tag of an element
	rawEmpty                // the tag of an empty element
	rawEnd                  // an end tag
	rawText                 // text with its references
	rawCDATA                // a CDATA section
	rawOther                // a declaration, a comment or a processing instruction
)

// rawToken is a piece of XML as it is written. Copies of a workbook are made of
// the pieces of the original, so that all that is not changed stays as it is.
type rawToken struct {
	kind       rawKind
	bytes      []byte // the whole piece
	name       []byte // of a tag, with its prefix
	attributes []byte // of a start or empty tag, raw
}

// local returns the name of a tag without its prefix.
func (t *rawToken) local() string { return string(localName(t.name)) }

// attribute returns the value of an attribute by its name without a prefix.
func (t *rawToken) attribute(name string) (value string, found bool) {
	return element{attributes: t.attributes}.find(name)
}

// text returns the text of a text or a CDATA section.
func (t *rawToken) text() string {
	if t.kind == rawCDATA {
		return string(t.bytes[len("<![CDATA[") : len(t.bytes)-len("]]>")])
	}
	return attributeText(t.bytes)
}

// rawXML splits a part that is in memory into pieces.
type rawXML struct {
	data []byte
	pos  int
	open [][]byte // the names of the open elements
}

// next returns the next piece; false at the end. The part must be well-formed as
// far as tags are concerned.
func (x *rawXML) next() (t rawToken, ok bool, err error) {
	rest := x.data[x.pos:]
	if len(rest) == 0 {
		if len(x.open) > 0 {
			return t, false, errXMLTruncated
		}
		return t, false, nil
	}
	if rest[0] != '<' {
		end := bytes.IndexByte(rest, '<')
		if end < 0 {
			end = len(rest)
		}
		return x.take(rawToken{kind: rawText}, end), true, nil
	}
	for _, m := range [...]struct {
		begin, end string
		kind       rawKind
	}{{"<!--", "-->", rawOther}, {"<![CDATA[", "]]>", rawCDATA}, {"<?", "?>", rawOther}} {
		if bytes.HasPrefix(rest, []byte(m.begin)) {
			end := bytes.Index(rest[len(m.begin):], []byte(m.end))
			if end < 0 {
				return t, false, errXMLTruncated
			}
			return x.take(rawToken{kind: m.kind}, len(m.begin)+end+len(m.end)), true, nil
		}
	}
	if bytes.HasPrefix(rest, []byte("<!")) {
		return t, false, errXMLDoctype
	}
	return x.tag(rest)
}

// tag reads the tag at the start of the rest.
func (x *rawXML) tag(rest []byte) (t rawToken, ok bool, err error) {
	end := tagEnd(rest)
	if end < 0 {
		return t, false, errXMLTruncated
	}
	tag := rest[1:end]
	if len(tag) > 0 && tag[0] == '/' {
		name := bytes.TrimRight(tag[1:], " \t\r\n")
		last := len(x.open) - 1
		if last < 0 || !bytes.Equal(x.open[last], name) {
			return t, false, errXMLMalformed
		}
		x.open = x.open[:last]
		return x.take(rawToken{kind: rawEnd, name: name}, end+1), true, nil
	}
	t.kind = rawStart
	if len(tag) > 0 && tag[len(tag)-1] == '/' {
		t.kind, tag = rawEmpty, tag[:len(tag)-1]
	}
	length := bytes.IndexAny(tag, " \t\r\n")
	if length < 0 {
		length = len(tag)
	}
	if length == 0 {
		return t, false, errXMLMalformed
	}
	t.name, t.attributes = tag[:length], tag[length:]
	if t.kind == rawStart {
		if len(x.open) == maxDepth {
			return t, false, errXMLDepth
		}
		x.open = append(x.open, t.name)
	}
	return x.take(t, end+1), true, nil
}

func (x *rawXML) take(t rawToken, n int) rawToken {
	t.bytes = x.data[x.pos : x.pos+n]
	x.pos += n
	return t
}

// eachTag calls do with each start or empty tag of a part. do may read on.
func eachTag(data []byte, do func(x *rawXML, t *rawToken) error) error {
	x := &rawXML{data: data}
	for {
		t, ok, err := x.next()
		if err != nil || !ok {
			return err
		}
		if t.kind > rawEmpty {
			continue
		}
		if err := do(x, &t); err != nil {
			return err
		}
	}
}

// tagEnd finds the end of the tag at the start of b, outside quotes.
func tagEnd(b []byte) int {
	var quote byte
	for i, c := range b {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return i
		}
	}
	return -1
}

// skip goes past the end of the element whose start came last.
func (x *rawXML) skip() error {
	for depth := len(x.open); len(x.open) >= depth; {
		if _, ok, err := x.next(); err != nil || !ok {
			if err == nil {
				err = errXMLTruncated
			}
			return err
		}
	}
	return nil
}

// inner returns the content of the element whose start came last, and goes past
// its end.
func (x *rawXML) inner() ([]byte, error) {
	start := x.pos
	for depth := len(x.open); ; {
		before := x.pos
		_, ok, err := x.next()
		switch {
		case err != nil:
			return nil, err
		case !ok:
			return nil, errXMLTruncated
		case len(x.open) < depth:
			return x.data[start:before], nil
		}
	}
}

var xmlEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\r", "&#13;")

// escapeXML returns a text as the text or the attribute of an element has it.
// Characters that XML cannot hold are left out.
func escapeXML(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
			return -1
		}
		return r
	}, text)
	return xmlEscapes.Replace(text)
}
