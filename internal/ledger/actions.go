package ledger

import (
	"context"
	"fmt"
)

// BatchAttention is what of an open batch waits for a person or for funds, in rows.
type BatchAttention struct {
	Correct    int // invalid or rejected: a correction can help
	Uncertain  int
	Short      int // ready, and the balance does not cover them
	Again      int // ready, and their cost needs an approval
	Exceptions int // placed, with a filing that stopped
}

// ListAttention counts what of each open batch needs action; batches in which
// nothing does are left out. Each count is read from an index that has only rows of
// its kind, so that it takes no longer for the rows that are done.
func (l *Ledger) ListAttention(ctx context.Context) (map[string]BatchAttention, error) {
	all := make(map[string]BatchAttention)
	add := func(batch string, count func(*BatchAttention)) {
		a := all[batch]
		count(&a)
		all[batch] = a
	}
	for _, q := range []struct {
		query string
		count func(a *BatchAttention, n int)
	}{
		{`SELECT r.batch FROM rows r
			WHERE r.result IN ('invalid', 'rejected') AND ` + atRest,
			func(a *BatchAttention, n int) { a.Correct = n }},
		{`SELECT r.batch FROM rows r WHERE r.result = 'uncertain'`,
			func(a *BatchAttention, n int) { a.Uncertain = n }},
		{`SELECT r.batch FROM rows r WHERE r.waits = 'funds' AND r.waits <> ''`,
			func(a *BatchAttention, n int) { a.Short = n }},
		{`SELECT r.batch FROM rows r WHERE r.waits = '` + blockedOnApproval + `' AND r.waits <> ''`,
			func(a *BatchAttention, n int) { a.Again = n }},
		{`SELECT r.batch FROM rows r
			WHERE r.id IN (SELECT i.row FROM items i WHERE i.exception <> 0)`,
			func(a *BatchAttention, n int) { a.Exceptions = n }},
	} {
		// The limit keeps SQLite from reading all rows in the order of their batches.
		rows, err := l.read.QueryContext(ctx,
			`SELECT batch, COUNT(*) FROM (`+q.query+` LIMIT 1000000000) AS found GROUP BY batch`)
		err = each(rows, err, func(scan func(...any) error) error {
			var batch string
			var n int
			err := scan(&batch, &n)
			add(batch, func(a *BatchAttention) { q.count(a, n) })
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("count what needs action: %w", err)
		}
	}
	return all, nil
}
