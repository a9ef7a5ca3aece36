package ledger

import (
	"context"
	"fmt"

	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/balance"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// If the available funds do not cover every ready row, rows with a priority are sent in its order,
// the earliest due first, up to the first row that does not fit, and the others wait for funds.
// Rows without a priority are sent as they come, as far as the funds reach. Uncertain rows precede
// all of them and never wait.
//
// The waiting rows follow from the state alone: from the available funds, the needs of the
// unblocked rows, and the blocked rows in due order.

// eligible selects the ready rows that only funds could block.
const eligible = `FROM rows r JOIN batches b ON b.id = r.batch
	WHERE r.result = 'ready' AND ` + sending

// need is the amount that a row would take from the available funds.
const need = `CASE WHEN r.cost > r.reserved THEN r.cost - r.reserved ELSE 0 END`

// inTurn sums up the needs of rows in the order in which they are sent, uncertain rows first. It
// leaves out rows that need more than is available, unless they have a priority and are not
// uncertain.
const inTurn = `SELECT t.id, t.priority, t.uncertain, t.blocked_on,
		SUM(t.need) OVER (ORDER BY t.uncertain DESC, t.priority, t.id) AS total
	FROM (SELECT r.id, r.priority, r.uncertain, r.blocked_on, ` + need + ` AS need ` + eligible +
	` AND (r.blocked_on = '' OR r.blocked_on = 'funds')) AS t
	WHERE t.uncertain = 0 AND t.priority <> 0 OR t.need <= $1`

// AllocateFunds decides which ready rows the available funds cover, in the order of their priority,
// and blocks the others. It runs whenever rows become sendable, in the same commit, so that no row
// is sent out of turn. It updates only rows whose state changes. Without a recorded deposit no row
// waits.
func (tx *Tx) AllocateFunds(ctx context.Context) error {
	var needed int64
	if err := tx.QueryRowContext(ctx,
		`SELECT CAST(COALESCE(SUM(`+need+`), 0) AS BIGINT) `+eligible+
			` AND (r.blocked_on = '' OR r.blocked_on = 'funds')`).Scan(&needed); err != nil {
		return fmt.Errorf("sum up what the ready rows need: %w", err)
	}
	available := int64(tx.control.available())
	if !tx.control.declared || needed <= available {
		if _, err := tx.ExecContext(ctx,
			`UPDATE rows SET blocked_on = '', message = '' WHERE blocked_on = 'funds'`); err != nil {
			return fmt.Errorf("unblock the rows that wait for funds: %w", err)
		}
		return nil
	}
	for _, query := range []string{
		`UPDATE rows SET blocked_on = '', message = ''
			WHERE blocked_on = 'funds' AND id IN (SELECT id FROM (` + inTurn +
			`) AS q WHERE q.total <= $1 AND q.blocked_on = 'funds')`,
		`UPDATE rows
			SET blocked_on = 'funds',
				message = 'insufficient funds: what is available pays for rows that go first'
			WHERE blocked_on = '' AND id IN (SELECT id FROM (` + inTurn +
			`) AS q WHERE q.total > $1 AND q.blocked_on = '' AND q.priority <> 0 AND q.uncertain = 0)`,
	} {
		if _, err := tx.ExecContext(ctx, query, available); err != nil {
			return fmt.Errorf("allocate the funds: %w", err)
		}
	}
	return tx.unblockFunded(ctx)
}

// maxUnblocked limits the number of rows that are unblocked at once, and the number of unblocked
// rows that are summed up. If there are more, these rows go first, and each row that is sent or
// refused unblocks others.
const maxUnblocked = 1000

// unblockFunded unblocks the rows that wait for funds that are available now. Rows with a priority
// leave the amount that the unblocked rows need, because those rows are due earlier.
func (tx *Tx) unblockFunded(ctx context.Context) error {
	available := tx.control.available()
	if !tx.control.declared || available < 0 {
		available = 0
	}
	var awake int
	var needed money.Cents
	err := tx.QueryRowContext(ctx, fmt.Sprintf(`SELECT COUNT(*), CAST(COALESCE(SUM(q.need), 0) AS BIGINT)
		FROM (SELECT %s AS need %s AND r.blocked_on = '' LIMIT %d) AS q`, need, eligible, maxUnblocked+1)).
		Scan(&awake, &needed)
	if err != nil {
		return fmt.Errorf("sum up what the unblocked rows need: %w", err)
	}
	free := max(available-needed, 0) // for rows with a priority
	if awake > maxUnblocked {
		free = 0
	}
	// Each part reads the first rows of a separate index and repeats the index's condition.
	const waiting = `SELECT r.id, r.priority, r.uncertain, ` + need + ` AS need ` + eligible +
		` AND r.blocked_on = 'funds' AND r.blocked_on <> ''`
	var unblocked []store.Record
	blocked := false
	rows, err := store.List[struct {
		ID, Priority int64
		Uncertain    bool
		Need         money.Cents
	}](ctx, tx, "find rows that wait for funds", fmt.Sprintf(`SELECT q.id, q.priority, q.uncertain, q.need
		FROM (
			SELECT * FROM (%[1]s AND r.uncertain <> 0) AS d
			UNION ALL SELECT * FROM (%[1]s AND r.uncertain = 0 AND r.priority <> 0
				ORDER BY r.priority, r.id LIMIT %[2]d) AS p
			UNION ALL SELECT * FROM (%[1]s AND r.uncertain = 0 AND r.priority = 0 AND r.cost <= $1
				ORDER BY r.cost, r.id LIMIT %[2]d) AS n) AS q
		ORDER BY q.uncertain DESC, q.priority, q.id`, waiting, maxUnblocked),
		int64(available))
	for _, r := range rows {
		due := !r.Uncertain && r.Priority != 0
		if r.Need > available || due && (blocked || r.Need > free) {
			blocked = blocked || due
			continue
		}
		available, free = available-r.Need, max(free-r.Need, 0)
		unblocked = append(unblocked, store.Record{store.Number("id", r.ID)})
	}
	if err != nil {
		return err
	}
	return store.Wrap("unblock rows that wait for funds", tx.db.ExecRecords(ctx, tx.Tx,
		`UPDATE rows SET blocked_on = '', message = '' {{v}} WHERE rows.id = v.id`,
		unblocked))
}

// PendingOrders lists the unsent orders of a batch with their cost. The forecast of orders that
// wait for funds uses them.
func (l *Ledger) PendingOrders(ctx context.Context, batch string) ([]balance.Order, error) {
	return store.List[balance.Order](ctx, l.Read, "list the orders of batch "+batch,
		`SELECT priority, number AS "row", cost FROM rows WHERE batch = $1 AND result = 'ready' AND cost > 0`, batch)
}

// SetPriorities sets the priorities of the ready rows of a batch before it is opened or approved.
func (l *Ledger) SetPriorities(ctx context.Context, batch string, orders []balance.Order) error {
	var rows []store.Record
	for _, o := range orders {
		rows = append(rows, store.Record{store.Text("batch", batch), store.Number("number", o.Row),
			store.Number("priority", o.Priority)})
	}
	return store.Wrap("set the priorities of batch "+batch, l.change(audit.Without(ctx), func(tx *Tx) error {
		return l.ExecRecords(ctx, tx.Tx, `UPDATE rows SET priority = v.priority {{v}}
			WHERE rows.batch = v.batch AND rows.number = v.number AND rows.result = 'ready'`, rows)
	}))
}
