package lookup

import (
	"context"
	"errors"
	"fmt"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
)

// Service is the part of the filing service that a Resolver uses.
type Service interface {
	Records
	CreateUser(context.Context, filing.User) (filing.User, error)
	UpdateCompany(ctx context.Context, id string, c filing.Company) (filing.Company, error)
}

// Resolver finds the users and companies of orders that are about to be sent. It creates missing
// users from the spreadsheet and completes incomplete companies.
type Resolver struct {
	*Lookup
	service Service
}

// NewResolver returns a Resolver of a service.
func NewResolver(s Service, c Config) *Resolver { return &Resolver{New(s, c), s} }

// User returns the ID of a user. The error may be an *Error or ErrHalted.
func (d *Resolver) User(ctx context.Context, ref filing.UserRef) (id string, err error) {
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
			return "", err
		}
		return u.ID, d.keepUser(ctx, ref.Ref(), u)
	})
	return found.(string), err
}

// findOrCreateUser looks up a user by email, and creates the user if the spreadsheet has a name. A
// 409 on creation means that another request created the user, whom a second look-up finds.
// Otherwise the phone number belongs to another user. Source: spec section 7.
func (d *Resolver) findOrCreateUser(ctx context.Context, ref filing.UserRef) (filing.User, error) {
	u, err := d.askForUser(ctx, ref.Email)
	if !errors.Is(err, filingapi.ErrNotFound) {
		return u, err
	}
	if ref.Name == "" {
		return u, Reject("the filing service has no user %s: correct the email, or enter a User Name to create the "+
			"user", ref.Email)
	}
	created := filing.User{FullName: ref.Name, Email: ref.Email, PhoneNumber: ref.Phone}
	u, err = Ask(ctx, d.Lookup, func() (filing.User, error) { return d.service.CreateUser(ctx, created) })
	if !errors.Is(err, filingapi.ErrConflict) {
		return u, convertError(err, "user", ref.Email)
	}
	u, err = d.askForUser(ctx, ref.Email)
	switch {
	case errors.Is(err, filingapi.ErrNotFound) && ref.Phone == "":
		return u, Reject("the user %s cannot be created: the email belongs to a user of the filing service whom this "+
			"organization cannot see", ref.Email)
	case errors.Is(err, filingapi.ErrNotFound):
		return u, Reject("the user %s cannot be created: the phone number %s belongs to another user of the filing "+
			"service", ref.Email, ref.Phone)
	}
	return u, err
}

// Complete sends the facts of the spreadsheet that an order needs and the record of its company
// lacks, and returns the new record. Those are the facts that the state fee depends on and, if
// created is set, the columns that the creation request has no field for. The record must have been
// compared with the row. The error may be an *Error or ErrHalted.
//
// Complete may send facts twice if the process ends before they are remembered, which is harmless.
// Source: spec section 2, create-company request fields; section 4, rules 9 and 10 and PATCH.
func (d *Resolver) Complete(ctx context.Context, batch string, r *filing.Request, created bool, c filing.Company) (
	filing.Company, error) {
	key, sheet := companyKey{batch, r.Company.Ref}, r.Company.Sheet
	if err := d.rememberNames(ctx, key, r); err != nil {
		return c, err
	}
	if r.NeedsCompanyFacts() {
		// Only this row fails if it lacks a fact. Another row of the company may have it.
		for _, fact := range []struct {
			column  string
			missing bool
		}{
			{"Entity Type", c.EntityType == "" && sheet.EntityType == ""},
			{"Formation State", c.FormationState == "" && sheet.FormationState == ""},
		} {
			if fact.missing {
				return c, Reject("the filing service does not know the company's %s, and the spreadsheet does not "+
					"have it: fill in the column %q and run the corrected spreadsheet", fact.column, fact.column)
			}
		}
	}
	// Rows of one company send their facts one after the other.
	for sent := false; !sent; {
		if _, lacks := missingFacts(r, created, c); !lacks {
			return c, nil
		}
		completed, err, _ := d.flights.Do("complete "+batch+" "+c.ID, func() (any, error) {
			sent = true
			if now, known := d.cached(key); known { // another row may have sent the facts
				c = now.Company
			}
			patch, lacks := missingFacts(r, created, c)
			if !lacks {
				return c, nil
			}
			completed, err := Ask(ctx, d.Lookup, func() (filing.Company, error) {
				return d.service.UpdateCompany(ctx, c.ID, patch)
			})
			if err := convertError(err, "company", c.ID); err != nil {
				return c, err
			}
			return completed, d.keepCompany(ctx, key, completed)
		})
		if c = completed.(filing.Company); err != nil {
			return c, err
		}
	}
	return c, nil
}

// missingFacts returns the facts that Complete sends, and reports whether there are any.
func missingFacts(r *filing.Request, created bool, c filing.Company) (patch filing.Company, lacks bool) {
	sheet := r.Company.Sheet
	if r.NeedsCompanyFacts() {
		lacks = addMissing(&patch.EntityType, c.EntityType, sheet.EntityType)
		lacks = addMissing(&patch.FormationState, c.FormationState, sheet.FormationState) || lacks
	}
	if created {
		lacks = addMissing(&patch.StructureType, c.StructureType, sheet.StructureType) || lacks
		lacks = addMissing(&patch.TaxElection, c.TaxElection, sheet.TaxElection) || lacks
		lacks = addMissing(&patch.FiscalEndMonth, c.FiscalEndMonth, sheet.FiscalEndMonth) || lacks
	}
	return patch, lacks
}

// addMissing adds a value of the spreadsheet to a patch if the record lacks it.
func addMissing[T ~string](patch *T, record, sheet T) (added bool) {
	if record == "" {
		*patch = sheet
	}
	return *patch != ""
}

// rememberNames remembers the names by which rows without a Company ID refer to a company that
// this process looked up.
func (d *Resolver) rememberNames(ctx context.Context, key companyKey, r *filing.Request) error {
	record, _ := d.cached(key)
	if record.asked.IsZero() {
		return nil // remembered by the process that looked it up
	}
	names := make(map[filing.Key]filing.Company)
	collectNames(names, r, record.Company)
	return d.Ledger.Companies().RememberNames(ctx, names)
}
