package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// firstLinkLife is the validity of the sign-in link of serve.
const firstLinkLife = 12 * time.Hour

// ownerRoles are the roles of the person who starts the page on their computer.
var ownerRoles = []ledger.Role{ledger.Preparer, ledger.Approver, ledger.Operator}

// invite returns the text that explains how to sign in, and the address to open in the browser. A
// page that only this machine can reach gets a one-time sign-in link for the user who starts it. The
// link is printed only to a terminal, because others read logs. The address is empty if the page is
// for other machines.
func (p *page) invite(ctx context.Context, terminal bool) (text, address string, err error) {
	base := p.front.scheme + "://" + reachable(p.front.addr)
	if p.opts.public != nil {
		base = p.opts.public.String()
	}
	text = "The page is at " + base + "/"
	if !p.local {
		accounts, err := p.ledger.Accounts().List(ctx)
		if err == nil && len(accounts) == 0 {
			text += ". There are no accounts yet. To add one: importer accounts add NAME --role " +
				"operator,approver,preparer --url " + base
		}
		return text, "", err
	}
	owner, err := findOwner(ctx, p.ledger.Ledger)
	switch {
	case err != nil:
		return "", "", err
	case owner.ManagedBy != "":
		return text + ". Sign in with your company account", base + "/", nil
	case !terminal:
		return fmt.Sprintf("%s. To sign in: importer accounts link %q --url %s", text, owner.Name, base), base + "/", nil
	}
	link, err := ownerLink(ctx, p.ledger.Ledger, owner, "by importer serve", firstLinkLife)
	return "The page, with a one-time sign-in link: " + base + link, base + link, err
}

// ownerLink returns the path of a one-time link for the owner of this computer.
func ownerLink(ctx context.Context, l *ledger.Ledger, owner ledger.Account, by string,
	life time.Duration) (string, error) {
	audited := withAudit(ctx, "account-link", owner.Name, by+", for "+life.String())
	secret, err := l.Accounts().MakeSignInLink(audited, owner.ID, life)
	return linkPath(secret), err
}

// findOwner finds the account of the user who starts the page, and adds it if it is missing.
func findOwner(ctx context.Context, l *ledger.Ledger) (ledger.Account, error) {
	account, err := l.Accounts().Find(ctx, currentUser())
	if errors.Is(err, ledger.ErrNotFound) {
		return l.Accounts().Add(withAudit(ctx, "account-add", strings.ToLower(currentUser()),
			"by importer serve, roles "+roleText(ownerRoles)), currentUser(), ownerRoles)
	}
	return account, err
}

// linkPath returns the path of a one-time sign-in link.
func linkPath(secret string) string { return "/enter?" + url.Values{"link": {secret}}.Encode() }
