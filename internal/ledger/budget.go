package ledger

import (
	"context"
	"database/sql"
	"fmt"
)

// Where the book cannot pay for every ready row, those that have a priority go
// in its order, the earliest due first, up to the first that does not fit, and
// the others wait for funds. Rows without one go as they come: whatever the book
// can pay for.

// eligible are the ready rows that money alone could keep from being sent.
const eligible = `FROM rows r JOIN batches b ON b.id = r.batch
	WHERE r.result = 'ready' AND r.doubt = 0 AND b.open = 1 AND b.paused = 0 AND b.canceled = 0 AND b.approval <> 'wanted'`

// need is what a row would take from what is available.
const need = `CASE WHEN r.cost > r.held THEN r.cost - r.held ELSE 0 END`

// inTurn numbers rows in the order of their turn and adds up what they need. A
// row without a priority that nothing available can pay for is passed over.
const inTurn = `SELECT t.id, t.priority, t.waits, SUM(t.need) OVER (ORDER BY t.priority, t.id) AS total
	FROM (SELECT r.id, r.priority, r.waits, ` + need + ` AS need ` + eligible + ` AND (r.waits = '' OR r.waits = 'funds')) AS t
	WHERE t.priority <> 0 OR t.need <= $1`

// ration decides which ready rows the book can pay for, in the order of their
// priority, and lets the others wait for funds: whenever rows may go that could
// not before, and in the same commit, so that nothing goes out of its turn. Only
// rows for which it makes a difference are touched. Where no deposit was ever
// declared, none waits.
func (l *Ledger) ration(ctx context.Context, tx *sql.Tx, c *control) error {
	var needed int64
	if err := tx.QueryRowContext(ctx, `SELECT CAST(COALESCE(SUM(`+need+`), 0) AS BIGINT) `+eligible+` AND (r.waits = '' OR r.waits = 'funds')`).Scan(&needed); err != nil {
		return fmt.Errorf("sum up what the ready rows need: %w", err)
	}
	available := int64(c.available())
	if !c.declared || needed <= available {
		if _, err := tx.ExecContext(ctx, `UPDATE rows SET waits = '', message = '' WHERE waits = 'funds'`); err != nil {
			return fmt.Errorf("wake the rows that wait for funds: %w", err)
		}
		return nil
	}
	for _, query := range []string{
		`UPDATE rows SET waits = '', message = '' WHERE waits = 'funds' AND id IN (SELECT id FROM (` + inTurn + `) AS q WHERE q.total <= $1 AND q.waits = 'funds')`,
		`UPDATE rows SET waits = 'funds', message = 'waits for funds: what is available pays for others that are due earlier, or came first'
			WHERE waits = '' AND id IN (SELECT id FROM (` + inTurn + `) AS q WHERE q.total > $1 AND q.waits = '' AND q.priority <> 0)`,
	} {
		if _, err := tx.ExecContext(ctx, query, available); err != nil {
			return fmt.Errorf("ration the funds: %w", err)
		}
	}
	return nil
}

// maxWoken bounds how many rows money that was set free wakes at once.
const maxWoken = 1000

// wakeFunded wakes rows that waited for funds, in their order, as far as the
// money goes that was set free: what else is available is meant for rows that
// may go already. Those without a priority wake all, for whoever of them can be
// paid.
func (g *groupWriter) wakeFunded() error {
	_, err := g.tx.ExecContext(g.ctx, fmt.Sprintf(`UPDATE rows SET waits = '', message = '' WHERE waits = 'funds' AND id IN (
			SELECT q.id FROM (SELECT t.id, t.priority, SUM(t.need) OVER (ORDER BY t.priority, t.id) AS total
				FROM (SELECT r.id, r.priority, %s AS need %s AND r.waits = 'funds' ORDER BY r.priority, r.id LIMIT %d) AS t) AS q
			WHERE q.total <= $1 OR q.priority = 0)`, need, eligible, maxWoken), int64(min(g.spare, g.c.available())))
	if err != nil {
		return fmt.Errorf("wake rows that wait for funds: %w", err)
	}
	return nil
}
