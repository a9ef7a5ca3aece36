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

// plan names what was looked at, for the second of two approvers.
func (c CostIncrease) plan() string { return fmt.Sprintf("costs %d %d", c.Rows, c.Cost.Amount) }

// ApproveCosts approves the costs of rows, as GiveCostApproval does. It returns
// ErrAnotherApprover where another person has to approve them, too.
func (l Approvals) ApproveCosts(ctx context.Context, batch string, looked CostIncrease) error {
	complete, err := l.GiveCostApproval(ctx, batch, looked)
	if err == nil && !complete {
		err = ErrAnotherApprover
	}
	return err
}

// GiveCostApproval approves what the rows of a batch cost that wait for a new
// approval, as it was looked at, or reports false where a second of two people has
// to approve it, too. It returns ErrChanged where more waits or it has become dearer
// since, and a *SecondError if another person has to approve.
func (l Approvals) GiveCostApproval(ctx context.Context, batch string,
	looked CostIncrease) (complete bool, err error) {
	err = l.change(ctx, func(tx *sql.Tx, c *control) error {
		by := auditPerson(ctx)
		if complete, err = l.signApproval(ctx, tx, batch, looked.plan(), by); err != nil {
			return err
		}
		if err := unchangedCosts(ctx, tx, batch, looked); err != nil {
			return err
		}
		step := ApprovalEvent{By: by, What: StepCostsApproved, Orders: looked.Rows, Cost: looked.Cost}
		if !complete {
			step.What = StepCostsFirst
		}
		if looked.Rows > 0 {
			if err := l.recordStep(ctx, tx, batch, step); err != nil {
				return err
			}
		}
		if !complete {
			return nil
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
		return false, fmt.Errorf("approve the costs of batch %s: %w", batch, err)
	}
	return complete, nil
}
