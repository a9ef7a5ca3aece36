package ledger

import (
	"context"
	"encoding/json"
	"fmt"

	"bulkfiling/internal/filing"
)

// RememberCompany keeps what a look-up said, under the reference that was asked.
func (l *Ledger) RememberCompany(ctx context.Context, ref string, c filing.Company) error {
	return l.remember(ctx, "companies", ref, c)
}

// RememberUser keeps what a look-up said, under the reference that was asked.
func (l *Ledger) RememberUser(ctx context.Context, ref string, u filing.User) error {
	return l.remember(ctx, "users", ref, u)
}

func (l *Ledger) remember(ctx context.Context, table, ref string, record any) error {
	f, err := newFact(table, ref, record, millis(l.now()))
	if err != nil {
		return err
	}
	if err := l.submit(ctx, &transition{fact: f}); err != nil {
		return fmt.Errorf("remember %s of %s: %w", ref, table, err)
	}
	return nil
}

func newFact(table, ref string, record any, at int64) (*fact, error) {
	body, err := json.Marshal(record)
	if err != nil {
		return nil, fmt.Errorf("remember %s of %s: %w", ref, table, err)
	}
	return &fact{table: table, ref: ref, record: string(body), at: at}, nil
}

// Companies recalls the companies that were looked up before, by reference.
func (l *Ledger) Companies(ctx context.Context, refs []string) (map[string]filing.Company, error) {
	return recall[filing.Company](ctx, l, "companies", refs)
}

// Users recalls the users that were looked up before, by reference.
func (l *Ledger) Users(ctx context.Context, refs []string) (map[string]filing.User, error) {
	return recall[filing.User](ctx, l, "users", refs)
}

func recall[T any](ctx context.Context, l *Ledger, table string, refs []string) (map[string]T, error) {
	known := make(map[string]T, len(refs))
	if len(refs) == 0 {
		return known, nil
	}
	in, args := list(refs)
	rows, err := l.read.QueryContext(ctx, `SELECT ref, record FROM `+table+` WHERE ref IN (`+in+`)`, args...)
	if err != nil {
		return nil, fmt.Errorf("recall %s: %w", table, err)
	}
	defer rows.Close()
	for rows.Next() {
		var ref, record string
		if err := rows.Scan(&ref, &record); err != nil {
			return nil, fmt.Errorf("recall %s: %w", table, err)
		}
		var v T
		if err := json.Unmarshal([]byte(record), &v); err != nil {
			return nil, fmt.Errorf("recall %s of %s: %w", ref, table, err)
		}
		known[ref] = v
	}
	return known, rows.Err()
}
