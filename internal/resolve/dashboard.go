package resolve

import (
	"context"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/report"
)

// linksAtOnce are few: links are for a person to look at, and the service has
// orders to take.
const linksAtOnce = 4

// door is one user's dashboard of one company.
type door struct{ user, company string }

// Link finds out where a person sees the orders of each row's company, once for
// each company and user. A link that cannot be had stands in nothing's way.
func (d *Desk) Link(ctx context.Context, doubts []report.Doubt) error {
	client, err := d.Service()
	if err != nil {
		for i := range doubts {
			doubts[i].NoLink = "no link: " + err.Error()
		}
		return nil
	}
	doors, err := d.doors(ctx, doubts)
	if err != nil {
		return err
	}
	type answer struct {
		link string
		err  error
	}
	answers := make(map[door]*answer)
	for _, at := range doors {
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
	for i, at := range doors {
		switch a := answers[at]; {
		case a == nil:
			doubts[i].NoLink = "no link: the user or the company is not known by id"
		case a.err != nil:
			doubts[i].NoLink = "no link: " + a.err.Error()
		default:
			doubts[i].Dashboard = a.link
		}
	}
	return nil
}

// doors are the ids of each row's user and company, as far as they are known.
func (d *Desk) doors(ctx context.Context, doubts []report.Doubt) ([]door, error) {
	doors := make([]door, len(doubts))
	users, companies := make(map[string]bool), make(map[string]bool)
	for i := range doubts {
		row := &doubts[i].Row
		doors[i] = door{row.Request.User.ID, row.CompanyRef()}
		if doors[i].user == "" {
			users[row.Request.User.Ref()] = true
		}
		if company := doors[i].company; company != "" && !filing.IsCompanyID(company) {
			companies[company] = true
		}
	}
	knownUsers, err := d.Ledger.Users(ctx, slices.Sorted(maps.Keys(users)))
	if err != nil {
		return nil, err
	}
	knownCompanies, err := d.Ledger.Companies(ctx, slices.Sorted(maps.Keys(companies)))
	if err != nil {
		return nil, err
	}
	for i := range doubts {
		if doors[i].user == "" {
			doors[i].user = knownUsers[doubts[i].Row.Request.User.Ref()].ID
		}
		if !filing.IsCompanyID(doors[i].company) {
			doors[i].company = knownCompanies[doors[i].company].ID
		}
	}
	return doors, nil
}
