package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"bulkfiling/internal/money"
)

// The approved cost of a row is a limit: an order that would cost more waits
// for a new approval. What was quoted when the batch was opened, or approved,
// is approved; a row without a quote has no limit.

// approveQuotes makes the quotes of the rows of a batch their approved costs.
const approveQuotes = `UPDATE rows
	SET approved = cost + spent, approved_certainty = certainty
	WHERE batch = $1 AND result = 'ready' AND quoted = 1`

// CostIncrease is what the rows of a batch cost that wait for a new approval:
// they cost more than was approved, or were made ready again.
type CostIncrease struct {
	Rows     int
	Approved money.Cents
	Cost     money.Cost
}

// CostIncrease sums up the rows of a batch whose orders cost more than was
// approved.
func (l Approvals) CostIncrease(ctx context.Context, batch string) (CostIncrease, error) {
	var c CostIncrease
	err := l.read.QueryRowContext(ctx,
		`SELECT COUNT(*), CAST(COALESCE(SUM(approved), 0) AS BIGINT),
				CAST(COALESCE(SUM(cost + spent), 0) AS BIGINT), COALESCE(MAX(certainty), 0)
			FROM rows
			WHERE batch = $1 AND result = 'ready' AND waits = $2`, batch, blockedOnApproval).Scan(&c.Rows,
		&c.Approved, &c.Cost.Amount, &c.Cost.Certainty)
	return c, wrap("sum up the rows of batch "+batch+" that cost more than was approved", err)
}

// ApproveCosts approves what the rows of a batch cost that wait for a new
// approval, as it was looked at. It returns ErrChanged where more waits or it has
// become dearer since, and a *SecondError if another person has to approve.
func (l Approvals) ApproveCosts(ctx context.Context, batch string, looked CostIncrease) error {
	err := l.change(ctx, func(tx *sql.Tx, c *control) error {
		var rows int
		var cost money.Cents
		if err := l.secondPerson(ctx, tx, batch, auditPerson(ctx)); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx,
			`SELECT COUNT(*), CAST(COALESCE(SUM(cost + spent), 0) AS BIGINT)
				FROM rows
				WHERE batch = $1 AND result = 'ready' AND waits = $2`, batch, blockedOnApproval).Scan(&rows,
			&cost); err != nil {
			return err
		}
		if rows != looked.Rows || cost != looked.Cost.Amount {
			return ErrChanged
		}
		if _, err := tx.ExecContext(ctx,
			`UPDATE rows
				SET approved = cost + spent, approved_certainty = certainty, waits = '', message = ''
				WHERE batch = $1 AND result = 'ready' AND waits = $2`, batch, blockedOnApproval); err != nil {
			return err
		}
		return l.ration(ctx, tx, c)
	})
	if err != nil {
		return fmt.Errorf("approve the costs of batch %s: %w", batch, err)
	}
	return nil
}
