package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/store"
)

// Gate decides which orders wait for the approval of another person. The ledger asks it within each
// change by which rows of a batch become sendable, under the lock of that change. No row is
// therefore sent without the approval that it needs. A Gate writes its own tables and the approval
// of the batch with the change.
type Gate interface {
	// BeforeOpen makes a batch that is about to open wait for approval if it needs one.
	BeforeOpen(ctx context.Context, tx *Tx, batch string) error
	// AfterOpen records that the batch is open and that its quotes are the approved costs.
	AfterOpen(ctx context.Context, tx *Tx, batch string) error
	// HoldResent reports whether another person must approve the rows of an open batch that the
	// person of the context has made ready again. If so, it records that this person contributed.
	HoldResent(ctx context.Context, tx *Tx, batch string, why Resending) (bool, error)
	// Forget deletes the records of a batch that is deleted.
	Forget(ctx context.Context, tx *Tx, batch string) error
}

// Resending is the reason why a person made rows ready again.
type Resending string

// The reasons.
const (
	// Retried means that the person had the rows sent again.
	Retried Resending = "retry"
	// Resolved means that the person marked a row as not placed.
	Resolved Resending = "resolve"
)

// noGate holds nothing.
type noGate struct{}

func (noGate) BeforeOpen(context.Context, *Tx, string) error                    { return nil }
func (noGate) AfterOpen(context.Context, *Tx, string) error                     { return nil }
func (noGate) HoldResent(context.Context, *Tx, string, Resending) (bool, error) { return false, nil }
func (noGate) Forget(context.Context, *Tx, string) error                        { return nil }

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
	// Plan identifies the content and the cost that are to be approved.
	Plan string
	// AskedBy is the name of the person who submitted the batch. Empty if unknown.
	AskedBy string
	// Second reports whether a second person must give the approval.
	Second bool
	By     string
	At     time.Time
}

// unknownAgain makes a row count as unquoted if its quote was removed.
const unknownAgain = `quoted = CASE WHEN cost = 0 THEN 0 ELSE quoted END`

// release decides on the rows that are marked with blockedOnRelease. They wait for the approval of a
// second person, unless the person of the context may give it or none is needed. They are already
// ready, so their cost counts.
func (tx *Tx) release(ctx context.Context, batch string, approved bool) error {
	waits, message, err := tx.blockResent(ctx, batch, Retried, approved)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(
		ctx, `UPDATE rows
			SET blocked_on = $2, message = CASE WHEN $2 = '' THEN message ELSE $3 END
			WHERE batch = $1 AND blocked_on = '`+blockedOnRelease+`'`, batch, waits, message)
	return store.Wrap("release the rows of batch "+batch, err)
}

// blockResent returns the block and the message of rows of an open batch that a person has made ready
// again. They wait for a second person or, if no cost of theirs is approved, for any approval. It
// records that the batch needs a second person.
func (tx *Tx) blockResent(ctx context.Context, batch string, why Resending,
	approved bool) (waits, message string, err error) {
	b, err := store.Find[struct {
		Open     bool
		Approval ApprovalState
	}](ctx, tx, ErrNotFound, "read the approval of batch "+batch,
		`SELECT open, approval FROM batches WHERE id = $1`, batch)
	switch {
	case errors.Is(err, ErrNotFound): // without the batch there is nothing to approve
		return "", "", nil
	case err != nil || !b.Open || b.Approval == ApprovalNeeded:
		return "", "", err
	}
	if !approved {
		waits, message = blockedOnApproval, fmt.Sprintf(
			"waiting for approval: no cost of the order was approved; importer approve %s", batch)
	}
	if holds, err := tx.db.gate.HoldResent(ctx, tx, batch, why); err != nil || !holds {
		return waits, message, err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE batches SET second = 1 WHERE id = $1`, batch); err != nil {
		return "", "", fmt.Errorf("record that batch %s needs a second person: %w", batch, err)
	}
	return blockedOnApproval, fmt.Sprintf(
		"waiting for approval: a second person approves that it is sent; importer approve %s", batch), nil
}
