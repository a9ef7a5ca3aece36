package sheet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// EncodeCells writes cells as a compact JSON array that keeps their kinds: null
// for a blank, "text", 2026 for a number, true, and {"date":"2026-03-01"},
// {"number":"02134"}, {"error":"#N/A"}, {"formula":""} for what JSON has no
// form for. Text that is not UTF-8 comes back with U+FFFD in its place.
func EncodeCells(cells []Cell) []byte {
	size := 2
	for _, c := range cells {
		size += len(c.Text) + 4
	}
	b := append(make([]byte, 0, size), '[')
	for i, c := range cells {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendCell(b, c)
	}
	return append(b, ']')
}

func appendCell(b []byte, c Cell) []byte {
	switch {
	case c.Kind == Blank:
		return append(b, "null"...)
	case c.Kind == Text:
		return appendJSONString(b, c.Text)
	case c.Kind == Number && isJSONNumber(c.Text):
		return append(b, c.Text...)
	case c.Kind == Bool && c.Text == "TRUE":
		return append(b, "true"...)
	case c.Kind == Bool && c.Text == "FALSE":
		return append(b, "false"...)
	}
	b = append(b, `{"`...)
	b = append(b, c.Kind.String()...)
	b = append(b, `":`...)
	b = appendJSONString(b, c.Text)
	return append(b, '}')
}

func isJSONNumber(text string) bool {
	return text != "" && (text[0] == '-' || text[0] >= '0' && text[0] <= '9') && json.Valid([]byte(text))
}

func appendJSONString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
			i++
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			i++
		case c < utf8.RuneSelf:
			b = append(b, c)
			i++
		default:
			r, size := utf8.DecodeRuneInString(s[i:])
			b = utf8.AppendRune(b, r)
			i += size
		}
	}
	return append(b, '"')
}

// DecodeCells reads what [EncodeCells] wrote.
func DecodeCells(data []byte) ([]Cell, error) {
	var values []json.RawMessage
	if err := json.Unmarshal(data, &values); err != nil {
		return nil, fmt.Errorf("decode cells: %w", err)
	}
	cells := make([]Cell, len(values))
	for i, value := range values {
		c, err := decodeCell(value)
		if err != nil {
			return nil, fmt.Errorf("decode cell %d: %w", i, err)
		}
		cells[i] = c
	}
	return cells, nil
}

func decodeCell(value []byte) (Cell, error) {
	switch {
	case string(value) == "null":
		return Cell{}, nil
	case string(value) == "true":
		return Cell{Text: "TRUE", Kind: Bool}, nil
	case string(value) == "false":
		return Cell{Text: "FALSE", Kind: Bool}, nil
	case value[0] == '"':
		if text := value[1 : len(value)-1]; bytes.IndexByte(text, '\\') < 0 && utf8.Valid(text) {
			return Cell{Text: string(text), Kind: Text}, nil
		}
		c := Cell{Kind: Text}
		return c, json.Unmarshal(value, &c.Text)
	case value[0] == '{':
		var named map[string]string
		if err := json.Unmarshal(value, &named); err != nil {
			return Cell{}, err
		}
		for name, text := range named {
			for kind, known := range kindNames {
				if name == known && len(named) == 1 {
					return Cell{Text: text, Kind: Kind(kind)}, nil
				}
			}
		}
	case value[0] != '[':
		return Cell{Text: string(value), Kind: Number}, nil
	}
	return Cell{}, fmt.Errorf("%.40s is no cell", value)
}
