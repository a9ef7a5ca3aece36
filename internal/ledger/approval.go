package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/balance"
)

// ErrChanged is returned for an approval of something else than what would be
// placed: the rows, or what they cost, have changed since it was looked at.
var ErrChanged = errors.New("it has changed since it was reviewed")

// ErrSecondPerson is returned for an approval by a contributor of what is approved,
// where a second person is wanted: see SecondError.
var ErrSecondPerson = errors.New("a second person has to approve it")

// ErrSubmitted is returned for a batch that is already submitted.
var ErrSubmitted = errors.New("it is already submitted")

// ErrNoApprovalNeeded is returned for an approval that was not requested, or that was
// given already.
var ErrNoApprovalNeeded = errors.New("no approval is needed")

// ErrNotOpen is returned for an approval of a batch that is not submitted yet: who
// takes part in it is known when it is.
var ErrNotOpen = errors.New("it is not submitted yet, so it cannot be approved")

// ApprovalState is whether a batch waits for approval.
type ApprovalState string

// The states of an approval.
const (
	NoApproval     ApprovalState = ""       // none was requested
	ApprovalNeeded ApprovalState = "wanted" // nothing is sent before it is given
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

// approvalRow is what a batch says of its approval, and of itself for those who approve it.
type approvalRow struct {
	Approval
	File                    string
	Quote                   []byte
	Open, Canceled, Applied bool
}

// approvalOf reads the approval of a batch. It returns ErrNotFound.
func approvalOf(ctx context.Context, q querier, batch string) (approvalRow, error) {
	return find[approvalRow](ctx, q, ErrNotFound, "read the approval of batch "+batch,
		`SELECT approval AS state, plan AS hash, asked_by, second, file, quote, open, canceled, applied
			FROM batches WHERE id = $1`, batch)
}

// Request keeps the rows of a batch from being sent until a person approves the
// plan. A changed plan needs a new approval. The person who asks for it takes
// part in the batch: where the policy wants a second person, the approval has
// to be another person's. It returns ErrSubmitted for a batch of corrections that
// are sent instead of the rows that they correct.
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
	return wrap("ask for the approval of batch "+batch, err)
}

// askApproval has a batch wait for the approval of a plan, by a second person or by
// anyone.
func (db *database) askApproval(ctx context.Context, tx *sql.Tx, batch, plan string, second bool) error {
	was, err := approvalOf(ctx, tx, batch)
	if err != nil {
		return err
	}
	by := auditPerson(ctx)
	asked, err := affected(tx.ExecContext(ctx,
		`UPDATE batches SET approval = 'wanted', plan = $2, approved_by = '', approved_at = 0,
		asked_by = CASE WHEN approval = '' THEN $3 ELSE asked_by END, second = CASE WHEN $4 = 1 THEN 1 ELSE second END
		WHERE id = $1 AND (approval <> 'given' OR plan <> $2 OR $4 = 1 AND second = 0)`, batch, plan, by,
		boolInt(second)))
	if err != nil {
		return err
	}
	// it was submitted, and approved, before; openBatch records the others
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

// ChangePlan puts a plan in place of the one that waits for approval, unless
// another one is there. It returns ErrNotFound, and ErrNoApprovalNeeded if the approval
// was given meanwhile: it stands.
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
	return wrap("change the plan of batch "+batch, err)
}

// Submit opens the batch that was prepared of an upload, pinned to the plan that was
// looked at. Where the policy wants a second person it waits for their approval,
// which it reports, and keeps the upload to send it back to; otherwise it has the
// approval of by, and the upload is deleted. It returns ErrNotFound, ErrSubmitted,
// ErrImport for one that is not prepared, and ErrStale where the upload was changed
// or deleted since this version: its rows are other ones now. An upload without an
// id stands for a batch that was prepared without one.
func (l Approvals) Submit(ctx context.Context, u Upload, plan, by string) (waits bool, err error) {
	batch := u.Batch
	err = l.change(ctx, func(tx *sql.Tx, c *control) error {
		s, err := stageOf(ctx, tx, batch)
		if s.open {
			return ErrSubmitted
		}
		if err := unchangedUpload(ctx, tx, u); err != nil {
			return err // before what became of the batch: it is deleted with the old version
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
		state, approver, at := ApprovalGiven, by, toMillis(l.now())
		if waits {
			state, approver, at = ApprovalNeeded, "", 0
		}
		if _, err := tx.ExecContext(ctx,
			`UPDATE batches
				SET approval = $2, plan = $3, asked_by = $4, second = $5, approved_by = $6, approved_at = $7
				WHERE id = $1`,
			batch, state, plan, by, boolInt(waits), approver, at); err != nil {
			return err
		}
		if waits { // its draft is kept, to send it back to
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

// unchangedUpload returns ErrStale unless an upload still has the version and the
// batch that it was read with, and waits for no approval.
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

// hold has a batch that is about to open wait for a second person, where the
// policy wants one and none has approved it. It is what every way to an order
// passes: whatever its maker forgot, no row of it can be sent.
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

// GiveApproval approves a batch and lets it go. The plan must be the one that is
// wanted, and that of the rows as they are when the approval is recorded: what was
// retried, reviewed, corrected or quoted since it was looked at, nobody has seen. If
// the policy wants a second person, now or when the batch was submitted, by must be
// one. It returns ErrNotFound, ErrNoApprovalNeeded, ErrNotOpen, ErrChanged, and a
// *SecondError.
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
			toMillis(l.now())); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, approveQuotes, batch); err != nil {
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
	return wrap("approve batch "+batch, err)
}

// readyRows streams the ready rows of a batch in the order of the input, without
// their items.
func readyRows(ctx context.Context, q lister, batch string) iter.Seq2[Row, error] {
	return streamRows(ctx, q, selectRows+`r.batch = $1 AND r.result = 'ready' ORDER BY r.number, r.id`, batch)
}

// signApproval returns a *SecondError if a batch needs a second person and by is none,
// and notes that it needs one.
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

// PendingOrders lists what the orders of a batch cost that are not sent yet, for the
// forecast of which wait for funds.
func (l *Ledger) PendingOrders(ctx context.Context, batch string) ([]balance.Order, error) {
	return list[balance.Order](ctx, l.read, "list the orders of batch "+batch,
		`SELECT priority, number AS "row", cost FROM rows WHERE batch = $1 AND result = 'ready' AND cost > 0`, batch)
}
