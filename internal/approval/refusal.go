package approval

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/outbox"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// An approver who does not approve either sends the batch back, so that its preparer corrects and
// submits it again, or rejects it, which cancels it. Neither sends anything. Orders that were
// already sent stay: a batch with sent orders cannot be sent back, and rejecting it cancels only
// its other rows.

// ErrNoComment is returned if an approver refuses without a comment or with one that is too long.
var ErrNoComment = errors.New("a comment is missing, or is longer than 1,000 characters")

// ErrSentAlready is returned for sending back a batch with sent orders.
var ErrSentAlready = errors.New("orders of it were sent already")

// ErrNoDraft is returned for sending back a batch that has no draft because a schedule or a command
// made it.
var ErrNoDraft = errors.New("there is no draft to send it back to")

// ErrCorrected is returned for sending back a batch that another batch corrects. The draft does not
// contain the corrections, or they would be applied to it later.
var ErrCorrected = errors.New("a spreadsheet with corrections of it was uploaded")

// maxComment is the maximum length of a comment in characters.
const maxComment = 1000

func checkComment(comment string) (string, error) {
	comment = filing.HideSSNs(strings.TrimSpace(comment))
	if comment == "" || utf8.RuneCountInString(comment) > maxComment {
		return "", ErrNoComment
	}
	return comment, nil
}

// waiting returns ErrNotFound, ErrNoApprovalNeeded or ErrNotOpen unless a batch waits for approval.
func waiting(ctx context.Context, tx *ledger.Tx, batch string) (a approvalRow, err error) {
	a, err = approvalOf(ctx, tx, batch)
	switch {
	case err != nil:
		return a, err
	case a.State != ledger.ApprovalNeeded || a.Canceled:
		return a, ErrNoApprovalNeeded
	case !a.Open:
		return a, ErrNotOpen
	}
	return a, nil
}

// refuse checks the comment of an approver who does not approve, calls refuses with it and
// allocates the funds anew. It returns ErrNoComment.
func (l *Approvals) refuse(ctx context.Context, comment string,
	refuses func(tx *ledger.Tx, comment string) error) error {
	comment, err := checkComment(comment)
	if err != nil {
		return err
	}
	return l.ledger.Change(ctx, func(tx *ledger.Tx) error {
		if err := refuses(tx, comment); err != nil {
			return err
		}
		return tx.AllocateFunds(ctx)
	})
}

// wasSent matches the batches with a row that was sent or has a result other than ready, invalid or
// skipped.
const wasSent = `EXISTS (SELECT 1 FROM rows r WHERE r.batch = batches.id
	AND (r.last_attempt > 0 OR r.result NOT IN ('ready', 'invalid', 'skipped')))`

// hasDraft matches the batches whose spreadsheet was kept at their submission.
const hasDraft = `EXISTS (SELECT 1 FROM uploads u WHERE u.batch = batches.id AND u.submitted = 1)`

// isCorrected matches the batches that have a batch of corrections, applied or not.
const isCorrected = `EXISTS (SELECT 1 FROM batches c WHERE c.corrects = batches.id)`

// CanSendBack reports whether a batch that waits for approval can be sent back to its draft.
func (l *Approvals) CanSendBack(ctx context.Context, batch string) (bool, error) {
	var can bool
	err := l.ledger.Read.QueryRowContext(ctx, `SELECT COUNT(*) > 0 FROM batches
		WHERE id = $1 AND approval = 'wanted' AND open = 1 AND canceled = 0
			AND `+hasDraft+` AND NOT `+wasSent+` AND NOT `+isCorrected,
		batch).Scan(&can)
	return can, store.Wrap("see whether batch "+batch+" can be sent back", err)
}

// SendBack turns a batch that waits for approval into a draft again, so that its preparer can
// correct and submit it. The new submission needs a new approval. It returns ErrNoComment,
// ErrNotFound, ErrNoApprovalNeeded, ErrNotOpen, ErrSentAlready, ErrCorrected and ErrNoDraft.
func (l *Approvals) SendBack(ctx context.Context, batch, by, comment string) error {
	return store.Wrap("send batch "+batch+" back", l.refuse(ctx, comment, func(tx *ledger.Tx, comment string) error {
		a, err := waiting(ctx, tx, batch)
		if err != nil {
			return err
		}
		var sent, corrected, draft bool
		switch err := tx.QueryRowContext(ctx,
			`SELECT `+wasSent+`, `+isCorrected+`, `+hasDraft+` FROM batches WHERE id = $1`,
			batch).Scan(&sent, &corrected, &draft); {
		case err != nil:
			return err
		case sent:
			return ErrSentAlready
		case corrected:
			return ErrCorrected
		case !draft:
			return ErrNoDraft
		}
		if err := recordStep(ctx, tx, batch, Event{
			By:      by,
			What:    StepSentBack,
			Comment: comment,
			Plan:    a.Plan,
		}); err != nil {
			return err
		}
		if err := store.ExecEach(ctx, tx, batch,
			`UPDATE approval_history
				SET object = (SELECT MIN('upload ' || u.id) FROM uploads u WHERE u.batch = $1 AND u.submitted = 1)
				WHERE object = $1`,
			// The draft needs the approval that it waited for, even if the policy changes, or if
			// the corrected draft becomes another batch.
			`UPDATE uploads
				SET second = 1
				WHERE batch = $1 AND submitted = 1`,
			`UPDATE batches
				SET open = 0, prepared = 1, approval = '', plan = '', second = 1
				WHERE id = $1`); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE uploads SET submitted = 0, changed_at = $2 WHERE batch = $1`, batch,
			store.ToMillis(tx.Now())); err != nil {
			return err
		}
		return notifyRefused(ctx, tx, batch, a, outbox.KindSentBack, by, comment)
	}))
}

// refusedText returns the message of a row that an approver did not approve.
func refusedText(by, reason string) string {
	return fmt.Sprintf("not approved by %s, nothing was sent: %s", account.NameOr(by), reason)
}

// Reject cancels a batch that waits for approval. Its rows and its results show the reason. Rows
// that were sent stay as they are. It returns the number of canceled rows, and ErrNoComment,
// ErrNotFound, ErrNoApprovalNeeded and ErrNotOpen.
func (l *Approvals) Reject(ctx context.Context, batch, by, reason string) (rows int, err error) {
	err = l.refuse(ctx, reason, func(tx *ledger.Tx, reason string) error {
		a, err := waiting(ctx, tx, batch)
		if err != nil {
			return err
		}
		if err := recordStep(ctx, tx, batch, Event{
			By:      by,
			What:    StepRejected,
			Comment: reason,
			Plan:    a.Plan,
		}); err != nil {
			return err
		}
		if rows, err = tx.CancelBatch(ctx, batch, refusedText(by, reason)); err != nil {
			return err
		}
		if err := deleteDrafts(ctx, tx, batch); err != nil {
			return err
		}
		return notifyRefused(ctx, tx, batch, a, outbox.KindRejected, by, reason)
	})
	if err != nil {
		return 0, fmt.Errorf("reject batch %s: %w", batch, err)
	}
	return rows, nil
}
