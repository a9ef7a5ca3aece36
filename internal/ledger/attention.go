package ledger

import (
	"context"
	"fmt"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/store"
)

// AttentionCounts counts the objects that wait for a person or for the applier.
type AttentionCounts struct {
	// Exceptions counts the orders that do not proceed until something is corrected.
	Exceptions int
	// NewEvents counts the stored events that are not processed yet.
	NewEvents int
	// UnknownEvents counts the events of orders that belong to no row.
	UnknownEvents int
	// Approvals counts the batches that wait for approval.
	Approvals int
	// Uncertain counts the rows that only a person or an event can resolve.
	Uncertain int
}

// Count counts the objects that need attention.
func (l Attention) Count(ctx context.Context) (AttentionCounts, error) {
	var a AttentionCounts
	err := l.Read.QueryRowContext(ctx,
		`SELECT (SELECT COUNT(*) FROM items WHERE exception <> 0),
				(SELECT COUNT(*) FROM events WHERE state = 'new'),
				(SELECT COUNT(*) FROM events WHERE state = 'unknown'),
				(SELECT COUNT(*) FROM batches WHERE approval = 'wanted' AND canceled = 0),
				(SELECT COUNT(*) FROM rows r WHERE r.result = 'uncertain' AND `+atRest+`)`).
		Scan(&a.Exceptions, &a.NewEvents, &a.UnknownEvents, &a.Approvals, &a.Uncertain)
	if err != nil {
		return a, fmt.Errorf("count what needs attention: %w", err)
	}
	return a, nil
}

// BatchAttention counts the rows of an open batch that wait for a person or for funds.
type BatchAttention struct {
	// Correct counts invalid and rejected rows, which a correction can fix.
	Correct   int
	Uncertain int
	// Short counts ready rows that the balance does not cover.
	Short int
	// Again counts ready rows whose cost needs an approval.
	Again int
	// Exceptions counts placed rows with a filing that stopped.
	Exceptions int
}

// CountByBatch counts the rows of each open batch that need action. It leaves out batches without
// such rows. Each count is read from an index that contains only rows of its kind, so finished rows
// do not slow it down.
func (l Attention) CountByBatch(ctx context.Context) (map[string]BatchAttention, error) {
	var parts []string
	for _, q := range [][2]string{
		{"correct", `r.result IN ('invalid', 'rejected') AND ` + atRest},
		{"uncertain", `r.result = 'uncertain'`},
		{"short", `r.blocked_on = 'funds' AND r.blocked_on <> ''`},
		{"again", `r.blocked_on = '` + blockedOnApproval + `' AND r.blocked_on <> ''`},
		{"exceptions", `r.id IN (SELECT i.row FROM items i WHERE i.exception <> 0)`},
	} {
		// The limit keeps SQLite from reading all rows in the order of their batches.
		parts = append(parts, `SELECT '`+q[0]+`' AS kind, batch, COUNT(*) AS n
			FROM (SELECT r.batch FROM rows r WHERE `+q[1]+` LIMIT 1000000000) AS found GROUP BY batch`)
	}
	counts, err := store.List[struct {
		Kind, Batch string
		N           int
	}](ctx, l.Read, "count what needs action", strings.Join(parts, ` UNION ALL `))
	all := make(map[string]BatchAttention)
	for _, c := range counts {
		a := all[c.Batch]
		switch c.Kind {
		case "correct":
			a.Correct = c.N
		case "uncertain":
			a.Uncertain = c.N
		case "short":
			a.Short = c.N
		case "again":
			a.Again = c.N
		case "exceptions":
			a.Exceptions = c.N
		}
		all[c.Batch] = a
	}
	return all, err
}
