package approval

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// ErrPolicy is returned for an invalid approval policy.
var ErrPolicy = errors.New("the approval policy is not valid")

// Policy determines which orders need the approval of a second person.
type Policy struct {
	// Second reports whether any orders do.
	Second bool
	// From is the lowest cost of a batch that needs the approval. If it is zero, every batch does.
	From money.Cents
	// Terminal extends the policy to orders placed with commands, such as run and submit.
	Terminal bool

	// ChangedBy is empty if the policy was never changed.
	ChangedBy string
	ChangedAt time.Time
}

// Words describes the policy in one sentence for people.
func (p Policy) Words() string {
	if !p.Second {
		return "no batch needs the approval of a second person"
	}
	rule := "a second person approves each batch"
	if p.From > 0 {
		rule += " of " + p.From.Dollars() + " or more"
	}
	if p.Terminal {
		return rule + ", on the page, by a schedule, and on the terminal"
	}
	return rule + "; the commands run, submit, approve, retry and resolve are not covered"
}

// Covers reports whether a batch with the cost needs the approval of a second person if it is
// placed from the page or by a schedule. An unknown cost always needs it.
func (p Policy) Covers(cost money.Cost) bool {
	return p.Second && (p.From == 0 || cost.Amount >= p.From || cost.IsUnknown())
}

// weaker reports whether next exempts something that needs an approval under p.
func (p Policy) weaker(next Policy) bool {
	return p.Second && (!next.Second || next.From > p.From || p.Terminal && !next.Terminal)
}

// Policy reads the approval policy.
func (l *Approvals) Policy(ctx context.Context) (Policy, error) { return policy(ctx, l.ledger.Read) }

func policy(ctx context.Context, q store.Querier) (Policy, error) {
	return store.Find[Policy](ctx, q, ledger.ErrNotFound, "read the approval policy",
		`SELECT second, from_cents AS "from", terminal, changed_by, changed_at FROM approval_policy WHERE id = 1`)
}

// ChangePolicy changes the approval policy, which applies to batches submitted afterwards. A batch
// that waits for a second person keeps waiting under a weaker policy. A batch that waits for any
// approval needs a second person under a stricter policy. It returns ErrPolicy if the policy is
// invalid.
func (l *Approvals) ChangePolicy(ctx context.Context, next Policy) error {
	if next.From < 0 {
		return fmt.Errorf("%w: an amount is 0 or more", ErrPolicy)
	}
	return store.Wrap("change the approval policy", l.ledger.Change(ctx, func(tx *ledger.Tx) error {
		before, err := policy(ctx, tx)
		if err != nil {
			return err
		}
		by := audit.Person(ctx)
		_, err = tx.ExecContext(
			ctx, `UPDATE approval_policy
				SET second = $1, from_cents = $2, terminal = $3, changed_by = $4, changed_at = $5
				WHERE id = 1`,
			store.BoolInt(next.Second), next.From, store.BoolInt(next.Terminal), by, store.ToMillis(tx.Now()))
		if err != nil || !before.weaker(next) {
			return err
		}
		return account.NotifyAccess(ctx, tx.Tx, tx.Now(), "the approval policy was weakened",
			fmt.Sprintf(
				"%s changed the approval policy.\nFrom now on: %s.\nBefore: %s.\nBatches that wait for a second "+
					"person go on waiting.\nWho changed what: importer audit\n", account.NameOr(by), next.Words(),
				before.Words()))
	}))
}
