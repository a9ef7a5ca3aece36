package filingapi

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// parse decodes a body whose fields the spec does not show. Numbers keep their text.
func (o outcome) parse() any {
	dec := json.NewDecoder(bytes.NewReader(o.body))
	dec.UseNumber()
	var v any
	if o.bodyErr != nil || dec.Decode(&v) != nil {
		return nil
	}
	return v
}

// findText finds the text or the number under one of the names, which are folded and sorted by
// likelihood. Outer objects precede inner ones.
func findText(v any, names ...string) string {
	for level := []any{v}; len(level) > 0; {
		var inside []any
		for _, v := range level {
			switch v := v.(type) {
			case []any:
				inside = append(inside, v...)
			case map[string]any:
				keys := slices.Sorted(maps.Keys(v))
				if text := textUnder(v, keys, names); text != "" {
					return text
				}
				for _, key := range keys {
					inside = append(inside, v[key])
				}
			}
		}
		level = inside
	}
	return ""
}

// textUnder returns the text under one of the names in a single object.
func textUnder(v map[string]any, keys, names []string) string {
	for _, name := range names {
		for _, key := range keys {
			if filing.FoldName(key) != name {
				continue
			}
			if text := textOf(v[key]); text != "" {
				return text
			}
		}
	}
	return ""
}

func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v)
	case json.Number:
		return v.String()
	}
	return ""
}

// findLink finds a web address in an answer, first under one of the names, then anywhere. The names
// are folded and sorted by likelihood.
func findLink(v any, names []string) string {
	switch v := v.(type) {
	case string:
		if u, err := url.Parse(v); err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" {
			return v
		}
	case []any:
		for _, e := range v {
			if link := findLink(e, names); link != "" {
				return link
			}
		}
	case map[string]any:
		keys := slices.Sorted(maps.Keys(v))
		rank := func(key string) int {
			if i := slices.Index(names, filing.FoldName(key)); i >= 0 {
				return i
			}
			return len(names)
		}
		slices.SortStableFunc(keys, func(a, b string) int { return rank(a) - rank(b) })
		for _, key := range keys {
			if link := findLink(v[key], names); link != "" {
				return link
			}
		}
	}
	return ""
}
