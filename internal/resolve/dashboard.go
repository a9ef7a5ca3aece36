package resolve

import (
	"context"
	"errors"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// ErrNoDashboard is returned for an order whose user or company has no known ID.
var ErrNoDashboard = errors.New("the ID of the user or the company is not known")

// DashboardIDs returns the IDs of the user and the company whose dashboard shows an order. It
// returns ErrNoDashboard if one of them is not known.
func (s *Service) DashboardIDs(ctx context.Context, o *UncertainOrder) (user, company string, err error) {
	user, company = o.Row.Request.User.ID, o.Row.CompanyRef()
	if user == "" {
		ref := o.Row.Request.User.Ref()
		known, err := s.Ledger.Companies().FindUsers(ctx, []string{ref})
		if err != nil {
			return "", "", err
		}
		user = known[ref].ID
	}
	if !filing.IsCompanyID(company) && company != "" {
		known, err := s.Ledger.Companies().Find(ctx, []string{company})
		if err != nil {
			return "", "", err
		}
		company = known[company].ID
	}
	if user == "" || company == "" {
		return "", "", ErrNoDashboard
	}
	return user, company, nil
}

// DashboardLink requests a link to the dashboard that shows an order. The link signs in anyone who
// has it. DashboardLink returns ErrNoDashboard and the errors of the filing service.
func (s *Service) DashboardLink(ctx context.Context, o *UncertainOrder) (string, error) {
	user, company, err := s.DashboardIDs(ctx, o)
	if err != nil {
		return "", err
	}
	client, err := s.Client()
	if err != nil {
		return "", err
	}
	return client.MagicLink(ctx, user, company)
}
