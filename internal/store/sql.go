package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// Affected returns the number of rows that a statement changed. It takes the results of ExecContext.
func Affected(done sql.Result, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	n, err := done.RowsAffected()
	return int(n), err
}

// RequireChange returns a check of an executed statement that returns the error none if no row
// changed.
func RequireChange(none error) func(sql.Result, error) error {
	return func(done sql.Result, err error) error {
		n, err := Affected(done, err)
		if err == nil && n == 0 {
			return none
		}
		return err
	}
}

// OrElse replaces the error of a query that found no row with the error none. It returns other
// errors unchanged.
func OrElse(err, none error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return none
	}
	return err
}

// Querier is the part of a database or a transaction that reads.
type Querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Each calls do for every row of a query's result. It takes the results of QueryContext.
func Each(rows *sql.Rows, err error, do func(scan func(...any) error) error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := do(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Execer is the part of a database or a transaction that writes.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Wrap returns an error that begins with what, or nil if err is nil.
func Wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// Among returns the condition that a column has one of some values, and the arguments, which follow
// the arguments in before. The values are a single argument, so that the text of the query is the
// same for any number of them and is parsed once.
func Among[T ~int64 | ~string](d Dialect, values []T, before ...any) (string, []any) {
	if d.IsServer {
		return fmt.Sprintf("= ANY($%d)", len(before)+1), append(slices.Clone(before), plain(values))
	}
	text, err := json.Marshal(plain(values))
	if err != nil {
		// Numbers and texts can always be encoded.
		panic(err)
	}
	return fmt.Sprintf("IN (SELECT value FROM json_each($%d))", len(before)+1),
		append(slices.Clone(before), string(text))
}

// plain returns values in a type that the database's driver supports.
func plain[T ~int64 | ~string](values []T) any {
	if reflect.TypeFor[T]().Kind() == reflect.Int64 {
		numbers := make([]int64, len(values))
		for i, v := range values {
			numbers[i] = reflect.ValueOf(v).Int()
		}
		return numbers
	}
	texts := make([]string, len(values))
	for i, v := range values {
		// A text inside JSON is not cleaned later.
		texts[i] = Storable(reflect.ValueOf(v).String())
	}
	return texts
}
