package ledger

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

// list reads a query's rows into values of a struct. A column goes to the field of its
// name: created_at to CreatedAt, and "cost.amount" to Amount within Cost. A value that is
// no struct takes the only column. what begins the errors.
func list[T any](ctx context.Context, q lister, what, query string, args ...any) ([]T, error) {
	var all []T
	for v, err := range stream[T](ctx, q, what, query, args...) {
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// stream is list for results that need not be in memory at once.
func stream[T any](ctx context.Context, q lister, what, query string, args ...any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		rows, err := q.QueryContext(ctx, query, args...)
		err = eachInto(rows, err, func(v T) bool { return yield(v, nil) })
		if err != nil {
			var none T
			yield(none, wrap(what, err))
		}
	}
}

// eachInto calls do for every row of a query's result, until do returns false. It takes what
// QueryContext returns.
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

// lister is what list needs of a database or a transaction.
type lister interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// find reads a query's first row as list does. It returns none if there is no row: nil for
// the zero value.
func find[T any](ctx context.Context, q lister, none error, what, query string, args ...any) (first T, err error) {
	all, err := list[T](ctx, q, what, query, args...)
	if len(all) > 0 {
		return all[0], err
	}
	if err == nil {
		err = wrap(what, none)
	}
	return first, err
}

// execEach runs statements with one argument.
func execEach(ctx context.Context, tx execer, arg any, statements ...string) error {
	for _, s := range statements {
		if _, err := tx.ExecContext(ctx, s, arg); err != nil {
			return err
		}
	}
	return nil
}

// targetsOf are where a scan of the columns puts them. It panics if a column has no field.
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
	*m = millis(fromMillis(ms))
	return nil
}

// asDocument scans a list, a map, a struct or a pointer from JSON, or from nothing if it is empty.
// A list of words may also be stored as these words, with blanks or commas between them.
type asDocument struct{ field reflect.Value }

// Scan implements sql.Scanner.
func (d asDocument) Scan(value any) error {
	text := fmt.Sprint(value)
	if raw, ok := value.([]byte); ok {
		text = string(raw)
	}
	if text == "null" || strings.HasPrefix(text, "[") || strings.HasPrefix(text, "{") {
		return json.Unmarshal([]byte(text), d.field.Addr().Interface())
	}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ' ' || r == ',' }) {
		d.field.Set(reflect.Append(d.field, reflect.ValueOf(word).Convert(d.field.Type().Elem())))
	}
	return nil
}
