package approval

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// Approvals approves batches and their costs, and stores the policy and who contributed to what. It
// writes the columns of the batches that hold their approval.
type Approvals struct{ ledger *ledger.Ledger }

// New returns the approvals of a ledger. The ledger has to be open with a Gate.
func New(l *ledger.Ledger) *Approvals { return &Approvals{l} }

// ErrChanged is returned for an approval that does not match the orders: the rows or their cost
// have changed since the review.
var ErrChanged = errors.New("it has changed since it was reviewed")

// ErrSecondPerson is returned if a second person must approve and the approver is a contributor to
// the batch. See SecondError.
var ErrSecondPerson = errors.New("a second person has to approve it")

// ErrSubmitted is returned for a batch that is already submitted.
var ErrSubmitted = errors.New("it is already submitted")

// ErrNoApprovalNeeded is returned for an approval that was not requested or was already given.
var ErrNoApprovalNeeded = errors.New("no approval is needed")

// ErrNotOpen is returned for an approval of a batch that is not submitted yet. Its contributors are
// known only when it is.
var ErrNotOpen = errors.New("it is not submitted yet, so it cannot be approved")

// approvalRow is the approval of a batch, with the columns of the batch that approvals depend on.
type approvalRow struct {
	ledger.Approval
	File                              string
	Quote                             []byte
	Open, Prepared, Canceled, Applied bool
}

// approvalOf reads the approval of a batch. It returns ErrNotFound.
func approvalOf(ctx context.Context, q store.Querier, batch string) (approvalRow, error) {
	return store.Find[approvalRow](ctx, q, ledger.ErrNotFound, "read the approval of batch "+batch,
		`SELECT approval AS state, plan, asked_by, second, file, quote, open, prepared, canceled, applied
			FROM batches WHERE id = $1`, batch)
}

// Request keeps the rows of a batch from being sent until a person approves the plan. A changed
// plan needs a new approval. The person who requests it becomes a contributor to the batch. If the
// policy requires a second person, the approver must therefore be another person. It returns
// ErrSubmitted for a batch of corrections whose rows are already sent instead of the rows that they
// correct.
func (l *Approvals) Request(ctx context.Context, batch, plan string) error {
	err := l.ledger.Change(ctx, func(tx *ledger.Tx) error {
		second, err := needsSecond(ctx, tx, batch)
		if err != nil {
			return err
		}
		switch was, err := approvalOf(ctx, tx, batch); {
		case err != nil:
			return err
		case was.Applied: // the rows that it corrects are finished
			return ErrSubmitted
		}
		return askApproval(ctx, tx, batch, plan, second)
	})
	return store.Wrap("ask for the approval of batch "+batch, err)
}

// askApproval makes a batch wait for the approval of a plan, by a second person if second is set
// and by anyone otherwise.
func askApproval(ctx context.Context, tx *ledger.Tx, batch, plan string, second bool) error {
	was, err := approvalOf(ctx, tx, batch)
	if err != nil {
		return err
	}
	by := audit.Person(ctx)
	asked, err := store.Affected(tx.ExecContext(ctx,
		`UPDATE batches SET approval = 'wanted', plan = $2, approved_by = '', approved_at = 0,
		asked_by = CASE WHEN approval = '' THEN $3 ELSE asked_by END, second = CASE WHEN $4 = 1 THEN 1 ELSE second END
		WHERE id = $1 AND (approval <> 'given' OR plan <> $2 OR $4 = 1 AND second = 0)`, batch, plan, by,
		store.BoolInt(second)))
	if err != nil {
		return err
	}
	// The batch was submitted and approved before. AfterOpen records the other submissions.
	if was.Open && asked > 0 && was.State != ledger.ApprovalNeeded {
		if err := recordSubmission(ctx, tx, batch); err != nil {
			return err
		}
	}
	if err := gather(ctx, tx.Tx, batch); err != nil || was.State != ledger.NoApproval && was.Second {
		return err // a repeated request is not a submission
	}
	return contribute(ctx, tx.Tx, batch, by, PartSubmit)
}

// ChangePlan replaces the plan that waits for approval. It does nothing if the current plan is not
// from. It returns ErrNotFound, and ErrNoApprovalNeeded if the approval was given in the meantime,
// because that approval stands.
func (l *Approvals) ChangePlan(ctx context.Context, batch, from, to string) error {
	err := l.ledger.Change(ctx, func(tx *ledger.Tx) error {
		switch was, err := approvalOf(ctx, tx, batch); {
		case err != nil:
			return err
		case was.State != ledger.ApprovalNeeded:
			return ErrNoApprovalNeeded
		}
		_, err := tx.ExecContext(ctx, `UPDATE batches SET plan = $3 WHERE id = $1 AND plan = $2`, batch, from, to)
		return err
	})
	return store.Wrap("change the plan of batch "+batch, err)
}

