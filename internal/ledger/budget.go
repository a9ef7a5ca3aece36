package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"bulkfiling/internal/money"
)

// Where the book cannot pay for every ready row, those that have a priority go
// in its order, the earliest due first, up to the first that does not fit, and
// the others wait for funds. Rows without one go as they come: whatever the book
// can pay for. Rows in doubt come before all of them, and are never kept back.
//
// Who waits follows from the state alone: what is available, what the rows need
// that may go already, and who waits, in due order.

// eligible are the ready rows that money alone could keep from being sent.
const eligible = `FROM rows r JOIN batches b ON b.id = r.batch
	WHERE r.result = 'ready' AND b.open = 1 AND b.paused = 0 AND b.canceled = 0 AND b.approval <> 'wanted'`

// need is what a row would take from what is available.
const need = `CASE WHEN r.cost > r.held THEN r.cost - r.held ELSE 0 END`

// inTurn numbers rows in the order of their turn, those in doubt first, and adds
// up what they need. One in doubt or without a priority that nothing available
// can pay for is passed over.
const inTurn = `SELECT t.id, t.priority, t.doubt, t.waits,
		SUM(t.need) OVER (ORDER BY t.doubt DESC, t.priority, t.id) AS total
	FROM (SELECT r.id, r.priority, r.doubt, r.waits, ` + need + ` AS need ` + eligible +
	` AND (r.waits = '' OR r.waits = 'funds')) AS t
	WHERE t.doubt = 0 AND t.priority <> 0 OR t.need <= $1`

// ration decides which ready rows the book can pay for, in the order of their
// priority, and lets the others wait for funds: whenever rows may go that could
// not before, and in the same commit, so that nothing goes out of its turn. Only
// rows for which it makes a difference are touched. Where no deposit was ever
// declared, none waits.
func (db *database) ration(ctx context.Context, tx *sql.Tx, c *control) error {
	var needed int64
	if err := tx.QueryRowContext(ctx,
		`SELECT CAST(COALESCE(SUM(`+need+`), 0) AS BIGINT) `+eligible+
			` AND (r.waits = '' OR r.waits = 'funds')`).Scan(&needed); err != nil {
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
		`UPDATE rows SET waits = '', message = '' WHERE waits = 'funds' AND id IN (SELECT id FROM (` + inTurn +
			`) AS q WHERE q.total <= $1 AND q.waits = 'funds')`,
		`UPDATE rows
			SET waits = 'funds',
				message = 'insufficient funds: what is available pays for rows that are due earlier, or came first'
			WHERE waits = '' AND id IN (SELECT id FROM (` + inTurn +
			`) AS q WHERE q.total > $1 AND q.waits = '' AND q.priority <> 0 AND q.doubt = 0)`,
	} {
		if _, err := tx.ExecContext(ctx, query, available); err != nil {
			return fmt.Errorf("ration the funds: %w", err)
		}
	}
	return db.unblockFunded(ctx, tx, c)
}

// maxWoken bounds how many rows are woken at once, and of how many that may go
// already it is asked what they need: where there are more, they have their turn
// first, and each of them that is sent, or refused, asks again.
const maxWoken = 1000

// unblockFunded wakes the rows that wait for funds and that the book can pay for.
// Those with a priority leave what the rows need that may go already: these are
// due earlier.
func (db *database) unblockFunded(ctx context.Context, tx *sql.Tx, c *control) error {
	available := c.available()
	if !c.declared || available < 0 {
		available = 0
	}
	var awake int
	var needed money.Cents
	err := tx.QueryRowContext(ctx,
		fmt.Sprintf(
			`SELECT COUNT(*), CAST(COALESCE(SUM(q.need), 0) AS BIGINT)
				FROM (SELECT %s AS need %s AND r.waits = '' LIMIT %d) AS q`, need, eligible, maxWoken+1)).Scan(&awake,
		&needed)
	if err != nil {
		return fmt.Errorf("sum up what the rows need that may go: %w", err)
	}
	free := max(available-needed, 0) // for rows with a priority
	if awake > maxWoken {
		free = 0
	}
	// Each part reads the first of an index of its own, whose condition stands in it.
	const waiting = `SELECT r.id, r.priority, r.doubt, ` + need + ` AS need ` + eligible +
		` AND r.waits = 'funds' AND r.waits <> ''`
	var woken []record
	blocked := false
	rows, err := tx.QueryContext(ctx, fmt.Sprintf(`SELECT q.id, q.priority, q.doubt, q.need
		FROM ( SELECT * FROM (%[1]s AND r.doubt <> 0) AS d UNION ALL SELECT *
			FROM (%[1]s AND r.doubt = 0 AND r.priority <> 0 ORDER BY r.priority, r.id LIMIT %[2]d) AS p
			UNION ALL SELECT *
			FROM (%[1]s AND r.doubt = 0 AND r.priority = 0 AND r.cost <= $1 ORDER BY r.cost, r.id
			LIMIT %[2]d) AS n) AS q
		ORDER BY q.doubt DESC, q.priority, q.id`, waiting, maxWoken),
		int64(available))
	err = each(rows, err, func(scan func(...any) error) error {
		var id, priority int64
		var doubt bool
		var need money.Cents
		if err := scan(&id, &priority, &doubt, &need); err != nil {
			return err
		}
		due := !doubt && priority != 0
		if need > available || due && (blocked || need > free) {
			blocked = blocked || due
			return nil
		}
		available, free = available-need, max(free-need, 0)
		woken = append(woken, record{number("id", id)})
		return nil
	})
	if err != nil {
		return fmt.Errorf("look for rows that wait for funds: %w", err)
	}
	if err := db.exec(ctx, tx, `UPDATE rows SET waits = '', message = '' {{v}} WHERE rows.id = v.id`,
		woken); err != nil {
		return fmt.Errorf("wake rows that wait for funds: %w", err)
	}
	return nil
}
