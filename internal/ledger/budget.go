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

// budgeted numbers rows in the order of their turn and adds their costs up.
const budgeted = `SELECT t.id, t.priority, SUM(t.need) OVER (ORDER BY t.priority, t.id) AS total FROM (%s) AS t`

const readyNeeds = `SELECT r.id, r.priority, CASE WHEN r.cost > r.held THEN r.cost - r.held ELSE 0 END AS need
	FROM rows r JOIN batches b ON b.id = r.batch
	WHERE r.result = 'ready' AND r.doubt = 0 AND (r.waits = '' OR r.waits = 'funds') AND b.open = 1 AND b.paused = 0 AND b.canceled = 0 AND b.approval <> 'wanted'`

// ration decides which ready rows the book can pay for, in the order of their
// priority, and lets the others wait for funds: whenever rows may go that could
// not before, and in the same commit, so that nothing goes out of its turn. It
// does nothing where no deposit was ever declared.
func (l *Ledger) ration(ctx context.Context, tx *sql.Tx, c *control) error {
	if !c.declared {
		return nil
	}
	available := int64(c.available())
	var needed int64
	if err := tx.QueryRowContext(ctx, `SELECT CAST(COALESCE(SUM(need), 0) AS BIGINT) FROM (`+readyNeeds+`) AS t`).Scan(&needed); err != nil {
		return fmt.Errorf("sum up what the ready rows need: %w", err)
	}
	if needed <= available {
		return nil
	}
	_, err := tx.ExecContext(ctx, `UPDATE rows SET waits = $1, message = 'waits for funds: what is available pays for others that are due earlier, or came first'
		WHERE id IN (SELECT id FROM (`+fmt.Sprintf(budgeted, readyNeeds)+`) AS q WHERE q.total > $2) AND waits = '' AND priority <> 0`, waitsForFunds, available)
	if err != nil {
		return fmt.Errorf("ration the funds: %w", err)
	}
	return nil
}

// maxWoken bounds how many rows money that was set free wakes at once.
const maxWoken = 1000

// wakeFunded wakes rows that waited for funds, in their order, as far as the
// money goes.
func (g *groupWriter) wakeFunded() error {
	waiting := fmt.Sprintf(`SELECT id, priority, CASE WHEN cost > held THEN cost - held ELSE 0 END AS need FROM rows WHERE waits = 'funds' ORDER BY priority, id LIMIT %d`, maxWoken)
	_, err := g.tx.ExecContext(g.ctx, `UPDATE rows SET waits = '', message = '' WHERE id IN (SELECT id FROM (`+fmt.Sprintf(budgeted, waiting)+`) AS q WHERE q.total <= $1 OR q.priority = 0) AND waits = 'funds'`,
		int64(g.c.available()))
	if err != nil {
		return fmt.Errorf("wake rows that wait for funds: %w", err)
	}
	return nil
}
