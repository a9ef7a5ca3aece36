package ledger

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrSignInLink is returned for a one-time link that is unknown, used, too old, or
// of a disabled account.
var ErrSignInLink = errors.New("the link is no longer valid: ask for a new one")

// ErrReset is returned if a link would sign in a person who has a password: it
// sets a new one, and nothing else.
var ErrReset = errors.New("the account already has a password: this link sets a new one")

// ErrVouch is returned for vouching for an account by the
// person who made the link behind its credentials, or by anyone in the chain of
// links behind that person's.
var ErrVouch = errors.New("a person who did not take part in making the link must vouch for the account")

// SignInLink is an open one-time link, without its secret.
type SignInLink struct {
	ID        string
	Account   string // whose it is, by name
	Resets    bool   // the account already has a password: this link sets a new one
	MadeBy    string
	CreatedAt time.Time
	EndsAt    time.Time
}

// MakeSignInLink makes the secret of a one-time link. It signs in a person who
// has no password yet, and lets one who has a password set another. Older links
// of the account end. The firm is notified of each that another person makes,
// and the owner of one for an account that has a password. It returns
// ErrNotFound, ErrSignInLink for a disabled account, and ErrManaged.
func (l Accounts) MakeSignInLink(ctx context.Context, account string, life time.Duration) (secret string, err error) {
	secret, hash := newSecret()
	err = l.change(ctx, func(tx *sql.Tx, _ *control) error {
		a, err := l.account(ctx, tx, account)
		switch {
		case err != nil:
			return err
		case a.Disabled:
			return ErrSignInLink
		case a.ManagedBy != "":
			return ErrManaged
		}
		now, by := l.now(), person(auditPerson(ctx))
		makers, err := standsFor(ctx, tx, by)
		if err != nil {
			return err
		}
		words, err := json.Marshal(makers)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM sign_in_links WHERE ends_at <= $1 OR account = $2`, toMillis(now),
			a.ID); err != nil {
			return err
		}
		_, err = tx.ExecContext(
			ctx, `INSERT INTO sign_in_links (hash, id, account, made_by, behind, created_at, ends_at)
				VALUES ($1,$2,$3,$4,$5,$6,$7)`,
			hash, "L"+rand.Text()[:11], a.ID, by, string(words), toMillis(now), toMillis(now.Add(life)))
		if err != nil || by == a.Name {
			return err
		}
		until := now.Add(life).UTC().Format("15:04 UTC on January 2, 2006")
		if !a.HasPassword {
			return l.addAccessNotification(ctx, tx, "a link to sign in as "+a.Name+" was made",
				fmt.Sprintf("%s made a link that signs in as %s, until %s. The account has no password yet.\n"+
					"If %s did not ask for it: Settings, Sign-in links, Revoke.\n", nameOr(by), a.Name, until, a.Name))
		}
		if _, err := tx.ExecContext(ctx,
			`UPDATE accounts SET link_by = $2, link_at = $3, link_used_at = 0 WHERE id = $1`, a.ID, by,
			toMillis(now)); err != nil {
			return err
		}
		return l.addAccessNotification(ctx, tx, "a link to reset the password of "+a.Name+" was made",
			fmt.Sprintf(
				"%s made a link with which the password of %s can be reset, until %s.\nIf %s did not ask for it: "+
					"Settings, Sign-in links, Revoke.\n",
				nameOr(by), a.Name, until, a.Name))
	})
	if err != nil {
		return "", fmt.Errorf("make a link for account %s: %w", account, err)
	}
	return secret, nil
}

// standsFor lists a person with those through whose links they have their
// credentials.
func standsFor(ctx context.Context, q querier, name string) ([]string, error) {
	if name == "" {
		return nil, nil
	}
	makers, err := behind(ctx, q, name)
	if !slices.Contains(makers, name) {
		makers = append(makers, name)
	}
	slices.Sort(makers)
	return makers, err
}

// FindSignInLink looks up whom a link is for, and leaves it valid. It returns
// ErrSignInLink.
func (l Accounts) FindSignInLink(ctx context.Context, secret string) (Account, error) {
	a, _, err := l.findSignInLink(ctx, l.read, secret)
	return a, err
}

func (l Accounts) findSignInLink(ctx context.Context, q querier, secret string) (a Account, behind string, err error) {
	a, err = scanAccount(func(dest ...any) error {
		return q.QueryRowContext(ctx, `SELECT `+accountColumns+
			`, t.behind FROM sign_in_links t JOIN accounts a ON a.id = t.account WHERE t.hash = $1 AND t.ends_at > $2`,
			hashed(secret), toMillis(l.now())).Scan(append(dest, &behind)...)
	})
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && a.Disabled:
		return Account{}, "", ErrSignInLink
	case err != nil:
		return Account{}, "", fmt.Errorf("find a link: %w", err)
	}
	return a, behind, nil
}

// UseSignInLink uses a link up, for the first call, to sign in a person who has
// no password. It returns ErrSignInLink, and ErrReset for an account that has
// one.
func (l Accounts) UseSignInLink(ctx context.Context, secret string) (a Account, err error) {
	err = l.change(ctx, func(tx *sql.Tx, _ *control) error {
		var behind string
		if a, behind, err = l.findSignInLink(ctx, tx, secret); err != nil {
			return err
		}
		if a.HasPassword {
			return ErrReset
		}
		return l.takeLink(ctx, tx, a, secret, behind)
	})
	if err != nil {
		return Account{}, err
	}
	return a, nil
}

// takeLink uses a link up, and notes through whose hands the account's
// credentials are from now on. Those of earlier links stay until a person
// vouches for the account: a password that was set since shows nothing, for
// they may have set it.
func (l Accounts) takeLink(ctx context.Context, tx *sql.Tx, a Account, secret, makers string) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM sign_in_links WHERE hash = $1`, hashed(secret)); err != nil {
		return wrap("use a link up", err)
	}
	all, err := names(makers)
	if err != nil {
		return err
	}
	earlier, err := behind(ctx, tx, a.Name)
	if err != nil {
		return err
	}
	words, err := json.Marshal(slices.Compact(slices.Sorted(slices.Values(append(all, earlier...)))))
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(
		ctx, `UPDATE accounts
			SET behind = $2, unvouched_since = CASE WHEN unvouched_since = 0 THEN $3 ELSE unvouched_since END
			WHERE id = $1`,
		a.ID, string(words), toMillis(l.now()))
	return wrap("use a link up", err)
}

// ResetPassword sets a new password with a link, uses it up, and signs the account
// out everywhere. It begins no session. It returns ErrSignInLink and ErrWeak.
func (l Accounts) ResetPassword(ctx context.Context, secret, password string) (Account, error) {
	a, err := l.FindSignInLink(ctx, secret)
	if err != nil {
		return Account{}, err
	}
	err = l.setPassword(ctx, a.ID, password, func(tx *sql.Tx) error {
		now, behind, err := l.findSignInLink(ctx, tx, secret)
		if err != nil {
			return err
		}
		if err := l.takeLink(ctx, tx, now, secret, behind); err != nil || !now.HasPassword {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE accounts SET link_used_at = $2 WHERE id = $1`, a.ID,
			toMillis(l.now())); err != nil {
			return err
		}
		return l.addAccessNotification(ctx, tx, "the password of "+a.Name+" was reset",
			fmt.Sprintf(
				"The password of %s was reset with a sign-in link. The sessions before it have ended.\nIf it was "+
					"not %s: importer accounts disable %q\n", a.Name, a.Name, a.Name))
	})
	return a, err
}

// ListSignInLinks lists the open links, the newest first.
func (l Accounts) ListSignInLinks(ctx context.Context) ([]SignInLink, error) {
	rows, err := l.read.QueryContext(ctx,
		`SELECT t.id, a.name, a.password <> '', t.made_by, t.created_at, t.ends_at
			FROM sign_in_links t JOIN accounts a ON a.id = t.account
			WHERE t.ends_at > $1
			ORDER BY t.created_at DESC, t.id`, toMillis(l.now()))
	all, err := collect(rows, err, func(scan func(...any) error) (SignInLink, error) {
		var s SignInLink
		var created, ends int64
		err := scan(&s.ID, &s.Account, &s.Resets, &s.MadeBy, &created, &ends)
		s.CreatedAt, s.EndsAt = fromMillis(created), fromMillis(ends)
		return s, err
	})
	return all, wrap("list the sign-in links", err)
}

// RevokeSignInLink ends a link. It returns ErrNotFound where it is not open.
func (l Accounts) RevokeSignInLink(ctx context.Context, id string) error {
	err := l.change(ctx, func(tx *sql.Tx, _ *control) error {
		n, err := affected(tx.ExecContext(ctx, `DELETE FROM sign_in_links WHERE id = $1`, id))
		if err == nil && n == 0 {
			err = ErrNotFound
		}
		return err
	})
	return wrap("revoke a sign-in link", err)
}

// LinkNotice informs the owner of an account of a link that another person made
// for it.
type LinkNotice struct {
	By     string
	At     time.Time
	UsedAt time.Time // zero where it was not used
}

// newsLife is how long an owner is informed of it.
const newsLife = 7 * 24 * time.Hour

// FindLinkNotice finds the last link to an account that another person made to
// reset its password, for a week; nil where there is none.
func (l Accounts) FindLinkNotice(ctx context.Context, account string) (*LinkNotice, error) {
	var n LinkNotice
	var at, used int64
	err := l.read.QueryRowContext(ctx, `SELECT link_by, link_at, link_used_at FROM accounts WHERE id = $1`,
		account).Scan(&n.By, &at, &used)
	if err != nil {
		return nil, fmt.Errorf("read the last link to account %s: %w", account, err)
	}
	if at == 0 || l.now().Sub(fromMillis(max(at, used))) > newsLife {
		return nil, nil
	}
	n.At = fromMillis(at)
	if used > 0 {
		n.UsedAt = fromMillis(used)
	}
	return &n, nil
}

// ListCredentials says through whose links an account has its present credentials;
// none where they are its owner's own.
func (l Accounts) ListCredentials(ctx context.Context, account string) ([]string, error) {
	a, err := l.account(ctx, l.read, account)
	if err != nil {
		return nil, err
	}
	return behind(ctx, l.read, a.Name)
}

// VouchFor makes an account's credentials count as its owner's own: a person
// has seen to it that the owner set the password. On the page that is a person
// who neither made the link nor has their own credentials through one of its
// makers'. It returns ErrNotFound and ErrVouch.
func (l Accounts) VouchFor(ctx context.Context, account string) error {
	err := l.change(ctx, func(tx *sql.Tx, _ *control) error {
		a, err := l.account(ctx, tx, account)
		if err != nil {
			return err
		}
		if !atTerminal(ctx) {
			makers, err := behind(ctx, tx, a.Name)
			if err != nil {
				return err
			}
			own, err := standsFor(ctx, tx, person(auditPerson(ctx)))
			if err != nil {
				return err
			}
			if slices.ContainsFunc(own, func(name string) bool {
				return name == a.Name || slices.Contains(makers, name)
			}) {
				return ErrVouch
			}
		}
		return ownCredentials(ctx, tx, a.ID)
	})
	return wrap("vouch for account "+account, err)
}

// ownCredentials records that an account has its credentials through no one's
// link.
func ownCredentials(ctx context.Context, tx *sql.Tx, account string) error {
	_, err := tx.ExecContext(ctx, `UPDATE accounts SET behind = '', unvouched_since = 0 WHERE id = $1`, account)
	return err
}

// provenCredentials is ownCredentials for an account whose owner has signed in
// with a second factor from before the first link that no one has vouched for.
func provenCredentials(ctx context.Context, tx *sql.Tx, account string, factor FactorKind) error {
	if factor != FactorApp && factor != FactorPasskey {
		return nil
	}
	_, err := tx.ExecContext(ctx, `UPDATE accounts SET behind = '', unvouched_since = 0 WHERE id = $1
		AND EXISTS (SELECT 1 FROM factors f
			WHERE f.account = accounts.id AND f.created_at < accounts.unvouched_since)`, account)
	return wrap("note whose the credentials are", err)
}
