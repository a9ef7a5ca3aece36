package ledger

import (
	"context"
	"fmt"

	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// sending is the condition under which rows of a batch are sent: a person submitted it, and nobody
// paused or canceled it, and it does not wait for an approval. Begin checks it again within the
// commit of the intent.
const sending = `b.open = 1 AND b.paused = 0 AND b.canceled = 0 AND b.approval <> 'wanted'`

// sendable is the condition under which Begin accepts a row, apart from a halt of the whole fleet.
const sendable = `r.result = 'ready' AND r.blocked_on = '' AND r.due <= $1 AND ` + sending

// HasReady reports whether a row may be sent now or later without another commit. Such a row is
// ready, waits only for its time, and its batch is not on hold. If only is not empty, it considers
// only that batch.
func (l Backlog) HasReady(ctx context.Context, only string) (has bool, err error) {
	err = l.Read.QueryRowContext(ctx,
		`SELECT COUNT(*) > 0 FROM batches b
			WHERE `+sending+`
			AND ($1 = '' OR b.id = $1)
			AND (SELECT r.id FROM rows r WHERE r.batch = b.id AND r.result = 'ready' AND r.blocked_on = ''
				LIMIT 1) IS NOT NULL`, only).Scan(&has)
	if err != nil {
		return false, fmt.Errorf("look for rows to send: %w", err)
	}
	return has, nil
}

// HasPlacing reports whether an order of the batch is in flight.
func (l Backlog) HasPlacing(ctx context.Context, batch string) (has bool, err error) {
	err = l.Read.QueryRowContext(ctx,
		`SELECT EXISTS (SELECT 1 FROM rows WHERE result = 'placing' AND batch = $1)`, batch).Scan(&has)
	return has, store.Wrap("look for the orders in flight of batch "+batch, err)
}

// ListSendable lists at most limit IDs of rows that may be sent now. It takes some rows of every
// batch in turn, so that a small batch is not delayed by a large one. If only is not empty, it
// considers only that batch.
func (l Backlog) ListSendable(ctx context.Context, only string, limit int) ([]int64, error) {
	// With EXISTS, PostgreSQL would read all ready rows.
	batches, err := store.List[string](ctx, l.Read, "list batches with work",
		`SELECT b.id FROM batches b
			WHERE `+sending+`
			AND ($1 = '' OR b.id = $1)
			AND (SELECT r.id FROM rows r WHERE r.batch = b.id AND r.result = 'ready' AND r.blocked_on = ''
				LIMIT 1) IS NOT NULL
			ORDER BY b.created_at`, only)
	if err != nil {
		return nil, err
	}
	// inTurn is keyed by the number of rows of the same batch that come before the row.
	inTurn := make(map[int][]int64)
	for _, batch := range batches {
		// The query reads only the rows table. With the batches table, PostgreSQL would read and
		// sort all rows instead of taking the first rows of the index.
		found, err := store.List[int64](ctx, l.Read, "list rows to send of batch "+batch,
			`SELECT r.id FROM rows r
				WHERE r.batch = $2 AND r.result = 'ready' AND r.blocked_on = '' AND r.due <= $1
				ORDER BY r.priority, r.id LIMIT $3`,
			store.ToMillis(l.Now()), batch, max(limit/len(batches), 1))
		if err != nil {
			return nil, err
		}
		for n, id := range found {
			inTurn[n] = append(inTurn[n], id)
		}
	}
	var ids []int64
	for n := range len(inTurn) {
		ids = append(ids, inTurn[n]...)
	}
	return ids, nil
}

// LoadSendable reads the given rows and leaves out rows that may not be sent now.
func (l Backlog) LoadSendable(ctx context.Context, ids []int64) ([]Row, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	in, args := store.Among(l.Dialect, ids, store.ToMillis(l.Now()))
	// The given rows are selected first. Otherwise PostgreSQL would read all ready rows.
	return l.loadPage(ctx, selectRows+`r.id IN (
			WITH asked AS MATERIALIZED (SELECT id, batch, result, blocked_on, due FROM rows WHERE id `+in+`)
			SELECT r.id FROM asked r JOIN batches b ON b.id = r.batch WHERE `+sendable+`)
		ORDER BY r.priority, r.id`, args...)
}

// WaitsForPlacing reports whether a row of the batch waits for a row that is being placed or that
// the batch itself will place.
func (l Backlog) WaitsForPlacing(ctx context.Context, batch string) (waits bool, err error) {
	err = l.Read.QueryRowContext(ctx, `SELECT COUNT(*) > 0
		FROM rows r JOIN purchases p ON p.key = r.awaited_key JOIN rows h ON h.id = p.row
		WHERE r.batch = $1 AND r.awaited_key <> ''
			AND (h.result = 'placing' OR h.result = 'ready' AND h.blocked_on = '' AND h.batch = r.batch)`,
		batch).Scan(&waits)
	return waits, store.Wrap("look for the rows that batch "+batch+" waits for", err)
}

// selectBacklog sums the ready rows of each batch, in two parts with a separate index each.
const selectBacklog = `SELECT CAST(COALESCE(SUM(q.n), 0) AS BIGINT), CAST(COALESCE(SUM(q.need), 0) AS BIGINT),
		COALESCE(MAX(q.certainty), 0)
	FROM (` + sumReady + ` AND r.blocked_on = '' GROUP BY r.batch
		UNION ALL ` + sumReady + ` AND r.blocked_on <> '' GROUP BY r.batch) AS q
	JOIN batches b ON b.id = q.batch
	WHERE b.open = 1`

const sumReady = `SELECT r.batch, COUNT(*) AS n, SUM(` + need + `) AS need, MAX(r.certainty) AS certainty
	FROM rows r WHERE r.result = 'ready'`

// Total returns the number of rows that wait to be placed and their known cost beyond the
// reservations.
func (l Backlog) Total(ctx context.Context) (rows int, cost money.Cost, err error) {
	err = l.Read.QueryRowContext(ctx, selectBacklog).Scan(&rows, &cost.Amount, &cost.Certainty)
	return rows, cost, store.Wrap("sum up the rows that wait", err)
}
