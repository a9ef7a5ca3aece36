package ledger

import (
	"context"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/outbox"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// Reportable is the state of the ledger that may need a notification.
type Reportable struct {
	// Mode is "test" or "live". Empty if nothing was sent yet.
	Mode string
	// Halt is HaltFunds or HaltKey if a person must end the halt.
	Halt filing.Halt
	// HaltNote is the message of the filing service.
	HaltNote  string
	HaltSince time.Time
	// Short reports whether rows wait for funds.
	Short bool

	// FundsReported and KeyReported report whether the state was reported and is not over yet.
	FundsReported, KeyReported bool
	// Ended are the finished batches that are not reported yet.
	Ended []string
	// Resumed are the batches that were reported as finished and have work again.
	Resumed []string
	// Pending are in the order of their rows.
	Pending []outbox.Pending
	// Cured reports whether reported exceptions are resolved. See ForgetCured.
	Cured bool
}

const (
	// Every process runs this query every few seconds, so each part uses an index. A part that
	// rarely finds a row uses the order of its index, and a batch is looked up as a range.
	// Otherwise PostgreSQL would read all rows.
	selectReportable = `SELECT c.mode, c.halt, c.halt_note, c.halted_at AS halt_since,
			EXISTS (
				SELECT 1 FROM (SELECT blocked_on FROM rows WHERE blocked_on <> '' AND blocked_on = 'funds'
					ORDER BY blocked_on LIMIT 1) AS w) AS short,
			EXISTS (SELECT 1 FROM notifications WHERE kind = 'funds' AND batch = '' AND lasts = 1) AS funds_reported,
			EXISTS (SELECT 1 FROM notifications WHERE kind = 'key' AND batch = '' AND lasts = 1) AS key_reported,
			EXISTS (SELECT 1 FROM notified t WHERE t.kind = 'exceptions'
			AND NOT EXISTS (SELECT 1 FROM items i WHERE i.id = t.ref AND i.exception = t.mark)) AS cured
		FROM control c
		WHERE c.id = 1`
	selectEndings = `SELECT s.id, s.notified FROM (SELECT b.id, b.created_at,
			EXISTS (SELECT 1 FROM notifications n WHERE n.kind = 'batch' AND n.batch = b.id
				AND n.lasts = 1) AS notified,
			EXISTS (
				SELECT 1 FROM (SELECT r.id FROM rows r
					WHERE r.batch >= b.id AND r.batch <= b.id AND r.result = 'ready' AND r.blocked_on = ''
					ORDER BY r.batch LIMIT 1) AS w)
			OR EXISTS (
				SELECT 1 FROM (SELECT r.id FROM rows r
					WHERE r.batch >= b.id AND r.batch <= b.id AND r.blocked_on <> ''
					ORDER BY r.batch LIMIT 1) AS w)
			OR b.id IN (SELECT r.batch FROM rows r WHERE r.result = 'placing') AS works FROM batches b
			WHERE b.open = 1) AS s
		WHERE s.notified = s.works
		ORDER BY s.created_at DESC, s.id LIMIT 100`
	selectPending = `SELECT 'uncertain' AS kind, r.id AS ref, r.last_attempt AS mark, r.id AS "row", r.batch,
			r.reserved AS "reserved.amount", r.certainty AS "reserved.certainty"
		FROM rows r
		WHERE r.result = 'uncertain'
		AND NOT EXISTS (SELECT 1 FROM notified t
			WHERE t.kind = 'uncertain' AND t.ref = r.id AND t.mark = r.last_attempt)
		UNION ALL SELECT 'exceptions', i.id, i.exception, i.row, r.batch, 0, 0
		FROM items i JOIN rows r ON r.id = i.row
		WHERE i.exception <> 0
		AND NOT EXISTS (SELECT 1 FROM notified t WHERE t.kind = 'exceptions' AND t.ref = i.id AND t.mark = i.exception)
		UNION ALL SELECT DISTINCT 'bought-twice', p.row, p.twin, p.row, r.batch, CAST(0 AS BIGINT), 0
		FROM purchases p JOIN rows r ON r.id = p.row
		WHERE p.twin <> 0 AND p.bought = 1
		AND NOT EXISTS (SELECT 1 FROM notified t WHERE t.kind = 'bought-twice' AND t.ref = p.row AND t.mark = p.twin)
		ORDER BY 4, 2 LIMIT 10000`
)

// FindReportable reads the state that may need a notification. It changes nothing.
func (l Attention) FindReportable(ctx context.Context) (Reportable, error) {
	n, err := store.Find[Reportable](ctx, l.Read, ErrNotFound, "find what to report", selectReportable)
	if err != nil {
		return n, err
	}
	endings, err := store.List[struct {
		ID       string
		Notified bool
	}](ctx, l.Read, "find finished batches", selectEndings)
	if err != nil {
		return n, err
	}
	for _, e := range endings {
		if e.Notified {
			n.Resumed = append(n.Resumed, e.ID)
		} else {
			n.Ended = append(n.Ended, e.ID)
		}
	}
	n.Pending, err = store.List[outbox.Pending](ctx, l.Read, "find unreported rows", selectPending)
	return n, err
}
