package resolve

import (
	"context"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// linksAtOnce limits the parallel requests for links, because the filing service
// receives orders at the same time.
const linksAtOnce = 4

// dashboard is one user's view of one company.
type dashboard struct{ user, company string }

// LinkDashboards asks for a link to the dashboard of each order's company, once
// for each company and user. A link that cannot be had is no error.
func (s *Service) LinkDashboards(ctx context.Context, orders []*UncertainOrder) error {
	client, err := s.Client()
	if err != nil {
		for i := range orders {
			orders[i].NoDashboard = err.Error()
		}
		return nil
	}
	boards, err := s.dashboards(ctx, orders)
	if err != nil {
		return err
	}
	type answer struct {
		link string
		err  error
	}
	answers := make(map[dashboard]*answer)
	for _, at := range boards {
		if at.user != "" && at.company != "" {
			answers[at] = new(answer)
		}
	}
	var group errgroup.Group
	group.SetLimit(linksAtOnce)
	for at, a := range answers {
		group.Go(func() error {
			a.link, a.err = client.MagicLink(ctx, at.user, at.company)
			return nil
		})
	}
	group.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	for i, at := range boards {
		switch a := answers[at]; {
		case a == nil:
			orders[i].NoDashboard = "the ID of the user or the company is not known"
		case a.err != nil:
			orders[i].NoDashboard = a.err.Error()
		default:
			orders[i].Dashboard = a.link
		}
	}
	return nil
}

// dashboards finds the ids of each row's user and company, as far as they are known.
func (s *Service) dashboards(ctx context.Context, orders []*UncertainOrder) ([]dashboard, error) {
	boards := make([]dashboard, len(orders))
	users, companies := make(map[string]bool), make(map[string]bool)
	for i := range orders {
		row := &orders[i].Row
		boards[i] = dashboard{row.Request.User.ID, row.CompanyRef()}
		if boards[i].user == "" {
			users[row.Request.User.Ref()] = true
		}
		if company := boards[i].company; company != "" && !filing.IsCompanyID(company) {
			companies[company] = true
		}
	}
	knownUsers, err := s.Ledger.Companies().FindUsers(ctx, slices.Sorted(maps.Keys(users)))
	if err != nil {
		return nil, err
	}
	knownCompanies, err := s.Ledger.Companies().Find(ctx, slices.Sorted(maps.Keys(companies)))
	if err != nil {
		return nil, err
	}
	for i := range orders {
		if boards[i].user == "" {
			boards[i].user = knownUsers[orders[i].Row.Request.User.Ref()].ID
		}
		if !filing.IsCompanyID(boards[i].company) {
			boards[i].company = knownCompanies[boards[i].company].ID
		}
	}
	return boards, nil
}