// Submit opens the batch that was prepared from a draft, with the plan that was reviewed. If the
// policy requires a second person, the batch waits for that approval and Submit reports true. The
// draft is then kept so that the batch can be sent back. Otherwise the batch has the approval of
// by, and the draft is deleted.
//
// Submit returns ErrNotFound, ErrSubmitted, ErrCanceled, ErrImport if the batch is not prepared,
// and ErrStale if the draft was changed or deleted since this version, because its rows are
// different now.
func (l *Approvals) Submit(ctx context.Context, d Draft, plan, by string) (waits bool, err error) {
	batch := d.Batch
	err = l.ledger.Change(ctx, func(tx *ledger.Tx) error {
		a, err := approvalOf(ctx, tx, batch)
		if a.Open {
			return ErrSubmitted
		}
		if err := requireUnchanged(ctx, tx, d); err != nil {
			return err // checked first, because a new version deletes the old batch
		}
		switch {
		case err != nil:
			return err
		case a.Canceled:
			return ledger.ErrCanceled
		case !a.Prepared:
			return ledger.ErrImport
		}
		if waits, err = needsSecond(ctx, tx, batch); err != nil {
			return err
		}
		if err := gather(ctx, tx.Tx, batch); err != nil {
			return err
		}
		if err := contribute(ctx, tx.Tx, batch, by, PartSubmit); err != nil {
			return err
		}
		state, approver, at := ledger.ApprovalGiven, by, store.ToMillis(tx.Now())
		if waits {
			state, approver, at = ledger.ApprovalNeeded, "", 0
		}
		if _, err := tx.ExecContext(ctx,
			`UPDATE batches
				SET approval = $2, plan = $3, asked_by = $4, second = $5, approved_by = $6, approved_at = $7
				WHERE id = $1`,
			batch, state, plan, by, store.BoolInt(waits), approver, at); err != nil {
			return err
		}
		if waits { // the draft is kept so that the batch can be sent back
			if _, err := tx.ExecContext(ctx, `UPDATE uploads SET submitted = 1 WHERE batch = $1`, batch); err != nil {
				return err
			}
		}
		if err := tx.OpenBatch(ctx, batch); err != nil || waits || d.Upload == "" {
			return err
		}
		return DeleteDraft(ctx, tx, d.Upload)
	})
	if err != nil {
		return false, fmt.Errorf("submit batch %s: %w", batch, err)
	}
	return waits, nil
}

// PlanHash hashes the ready rows of a batch, in the order of the input.
type PlanHash func(ready iter.Seq2[ledger.ReadyRow, error]) (string, error)

// GiveApproval approves a batch and releases its rows. The plan must match the requested plan and
// the rows at the time of the approval, because no one has reviewed rows that were retried,
// reviewed, corrected or quoted later. If the policy requires a second person, now or at the time
// of the submission, by must be one. It returns ErrNotFound, ErrNoApprovalNeeded, ErrNotOpen,
// ErrChanged and a *SecondError.
func (l *Approvals) GiveApproval(ctx context.Context, batch, plan, by string, hash PlanHash) error {
	err := l.ledger.Change(ctx, func(tx *ledger.Tx) error {
		switch a, err := approvalOf(ctx, tx, batch); {
		case err != nil:
			return err
		case a.State != ledger.ApprovalNeeded:
			return ErrNoApprovalNeeded
		case !a.Open:
			return ErrNotOpen
		case plan != a.Plan:
			return ErrChanged
		}
		switch now, err := hash(tx.ReadyRows(ctx, batch)); {
		case err != nil:
			return err
		case now != plan:
			return ErrChanged
		}
		if err := signApproval(ctx, tx, batch, by); err != nil {
			return err
		}
		if err := recordStep(ctx, tx, batch, Event{By: by, What: StepApproved, Plan: plan}); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx,
			`UPDATE batches SET approval = 'given', approved_by = $2, approved_at = $3 WHERE id = $1`, batch, by,
			store.ToMillis(tx.Now())); err != nil {
			return err
		}
		if err := deleteDrafts(ctx, tx, batch); err != nil {
			return err
		}
		if err := notifyApproved(ctx, tx, batch, by); err != nil {
			return err
		}
		return tx.ReleaseBatch(ctx, batch)
	})
	return store.Wrap("approve batch "+batch, err)
}

// signApproval returns a *SecondError if a batch needs a second person and by is not one. If by is,
// it records that the batch needs one.
func signApproval(ctx context.Context, tx *ledger.Tx, batch, by string) error {
	if err := gather(ctx, tx.Tx, batch); err != nil {
		return err
	}
	if needed, err := needsSecond(ctx, tx, batch); err != nil || !needed {
		return err
	}
	if err := mayApprove(ctx, tx, batch, by); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `UPDATE batches SET second = 1 WHERE id = $1`, batch)
	return err
}
