package approval

import (
	"context"
	"errors"

	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// Gate makes the orders of a ledger wait for the approvals that the policy requires. See
// ledger.Config.
type Gate struct{}

var _ ledger.Gate = Gate{}

// BeforeOpen makes a batch wait for a second person if the policy requires one and none has approved
// it. Every path to an order passes through it, so no row is sent even if the maker of the batch
// forgot to request the approval. A later approval needs the contributors, even if the current
// policy does not.
func (Gate) BeforeOpen(ctx context.Context, tx *ledger.Tx, batch string) error {
	if err := gather(ctx, tx.Tx, batch); err != nil {
		return err
	}
	if needed, err := needsSecond(ctx, tx, batch); err != nil || !needed {
		return err
	}
	a, err := approvalOf(ctx, tx, batch)
	if err != nil || a.Second && a.State != ledger.NoApproval {
		return err
	}
	return askApproval(ctx, tx, batch, a.Plan, true)
}

// AfterOpen records the submission of a batch.
func (Gate) AfterOpen(ctx context.Context, tx *ledger.Tx, batch string) error {
	return recordSubmission(ctx, tx, batch)
}

// HoldResent reports whether rows that were made ready again wait for a second person. The person
// of the context contributes to them then.
func (Gate) HoldResent(ctx context.Context, tx *ledger.Tx, batch string, why ledger.Resending) (bool, error) {
	if needed, err := needsSecond(ctx, tx, batch); err != nil || !needed {
		return false, err
	}
	if err := gather(ctx, tx.Tx, batch); err != nil {
		return false, err
	}
	by := audit.Person(ctx)
	if err := mayApprove(ctx, tx, batch, by); !errors.Is(err, ErrSecondPerson) {
		return false, err
	}
	return true, contribute(ctx, tx.Tx, batch, by, Part(why))
}

// Forget deletes the history of a batch and its contributors.
func (Gate) Forget(ctx context.Context, tx *ledger.Tx, batch string) error {
	return forget(ctx, tx, batch)
}

// forget deletes the history and the contributors of an object.
func forget(ctx context.Context, tx *ledger.Tx, object string) error {
	return store.ExecEach(ctx, tx.Tx, object,
		`DELETE FROM contributors WHERE object = $1`, `DELETE FROM approval_history WHERE object = $1`)
}
