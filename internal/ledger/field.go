package ledger

import "strings"

// field is one column of a record: its name, and its value as both databases
// keep it, or the place that holds the value. text, number and flag make it of a
// value, textAt, numberAt and flagAt of a place, so that its SQL type follows
// from the type of its Go value.
type field struct {
	name string
	v    any // a string, an int64 or a binding
}

// record is one line of the table v of a statement. All records of a statement
// name the same fields in the same order.
type record []field

type integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8
}

func text[T ~string](name string, v T) field { return field{name, string(v)} }

func number[T integer](name string, v T) field { return field{name, int64(v)} }

// flag is a boolean, which both databases keep as 0 or 1.
func flag(name string, v bool) field { return field{name, boolInt(v)} }

// binding binds a field to where it is read to and written from. It is one
// pointer, so that a field of it costs no allocation.
type binding interface {
	value() any  // a string or an int64
	target() any // the pointer, for a scan
}

type (
	boundText[T ~string]   struct{ at *T }
	boundNumber[T integer] struct{ at *T }
	boundFlag              struct{ at *bool }
)

func (p boundText[T]) value() any   { return string(*p.at) }
func (p boundNumber[T]) value() any { return int64(*p.at) }
func (p boundFlag) value() any      { return boolInt(*p.at) }

func (p boundText[T]) target() any   { return p.at }
func (p boundNumber[T]) target() any { return p.at }
func (p boundFlag) target() any      { return p.at }

func textAt[T ~string](name string, at *T) field { return field{name, boundText[T]{at}} }

func numberAt[T integer](name string, at *T) field { return field{name, boundNumber[T]{at}} }

func flagAt(name string, at *bool) field { return field{name, boundFlag{at}} }

// value is the field's value: a string or an int64.
func (f field) value() any {
	if p, ok := f.v.(binding); ok {
		return p.value()
	}
	return f.v
}

func (f field) isText() bool {
	_, ok := f.value().(string)
	return ok
}

func (f field) sqlType() string {
	if f.isText() {
		return "text"
	}
	return "bigint"
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

// appendValues appends the arguments of a statement over this record alone.
func (r record) appendValues(args []any) []any {
	for _, f := range r {
		args = append(args, f.value())
	}
	return args
}

// targets are where a scan of the fields puts them, and the others after them.
func (r record) targets(others ...any) []any {
	all := make([]any, len(r), len(r)+len(others))
	for i, f := range r {
		all[i] = f.v.(binding).target()
	}
	return append(all, others...)
}

// arrays returns the records as one array per column. It panics if a record does not have
// the fields of the first.
func arrays(records []record) []any {
	all := make([]any, len(records[0]))
	for i, f := range records[0] {
		if f.isText() {
			all[i] = column[string](records, i)
		} else {
			all[i] = column[int64](records, i)
		}
	}
	return all
}

// column is the values of one field of all records.
func column[T string | int64](records []record, field int) []T {
	values := make([]T, len(records))
	for i, r := range records {
		values[i] = r[field].value().(T)
	}
	return values
}
