package sheet

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// EncodeCells writes cells as a compact JSON array that keeps their kinds: null
// for a blank, "text", 2026 for a number, true, and {"date":"2026-03-01"},
// {"number":"02134"}, {"error":"#N/A"}, {"formula":""} for what JSON has no
// form for. Text that is not UTF-8 comes back with U+FFFD in its place.
func EncodeCells(cells []Cell) []byte {
	values := make([]any, len(cells))
	for i, c := range cells {
		values[i] = c.jsonValue()
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(values) // texts and numbers cannot fail
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func (c Cell) jsonValue() any {
	switch {
	case c.Kind == Blank:
		return nil
	case c.Kind == Text:
		return c.Text
	case c.Kind == Number && isJSONNumber(c.Text):
		return json.Number(c.Text)
	case c.Kind == Bool && (c.Text == "TRUE" || c.Text == "FALSE"):
		return c.Text == "TRUE"
	}
	return map[string]string{c.Kind.String(): c.Text}
}

func isJSONNumber(text string) bool {
	return text != "" && (text[0] == '-' || text[0] >= '0' && text[0] <= '9') && json.Valid([]byte(text))
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
