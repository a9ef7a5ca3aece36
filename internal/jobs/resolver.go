package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// resolver finds the users and companies of orders that are about to be sent. It creates missing
// ones from the spreadsheet and completes incomplete ones.
type resolver struct {
	*lookup
	service Service
}

func newResolver(s Service, l *ledger.Ledger, concurrency int, throttle Throttle, state *sendState,
	now func() time.Time) *resolver {
	return &resolver{lookup: newLookup(s, l, concurrency, throttle, state, now), service: s}
}

// resolve finds the IDs to send the order with, and the company's facts if the order depends on
// them. The company has no ID if it has to be created. resolve returns a *mismatchError if the row
// names another company than its Company ID. A row with an uncertain attempt was sent before and
// is not compared.
func (d *resolver) resolve(ctx context.Context, row *ledger.Row) (userID string, company filing.Company, err error) {
	r := row.Request
	if userID, err = d.resolveUser(ctx, r.User); err != nil {
		return "", filing.Company{}, err
	}
	switch {
	case r.Order.Formation != nil && !slices.Contains(row.Dropped, filing.Formation):
		return userID, filing.Company{}, nil
	case r.Order.Formation != nil && row.Company == "":
		return "", company, &lookupError{next: filing.Rejected, message: fmt.Sprintf("the Company ID of the company "+
			"that was formed is not known yet: importer resolve mark %s:%d placed --company COMPANY_ID, then importer "+
			"retry %s", row.Batch, row.Number, row.Batch)}
	case r.Order.Formation != nil && canceledItem(*row, filing.Formation) != nil:
		return "", company, &lookupError{next: filing.Rejected, message: "the formation is canceled: nothing more is " +
			"ordered for its company"}
	case r.Order.Formation != nil:
		company, err = d.findFormed(ctx, row, row.Company)
		return userID, company, err
	case r.CreatesCompany():
		requests, named, err := d.identify(ctx, []ledger.Row{*row})
		if err != nil {
			return "", filing.Company{}, err
		}
		if r = requests[0]; r.CreatesCompany() {
			described := r.Company.Sheet.ForUser(userID)
			if n, formed := named[described.Key()]; formed {
				err = formationError(row, n, described.FormationKey())
			}
			return userID, filing.Company{}, err
		}
	}
	key := companyKey{row.Batch, r.Company.Ref}
	company, err = d.findCompany(ctx, row.Batch, r)
	if sent := row.Uncertain || len(row.Dropped) > 0; err == nil && sent && row.Company != "" &&
		company.ID != row.Company {
		return "", company, &lookupError{next: filing.Rejected, message: fmt.Sprintf(
			"an order of this row was sent for the company %s, and the row now means %s: nothing more is sent",
			row.Company, company.ID)}
	}
	if err == nil && !row.Uncertain {
		err = checkNames(r, company)
	}
	if err == nil {
		err = d.rememberNames(ctx, key, r)
	}
	if err == nil && row.Request.CreatesCompany() {
		company, err = d.sendDescription(ctx, key, r.Company.Sheet, company)
	}
	if err == nil && r.NeedsCompanyFacts() {
		company, err = d.completeFacts(ctx, key, r.Company.Sheet, company)
	}
	return userID, company, err
}

// findFormed returns the record of the company that this or another row formed. It returns a
// *mismatchError if the record is of another company.
func (d *resolver) findFormed(ctx context.Context, row *ledger.Row, id string) (filing.Company, error) {
	r := *row.Request
	r.Company = filing.CompanyRef{Ref: id, Sheet: r.Order.Formation.Company, Confirmed: r.Company.Confirmed}
	r.Company.Sheet.FormationState = r.Order.FilingState
	r.Order.Formation = nil
	company, err := d.findCompany(ctx, row.Batch, &r)
	if err == nil {
		err = checkNames(&r, company)
	}
	return company, err
}

func (d *resolver) resolveUser(ctx context.Context, ref filing.UserRef) (string, error) {
	if ref.ID != "" {
		return ref.ID, nil
	}
	if u, known := d.knownUser(ref.Ref()); known {
		return u.ID, nil
	}
	// Only rows without a name for a new user fail if the user has to be created.
	flight := fmt.Sprintf("user %s, named %t", ref.Ref(), ref.Name != "")
	found, err, _ := d.flights.Do(flight, func() (any, error) {
		// A look-up that ended just now may have found the user.
		if u, known := d.knownUser(ref.Ref()); known {
			return u.ID, nil
		}
		u, err := d.findOrCreateUser(ctx, ref)
		if err != nil {
			return nil, err
		}
		return u.ID, d.keepUser(ctx, ref.Ref(), u)
	})
	if err != nil {
		return "", err
	}
	return found.(string), nil
}

