package jobs

import (
	"context"
	"errors"
	"fmt"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/ledger"
)

// create makes the company that a row describes and the service does not know.
// It goes the way of an order, with its own business key: the service has no
// guard against a second creation. Once it is made the row is ready for its
// order, and so is every row that waited for the same company.
func (p *placer) create(ctx context.Context, row ledger.Row, userID string) error {
	company := row.Request.Company.Sheet.ForUser(userID)
	claim := ledger.Claim{Product: filing.CompanyRecord, Key: company.Key()}
	begun, err := p.attempt(ctx, ledger.Intent{
		Row:      row.ID,
		Tries:    row.Tries,
		Claims:   []ledger.Claim{claim},
		Creating: true,
	},
		func(ctx context.Context) filing.Answer { return p.service.CreateCompany(ctx, company) },
		func(try int, a filing.Answer) error { return p.recordCreation(row, company, claim, try, a) })
	if err != nil || len(begun.Taken) == 0 {
		return err
	}
	taken := begun.Taken[0]
	if taken.Bought {
		return fmt.Errorf("row %d: the company %s was created and is not on record any more", row.ID, taken.Claim.Key)
	}
	holder, err := p.ledger.Row(ctx, taken.Row)
	if err != nil {
		return err
	}
	err = p.ledger.Defer(ctx, ledger.Deferral{Row: row.ID, Next: filing.Ready, Wait: taken.Claim.Key,
		Message: fmt.Sprintf("its company is being created by %s: this row waits for it", rowRef(row, holder))})
	if errors.Is(err, ledger.ErrTransition) {
		return nil
	}
	return err
}

// settleCreation records what became of a creation: made, and the row goes on
// to its order; or what the table of answers says of what must not be repeated.
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
		// the request of a creation has no field for them: describe sends them
		made.StructureType, made.TaxElection, made.FiscalEndMonth = "", "", ""
		out.Company = a.CompanyID
		out.Made = &ledger.MadeCompany{Ref: string(company.Key()), Record: made}
		out.Message = "the company was created as " + a.CompanyID
		p.resolver.cacheCompany(out.Made.Ref, made)
	case a.Kind.Lost():
		out.Message = uncertainCreation(a)
	case a.Kind == filing.Refused:
		out.Message = "the filing service refused to create the company: " + a.Message
	default:
		out.Message = messageFor(a, filing.RowState{}, &filing.Order{}, nil)
	}
	return p.recordOutcome(row, out)
}

// creationInDoubt tells the reader what a person has to find out.
func uncertainCreation(a filing.Answer) string {
	return "the creation of the company was sent, and it is not known whether it was made (" + a.Message +
		"); look for it in the dashboard, then settle it with `importer resolve`. It is not sent again by itself"
}
