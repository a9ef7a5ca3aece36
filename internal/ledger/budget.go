package ledger

import (
	"context"
	"database/sql"
	"fmt"
)

// Where the book cannot pay for every ready row, those that have a priority go
// in its order, the earliest due first, up to the first that does not fit, and
// the others wait for funds. Rows without one go as they come: whatever the book
// can pay for. Rows in doubt come before all of them, and are never kept back.

// eligible are the ready rows that money alone could keep from being sent: those
// in doubt go whatever became of their batch, as the question is whether they
// were bought already.
const eligible = `FROM rows r JOIN batches b ON b.id = r.batch
	WHERE r.result = 'ready' AND b.open = 1 AND (r.doubt = 1 OR (b.paused = 0 AND b.canceled = 0 AND b.approval <> 'wanted'))`

// need is what a row would take from what is available. The cost of one in doubt
// is that of its whole order, with what is spent of it, until it came to wait for
// funds: that is by the cost of what is left.
const (
	need = `CASE WHEN r.cost > ` + paid + ` THEN r.cost - ` + paid + ` ELSE 0 END`
	paid = `(r.held + CASE WHEN r.doubt = 1 AND r.waits = '' THEN r.spent ELSE 0 END)`
)

// inTurn numbers rows in the order of their turn, those in doubt first, and adds
// up what they need. One in doubt or without a priority that nothing available
// can pay for is passed over.
const inTurn = `SELECT t.id, t.priority, t.doubt, t.waits, SUM(t.need) OVER (ORDER BY t.doubt DESC, t.priority, t.id) AS total
	FROM (SELECT r.id, r.priority, r.doubt, r.waits, ` + need + ` AS need ` + eligible + ` AND (r.waits = '' OR r.waits = 'funds')) AS t
	WHERE t.doubt = 0 AND t.priority <> 0 OR t.need <= $1`

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
			WHERE waits = '' AND id IN (SELECT id FROM (` + inTurn + `) AS q WHERE q.total > $1 AND q.waits = '' AND q.priority <> 0 AND q.doubt = 0)`,
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
// may go already. Those in doubt come before these, and wake for whatever can pay
// for them. Those without a priority wake all, for whoever of them can be paid.
func (g *groupWriter) wakeFunded() error {
	// However many wait, each of the two reads but the first of an index of its
	// own, whose condition stands in it.
	const waiting = `SELECT r.id, r.priority, r.doubt, ` + need + ` AS need ` + eligible + ` AND r.waits = 'funds'`
	_, err := g.tx.ExecContext(g.ctx, fmt.Sprintf(`UPDATE rows SET waits = '', message = '' WHERE waits = 'funds' AND id IN (
			SELECT q.id FROM (SELECT t.id, t.priority, t.doubt, SUM(t.need) OVER (ORDER BY t.doubt DESC, t.priority, t.id) AS total
				FROM (SELECT * FROM (%[1]s AND r.doubt <> 0) AS d WHERE d.need <= $2
					UNION ALL SELECT * FROM (%[1]s AND r.doubt = 0 AND r.waits <> '' ORDER BY r.priority, r.id LIMIT %[2]d) AS s) AS t) AS q
			WHERE q.total <= CASE WHEN q.doubt = 1 THEN $2 ELSE $1 END OR q.priority = 0)`, waiting, maxWoken),
		int64(min(g.spare, g.c.available())), int64(g.c.available()))
	if err != nil {
		return fmt.Errorf("wake rows that wait for funds: %w", err)
	}
	return nil
}
