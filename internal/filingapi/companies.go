package filingapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// Company looks up a company by its ID or slug. It returns ErrOtherCompany if the answer to an ID
// has another ID, because the companies were merged or the answer belongs to another request.
// Source: spec section 4, GET /companies/{companyIdOrSlug}.
func (c *Client) Company(ctx context.Context, idOrSlug string) (filing.Company, error) {
	const op = "look up company"
	id, err := segment(idOrSlug)
	if err != nil {
		return filing.Company{}, invalid(op, "", err)
	}
	return c.company(op, idOrSlug, c.do(ctx, http.MethodGet, "/companies/"+id, nil))
}

// UpdateCompany changes only the fields that are set in change. It may be repeated.
// Source: spec section 4, PATCH. Assumption: its body may have any field of Company.
func (c *Client) UpdateCompany(ctx context.Context, idOrSlug string, change filing.Company) (filing.Company, error) {
	const op = "update company"
	id, err := segment(idOrSlug)
	if err == nil && empty(change) {
		err = errors.New("nothing to change")
	}
	if err != nil {
		return filing.Company{}, invalid(op, idOrSlug, err)
	}
	change.ID = "" // the path has it
	return c.company(op, idOrSlug, c.do(ctx, http.MethodPatch, "/companies/"+id, change))
}

func (c *Client) company(op, id string, o outcome) (filing.Company, error) {
	var company filing.Company
	err := c.decodeInto(op, id, o, &company, func() bool { return company.ID != "" })
	if err == nil && filing.IsCompanyID(id) && company.ID != id {
		err = &Error{
			Op:     op,
			ID:     id,
			Status: o.status,
			Message: c.clean(fmt.Sprintf("the filing service answered for the company %s when it was asked for %s",
				company.ID, id)),
			kind:      ErrRefused,
			cause:     ErrOtherCompany,
			uncertain: true,
		}
	}
	if err != nil {
		return filing.Company{}, err
	}
	return company, nil
}

func empty(c filing.Company) bool {
	return c.LegalName == "" && c.EIN == "" && c.EntityType == "" && c.StructureType == "" && c.TaxElection == "" &&
		c.FiscalEndMonth == "" && c.FormationDate == "" && c.FormationState == "" &&
		c.PrincipalAddress == nil && c.MailingAddress == nil && len(c.Officers) == 0
}

// CreateCompany creates a company once. Every outcome is an answer, as for an order, because the
// filing service does not guard against a second creation. CompanyID is set if the company was
// created.
//
// Source: spec section 4, POST /companies.
func (c *Client) CreateCompany(ctx context.Context, company filing.NewCompany) filing.Answer {
	return c.once(ctx, c.breaker.creations, func() filing.Answer {
		return c.creationAnswer(c.do(ctx, http.MethodPost, "/companies", company))
	})
}

// creationAnswer returns the answer to a creation.
func (c *Client) creationAnswer(o outcome) filing.Answer {
	a := filing.Answer{Kind: o.boughtKind(), Status: o.status}
	switch a.Kind {
	case filing.Accepted:
		var made filing.Company
		err := o.decode(&made)
		if err == nil && made.ID != "" {
			a.CompanyID = made.ID
			return a
		}
		a.Kind = filing.Unreadable
		a.Message, a.Detail = c.unreadable(o, err, "a company id")
		return a
	case filing.Busy:
		a.RetryAfter = o.retryAfter()
	}
	a.Message, a.Detail = c.message(o)
	return a
}
