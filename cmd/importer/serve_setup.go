package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/config"
	"github.com/bulkfiling/bulkfiling/internal/secret"
	"github.com/bulkfiling/bulkfiling/internal/web"
)

// nextLinkLife is the validity of the link that takes a browser to the next start. The link is used
// at once.
const nextLinkLife = 5 * time.Minute

// setup lets the page set up the filing service. It returns nil unless only this machine can reach
// the page, because elsewhere the deployment decides. It also returns nil if the environment has a
// key, because that key would override the stored one.
func (p *page) setup() *web.Setup {
	if !p.local || p.env.ByEnvironment("FILING_API_KEY") {
		return nil
	}
	s := &web.Setup{
		Service: p.env.BaseURL,
		File:    config.SettingsPath(p.global.getenv),
		Check:   p.checkService,
		Save:    p.saveService,
	}
	if p.why != nil {
		s.Service = ""
	}
	if p.env.ByEnvironment("FILING_BASE_URL") {
		s.Address = p.env.BaseURL
	}
	return s
}

func enteredService(s web.FilingService) config.Service {
	return config.Service{BaseURL: s.Address, Key: secret.New(s.Key), Live: s.Live()}
}

// checkService asks the filing service for the organization of the key.
func (p *page) checkService(ctx context.Context, s web.FilingService) (web.FilingAccount, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	o, err := p.env.With(enteredService(s)).CheckService(ctx)
	if err != nil {
		return web.FilingAccount{}, err
	}
	return web.FilingAccount{Organization: o.Label(), Live: s.Live()}, nil
}

// saveService stores the filing service and starts again with it.
func (p *page) saveService(ctx context.Context, by string, s web.FilingService) (string, error) {
	path := config.SettingsPath(p.global.getenv)
	env, err := p.global.environment()
	if err != nil {
		return "", err
	}
	// Choose the ledger first, because this finds the decisions that a person has to make before
	// anything is stored.
	env = env.With(enteredService(s))
	next, err := p.nextLink(ctx, &env, by)
	if err != nil {
		return "", err
	}
	if err := config.SaveService(path, enteredService(s)); err != nil {
		return "", err
	}
	p.front.startAgain()
	return next, nil
}

// nextLink returns the path that the browser opens after the next start. It is the home page, or a
// one-time link if the ledger changes. Only the owner of this computer gets a link.
func (p *page) nextLink(ctx context.Context, env *config.Environment, by string) (string, error) {
	asking, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if _, err := chooseLedger(asking, env); err != nil {
		return "", err
	}
	if env.DatabaseURL == p.env.DatabaseURL && env.LedgerDir() == p.env.LedgerDir() ||
		!strings.EqualFold(by, currentUser()) {
		return "/", nil
	}
	l, err := env.OpenLedger(ctx)
	if err != nil {
		return "", err
	}
	next := "/"
	owner, err := findOwner(ctx, l)
	if err == nil && owner.ManagedBy == "" {
		next, err = ownerLink(ctx, l, owner, "by the setup", nextLinkLife)
	}
	return next, errors.Join(err, l.Close())
}
