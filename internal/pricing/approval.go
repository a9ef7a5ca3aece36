package pricing

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// Proposal is a batch that waits for approval, with the orders that would be placed now.
type Proposal struct {
	Batch   ledger.Batch
	Figures ledger.Figures
	// Hash identifies the orders and their cost. See ApprovalHash.
	Hash    string
	Total   money.Cost
	Balance ledger.Balance
	// Quote is the last stored quote, nil if none is stored.
	Quote *BatchQuote
}

// TotalText returns the cost for display. If a state fee is missing, it names the companies.
func (p *Proposal) TotalText() string {
	if p.Quote == nil {
		return p.Total.String()
	}
	return p.Total.Without(p.Quote.Missing())
}

// Propose returns the orders that an approval of a batch would place now. It quotes them again if
// their quote is outdated. If source returns no quoter, it uses the stored quotes.
//
// It returns ledger.ErrNotFound, approval.ErrNoApprovalNeeded with the batch if the batch does not
// wait for approval, and approval.ErrChanged with the proposal if the orders or their cost have
// changed since the batch was submitted. After ErrChanged, the new proposal is the one to approve.
func Propose(ctx context.Context, l *ledger.Ledger, source Source, batch string) (Proposal, error) {
	var p Proposal
	var err error
	if p.Batch, err = l.Batch(ctx, batch); err != nil {
		return p, err
	}
	wanted := p.Batch.Approval
	if wanted.State != ledger.ApprovalNeeded {
		return p, fmt.Errorf("batch %s: %w", p.Batch.ID, approval.ErrNoApprovalNeeded)
	}
	if p.Hash, p.Total, err = ApprovalHash(ctx, l, p.Batch.ID); err != nil {
		return p, err
	}
	if err := p.quoteAgain(ctx, l, source); err != nil {
		return p, err
	}
	if p.Figures, err = l.Figures(ctx, p.Batch.ID); err != nil {
		return p, err
	}
	if p.Balance, err = l.Balance(ctx); err != nil {
		return p, err
	}
	if p.Hash == wanted.Plan {
		return p, nil
	}
	if err := approval.New(l).ChangePlan(ctx, p.Batch.ID, wanted.Plan, p.Hash); errors.Is(err,
		approval.ErrNoApprovalNeeded) {
		// Another approval came first, and the orders placed since then change the rest.
		now, lost := l.Batch(ctx, p.Batch.ID)
		p.Batch = now
		return p, errors.Join(lost, err)
	} else if err != nil {
		return p, err
	}
	return p, fmt.Errorf("%w: what it holds, or what that costs, has changed since the plan %s was made",
		approval.ErrChanged, wanted.Plan)
}

// quoteAgain quotes the batch again if its stored quote is outdated.
func (p *Proposal) quoteAgain(ctx context.Context, l *ledger.Ledger, source Source) error {
	q, found, err := LoadBatchQuote(ctx, l, p.Batch.ID)
	if err != nil {
		return err
	}
	if found {
		p.Quote = &q
	}
	quoter, err := source(ctx)
	if err != nil || quoter == nil {
		return err
	}
	facts, err := l.Quotes().Facts(ctx)
	if err != nil || found && q.Basis == basisOf(quoter, facts, p.Hash) {
		return err
	}
	if q, err = QuoteBatch(ctx, l, quoter, p.Batch.ID); err != nil {
		return err
	}
	p.Quote = &q
	p.Hash, p.Total, err = ApprovalHash(ctx, l, p.Batch.ID)
	return err
}

// Matches returns approval.ErrChanged unless hash identifies this proposal. It proves that the
// approver has seen this proposal and no other.
func (p *Proposal) Matches(hash string) error {
	if hash != p.Hash {
		return fmt.Errorf("%w: the plan that you give is %s, and the current plan is %s. Review it and approve "+
			"that plan", approval.ErrChanged, hash, p.Hash)
	}
	return nil
}

// Approve approves a proposal as it was shown and releases the batch. It also returns
// approval.ErrChanged if the orders have changed since the proposal.
func (p *Proposal) Approve(ctx context.Context, l *ledger.Ledger, by string) error {
	return approval.New(l).GiveApproval(ctx, p.Batch.ID, p.Hash, by,
		func(ready iter.Seq2[ledger.ReadyRow, error]) (string, error) {
			hash, _, err := hashOrders(p.Batch.ID, ready)
			return hash, err
		})
}

// ApprovalHash returns a hash and the total of a batch's ready orders and their costs. An approval
// applies to the orders of its hash and to no others.
func ApprovalHash(ctx context.Context, l *ledger.Ledger, batch string) (hash string, total money.Cost, err error) {
	return hashOrders(batch, l.ReadyRows(ctx, batch))
}

func hashOrders(batch string, rows iter.Seq2[ledger.ReadyRow, error]) (hash string, total money.Cost, err error) {
	sum := sha256.New()
	io.WriteString(sum, batch+"\n")
	for row, err := range rows {
		if err != nil {
			return "", total, err
		}
		fmt.Fprintf(sum, "%d %s %s\n", row.Number, row.Cost, row.Request)
		if total, err = total.Plus(row.Cost); err != nil {
			return "", total, fmt.Errorf("sum up batch %s: %w", batch, err)
		}
	}
	fmt.Fprintf(sum, "total %s\n", total)
	return hex.EncodeToString(sum.Sum(nil))[:16], total, nil
}
