package approval

import (
	"context"
	"fmt"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// Step is an action in the approval of a batch.
type Step string

// The steps of an approval.
const (
	StepSubmitted     Step = "submitted"
	StepApproved      Step = "approved"
	StepSentBack      Step = "sent-back"
	StepRejected      Step = "rejected"
	StepCostsApproved Step = "costs-approved"
)

// Event is a step of the approval of a batch. It records the person, the step, and the
// orders and their cost at that time.
type Event struct {
	At      time.Time
	By      string
	What    Step
	Comment string
	Plan    string
	Orders  int
	Cost    money.Cost
	// Quote is the quote at that time, as its maker encoded it. Set only for StepSubmitted.
	Quote []byte
}

// recordStep adds a step to the history of a batch. A step without orders gets the current orders
// of the batch and the cost of its ready rows.
func recordStep(ctx context.Context, tx *ledger.Tx, batch string, e Event) error {
	if e.Orders == 0 {
		f, err := tx.Figures(ctx, batch)
		if err != nil {
			return err
		}
		e.Orders, e.Cost = f.Orders, f.Needed
	}
	_, err := tx.ExecContext(ctx,
		`INSERT INTO approval_history (object, at, person, what, comment, plan, orders, cents, certainty, quote)
			VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10)`,
		batch, store.ToMillis(tx.Now()), e.By, e.What, e.Comment, e.Plan, e.Orders, e.Cost.Amount, e.Cost.Certainty,
		string(e.Quote))
	return store.Wrap("record a step of the approval of batch "+batch, err)
}

// recordSubmission records the submission of a batch with its quote. It first takes over the
// history of the draft to which the batch was sent back.
func recordSubmission(ctx context.Context, tx *ledger.Tx, batch string) error {
	a, err := approvalOf(ctx, tx, batch)
	if err != nil || a.State == ledger.NoApproval {
		return err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE approval_history SET object = $1
		WHERE object IN (SELECT 'upload ' || id FROM uploads WHERE batch = $1)`, batch); err != nil {
		return fmt.Errorf("carry the history of batch %s on: %w", batch, err)
	}
	if err := recordStep(ctx, tx, batch, Event{
		By:    a.AskedBy,
		What:  StepSubmitted,
		Plan:  a.Plan,
		Quote: a.Quote,
	}); err != nil || a.State != ledger.ApprovalNeeded {
		return err
	}
	return notifyApprovalNeeded(ctx, tx, batch, a)
}

func history(ctx context.Context, q store.Querier, object string) ([]Event, error) {
	return store.List[Event](ctx, q, "list the history of "+object, `SELECT `+historyColumns+`, h.quote
		FROM approval_history h WHERE h.object = $1 ORDER BY h.id`, object)
}

const historyColumns = `h.at, h.person AS "by", h.what, h.comment, h.plan, h.orders, h.cents AS "cost.amount",
		h.certainty AS "cost.certainty"`

// History lists the steps of the approval of a batch, the oldest first.
func (l *Approvals) History(ctx context.Context, batch string) ([]Event, error) {
	return history(ctx, l.ledger.Read, batch)
}

// DraftHistory lists the steps of the approval of the batch that was sent back to this draft. Other
// drafts have no history.
func (l *Approvals) DraftHistory(ctx context.Context, upload string) ([]Event, error) {
	return history(ctx, l.ledger.Read, uploadObject(upload))
}

// SentBack is a draft whose batch was sent back and has not been submitted again.
type SentBack struct {
	Upload    string
	File      string
	CreatedBy string
	Event
}

// ListSentBack lists the drafts that were sent back, the newest first.
func (l *Approvals) ListSentBack(ctx context.Context) ([]SentBack, error) {
	return store.List[SentBack](ctx, l.ledger.Read, "list what was sent back",
		`SELECT u.id AS upload, u.file, u.created_by, `+historyColumns+`
			FROM uploads u JOIN approval_history h ON h.object = 'upload ' || u.id
			WHERE u.submitted = 0 AND h.what = 'sent-back'
			AND h.id = (SELECT MAX(x.id) FROM approval_history x WHERE x.object = h.object)
			ORDER BY h.at DESC, h.id DESC`)
}
