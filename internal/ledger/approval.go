package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/balance"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

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

// ApprovalState is the state of a batch's approval.
type ApprovalState string

// The states of an approval.
const (
	// NoApproval means that no approval was requested.
	NoApproval ApprovalState = ""
	// ApprovalNeeded means that nothing is sent before the approval is given.
	ApprovalNeeded ApprovalState = "wanted"
	ApprovalGiven  ApprovalState = "given"
)

// Approval is the approval of a batch, tied to its content and cost.
type Approval struct {
	State ApprovalState
	// Hash identifies the content and the cost that are to be approved.
	Hash string
	// AskedBy is the name of the person who submitted the batch. Empty if unknown.
	AskedBy string
	// Second reports whether a second person must give the approval.
	Second bool
	By     string
	At     time.Time
}

// approvalRow is the approval of a batch, with the columns of the batch that approvals depend on.
type approvalRow struct {
	Approval
	File                    string
	Quote                   []byte
	Open, Canceled, Applied bool
}

// approvalOf reads the approval of a batch. It returns ErrNotFound.
func approvalOf(ctx context.Context, q store.Querier, batch string) (approvalRow, error) {
	return store.Find[approvalRow](ctx, q, ErrNotFound, "read the approval of batch "+batch,
		`SELECT approval AS state, plan AS hash, asked_by, second, file, quote, open, canceled, applied
			FROM batches WHERE id = $1`, batch)
}

// Request keeps the rows of a batch from being sent until a person approves the plan. A changed
// plan needs a new approval. The person who requests it becomes a contributor to the batch. If the
// policy requires a second person, the approver must therefore be another person. It returns
// ErrSubmitted for a batch of corrections whose rows are already sent instead of the rows that they
// correct.
func (l Approvals) Request(ctx context.Context, batch, plan string) error {
	err := l.change(ctx, func(tx *sql.Tx, _ *control) error {
		second, err := l.needsSecond(ctx, tx, batch)
		if err != nil {
			return err
		}
		switch was, err := approvalOf(ctx, tx, batch); {
		case err != nil:
			return err
		case was.Applied: // the rows that it corrects are finished
			return ErrSubmitted
		}
		return l.askApproval(ctx, tx, batch, plan, second)
	})
	return store.Wrap("ask for the approval of batch "+batch, err)
}

// askApproval makes a batch wait for the approval of a plan, by a second person if second is set
// and by anyone otherwise.
func (db *database) askApproval(ctx context.Context, tx *sql.Tx, batch, plan string, second bool) error {
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
	// The batch was submitted and approved before. openBatch records the other submissions.
	if was.Open && asked > 0 && was.State != ApprovalNeeded {
		if err := db.recordSubmission(ctx, tx, batch); err != nil {
			return err
		}
	}
	if err := gather(ctx, tx, batch); err != nil || was.State != NoApproval && was.Second {
		return err // a repeated request is not a submission
	}
	return contribute(ctx, tx, batch, by, PartSubmit)
}

// ChangePlan replaces the plan that waits for approval. It does nothing if the current plan is not
// from. It returns ErrNotFound, and ErrNoApprovalNeeded if the approval was given in the meantime,
// because that approval stands.
func (l Approvals) ChangePlan(ctx context.Context, batch, from, to string) error {
	err := l.change(ctx, func(tx *sql.Tx, _ *control) error {
		switch was, err := approvalOf(ctx, tx, batch); {
		case err != nil:
			return err
		case was.State != ApprovalNeeded:
			return ErrNoApprovalNeeded
		}
		_, err := tx.ExecContext(ctx, `UPDATE batches SET plan = $3 WHERE id = $1 AND plan = $2`, batch, from, to)
		return err
	})
	return store.Wrap("change the plan of batch "+batch, err)
}

