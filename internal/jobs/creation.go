package jobs

import (
	"context"
	"errors"
	"fmt"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// create creates the company that a row describes. A creation has a claim (idempotency key) like
// an order, because the filing service does not guard against a second creation. Afterwards
// the row is ready for its order, and so are other rows that waited for the same company.
func (p *placer) create(ctx context.Context, row ledger.Row, userID string) error {
	company := row.Request.Company.Sheet.ForUser(userID)
	claim := ledger.Claim{Product: filing.CompanyRecord, Key: company.Key()}
	begun, err := p.attempt(ctx, ledger.Intent{
		Row:      row.ID,
		Of:       row.InBatch(),
		Tries:    row.Tries,
		Claims:   []ledger.Claim{claim},
		Creating: true,
		Rest:     row.Request.Order.Products(),
	},
		func(ctx context.Context) filing.Answer { return p.service.CreateCompany(ctx, company) },
		func(try int, a filing.Answer) error { return p.recordCreation(row, company, claim, try, a) })
	if err != nil || len(begun.Taken) == 0 {
		return err
	}
	taken := begun.Taken[0]
	if taken.Bought {
		return fmt.Errorf("row %d: the company %s was created, but is not on record any more", row.ID, taken.Claim.Key)
	}
	holder, err := p.ledger.Row(ctx, taken.Row)
	if err != nil {
		return err
	}
	err = p.ledger.Defer(ctx, ledger.Deferral{Row: row.ID, Of: row.InBatch(), Next: filing.Ready, Wait: taken.Claim.Key,
		Message: fmt.Sprintf("its company is being created by %s: this row waits for it", rowRef(row, holder))})
	if errors.Is(err, ledger.ErrTransition) {
		return nil
	}
	return err
}

// recordCreation records the outcome of a creation. The table of answers decides as for any
// request that must not be repeated.
func (p *placer) recordCreation(row ledger.Row, company filing.NewCompany, claim ledger.Claim, try int,
	a filing.Answer) error {
	out := ledger.Outcome{
		Row:     row.ID,
		Try:     try,
		Answer:  a,
		Claims:  []ledger.Claim{claim},
		Creates: true,
		Due:     p.now().Add(retryAfter(a, row.Attempts)),
	}
	switch {
	case a.Kind == filing.Accepted:
		made := row.Request.Company.Sheet
		made.ID = a.CompanyID
		// sendDescription sends these, because the creation request has no fields for them.
		made.StructureType, made.TaxElection, made.FiscalEndMonth = "", "", ""
		out.Company = a.CompanyID
		out.Made = &ledger.MadeCompany{Ref: string(company.Key()), Record: made}
		out.Message = "the company was created as " + a.CompanyID
	case a.Kind.Lost():
		out.Message = uncertainCreation(a)
	case a.Kind == filing.Refused:
		out.Message = "the filing service refused to create the company: " + a.Message
	default:
		out.Message = messageFor(a, filing.RowState{}, nil)
	}
	return p.recordOutcome(row, out)
}

// uncertainCreation returns the message of a row whose creation is uncertain.
func uncertainCreation(a filing.Answer) string {
	return "the company was sent for creation, but the filing service did not confirm it (" + a.Message +
		"). Look for the company in the dashboard, then resolve the row (importer resolve, or Uncertain on the page)"
}
