package jobs

import (
	"context"
	"fmt"
	"slices"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/lookup"
)

// resolve finds the IDs to send a row's order with, and the company's facts if the order depends
// on them. The company has no ID if it has to be created. The error may be a *lookup.Error or
// lookup.ErrHalted, or a *lookup.Mismatch if the row names another company than its Company ID. A
// row with an uncertain attempt was sent before and is not compared.
func (p *Placer) resolve(ctx context.Context, row *ledger.Row) (userID string, company filing.Company, err error) {
	r := row.Request
	if userID, err = p.resolver.User(ctx, r.User); err != nil {
		return "", company, err
	}
	if r.Order.Formation != nil {
		if !slices.Contains(row.Dropped, filing.Formation) {
			return userID, company, nil
		}
		switch {
		case row.Company == "":
			err = lookup.Reject("the Company ID of the company that was formed is not known yet: importer resolve "+
				"mark %s:%d placed --company COMPANY_ID, then importer retry %s", row.Batch, row.Number, row.Batch)
		case canceledItem(*row, filing.Formation) != nil:
			err = lookup.Reject("the formation is canceled: nothing more is ordered for its company")
		default:
			company, err = p.findFormed(ctx, row, row.Company)
		}
		return userID, company, err
	}
	if r.CreatesCompany() {
		requests, named, err := p.resolver.Identify(ctx, []ledger.Row{*row})
		if err != nil {
			return "", company, err
		}
		if r = requests[0]; r.CreatesCompany() {
			described := r.Company.Sheet.ForUser(userID)
			if n, formed := named[described.Key()]; formed {
				err = formationError(row, n, described.FormationKey())
			}
			return userID, company, err
		}
	}
	if company, err = p.resolver.Company(ctx, row.Batch, r); err != nil {
		return "", company, err
	}
	if sent := row.Uncertain || len(row.Dropped) > 0; sent && row.Company != "" && company.ID != row.Company {
		return "", company, lookup.Reject("an order of this row was sent for the company %s, and the row now means "+
			"%s: nothing more is sent", row.Company, company.ID)
	}
	if !row.Uncertain {
		if err := lookup.CheckRecord(r, company); err != nil {
			return "", company, err
		}
	}
	company, err = p.resolver.Complete(ctx, row.Batch, r, row.Request.CreatesCompany(), company)
	return userID, company, err
}

// findFormed returns the record of the company that this or another row formed. It returns a
// *lookup.Mismatch if the record is of another company.
func (p *Placer) findFormed(ctx context.Context, row *ledger.Row, id string) (filing.Company, error) {
	r := *row.Request
	r.Company = filing.CompanyRef{Ref: id, Sheet: r.Order.Formation.Company, Confirmed: r.Company.Confirmed}
	r.Company.Sheet.FormationState = r.Order.FilingState
	r.Order.Formation = nil
	company, err := p.resolver.Company(ctx, row.Batch, &r)
	if err == nil {
		err = lookup.CheckRecord(&r, company)
	}
	return company, err
}

// formationError returns the error of a row whose company another row forms.
func formationError(row *ledger.Row, n ledger.NamedCompany, formation filing.Key) error {
	holder := ledger.Row{Batch: n.Batch, Number: n.Number}
	if n.Formed {
		return lookup.Reject("%s", unnamedCompany(*row, holder))
	}
	return &lookup.Error{
		Next:    filing.Ready,
		Wait:    formation,
		Message: fmt.Sprintf("%s is forming this company: this row waits for it", rowRef(*row, holder)),
	}
}

// unnamedCompany returns the message of a row that needs the Company ID of a company that another
// row formed.
func unnamedCompany(row, holder ledger.Row) string {
	return fmt.Sprintf("%s formed this company, and its Company ID is not known yet: importer resolve mark %s:%d "+
		"placed --company COMPANY_ID, then importer retry %s", rowRef(row, holder), holder.Batch, holder.Number,
		row.Batch)
}

// create creates the company that a row describes. A creation has a claim (idempotency key) like
// an order, because the filing service does not guard against a second creation. Afterwards
// the row is ready for its order, and so are other rows that waited for the same company.
func (p *Placer) create(ctx context.Context, row ledger.Row, userID string) error {
	company, intent := row.Request.Company.Sheet.ForUser(userID), creationIntent(&row, userID)
	begun, err := p.attempt(ctx, intent,
		func(ctx context.Context) filing.Answer { return p.service.CreateCompany(ctx, company) },
		func(attempt int, a filing.Answer) error {
			outcome := ledger.Outcome{
				Row:     row.ID,
				Attempt: attempt,
				Answer:  a,
				Claims:  intent.Claims,
				Creates: true,
				Due:     p.now().Add(retryAfter(a, row.Attempts)),
				Message: creationMessage(a),
			}
			if a.Kind == filing.Accepted {
				created := row.Request.Company.Sheet
				created.ID = a.CompanyID
				// Complete sends these, because the creation request has no fields for them.
				created.StructureType, created.TaxElection, created.FiscalEndMonth = "", "", ""
				outcome.Company = a.CompanyID
				outcome.Made = &ledger.MadeCompany{Ref: string(company.Key()), Record: created}
			}
			return p.recordOutcome(row, outcome, nil)
		})
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
	return p.deferRow(ctx, ledger.Deferral{
		Row:     row.ID,
		Of:      row.InBatch(),
		Next:    filing.Ready,
		Wait:    taken.Claim.Key,
		Message: fmt.Sprintf("its company is being created by %s: this row waits for it", rowRef(row, holder)),
	})
}

// creationMessage returns the message of a row after an attempt to create its company.
func creationMessage(a filing.Answer) string {
	switch {
	case a.Kind == filing.Accepted:
		return "the company was created as " + a.CompanyID
	case a.Kind.Lost():
		return "the company was sent for creation, but the filing service did not confirm it (" + a.Message +
			"). Look for the company in the dashboard, then resolve the row (importer resolve, or Uncertain on the " +
			"page)"
	case a.Kind == filing.Refused:
		return "the filing service refused to create the company: " + a.Message
	}
	return messageFor(a, filing.RowState{}, nil)
}