// Submit opens the batch that was prepared from an upload, with the plan that was reviewed. If the
// policy requires a second person, the batch waits for that approval and Submit reports true. The
// upload is then kept so that the batch can be sent back. Otherwise the batch has the approval of
// by, and the upload is deleted. An upload without an ID stands for a batch that was prepared
// without one.
//
// Submit returns ErrNotFound, ErrSubmitted, ErrCanceled, ErrImport if the batch is not prepared,
// and ErrStale if the upload was changed or deleted since this version, because its rows are
// different now.
func (l Approvals) Submit(ctx context.Context, u Upload, plan, by string) (waits bool, err error) {
	batch := u.Batch
	err = l.change(ctx, func(tx *sql.Tx, c *control) error {
		s, err := loadStage(ctx, tx, batch)
		if s.open {
			return ErrSubmitted
		}
		if err := unchangedUpload(ctx, tx, u); err != nil {
			return err // checked first, because a new version deletes the old batch
		}
		switch {
		case err != nil:
			return err
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
		state, approver, at := ApprovalGiven, by, store.ToMillis(l.Now())
		if waits {
			state, approver, at = ApprovalNeeded, "", 0
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
		if err := l.openBatch(ctx, tx, c, batch); err != nil || waits || u.ID == "" {
			return err
		}
		return Uploads(l).dropUpload(ctx, tx, u.ID)
	})
	if err != nil {
		return false, fmt.Errorf("submit batch %s: %w", batch, err)
	}
	return waits, nil
}

// unchangedUpload returns ErrStale unless an upload still has the version and the batch with which
// it was read, and does not wait for approval.
func unchangedUpload(ctx context.Context, tx *sql.Tx, u Upload) error {
	if u.ID == "" {
		return nil
	}
	var same bool
	err := tx.QueryRowContext(ctx,
		`SELECT COUNT(*) > 0 FROM uploads WHERE id = $1 AND version = $2 AND batch = $3 AND submitted = 0`, u.ID,
		u.Version, u.Batch).Scan(&same)
	if err == nil && !same {
		err = ErrStale
	}
	return err
}

// hold makes a batch that is about to open wait for a second person if the policy requires one and
// none has approved it. Every path to an order passes through it, so no row is sent even if the
// maker of the batch forgot to request the approval.
func (db *database) hold(ctx context.Context, tx *sql.Tx, batch string) error {
	if needed, err := db.needsSecond(ctx, tx, batch); err != nil || !needed {
		return err
	}
	a, err := approvalOf(ctx, tx, batch)
	if err != nil || a.Second && a.State != NoApproval {
		return err
	}
	return db.askApproval(ctx, tx, batch, a.Hash, true)
}

// PlanHash hashes the ready rows of a batch, in the order of the input.
type PlanHash func(ready iter.Seq2[Row, error]) (string, error)

// GiveApproval approves a batch and releases its rows. The plan must match the requested plan and
// the rows at the time of the approval, because no one has reviewed rows that were retried,
// reviewed, corrected or quoted later. If the policy requires a second person, now or at the time
// of the submission, by must be one. It returns ErrNotFound, ErrNoApprovalNeeded, ErrNotOpen,
// ErrChanged and a *SecondError.
func (l Approvals) GiveApproval(ctx context.Context, batch, plan, by string, hash PlanHash) error {
	err := l.change(ctx, func(tx *sql.Tx, c *control) error {
		switch a, err := approvalOf(ctx, tx, batch); {
		case err != nil:
			return err
		case a.State != ApprovalNeeded:
			return ErrNoApprovalNeeded
		case !a.Open:
			return ErrNotOpen
		case plan != a.Hash:
			return ErrChanged
		}
		switch now, err := hash(readyRows(ctx, tx, batch)); {
		case err != nil:
			return err
		case now != plan:
			return ErrChanged
		}
		if err := l.signApproval(ctx, tx, batch, by); err != nil {
			return err
		}
		if err := l.recordStep(ctx, tx, batch, ApprovalEvent{By: by, What: StepApproved, Plan: plan}); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx,
			`UPDATE batches SET approval = 'given', approved_by = $2, approved_at = $3 WHERE id = $1`, batch, by,
			store.ToMillis(l.Now())); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, approveQuotes, batch); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, awaitApproval, batch, blockedOnApproval); err != nil {
			return err
		}
		if err := l.dropDrafts(ctx, tx, batch); err != nil {
			return err
		}
		if err := l.notifyApproved(ctx, tx, batch, by); err != nil {
			return err
		}
		if err := l.finishCorrected(ctx, tx, batch); err != nil {
			return err
		}
		return l.allocateFunds(ctx, tx, c)
	})
	return store.Wrap("approve batch "+batch, err)
}

// awaitApproval makes the uncertain rows of a batch wait for an approval if they turn out not to be
// placed. The rows of a batch that waits for approval are uncertain after the ledger was restored,
// and no approver reviews them.
const awaitApproval = `UPDATE rows SET blocked_on = $2 WHERE batch = $1 AND result = 'uncertain'`

// readyRows streams the ready rows of a batch in the order of the input, without
// their items.
func readyRows(ctx context.Context, q store.Lister, batch string) iter.Seq2[Row, error] {
	return streamRows(ctx, q, selectRows+`r.batch = $1 AND r.result = 'ready' ORDER BY r.number, r.id`, batch)
}

// signApproval returns a *SecondError if a batch needs a second person and by is not one. If by is,
// it records that the batch needs one.
func (db *database) signApproval(ctx context.Context, tx *sql.Tx, batch, by string) error {
	if err := gather(ctx, tx, batch); err != nil {
		return err
	}
	if needed, err := db.needsSecond(ctx, tx, batch); err != nil || !needed {
		return err
	}
	if err := db.mayApprove(ctx, tx, batch, by); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `UPDATE batches SET second = 1 WHERE id = $1`, batch)
	return err
}

// PendingOrders lists the unsent orders of a batch with their cost. The forecast of orders that
// wait for funds uses them.
func (l *Ledger) PendingOrders(ctx context.Context, batch string) ([]balance.Order, error) {
	return store.List[balance.Order](ctx, l.Read, "list the orders of batch "+batch,
		`SELECT priority, number AS "row", cost FROM rows WHERE batch = $1 AND result = 'ready' AND cost > 0`, batch)
}
