package ledger

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/bulkfiling/bulkfiling/internal/money"
)

// The approved cost of a row is a limit: an order that would cost more waits
// for a new approval. What was quoted when the batch was opened, or approved,
// is approved, and without a quote an unknown cost, which has no limit. A row that was made
// ready later and that nobody quoted waits for an approval.

// approveQuotes makes the quotes of the rows of a batch their approved costs.
const approveQuotes = `UPDATE rows
	SET approved = cost + spent, approved_certainty = CASE WHEN quoted = 1 THEN certainty ELSE 2 END
	WHERE batch = $1 AND result = 'ready'`

// CostIncrease is what the rows of a batch cost that wait for a new approval:
// they cost more than was approved, or were made ready again.
type CostIncrease struct {
	Rows     int
	Approved money.Cents
	Cost     money.Cost
	Plan     string // hashes the rows, their tries and what each costs; "" for no rows
}

// ErrApproveBatchFirst is returned for an approval of changed costs in a batch that
// waits for approval itself.
var ErrApproveBatchFirst = errors.New("the batch itself waits for approval: approve or reject the batch first")

// CostIncrease sums up the rows of a batch whose orders cost more than was
// approved.
func (l Approvals) CostIncrease(ctx context.Context, batch string) (CostIncrease, error) {
	return loadCostIncrease(ctx, l.read, batch)
}

// loadCostIncrease reads the rows one by one: an approval covers these rows, each at
// its cost, and no others of the same number and sum.
func loadCostIncrease(ctx context.Context, q querier, batch string) (CostIncrease, error) {
	var c CostIncrease
	plan := sha256.New()
	io.WriteString(plan, "costs of "+batch+"\n")
	rows, err := list[struct {
		ID, Tries   int64
		Approved    money.Cents
		Cost, Spent money.Cost
	}](ctx, q, "sum up the rows of batch "+batch+" that cost more than was approved",
		`SELECT id, tries, approved, cost AS "cost.amount", certainty AS "cost.certainty", spent AS "spent.amount",
				spent_certainty AS "spent.certainty"
			FROM rows
			WHERE batch = $1 AND result = 'ready' AND waits = $2
			ORDER BY id`, batch, blockedOnApproval)
	for _, r := range rows {
		c.Rows++
		c.Approved += max(r.Approved, 0)
		c.Cost.Amount += r.Cost.Amount + r.Spent.Amount
		c.Cost.Certainty = max(c.Cost.Certainty, r.Cost.Certainty)
		fmt.Fprintf(plan, "%d %d %d %d %d %d %d\n", r.ID, r.Tries, r.Approved, r.Cost.Amount, r.Cost.Certainty,
			r.Spent.Amount, r.Spent.Certainty)
	}
	if c.Rows > 0 {
		c.Plan = hex.EncodeToString(plan.Sum(nil))[:16]
	}
	return c, err
}

// Matches returns ErrChanged unless the plan is that of the rows that wait now.
func (c CostIncrease) Matches(plan string) error {
	switch {
	case c.Rows == 0:
		return ErrNoApprovalNeeded
	case plan != c.Plan:
		return fmt.Errorf("%w: the plan that you give is %s, and the current plan is %s. Review it and approve "+
			"that plan", ErrChanged, plan, c.Plan)
	}
	return nil
}

// unchangedCosts returns an error unless the rows that wait for a new approval are
// those that were looked at, each at its cost, and the batch itself is approved.
func unchangedCosts(ctx context.Context, tx *sql.Tx, batch string, looked CostIncrease) error {
	var state ApprovalState
	switch err := tx.QueryRowContext(ctx, `SELECT approval FROM batches WHERE id = $1`, batch).Scan(&state); {
	case errors.Is(err, sql.ErrNoRows):
		return ErrNotFound
	case err != nil:
		return err
	case state == ApprovalNeeded:
		return ErrApproveBatchFirst
	case looked.Rows == 0:
		return ErrNoApprovalNeeded
	}
	now, err := loadCostIncrease(ctx, tx, batch)
	if err == nil && now != looked {
		err = ErrChanged
	}
	return err
}

// ApproveCosts approves what the rows of a batch cost that wait for a new approval, as
// it was looked at. It returns ErrChanged where other rows wait or one costs something
// else since, ErrNoApprovalNeeded where none waits, ErrApproveBatchFirst, ErrNotFound,
// and a *SecondError if another person has to approve.
func (l Approvals) ApproveCosts(ctx context.Context, batch string, looked CostIncrease) error {
	err := l.change(ctx, func(tx *sql.Tx, c *control) error {
		by := auditPerson(ctx)
		if err := unchangedCosts(ctx, tx, batch, looked); err != nil {
			return err
		}
		if err := l.signApproval(ctx, tx, batch, by); err != nil {
			return err
		}
		if err := l.recordStep(ctx, tx, batch, ApprovalEvent{
			By:     by,
			What:   StepCostsApproved,
			Plan:   looked.Plan,
			Orders: looked.Rows,
			Cost:   looked.Cost,
		}); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx,
			`UPDATE rows
				SET approved = cost + spent, approved_certainty = certainty, waits = '', message = ''
				WHERE batch = $1 AND result = 'ready' AND waits = $2`, batch, blockedOnApproval); err != nil {
			return err
		}
		return l.allocateFunds(ctx, tx, c)
	})
	if err != nil {
		return fmt.Errorf("approve the costs of batch %s: %w", batch, err)
	}
	return nil
}
