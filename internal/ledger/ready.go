package ledger

import (
	"context"
	"fmt"
)

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
