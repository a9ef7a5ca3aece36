package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"time"
)

// List reads a query's rows into values of a struct. A column is stored in the field of its name:
// created_at in CreatedAt, and "cost.amount" in Amount within Cost. A value that is not a struct
// takes the only column. Errors begin with what.
func List[T any](ctx context.Context, q Lister, what, query string, args ...any) ([]T, error) {
	var all []T
	for v, err := range Stream[T](ctx, q, what, query, args...) {
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// Stream is List for results that need not be in memory at once.
func Stream[T any](ctx context.Context, q Lister, what, query string, args ...any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		rows, err := q.QueryContext(ctx, query, args...)
		err = eachInto(rows, err, func(v T) bool { return yield(v, nil) })
		if err != nil {
			var none T
			yield(none, Wrap(what, err))
		}
	}
}

// eachInto calls do for every row of a query's result, until do returns false. It takes the results
// of QueryContext.
func eachInto[T any](rows *sql.Rows, err error, do func(T) bool) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	var v T
	at := reflect.ValueOf(&v).Elem()
	targets := targetsOf(at, columns)
	for rows.Next() {
		at.SetZero()
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		if !do(v) {
			return nil
		}
	}
	return rows.Err()
}

// Lister is the part of a database or a transaction that List uses.
type Lister interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Find reads a query's first row as List does. If there is no row, it returns the error none, or
// the zero value if none is nil.
func Find[T any](ctx context.Context, q Lister, none error, what, query string, args ...any) (first T, err error) {
	all, err := List[T](ctx, q, what, query, args...)
	if len(all) > 0 {
		return all[0], err
	}
	if err == nil {
		err = Wrap(what, none)
	}
	return first, err
}

// ExecEach runs statements with the same single argument.
func ExecEach(ctx context.Context, tx Execer, arg any, statements ...string) error {
	for _, s := range statements {
		if _, err := tx.ExecContext(ctx, s, arg); err != nil {
			return err
		}
	}
	return nil
}

// targetsOf returns the scan targets of the columns. It panics if a column has no field.
func targetsOf(v reflect.Value, columns []string) []any {
	if v.Kind() != reflect.Struct {
		return []any{v.Addr().Interface()}
	}
	targets := make([]any, len(columns))
	for i, column := range columns {
		field := v
		for name := range strings.SplitSeq(strings.ReplaceAll(column, "_", ""), ".") {
			field = field.FieldByNameFunc(func(other string) bool { return strings.EqualFold(name, other) })
		}
		if !field.IsValid() {
			panic(fmt.Sprintf("%s has no field for the column %s", v.Type(), column))
		}
		targets[i] = targetOf(field)
	}
	return targets
}

func targetOf(field reflect.Value) any {
	switch at := field.Addr().Interface().(type) {
	case *time.Time:
		return (*millis)(at)
	case *json.RawMessage:
		return (*[]byte)(at)
	case *[]byte:
		return at
	}
	switch field.Kind() {
	case reflect.Slice, reflect.Map, reflect.Pointer, reflect.Struct:
		return asDocument{field}
	}
	return field.Addr().Interface()
}

// millis scans a time from Unix milliseconds.
type millis time.Time

// Scan implements sql.Scanner.
func (m *millis) Scan(value any) error {
	ms, ok := value.(int64)
	if !ok {
		return fmt.Errorf("%v is no time", value)
	}
	*m = millis(FromMillis(ms))
	return nil
}

// asDocument scans a list, a map, a struct or a pointer from JSON. An empty text leaves it empty. A
// list of words may also be stored as words separated by blanks or commas.
type asDocument struct{ field reflect.Value }

// Scan implements sql.Scanner.
func (d asDocument) Scan(value any) error {
	var text []byte
	switch v := value.(type) {
	case nil:
	case string:
		text = []byte(v)
	case []byte:
		text = v
	default:
		return fmt.Errorf("%v is no document", value)
	}
	if len(text) == 0 {
		return nil
	}
	isWords := d.field.Kind() == reflect.Slice && d.field.Type().Elem().Kind() == reflect.String
	if string(text) == "null" || text[0] == '[' || !isWords {
		return json.Unmarshal(text, d.field.Addr().Interface())
	}
	for word := range strings.FieldsFuncSeq(string(text), func(r rune) bool { return r == ' ' || r == ',' }) {
		d.field.Set(reflect.Append(d.field, reflect.ValueOf(word).Convert(d.field.Type().Elem())))
	}
	return nil
}
