package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// ErrChanged is returned for an approval of something else than what would be
// placed: the rows, or what they cost, have changed since it was looked at.
var ErrChanged = errors.New("it has changed since it was reviewed")

// ErrSecondPerson is returned for an approval by a contributor of what is approved,
// where a second person is wanted: see SecondError.
var ErrSecondPerson = errors.New("a second person has to approve it")

// ErrSubmitted is returned for a batch that is already submitted.
var ErrSubmitted = errors.New("it is already submitted")

// ErrNoApprovalWanted is returned for an approval that was not requested, or that was
// given already.
var ErrNoApprovalWanted = errors.New("no approval is needed")

// ErrNotOpen is returned for an approval of a batch that is not submitted yet: who
// takes part in it is known when it is.
var ErrNotOpen = errors.New("it is not submitted yet, so it cannot be approved")

// ApprovalState is whether a batch waits for approval.
type ApprovalState string

// The states of an approval.
const (
	NoApproval     ApprovalState = ""       // none was requested
	ApprovalWanted ApprovalState = "wanted" // nothing is sent before it is given
	ApprovalGiven  ApprovalState = "given"
)

// Approval is the approval of a batch, tied to its content and cost.
type Approval struct {
	State   ApprovalState
	Hash    string // names content and cost of what is to be approved
	AskedBy string // who submitted the batch; "" if not known by name
	Second  bool   // it has to be the approval of a second person
	By      string
	At      time.Time
}

// Request keeps the rows of a batch from being sent until a person approves the
// plan. A changed plan needs a new approval. The person who asks for it takes
// part in the batch: where the policy wants a second person, the approval has
// to be another person's.
func (l Approvals) Request(ctx context.Context, batch, plan string) error {
	err := l.change(ctx, func(tx *sql.Tx, _ *control) error {
		second, err := l.needsSecond(ctx, tx, batch)
		if err != nil {
			return err
		}
		return askApproval(ctx, tx, batch, plan, second)
	})
	if err != nil {
		return fmt.Errorf("ask for the approval of batch %s: %w", batch, err)
	}
	return nil
}

// askApproval has a batch wait for the approval of a plan.
func askApproval(ctx context.Context, tx *sql.Tx, batch, plan string, second bool) error {
	var was Approval
	switch err := tx.QueryRowContext(ctx, `SELECT approval, second FROM batches WHERE id = $1`, batch).Scan(&was.State,
		&was.Second); {
	case errors.Is(err, sql.ErrNoRows):
		return ErrNotFound
	case err != nil:
		return err
	}
	by := auditPerson(ctx)
	_, err := tx.ExecContext(ctx, `UPDATE batches SET approval = 'wanted', plan = $2, approved_by = '', approved_at = 0,
		asked_by = CASE WHEN approval = '' THEN $3 ELSE asked_by END, second = CASE WHEN $4 = 1 THEN 1 ELSE second END
		WHERE id = $1 AND (approval <> 'given' OR plan <> $2 OR $4 = 1 AND second = 0)`, batch, plan, by,
		boolInt(second))
	if err != nil {
		return err
	}
	if err := gather(ctx, tx, batch); err != nil || was.State != NoApproval && was.Second {
		return err // a repeated request is not a submission
	}
	return contribute(ctx, tx, batch, by, PartSubmit)
}

// ChangePlan puts a plan in place of the one that waits for approval, unless
// another one is there. It returns ErrNotFound, and ErrNoApprovalWanted if the approval
// was given meanwhile: it stands.
func (l Approvals) ChangePlan(ctx context.Context, batch, from, to string) error {
	err := l.change(ctx, func(tx *sql.Tx, _ *control) error {
		var state ApprovalState
		switch err := tx.QueryRowContext(ctx, `SELECT approval FROM batches WHERE id = $1`, batch).Scan(&state); {
		case errors.Is(err, sql.ErrNoRows):
			return ErrNotFound
		case err != nil:
			return err
		case state != ApprovalWanted:
			return ErrNoApprovalWanted
		}
		_, err := tx.ExecContext(ctx, `UPDATE batches SET plan = $3 WHERE id = $1 AND plan = $2`, batch, from, to)
		return err
	})
	if err != nil {
		return fmt.Errorf("change the plan of batch %s: %w", batch, err)
	}
	return nil
}

