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
		{`SELECT r.batch, COUNT(*) FROM rows r
			WHERE r.result IN ('invalid', 'rejected') AND ` + atRest + ` GROUP BY r.batch`,
			func(a *BatchAttention, n int) { a.Correct = n }},
		{`SELECT r.batch, COUNT(*) FROM rows r WHERE r.result = 'uncertain' GROUP BY r.batch`,
			func(a *BatchAttention, n int) { a.Uncertain = n }},
		{`SELECT r.batch, COUNT(*) FROM rows r WHERE r.waits = 'funds' AND r.waits <> '' GROUP BY r.batch`,
			func(a *BatchAttention, n int) { a.Short = n }},
		{`SELECT r.batch, COUNT(*) FROM rows r WHERE r.waits = '` + blockedOnApproval + `' AND r.waits <> '' GROUP BY r.batch`,
			func(a *BatchAttention, n int) { a.Again = n }},
		{`SELECT r.batch, COUNT(DISTINCT r.id) FROM items i JOIN rows r ON r.id = i.row
			WHERE i.exception <> 0 GROUP BY r.batch`,
			func(a *BatchAttention, n int) { a.Exceptions = n }},
	} {
		rows, err := l.read.QueryContext(ctx, q.query)
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
