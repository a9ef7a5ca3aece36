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

// ErrSecond is returned for an approval by whoever handed the batch in, where a
// second person is wanted.
var ErrSecond = errors.New("a second person has to approve it")

// ErrHandedIn is returned for a batch that was handed in before.
var ErrHandedIn = errors.New("it was handed in already")

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
	State   ApprovalState
	Plan    string // names content and cost of what is to be approved
	AskedBy string // who handed the batch in; "" where nobody did by name
	Second  bool   // the yes has to be somebody else's than AskedBy
	By      string
	At      time.Time
}

// WantApproval keeps the rows of a batch from being sent until somebody
// approves the plan. A plan that changes wants a new approval. Whoever asks for
// the first one has handed the batch in: where the firm wants a second person,
// the yes has to be somebody else's.
func (l *Ledger) WantApproval(ctx context.Context, batch, plan string) error {
	by := actor(ctx)
	err := l.change(ctx, func(tx *sql.Tx, _ *control) error {
		_, err := tx.ExecContext(ctx, `UPDATE batches SET approval = 'wanted', plan = $2, approved_by = '', approved_at = 0,
			asked_by = CASE WHEN approval = '' THEN $3 ELSE asked_by END,
			second = CASE WHEN approval = '' THEN (SELECT second_person FROM firm WHERE id = 1) ELSE second END
			WHERE id = $1 AND (approval <> 'given' OR plan <> $2)`, batch, plan, by)
		return err
	})
	if err != nil {
		return fmt.Errorf("ask for the approval of batch %s: %w", batch, err)
	}
	return nil
}

// ChangePlan puts a plan in place of the one that a yes is waited for to, unless
// somebody else did. It returns ErrNotFound, and ErrApproved where the yes was
// given meanwhile: it stands.
func (l *Ledger) ChangePlan(ctx context.Context, batch, from, to string) error {
	err := l.change(ctx, func(tx *sql.Tx, _ *control) error {
		var state ApprovalState
		switch err := tx.QueryRowContext(ctx, `SELECT approval FROM batches WHERE id = $1`, batch).Scan(&state); {
		case errors.Is(err, sql.ErrNoRows):
			return ErrNotFound
		case err != nil:
			return err
		case state != ApprovalWanted:
			return ErrApproved
		}
		_, err := tx.ExecContext(ctx, `UPDATE batches SET plan = $3 WHERE id = $1 AND plan = $2`, batch, from, to)
		return err
	})
	if err != nil {
		return fmt.Errorf("change the plan of batch %s: %w", batch, err)
	}
	return nil
}

// HandIn opens a prepared batch, pinned to the plan that was looked at. With
// second it waits for somebody else's yes, and otherwise has that of by. It
// returns ErrNotFound, ErrHandedIn, and ErrImport for one that is not prepared.
func (l *Ledger) HandIn(ctx context.Context, batch, plan, by string, second bool) error {
	err := l.change(ctx, func(tx *sql.Tx, c *control) error {
		s, err := stageOf(ctx, tx, batch)
		switch {
		case err != nil:
			return err
		case s.open:
			return ErrHandedIn
		case s.canceled:
			return ErrCanceled
		case !s.prepared:
			return ErrImport
		}
		state, approver, at := ApprovalGiven, by, millis(l.now())
		if second {
			state, approver, at = ApprovalWanted, "", 0
		}
		if _, err := tx.ExecContext(ctx, `UPDATE batches SET approval = $2, plan = $3, asked_by = $4, second = $5, approved_by = $6, approved_at = $7 WHERE id = $1`,
			batch, state, plan, by, flag(second), approver, at); err != nil {
			return err
		}
		return l.openBatch(ctx, tx, c, batch)
	})
	if err != nil {
		return fmt.Errorf("hand batch %s in: %w", batch, err)
	}
	return nil
}

// Approve lets a batch go. The plan must be the one that is wanted. It returns
// ErrNotFound, ErrApproved, ErrPlan and ErrSecond.
func (l *Ledger) Approve(ctx context.Context, batch, plan, by string) error {
	err := l.change(ctx, func(tx *sql.Tx, c *control) error {
		var state ApprovalState
		var wanted, asked string
		var second bool
		switch err := tx.QueryRowContext(ctx, `SELECT approval, plan, asked_by, second FROM batches WHERE id = $1`, batch).Scan(&state, &wanted, &asked, &second); {
		case errors.Is(err, sql.ErrNoRows):
			return ErrNotFound
		case err != nil:
			return err
		case state != ApprovalWanted:
			return ErrApproved
		case plan != wanted:
			return ErrPlan
		case second && by == asked:
			return ErrSecond
		}
		if _, err := tx.ExecContext(ctx, `UPDATE batches SET approval = 'given', approved_by = $2, approved_at = $3 WHERE id = $1`, batch, by, millis(l.now())); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, approveQuotes, batch); err != nil {
			return err
		}
		if err := l.applyCorrections(ctx, tx, batch); err != nil {
			return err
		}
		return l.ration(ctx, tx, c)
	})
	if err != nil {
		return fmt.Errorf("approve batch %s: %w", batch, err)
	}
	return nil
}