// findOrCreateUser looks up a user by email, and creates the user if the spreadsheet has a name. A
// 409 on creation means that another request created the user, whom a second look-up finds.
// Otherwise the phone number belongs to another user. Source: spec section 7.
func (d *resolver) findOrCreateUser(ctx context.Context, ref filing.UserRef) (filing.User, error) {
	u, err := d.askForUser(ctx, ref.Email)
	if !errors.Is(err, filingapi.ErrNotFound) {
		return u, err
	}
	if ref.Name == "" {
		return u, &lookupError{
			next: filing.Rejected,
			message: fmt.Sprintf(
				"the filing service has no user %s: correct the email, or enter a User Name to create the user",
				ref.Email),
		}
	}
	created := filing.User{FullName: ref.Name, Email: ref.Email, PhoneNumber: ref.Phone}
	u, err = ask(ctx, d.lookup, func() (filing.User, error) { return d.service.CreateUser(ctx, created) })
	if !errors.Is(err, filingapi.ErrConflict) {
		return u, toLookupError(err, "user", ref.Email)
	}
	u, err = d.askForUser(ctx, ref.Email)
	switch {
	case errors.Is(err, filingapi.ErrNotFound) && ref.Phone == "":
		return u, &lookupError{
			next: filing.Rejected,
			message: fmt.Sprintf(
				"the user %s cannot be created: the email belongs to a user of the filing service whom this "+
					"organization "+
					"cannot see", ref.Email),
		}
	case errors.Is(err, filingapi.ErrNotFound):
		return u, &lookupError{
			next: filing.Rejected,
			message: fmt.Sprintf(
				"the user %s cannot be created: the phone number %s belongs to another user of the filing service",
				ref.Email,
				ref.Phone),
		}
	}
	return u, err
}

// sendDescription sends the columns of a created company that the creation request has no field
// for. It may send them twice if the process ends before they are remembered, which is harmless.
// Source: spec section 2, create-company request fields; section 4, PATCH.
func (d *resolver) sendDescription(ctx context.Context, key companyKey, sheet, c filing.Company) (filing.Company,
	error) {
	if _, lacks := descriptionFor(sheet, c); !lacks {
		return c, nil
	}
	return d.update(ctx, "describe ", key, c,
		func(c filing.Company) (filing.Company, bool) { return descriptionFor(sheet, c) })
}

// update sends the missing facts of a company and remembers them. Rows of one company share the
// request.
func (d *resolver) update(ctx context.Context, what string, key companyKey, c filing.Company,
	patchFor func(filing.Company) (patch filing.Company, lacks bool)) (filing.Company, error) {
	updated, err, _ := d.flights.Do(what+key.batch+" "+c.ID, func() (any, error) {
		if now, known := d.cachedCompany(key); known { // another row may have sent the facts
			c = now.Company
		}
		patch, lacks := patchFor(c)
		if !lacks {
			return c, nil
		}
		updated, err := ask(ctx, d.lookup, func() (filing.Company, error) {
			return d.service.UpdateCompany(ctx, c.ID, patch)
		})
		if err := toLookupError(err, "company", c.ID); err != nil {
			return c, err
		}
		return updated, d.keepCompany(ctx, key, updated)
	})
	if err != nil {
		return c, err
	}
	return updated.(filing.Company), nil
}

// descriptionFor returns the facts of the spreadsheet that the record of the company lacks, and
// reports whether there are any.
func descriptionFor(sheet, c filing.Company) (patch filing.Company, lacks bool) {
	if c.StructureType == "" {
		patch.StructureType = sheet.StructureType
	}
	if c.TaxElection == "" {
		patch.TaxElection = sheet.TaxElection
	}
	if c.FiscalEndMonth == "" {
		patch.FiscalEndMonth = sheet.FiscalEndMonth
	}
	return patch, patch.StructureType != "" || patch.TaxElection != "" || patch.FiscalEndMonth != ""
}

// completeFacts sends the company's entity type and formation state from the spreadsheet if its
// record lacks them, because the state fee depends on them.
// Source: spec section 4, rules 9 and 10.
func (d *resolver) completeFacts(ctx context.Context, key companyKey, sheet, c filing.Company) (filing.Company, error) {
	if hasFacts(c) {
		return c, nil
	}
	// Only this row fails if it lacks a fact. Another row of the company may have it.
	for _, fact := range []struct {
		column  string
		missing bool
	}{
		{"Entity Type", c.EntityType == "" && sheet.EntityType == ""},
		{"Formation State", c.FormationState == "" && sheet.FormationState == ""},
	} {
		if fact.missing {
			return c, &lookupError{
				next: filing.Rejected,
				message: fmt.Sprintf(
					"the filing service does not know the company's %s, and the spreadsheet does not have it: fill in "+
						"the column %q and run the corrected spreadsheet", fact.column, fact.column),
			}
		}
	}
	return d.update(ctx, "complete ", key, c, func(c filing.Company) (patch filing.Company, lacks bool) {
		if c.EntityType == "" {
			patch.EntityType = sheet.EntityType
		}
		if c.FormationState == "" {
			patch.FormationState = sheet.FormationState
		}
		return patch, !hasFacts(c)
	})
}
