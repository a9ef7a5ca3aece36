package approval

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// CostIncrease is the cost of a batch's rows that wait for a new approval, because they cost more
// than was approved or became ready again.
type CostIncrease struct {
	Rows     int
	Approved money.Cents
	Cost     money.Cost
	// Plan is a hash of the rows, their attempts and their costs. Empty if no row waits.
	Plan string
}

// ErrApproveBatchFirst is returned for an approval of changed costs if the batch itself waits for
// approval.
var ErrApproveBatchFirst = errors.New("the batch itself waits for approval: approve or reject the batch first")

// CostIncrease sums the rows of a batch whose orders cost more than was approved.
func (l *Approvals) CostIncrease(ctx context.Context, batch string) (CostIncrease, error) {
	return loadCostIncrease(ctx, l.ledger.Read, batch)
}

// loadCostIncrease reads the rows one by one, because an approval covers exactly these rows at
// these costs and not other rows with the same number and sum.
func loadCostIncrease(ctx context.Context, q store.Querier, batch string) (CostIncrease, error) {
	var c CostIncrease
	plan := sha256.New()
	io.WriteString(plan, "costs of "+batch+"\n")
	rows, err := store.List[struct {
		ID, LastAttempt int64
		Approved        money.Cents
		Cost, Spent     money.Cost
	}](ctx, q, "sum up the rows of batch "+batch+" that cost more than was approved",
		`SELECT id, last_attempt, approved, cost AS "cost.amount",
				CASE WHEN quoted = 0 AND cost = 0 THEN 2 ELSE certainty END AS "cost.certainty",
				spent AS "spent.amount",
				spent_certainty AS "spent.certainty"
			FROM rows r
			WHERE r.batch = $1 AND `+ledger.WaitsForApproval+`
			ORDER BY id`, batch)
	for _, r := range rows {
		c.Rows++
		c.Approved += max(r.Approved, 0)
		c.Cost.Amount += r.Cost.Amount + r.Spent.Amount
		c.Cost.Certainty = max(c.Cost.Certainty, r.Cost.Certainty)
		fmt.Fprintf(plan, "%d %d %d %d %d %d %d\n", r.ID, r.LastAttempt, r.Approved, r.Cost.Amount, r.Cost.Certainty,
			r.Spent.Amount, r.Spent.Certainty)
	}
	if c.Rows > 0 {
		c.Plan = hex.EncodeToString(plan.Sum(nil))[:16]
	}
	return c, err
}

// Matches returns ErrChanged unless the plan is for the rows that wait now. It returns
// ErrNoApprovalNeeded if no row waits.
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

// unchangedCosts returns an error unless the batch is approved and the rows that wait for a new
// approval and their costs are the same as in looked.
func unchangedCosts(ctx context.Context, tx *ledger.Tx, batch string, looked CostIncrease) error {
	var state ledger.ApprovalState
	switch err := tx.QueryRowContext(ctx, `SELECT approval FROM batches WHERE id = $1`, batch).Scan(&state); {
	case errors.Is(err, sql.ErrNoRows):
		return ledger.ErrNotFound
	case err != nil:
		return err
	case state == ledger.ApprovalNeeded:
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

// ApproveCosts approves the cost of a batch's rows that wait for a new approval, as the person
// reviewed it in looked. It returns ErrChanged if the waiting rows or their costs have changed
// since, ErrNoApprovalNeeded if no row waits, ErrApproveBatchFirst, ErrNotFound, and a *SecondError
// if another person has to approve.
func (l *Approvals) ApproveCosts(ctx context.Context, batch string, looked CostIncrease) error {
	err := l.ledger.Change(ctx, func(tx *ledger.Tx) error {
		by := audit.Person(ctx)
		if err := unchangedCosts(ctx, tx, batch, looked); err != nil {
			return err
		}
		if err := signApproval(ctx, tx, batch, by); err != nil {
			return err
		}
		if err := recordStep(ctx, tx, batch, Event{
			By:     by,
			What:   StepCostsApproved,
			Plan:   looked.Plan,
			Orders: looked.Rows,
			Cost:   looked.Cost,
		}); err != nil {
			return err
		}
		return tx.ApproveCosts(ctx, batch)
	})
	if err != nil {
		return fmt.Errorf("approve the costs of batch %s: %w", batch, err)
	}
	return nil
}
