package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// firstLinkLife is the validity of the sign-in link of serve.
const firstLinkLife = 12 * time.Hour

// linkFile is the file of the link if serve does not print to a terminal.
const linkFile = "sign-in-link.txt"

// ownerRoles are the roles of the person who starts the page on their computer.
var ownerRoles = []ledger.Role{ledger.Preparer, ledger.Approver, ledger.Operator}

// invitation describes how to sign in.
type invitation struct {
	// text is the text to print.
	text string
	// file is the file with the link. Empty if the link is not in a file.
	file string
	link string
	// page is the address of the page.
	page string
}

// invite returns the invitation to the page. A page that only this machine can reach gets a
// one-time sign-in link for the user who starts it. The link is printed to a terminal. Other output
// goes to logs that others read, so the link is then in a file that only the user can read.
func (p *page) invite(ctx context.Context, terminal bool) (invitation, error) {
	base := p.front.scheme + "://" + reachable(p.front.addr)
	if p.opts.public != nil {
		base = p.opts.public.String()
	}
	text := "The page is at " + base + "/"
	if !p.local {
		accounts, err := p.ledger.Accounts().List(ctx)
		if err == nil && len(accounts) == 0 {
			text += ". There are no accounts yet. To add one: importer accounts add NAME --role " +
				"operator,approver,preparer --url " + base
		}
		return invitation{text: text}, err
	}
	link, err := ownerLink(ctx, p.ledger.Ledger, "by importer serve", firstLinkLife)
	if err != nil {
		return invitation{}, err
	}
	if link == "" {
		return invitation{text: text + ". Sign in with your company account", page: base + "/"}, nil
	}
	in := invitation{link: base + link, page: base + "/"}
	if terminal {
		in.text = "The page, with a one-time sign-in link: " + in.link
		return in, nil
	}
	in.file = filepath.Join(p.env.LinkDir(), linkFile)
	if err := writeLink(in.file, in.link); err != nil {
		return invitation{}, err
	}
	in.text = text + ". A one-time sign-in link is in the file " + in.file
	return in, nil
}

// ownerLink returns the path of a one-time link for the owner of this computer. It returns "" if
// they sign in with a company account, which accepts no link.
func ownerLink(ctx context.Context, l *ledger.Ledger, by string, life time.Duration) (string, error) {
	account, err := findOwner(ctx, l)
	if err != nil || account.ManagedBy != "" {
		return "", err
	}
	secret, err := l.Accounts().MakeSignInLink(withAudit(ctx, "account-link", account.Name,
		by+", for "+life.String()), account.ID, life)
	if err != nil {
		return "", err
	}
	return linkPath(secret), nil
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

// writeLink writes a link to a new file that only the user can read.
func writeLink(path, link string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the folder of the sign-in link: %w", err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the sign-in link of an earlier start: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write the sign-in link: %w", err)
	}
	_, err = f.WriteString(link + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write the sign-in link: %w", err)
	}
	return nil
}

// removeFile removes the file of the link, unless a later start has replaced it.
func (in invitation) removeFile() error {
	if in.file == "" {
		return nil
	}
	content, err := os.ReadFile(in.file)
	if err == nil && strings.TrimSpace(string(content)) == in.link {
		err = os.Remove(in.file)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
