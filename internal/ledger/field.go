package ledger

import (
	"fmt"
	"strings"
)

// field is one column of a record: its name, and its value as both databases
// keep it. text, number and flag make it, so that its SQL type follows from the
// type of its Go value.
type field struct {
	name   string
	isText bool
	text   string
	number int64
	at     any // where a scan puts the column; nil for one that is only written
}

// record is one line of the table v of a statement. All records of a statement
// name the same fields in the same order.
type record []field

type integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8
}

func text[T ~string](name string, v T) field { return field{name: name, isText: true, text: string(v)} }

func number[T integer](name string, v T) field { return field{name: name, number: int64(v)} }

// flag is a boolean, which both databases keep as 0 or 1.
func flag(name string, v bool) field { return field{name: name, number: boolInt(v)} }

// textAt, numberAt and flagAt make fields that are read as well as written.
func textAt[T ~string](name string, at *T) field {
	return field{name: name, isText: true, text: string(*at), at: at}
}

func numberAt[T integer](name string, at *T) field {
	return field{name: name, number: int64(*at), at: at}
}

func flagAt(name string, at *bool) field { return field{name: name, number: boolInt(*at), at: at} }

func (f field) sqlType() string {
	if f.isText {
		return "text"
	}
	return "bigint"
}

func (f field) value() any {
	if f.isText {
		return f.text
	}
	return f.number
}

// names lists the names with a prefix each, as a SELECT has them.
func (r record) names(prefix string) string {
	var b strings.Builder
	for i, f := range r {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(prefix)
		b.WriteString(f.name)
	}
	return b.String()
}

// assignments sets every column but the first, which is the key, to that of v.
func (r record) assignments() string {
	var b strings.Builder
	for i, f := range r[1:] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(f.name + " = v." + f.name)
	}
	return b.String()
}

// values are the arguments of a statement over this record alone.
func (r record) values() []any {
	all := make([]any, len(r))
	for i, f := range r {
		all[i] = f.value()
	}
	return all
}

// targets are where a scan of the fields puts them.
func (r record) targets() []any {
	all := make([]any, len(r))
	for i, f := range r {
		all[i] = f.at
	}
	return all
}

// arrays returns the records as one array per column. It fails where a record
// does not have the fields of the first.
func arrays(records []record) ([]any, error) {
	first := records[0]
	for _, r := range records {
		if len(r) != len(first) {
			return nil, fmt.Errorf("a record of %d fields among those of %d", len(r), len(first))
		}
		for i, f := range r {
			if f.name != first[i].name || f.isText != first[i].isText {
				return nil, fmt.Errorf("field %s of a record where others have %s", f.name, first[i].name)
			}
		}
	}
	all := make([]any, len(first))
	for i, f := range first {
		if f.isText {
			all[i] = column(records, func(r record) string { return r[i].text })
		} else {
			all[i] = column(records, func(r record) int64 { return r[i].number })
		}
	}
	return all, nil
}

func column[T any](records []record, of func(record) T) []T {
	values := make([]T, len(records))
	for i, r := range records {
		values[i] = of(r)
	}
	return values
}
