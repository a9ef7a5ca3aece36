package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"bulkfiling/internal/ledger"
	"bulkfiling/internal/money"
)

// Proposal is a batch that waits for somebody's yes, as it would be placed now.
type Proposal struct {
	Batch  ledger.Batch
	Counts ledger.Counts
	Hash   string // names what would be placed, and for how much: see PlanHash
	Total  money.Cost
	Book   ledger.Book
	Season *Plan       // of the firing that made the batch; nil where none did
	Quote  *BatchQuote // as it was made last; nil where none was kept
}

// TotalText is the cost for people. Where a state fee is missing, it says whose.
func (p *Proposal) TotalText() string {
	if p.Quote == nil {
		return p.Total.String()
	}
	return p.Total.Without(p.Quote.Missing())
}

// Propose quotes a batch that waits for approval anew, and says what a yes to it
// would be to. Where ask gives no quoter its quotes stand. It returns ledger.ErrNotFound;
// ledger.ErrApproved, with the batch, where no yes is waited for; and
// ledger.ErrPlan, with the proposal, where that has changed since the batch was
// handed over: from then on it is this one that a yes is waited for to.
func Propose(ctx context.Context, l *ledger.Ledger, ask Asker, batch string) (Proposal, error) {
	var p Proposal
	var err error
	if p.Batch, err = l.Batch(ctx, batch); err != nil {
		return p, err
	}
	wanted := p.Batch.Approval
	if wanted.State != ledger.ApprovalWanted {
		return p, fmt.Errorf("batch %s: %w", p.Batch.ID, ledger.ErrApproved)
	}
	if quoter, err := ask(ctx); err != nil {
		return p, err
	} else if quoter != nil {
		if _, err := QuoteBatch(ctx, l, quoter, p.Batch.ID); err != nil {
			return p, err
		}
	}
	if p.Hash, p.Total, err = PlanHash(ctx, l, p.Batch.ID); err != nil {
		return p, err
	}
	if p.Counts, err = l.Counts(ctx, p.Batch.ID); err != nil {
		return p, err
	}
	if p.Book, err = l.Book(ctx); err != nil {
		return p, err
	}
	if p.Season, err = PlanBehind(ctx, l, p.Batch.ID); err != nil {
		return p, err
	}
	switch q, found, err := QuoteOf(ctx, l, p.Batch.ID); {
	case err != nil:
		return p, err
	case found:
		p.Quote = &q
	}
	if p.Hash == wanted.Plan {
		return p, nil
	}
	if err := l.ChangePlan(ctx, p.Batch.ID, wanted.Plan, p.Hash); errors.Is(err, ledger.ErrApproved) {
		// Somebody was quicker, and what is placed since changed the rest.
		now, lost := l.Batch(ctx, p.Batch.ID)
		p.Batch = now
		return p, errors.Join(lost, err)
	} else if err != nil {
		return p, err
	}
	return p, fmt.Errorf("%w: what it holds, or what that costs, has changed since the plan %s was made",
		ledger.ErrPlan, wanted.Plan)
}

// PlanBehind is the plan of the firing that made a batch; nil where none did.
func PlanBehind(ctx context.Context, l *ledger.Ledger, batch string) (*Plan, error) {
	firings, err := l.Firings(ctx, "")
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(firings, func(f ledger.Firing) bool { return f.Batch == batch })
	if i < 0 {
		return nil, nil
	}
	return PlanOf(firings[i])
}

// Looked reports whether the proposal is the one that somebody looked at, by its
// hash. It returns ledger.ErrPlan.
func (p *Proposal) Looked(hash string) error {
	if hash != p.Hash {
		return fmt.Errorf("%w: you looked at the plan %s, and it is %s", ledger.ErrPlan, hash, p.Hash)
	}
	return nil
}

// Approve says yes to a batch, as it was looked at: hash is that of the proposal
// then. Where it has changed since, nothing is approved, and the proposal is
// what there is to look at now. It returns the errors of Propose and of
// ledger.Approve.
func Approve(ctx context.Context, l *ledger.Ledger, ask Asker, batch, hash, by string) (Proposal, error) {
	p, err := Propose(ctx, l, ask, batch)
	if err == nil {
		err = p.Looked(hash)
	}
	if err == nil {
		err = l.Approve(ctx, p.Batch.ID, hash, by)
	}
	return p, err
}
