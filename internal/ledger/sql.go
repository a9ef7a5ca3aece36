package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

func affected(done sql.Result, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	n, err := done.RowsAffected()
	return int(n), err
}

type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// each calls do for every row of a query's result. It takes what QueryContext
// returns.
func each(rows *sql.Rows, err error, do func(scan func(...any) error) error) error {
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

// collect returns what scan reads from every row of a query's result; nil for a
// result without rows. It takes what QueryContext returns.
func collect[T any](rows *sql.Rows, err error, scan func(scan func(...any) error) (T, error)) ([]T, error) {
	var all []T
	err = each(rows, err, func(row func(...any) error) error {
		v, err := scan(row)
		all = append(all, v)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// scanOne reads a row of one column.
func scanOne[T any](scan func(...any) error) (v T, err error) {
	err = scan(&v)
	return v, err
}

type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// list writes the placeholders of an IN and its arguments, numbered from
// beyond the arguments that come before.
func list[T any](values []T, before ...any) (string, []any) {
	var b strings.Builder
	args := slices.Clone(before)
	for i, v := range values {
		if i > 0 {
			b.WriteByte(',')
		}
		args = append(args, v)
		fmt.Fprintf(&b, "$%d", len(args))
	}
	return b.String(), args
}
