package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// resolver finds the users and companies of orders that are about to be sent, each
// once. It creates and completes them from the spreadsheet where they are missing
// or incomplete.
type resolver struct {
	*lookup
	service Service
}

func newResolver(s Service, l *ledger.Ledger, concurrency int, throttle Throttle, state *sendState,
	now func() time.Time) *resolver {
	return &resolver{lookup: newLookup(s, l, concurrency, throttle, state, now), service: s}
}

// resolve finds the ids that the order is sent with, and the company's facts where
// the order depends on them. It returns a *mismatchError for a row that names
// another company than its Company ID. A row with an uncertain attempt was sent
// already and is not compared.
func (d *resolver) resolve(ctx context.Context, row *ledger.Row) (userID string, company filing.Company, err error) {
	r := row.Request
	if userID, err = d.resolveUser(ctx, r.User); err != nil {
		return "", filing.Company{}, err
	}
	switch {
	case r.Order.Formation != nil && !slices.Contains(row.Dropped, filing.Formation):
		return userID, filing.Company{}, nil
	case r.Order.Formation != nil && row.Company == "":
		return "", company, &lookupError{next: filing.Rejected, message: "the company that was formed is not known: " +
			"order the rest in a new spreadsheet, with its Company ID"}
	case r.Order.Formation != nil:
		company = r.Order.Formation.Company
		company.ID, company.FormationState = row.Company, r.Order.FilingState
		return userID, company, nil
	case r.CreatesCompany():
		described := r.Company.Sheet.ForUser(userID)
		company, err = d.findNamed(ctx, row, described)
		if err == nil && company.ID != "" {
			company, err = d.sendDescription(ctx, string(described.Key()), r.Company.Sheet, company)
		}
		if err == nil && company.ID != "" && r.NeedsCompanyFacts() {
			company, err = d.completeFacts(ctx, filing.CompanyRef{Ref: company.ID, Sheet: r.Company.Sheet}, company)
		}
		return userID, company, err
	case !needsCompanyRecord(r):
		return userID, filing.Company{ID: r.Company.Ref}, nil
	}
	company, err = d.findCompany(ctx, r.Company.Ref)
	if err == nil && !row.Uncertain {
		company, err = d.checkNames(ctx, r, company)
	}
	if err == nil {
		err = d.rememberNames(ctx, r, company, userID)
	}
	if err == nil && r.NeedsCompanyFacts() {
		company, err = d.completeFacts(ctx, r.Company, company)
	}
	return userID, company, err
}

func (d *resolver) resolveUser(ctx context.Context, ref filing.UserRef) (string, error) {
	if ref.ID != "" {
		return ref.ID, nil
	}
	if u, known := d.knownUser(ref.Ref()); known {
		return u.ID, nil
	}
	// A row without a name to create the user with fails for itself alone.
	flight := fmt.Sprintf("user %s, named %t", ref.Ref(), ref.Name != "")
	found, err, _ := d.flights.Do(flight, func() (any, error) {
		// A look-up that ended before this one began may have found the user.
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

// findOrCreateUser asks for the user by email and creates one where the spreadsheet
// has a name. A 409 on creation means that another request created the user, and
// the look-up then finds them; where it does not, the phone number belongs to
// another user. Source: spec section 7.
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

// findNamed finds a company that was formed, created or looked up here under the
// name by which a row describes it. A company that is not known has no id.
func (d *resolver) findNamed(ctx context.Context, row *ledger.Row,
	described filing.NewCompany) (filing.Company, error) {
	key := described.Key()
	if c, known := d.knownCompany(string(key)); known {
		return c, nil
	}
	found, err := d.ledger.Companies().FindNamed(ctx, []filing.NewCompany{described})
	if err != nil {
		return filing.Company{}, err
	}
	n, known := found[key]
	switch {
	case !known:
		return filing.Company{}, nil
	case n.Company.ID == "":
		return filing.Company{}, formationError(row, n, described.FormationKey())
	}
	return d.cacheMissing(string(key), n.Company), nil
}

// sendDescription sends the columns of a created company that the request of its
// creation has no field for. It sends them once, and again only where the process
// ended before that was remembered.
// Source: spec section 2, create-company request fields; section 4, PATCH.
func (d *resolver) sendDescription(ctx context.Context, key string, sheet, c filing.Company) (filing.Company, error) {
	if _, lacks := descriptionFor(sheet, c); !lacks {
		return c, nil
	}
	return d.update(ctx, "describe ", key, c,
		func(c filing.Company) (filing.Company, bool) { return descriptionFor(sheet, c) })
}

// update sends what a company lacks, and remembers it. Rows of one company send it once.
func (d *resolver) update(ctx context.Context, what, key string, c filing.Company,
	patchFor func(filing.Company) (patch filing.Company, lacks bool)) (filing.Company, error) {
	updated, err, _ := d.flights.Do(what+c.ID, func() (any, error) {
		if now, known := d.knownCompany(key); known { // another row may have sent it
			c = now
		}
		patch, lacks := patchFor(c)
		if !lacks {
			return c, nil
		}
		_, err := ask(ctx, d.lookup, func() (filing.Company, error) {
			return d.service.UpdateCompany(ctx, c.ID, patch)
		})
		if err := toLookupError(err, "company", c.ID); err != nil {
			return c, err
		}
		c.EntityType = cmp.Or(patch.EntityType, c.EntityType)
		c.FormationState = cmp.Or(patch.FormationState, c.FormationState)
		c.StructureType = cmp.Or(patch.StructureType, c.StructureType)
		c.TaxElection = cmp.Or(patch.TaxElection, c.TaxElection)
		c.FiscalEndMonth = cmp.Or(patch.FiscalEndMonth, c.FiscalEndMonth)
		return c, d.keepCompany(ctx, key, c)
	})
	if err != nil {
		return c, err
	}
	return updated.(filing.Company), nil
}

// descriptionFor returns what the spreadsheet says of a company that the filing service
// does not have yet, and whether there is any.
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

// completeFacts sends the company's entity type and formation state from the
// spreadsheet where the filing service lacks them: the state's fee depends on them.
// Source: spec section 4, rules 9 and 10.
func (d *resolver) completeFacts(ctx context.Context, ref filing.CompanyRef, c filing.Company) (filing.Company, error) {
	if hasFacts(c) {
		return c, nil
	}
	// A fact that this row lacks fails this row alone: another row of the company
	// may have it.
	for _, fact := range []struct {
		column  string
		missing bool
	}{
		{"Entity Type", c.EntityType == "" && ref.Sheet.EntityType == ""},
		{"Formation State", c.FormationState == "" && ref.Sheet.FormationState == ""},
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
	return d.update(ctx, "complete ", ref.Ref, c, func(c filing.Company) (patch filing.Company, lacks bool) {
		if c.EntityType == "" {
			patch.EntityType = ref.Sheet.EntityType
		}
		if c.FormationState == "" {
			patch.FormationState = ref.Sheet.FormationState
		}
		return patch, !hasFacts(c)
	})
}
