package account

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// ErrSignInLink is returned for a one-time sign-in link that is unknown, used or expired, or that
// belongs to a disabled account.
var ErrSignInLink = errors.New("the link is no longer valid: ask for a new one")

// SignInLink is an open one-time sign-in link, without its secret.
type SignInLink struct {
	ID string
	// Account is the name of the account.
	Account   string
	MadeBy    string
	CreatedAt time.Time
	EndsAt    time.Time
}

// MakeSignInLink returns the secret of a new one-time sign-in link. Older links of the account end.
// The firm is notified if another person makes the link. It returns ErrNotFound, ErrSignInLink for
// a disabled account, and ErrManaged.
func (l *Accounts) MakeSignInLink(ctx context.Context, account string, life time.Duration) (secret string, err error) {
	secret, hash := newSecret()
	err = l.db.Change(ctx, func(tx *sql.Tx) error {
		a, err := Find(ctx, tx, account)
		switch {
		case err != nil:
			return err
		case a.Disabled:
			return ErrSignInLink
		case a.ManagedBy != "":
			return ErrManaged
		}
		by := PersonName(audit.Person(ctx))
		makers, err := standsFor(ctx, tx, by)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM sign_in_links WHERE account = $1`, a.ID); err != nil {
			return err
		}
		if err := l.insertLink(ctx, tx, a, hash, by, makers, life); err != nil || by == a.Name {
			return err
		}
		return NotifyAccess(ctx, tx, l.db.Now(), "a link to sign in as "+a.Name+" was made",
			fmt.Sprintf("%s made a link that signs in as %s, until %s.\n"+
				"If %s did not ask for it: Settings, Open one-time links, Revoke.\n", NameOr(by), a.Name,
				l.db.Now().Add(life).UTC().Format("15:04 UTC on January 2, 2006"), a.Name))
	})
	if err != nil {
		return "", fmt.Errorf("make a link for account %s: %w", account, err)
	}
	return secret, nil
}

// insertLink adds a link of an account and deletes all expired links.
func (l *Accounts) insertLink(ctx context.Context, tx *sql.Tx, a Account, hash, by string, makers []string,
	life time.Duration) error {
	now := l.db.Now()
	if _, err := tx.ExecContext(ctx, `DELETE FROM sign_in_links WHERE ends_at <= $1`, store.ToMillis(now)); err != nil {
		return err
	}
	words, err := json.Marshal(makers)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx,
		`INSERT INTO sign_in_links (hash, id, account, made_by, makers, created_at, ends_at)
			VALUES ($1,$2,$3,$4,$5,$6,$7)`,
		hash, "L"+rand.Text()[:11], a.ID, by, string(words), store.ToMillis(now), store.ToMillis(now.Add(life)))
	return err
}

// standsFor returns a person and the makers of the links with which that person signed in.
func standsFor(ctx context.Context, q store.Querier, name string) ([]string, error) {
	if name == "" {
		return nil, nil
	}
	makers, err := LinkMakers(ctx, q, name)
	return append(makers, name), err
}

// FindSignInLink finds the account of a link and leaves the link valid. It returns ErrSignInLink if
// the link is not valid.
func (l *Accounts) FindSignInLink(ctx context.Context, secret string) (Account, error) {
	link, err := l.findSignInLink(ctx, l.db.Read, secret)
	return link.Account, err
}

// openLink is the account of a link and the makers of the link.
type openLink struct {
	Account
	Makers []string
}

func (l *Accounts) findSignInLink(ctx context.Context, q store.Querier, secret string) (openLink, error) {
	return store.Find[openLink](ctx, q, ErrSignInLink, "find a link", `SELECT `+accountColumns+`, t.makers
		FROM sign_in_links t JOIN accounts a ON a.id = t.account
		WHERE t.hash = $1 AND t.ends_at > $2 AND a.disabled = 0`, hashed(secret), store.ToMillis(l.db.Now()))
}

// UseSignInLink uses up a link, so only the first call succeeds. The account also stands for the
// makers of the link, until it signs in with a passkey or the sign-in provider. It returns
// ErrSignInLink if the link is not valid.
func (l *Accounts) UseSignInLink(ctx context.Context, secret string) (a Account, err error) {
	err = l.db.Change(ctx, func(tx *sql.Tx) error {
		link, err := l.findSignInLink(ctx, tx, secret)
		if err != nil {
			return err
		}
		a = link.Account
		if _, err := tx.ExecContext(ctx, `DELETE FROM sign_in_links WHERE hash = $1`, hashed(secret)); err != nil {
			return store.Wrap("use a link up", err)
		}
		makers := slices.DeleteFunc(slices.Concat(link.Makers, a.LinkMakers),
			func(name string) bool { return name == a.Name })
		if len(makers) == 0 {
			return nil
		}
		slices.Sort(makers)
		all, err := json.Marshal(slices.Compact(makers))
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE accounts SET link_makers = $2 WHERE id = $1`, a.ID, string(all))
		return store.Wrap("use a link up", err)
	})
	if err != nil {
		return Account{}, err
	}
	return a, nil
}

// clearLinkMakers makes an account stand only for itself, because its owner signs in without a
// link. It ends the sessions of the account, because links of others may have begun them.
func clearLinkMakers(ctx context.Context, tx *sql.Tx, a Account) error {
	if len(a.LinkMakers) == 0 {
		return nil
	}
	return store.Wrap("forget who made the links of account "+a.Name, store.ExecEach(ctx, tx, a.ID,
		`UPDATE accounts SET link_makers = '' WHERE id = $1`, `DELETE FROM sessions WHERE account = $1`))
}

// ListSignInLinks lists the open links, the newest first.
func (l *Accounts) ListSignInLinks(ctx context.Context) ([]SignInLink, error) {
	return store.List[SignInLink](ctx, l.db.Read, "list the sign-in links",
		`SELECT t.id, a.name AS account, t.made_by, t.created_at, t.ends_at
			FROM sign_in_links t JOIN accounts a ON a.id = t.account
			WHERE t.ends_at > $1
			ORDER BY t.created_at DESC, t.id`, store.ToMillis(l.db.Now()))
}

// RevokeSignInLink ends a link. It returns ErrNotFound if it is not open.
func (l *Accounts) RevokeSignInLink(ctx context.Context, id string) error {
	return store.Wrap("revoke a sign-in link",
		store.RequireChange(store.ErrNotFound)(l.db.ExecChange(ctx, `DELETE FROM sign_in_links WHERE id = $1`, id)))
}
