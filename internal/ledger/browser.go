package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A browser is known for a while after it was used last. Its cookie holds a
// secret for each of a few accounts.
const (
	BrowserLife = 180 * 24 * time.Hour
	maxBrowsers = 4  // accounts in one cookie
	maxKnown    = 20 // browsers of an account
)

// KnownBrowser is a browser in which an account signed in before. Strangers'
// failures do not keep the account from signing in there.
type KnownBrowser struct {
	ID        string // names it to its owner; it is no way to its secret
	From      string // the network that it was used from last
	Agent     string // the family of the browser
	CreatedAt time.Time
	UsedAt    time.Time
	Current   bool // the one whose cookie was given
}

// knownBrowser is one with what it is recognized by.
type knownBrowser struct {
	KnownBrowser
	hash, network string
}

// publicID names a session or a browser by the beginning of its secret's hash.
const publicID = 16

// presentedBrowsers are the secrets in a cookie, by their hashes.
func presentedBrowsers(cookie string) map[string]string {
	all := make(map[string]string)
	if len(cookie) > maxBrowsers*64 {
		return all
	}
	for secret := range strings.SplitSeq(cookie, ".") {
		if secret != "" {
			all[hashed(secret)] = secret
		}
	}
	return all
}

// loadBrowsers reads the known browsers of an account, by its folded name; the
// one that was used last comes first.
func (l Accounts) loadBrowsers(ctx context.Context, name string) ([]knownBrowser, error) {
	rows, err := l.read.QueryContext(ctx,
		`SELECT b.hash, b.network, b.agent, b.created_at, b.used_at FROM known_browsers b
		JOIN accounts a ON a.id = b.account WHERE a.name = $1 AND b.used_at > $2 ORDER BY b.used_at DESC, b.hash`,
		name, toMillis(l.now().Add(-BrowserLife)))
	all, err := collect(rows, err, func(scan func(...any) error) (knownBrowser, error) {
		var b knownBrowser
		var created, used int64
		err := scan(&b.hash, &b.network, &b.Agent, &created, &used)
		b.CreatedAt, b.UsedAt, b.From = fromMillis(created), fromMillis(used), b.network
		if err == nil {
			b.ID = b.hash[:publicID]
		}
		return b, err
	})
	return all, wrap("read the known browsers", err)
}

// RememberBrowser remembers that an account signed in from a browser, and returns
// what the browser's cookie is to say from now on. cookie is what it said.
func (l Accounts) RememberBrowser(ctx context.Context, account, cookie, from, agent string) (string, error) {
	presented := presentedBrowsers(cookie)
	fresh, hash := newSecret()
	err := l.change(withoutAudit(ctx), func(tx *sql.Tx, _ *control) error {
		now := l.now()
		if _, err := tx.ExecContext(ctx, `DELETE FROM known_browsers WHERE used_at <= $1`,
			toMillis(now.Add(-BrowserLife))); err != nil {
			return err
		}
		for old := range presented {
			n, err := affected(tx.ExecContext(ctx,
				`UPDATE known_browsers SET used_at = $3, network = $4, agent = $5 WHERE hash = $1 AND account = $2`,
				old, account, toMillis(now), Network(from), agent))
			if err != nil {
				return err
			}
			if n > 0 {
				fresh = ""
				return nil
			}
		}
		if _, err := tx.ExecContext(ctx,
			`INSERT INTO known_browsers (hash, account, network, agent, created_at, used_at)
				VALUES ($1,$2,$3,$4,$5,$5)`,
			hash, account, Network(from), agent, toMillis(now)); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM known_browsers WHERE account = $1 AND hash NOT IN
			(SELECT hash FROM known_browsers WHERE account = $1 ORDER BY used_at DESC, created_at DESC LIMIT $2)`,
			account, maxKnown)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("save the browser of account %s: %w", account, err)
	}
	if fresh == "" {
		return cookie, nil
	}
	var secrets []string
	for secret := range strings.SplitSeq(cookie, ".") {
		if len(presented) > 0 && secret != "" && !slices.Contains(secrets, secret) {
			secrets = append(secrets, secret)
		}
	}
	secrets = append(secrets, fresh)
	return strings.Join(secrets[max(0, len(secrets)-maxBrowsers):], "."), nil
}

// ListBrowsers lists the browsers in which an account signed in. cookie is that
// of the browser that asks.
func (l Accounts) ListBrowsers(ctx context.Context, account Account, cookie string) ([]KnownBrowser, error) {
	known, err := l.loadBrowsers(ctx, account.Name)
	if err != nil {
		return nil, err
	}
	presented := presentedBrowsers(cookie)
	var all []KnownBrowser
	for _, b := range known {
		_, b.Current = presented[b.hash]
		all = append(all, b.KnownBrowser)
	}
	return all, nil
}

// ForgetBrowser forgets a known browser of an account. It returns ErrNotFound.
func (l Accounts) ForgetBrowser(ctx context.Context, account, id string) error {
	n, err := affected(l.exclusively(ctx, `DELETE FROM known_browsers WHERE account = $1 AND substr(hash, 1, $3) = $2`,
		account, id, publicID))
	if err == nil && n == 0 {
		err = ErrNotFound
	}
	return wrap("forget a browser", err)
}
