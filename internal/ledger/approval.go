package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// ErrPlan is returned for an approval of something else than what would be
// placed: the rows, or what they cost, have changed since it was looked at.
var ErrPlan = errors.New("it is not what was looked at any more")

// ErrApproved is returned for an approval that nobody asked for, or that was
// given already.
var ErrApproved = errors.New("no approval is wanted")

// ApprovalState is whether a batch waits for somebody's yes.
type ApprovalState string

// The states of an approval.
const (
	NoApproval     ApprovalState = ""       // nobody asked for one
	ApprovalWanted ApprovalState = "wanted" // nothing is sent before it is given
	ApprovalGiven  ApprovalState = "given"
)

// Approval is somebody's yes to a batch, pinned to what it holds and costs.
type Approval struct {
	State ApprovalState
	Plan  string // names content and cost of what is to be approved
	By    string
	At    time.Time
}

// WantApproval keeps the rows of a batch from being sent until somebody
// approves the plan. A plan that changes wants a new approval.
func (l *Ledger) WantApproval(ctx context.Context, batch, plan string) error {
	err := l.change(ctx, func(tx *sql.Tx, _ *control) error {
		_, err := tx.ExecContext(ctx, `UPDATE batches SET approval = 'wanted', plan = $2, approved_by = '', approved_at = 0
			WHERE id = $1 AND (approval <> 'given' OR plan <> $2)`, batch, plan)
		return err
	})
	if err != nil {
		return fmt.Errorf("ask for the approval of batch %s: %w", batch, err)
	}
	return nil
}

// Approve lets a batch go. The plan must be the one that is wanted. It returns
// ErrNotFound, ErrApproved and ErrPlan.
func (l *Ledger) Approve(ctx context.Context, batch, plan, by string) error {
	err := l.change(ctx, func(tx *sql.Tx, c *control) error {
		var state ApprovalState
		var wanted string
		switch err := tx.QueryRowContext(ctx, `SELECT approval, plan FROM batches WHERE id = $1`, batch).Scan(&state, &wanted); {
		case errors.Is(err, sql.ErrNoRows):
			return ErrNotFound
		case err != nil:
			return err
		case state != ApprovalWanted:
			return ErrApproved
		case plan != wanted:
			return ErrPlan
		}
		if _, err := tx.ExecContext(ctx, `UPDATE batches SET approval = 'given', approved_by = $2, approved_at = $3 WHERE id = $1`, batch, by, millis(l.now())); err != nil {
			return err
		}
		return l.ration(ctx, tx, c)
	})
	if err != nil {
		return fmt.Errorf("approve batch %s: %w", batch, err)
	}
	return nil
}
