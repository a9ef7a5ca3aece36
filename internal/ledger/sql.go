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

// drain hands every line of an answer to a function.
func drain(rows *sql.Rows, err error) func(each func(scan func(...any) error) error) error {
	return func(each func(scan func(...any) error) error) error {
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if err := each(rows.Scan); err != nil {
				return err
			}
		}
		return rows.Err()
	}
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
