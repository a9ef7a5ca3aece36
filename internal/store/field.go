package store

import (
	"slices"
	"strings"
)

// Field is one column of a record. It has the column's name and either its value, in the form that
// both databases store, or a pointer to its value. Use Text, Number and Flag for a value, and
// TextAt, NumberAt and FlagAt for a pointer. The SQL type of the column follows from the Go type of
// the value.
type Field struct {
	name string
	// v is a string, an int64 or a binding.
	v any
}

// Record is one line of the table v of a statement. All records of a statement name the same fields
// in the same order.
type Record []Field

type integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8
}

// Text returns the field of a text.
func Text[T ~string](name string, v T) Field { return Field{name, string(v)} }

// Number returns the field of a number.
func Number[T integer](name string, v T) Field { return Field{name, int64(v)} }

// Flag returns the field of a boolean, which both databases store as 0 or 1.
func Flag(name string, v bool) Field { return Field{name, BoolInt(v)} }

// binding is a pointer to a field's value, which is read and written through it. It is a single
// pointer, so that storing it in a field does not allocate.
type binding interface {
	// value returns the value as a string or an int64.
	value() any
	// target returns the pointer for a scan.
	target() any
}

type (
	boundText[T ~string]   struct{ at *T }
	boundNumber[T integer] struct{ at *T }
	boundFlag              struct{ at *bool }
)

func (p boundText[T]) value() any   { return string(*p.at) }
func (p boundNumber[T]) value() any { return int64(*p.at) }
func (p boundFlag) value() any      { return BoolInt(*p.at) }

func (p boundText[T]) target() any   { return p.at }
func (p boundNumber[T]) target() any { return p.at }
func (p boundFlag) target() any      { return p.at }

// TextAt returns the field of a text that is read and written through a pointer.
func TextAt[T ~string](name string, at *T) Field { return Field{name, boundText[T]{at}} }

// NumberAt returns the field of a number that is read and written through a pointer.
func NumberAt[T integer](name string, at *T) Field { return Field{name, boundNumber[T]{at}} }

// FlagAt returns the field of a boolean that is read and written through a pointer.
func FlagAt(name string, at *bool) Field { return Field{name, boundFlag{at}} }

// Value returns the field's value, a string or an int64.
func (f Field) Value() any {
	if p, ok := f.v.(binding); ok {
		return p.value()
	}
	return f.v
}

func (f Field) isText() bool {
	_, ok := f.Value().(string)
	return ok
}

func (f Field) sqlType() string {
	if f.isText() {
		return "text"
	}
	return "bigint"
}

// index returns the place of a column of v. It panics if no field has the column.
func (r Record) index(column string) int {
	at := slices.IndexFunc(r, func(f Field) bool { return "v."+f.name == column })
	if at < 0 {
		panic("a statement over records without the field " + column)
	}
	return at
}

// Names lists the column names, each with the prefix, for a SELECT.
func (r Record) Names(prefix string) string {
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

// Assignments sets every column except the first, which is the key, to the column of v.
func (r Record) Assignments() string {
	var b strings.Builder
	for i, f := range r[1:] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(f.name + " = v." + f.name)
	}
	return b.String()
}

// AppendValues appends the arguments of a statement that has this record only.
func (r Record) AppendValues(args []any) []any {
	for _, f := range r {
		args = append(args, f.Value())
	}
	return args
}

// Targets returns the scan targets of the fields, followed by others.
func (r Record) Targets(others ...any) []any {
	all := make([]any, len(r), len(r)+len(others))
	for i, f := range r {
		all[i] = f.v.(binding).target()
	}
	return append(all, others...)
}

// arrays returns the records as one array per column. It panics if a record does not have the
// fields of the first.
func arrays(records []Record) []any {
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

// column returns the values of one field of all records.
func column[T string | int64](records []Record, field int) []T {
	values := make([]T, len(records))
	for i, r := range records {
		values[i] = r[field].Value().(T)
	}
	return values
}