// Submit opens a prepared batch, pinned to the plan that was looked at. Where the
// policy wants a second person it waits for their approval, which it reports, and
// otherwise has that of by. It returns ErrNotFound, ErrSubmitted, and ErrImport for
// one that is not prepared.
func (l Approvals) Submit(ctx context.Context, batch, plan, by string) (waits bool, err error) {
	err = l.change(ctx, func(tx *sql.Tx, c *control) error {
		s, err := stageOf(ctx, tx, batch)
		switch {
		case err != nil:
			return err
		case s.open:
			return ErrSubmitted
		case s.canceled:
			return ErrCanceled
		case !s.prepared:
			return ErrImport
		}
		if waits, err = l.needsSecond(ctx, tx, batch); err != nil {
			return err
		}
		if err := gather(ctx, tx, batch); err != nil {
			return err
		}
		if err := contribute(ctx, tx, batch, by, PartSubmit); err != nil {
			return err
		}
		state, approver, at := ApprovalGiven, by, toMillis(l.now())
		if waits {
			state, approver, at = ApprovalWanted, "", 0
		}
		if _, err := tx.ExecContext(ctx,
			`UPDATE batches
				SET approval = $2, plan = $3, asked_by = $4, second = $5, approved_by = $6, approved_at = $7
				WHERE id = $1`,
			batch, state, plan, by, boolInt(waits), approver, at); err != nil {
			return err
		}
		return l.openBatch(ctx, tx, c, batch)
	})
	if err != nil {
		return false, fmt.Errorf("submit batch %s: %w", batch, err)
	}
	return waits, nil
}

// hold has a batch that is about to open wait for a second person, where the
// policy wants one and none has approved it. It is what every way to an order
// passes: whatever its maker forgot, no row of it can be sent.
func (db *database) hold(ctx context.Context, tx *sql.Tx, batch string) error {
	second, err := db.needsSecond(ctx, tx, batch)
	if err != nil || !second {
		return err
	}
	var a Approval
	if err := tx.QueryRowContext(ctx, `SELECT approval, plan, second FROM batches WHERE id = $1`, batch).Scan(&a.State,
		&a.Hash, &a.Second); err != nil {
		return err
	}
	if a.Second && a.State != NoApproval {
		return nil
	}
	return askApproval(ctx, tx, batch, a.Hash, true)
}

// Approve lets a batch go. The plan must be the one that is wanted. Where the
// policy wants a second person, now or when the batch was submitted, by must be
// one. It returns ErrNotFound, ErrNoApprovalWanted, ErrNotOpen, ErrChanged, and a *SecondError.
func (l Approvals) Approve(ctx context.Context, batch, plan, by string) error {
	err := l.change(ctx, func(tx *sql.Tx, c *control) error {
		var state ApprovalState
		var wanted string
		var open bool
		switch err := tx.QueryRowContext(ctx, `SELECT approval, plan, open FROM batches WHERE id = $1`,
			batch).Scan(&state, &wanted, &open); {
		case errors.Is(err, sql.ErrNoRows):
			return ErrNotFound
		case err != nil:
			return err
		case state != ApprovalWanted:
			return ErrNoApprovalWanted
		case !open:
			return ErrNotOpen
		case plan != wanted:
			return ErrChanged
		}
		if err := l.secondPerson(ctx, tx, batch, by); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx,
			`UPDATE batches SET approval = 'given', approved_by = $2, approved_at = $3 WHERE id = $1`, batch, by,
			toMillis(l.now())); err != nil {
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

// secondPerson returns a *SecondError where a batch needs a second person and by
// is none, and notes that it needs one. A batch from before contributors were
// recorded gets its own first.
func (db *database) secondPerson(ctx context.Context, tx *sql.Tx, batch, by string) error {
	if err := gather(ctx, tx, batch); err != nil {
		return err
	}
	second, err := db.needsSecond(ctx, tx, batch)
	if err != nil || !second {
		return err
	}
	if err := db.mayApprove(ctx, tx, batch, by); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE batches SET second = 1 WHERE id = $1`, batch)
	return err
}
