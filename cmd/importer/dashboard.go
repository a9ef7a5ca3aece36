package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/filingapi"
	"bulkfiling/internal/report"

	"golang.org/x/sync/errgroup"
)

// linksAtOnce are few: links are for a person to look at, and the service has
// orders to take.
const linksAtOnce = 4

// door is one user's dashboard of one company.
type door struct{ user, company string }

// link finds out where a person sees the orders of each row's company, once for
// each company and user. A link that cannot be had stands in nothing's way.
func (r *resolver) link(ctx context.Context, doubts []report.Doubt) error {
	if r.flags.noLinks {
		for i := range doubts {
			doubts[i].NoLink = "no link was asked for"
		}
		return nil
	}
	client, err := r.client()
	if err != nil {
		for i := range doubts {
			doubts[i].NoLink = "no link: " + err.Error()
		}
		return nil
	}
	rows, err := r.doors(ctx, doubts)
	if err != nil {
		return err
	}
	type answer struct {
		link string
		err  error
	}
	answers := make(map[door]*answer)
	for _, d := range rows {
		if d.user != "" && d.company != "" {
			answers[d] = new(answer)
		}
	}
	var group errgroup.Group
	group.SetLimit(linksAtOnce)
	for d, a := range answers {
		group.Go(func() error {
			a.link, a.err = client.MagicLink(ctx, d.user, d.company)
			return nil
		})
	}
	group.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	for i, d := range rows {
		switch a := answers[d]; {
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

func (r *resolver) client() (*filingapi.Client, error) {
	env, err := r.environment()
	if err != nil {
		return nil, err
	}
	return env.Client()
}

// doors are the ids of each row's user and company, as far as they are known.
func (r *resolver) doors(ctx context.Context, doubts []report.Doubt) ([]door, error) {
	doors := make([]door, len(doubts))
	users, companies := make(map[string]bool), make(map[string]bool)
	for i, d := range doubts {
		q := d.Row.Request
		doors[i] = door{q.User.ID, d.Row.CompanyRef()}
		if doors[i].user == "" {
			users[q.User.Ref()] = true
		}
		if company := doors[i].company; company != "" && !filing.IsCompanyID(company) {
			companies[company] = true
		}
	}
	knownUsers, err := r.ledger.Users(ctx, slices.Sorted(maps.Keys(users)))
	if err != nil {
		return nil, err
	}
	knownCompanies, err := r.ledger.Companies(ctx, slices.Sorted(maps.Keys(companies)))
	if err != nil {
		return nil, err
	}
	for i, d := range doubts {
		if doors[i].user == "" {
			doors[i].user = knownUsers[d.Row.Request.User.Ref()].ID
		}
		if !filing.IsCompanyID(doors[i].company) {
			doors[i].company = knownCompanies[doors[i].company].ID
		}
	}
	return doors, nil
}

// shield lets nobody but its owner read a sheet with links in it: whoever has a
// link is the user whom it signs in.
func shield(path string, doubts []report.Doubt) error {
	if !slices.ContainsFunc(doubts, func(d report.Doubt) bool { return d.Dashboard != "" }) {
		return nil
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return errors.Join(fmt.Errorf("keep %s from other readers: %w", path, err), os.Remove(path))
	}
	return nil
}
