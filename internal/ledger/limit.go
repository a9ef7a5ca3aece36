package ledger

import "context"

// The approved cost of a row is a limit. An order that would cost more waits for a new approval.
// Opening or approving a batch approves its quotes. A row without a quote then has an unknown
// approved cost, which is no limit. A row that became ready later waits for an approval.

// approveQuotes makes the quotes of a batch's rows their approved costs.
const approveQuotes = `UPDATE rows
	SET approved = cost + spent, approved_certainty = CASE WHEN quoted = 1 THEN certainty ELSE 2 END
	WHERE batch = $1 AND result = 'ready'`

// WaitsForApproval matches the rows r that wait because they cost more than was approved or became
// ready again.
const WaitsForApproval = `r.result = 'ready' AND r.blocked_on = '` + blockedOnApproval + `'`

// awaitApproval makes the uncertain rows of a batch wait for an approval if they turn out not to be
// placed. The rows of a batch that waits for approval are uncertain after the ledger was restored,
// and no approver reviews them.
const awaitApproval = `UPDATE rows SET blocked_on = $2 WHERE batch = $1 AND result = 'uncertain'`

// ReleaseBatch approves the quotes of a batch and lets its rows be sent within a change.
func (tx *Tx) ReleaseBatch(ctx context.Context, batch string) error {
	if _, err := tx.ExecContext(ctx, approveQuotes, batch); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, awaitApproval, batch, blockedOnApproval); err != nil {
		return err
	}
	if err := tx.finishCorrected(ctx, batch); err != nil {
		return err
	}
	return tx.AllocateFunds(ctx)
}

// ApproveCosts approves the costs of the rows of a batch that wait for a new approval, and lets
// them be sent, within a change.
func (tx *Tx) ApproveCosts(ctx context.Context, batch string) error {
	if _, err := tx.ExecContext(ctx,
		`UPDATE rows
			SET approved = cost + spent, approved_certainty = certainty, blocked_on = '', message = ''
			WHERE batch = $1 AND result = 'ready' AND blocked_on = $2`, batch, blockedOnApproval); err != nil {
		return err
	}
	return tx.AllocateFunds(ctx)
}
