package sheet

import (
	"encoding/json"
	"fmt"
)

// EncodeCells encodes cells as a JSON array that keeps their kinds: null for a blank, "text", and
// {"number":"02134"}, {"date":"2026-03-01"}, {"bool":"TRUE"}, {"error":"#N/A"}, {"formula":""} for
// the others. Text that is not UTF-8 is decoded with U+FFFD in its place.
func EncodeCells(cells []Cell) []byte {
	values := make([]any, len(cells))
	for i, c := range cells {
		switch c.Kind {
		case Blank:
		case Text:
			values[i] = c.Text
		default:
			values[i] = map[string]string{c.Kind.String(): c.Text}
		}
	}
	// Encoding strings cannot fail.
	encoded, _ := json.Marshal(values)
	return encoded
}

// DecodeCells decodes the output of [EncodeCells].
func DecodeCells(data []byte) ([]Cell, error) {
	var values []any
	if err := json.Unmarshal(data, &values); err != nil {
		return nil, fmt.Errorf("decode cells: %w", err)
	}
	cells := make([]Cell, len(values))
	for i, value := range values {
		known := value == nil
		switch v := value.(type) {
		case string:
			cells[i], known = Cell{Text: v, Kind: Text}, true
		case map[string]any:
			for kind, name := range kindNames {
				if text, is := v[name].(string); is && len(v) == 1 {
					cells[i], known = Cell{Text: text, Kind: Kind(kind)}, true
				}
			}
		}
		if !known {
			return nil, fmt.Errorf("decode cell %d: %.40v is no cell", i, value)
		}
	}
	return cells, nil
}
