package ledger

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// CalendarFeed is a secret address at which a calendar program reads due dates,
// without its secret.
type CalendarFeed struct {
	ID        string
	CreatedAt time.Time
	UsedAt    time.Time // to the hour; zero for never
}

// maxFeeds is how many addresses an account has: one for each of its programs.
const maxFeeds = 5

var (
	// ErrFeed is returned for an address that is unknown or revoked, or whose account
	// may read nothing any more.
	ErrFeed = errors.New("the calendar link is not valid: it was revoked, or its owner lost access")
	// ErrFeeds is returned where an account has all the addresses it may have.
	ErrFeeds = errors.New("an account has at most 5 calendar links: revoke one that is not used")
)

// AddFeed adds an address for an account and returns its secret, which is not kept.
// It returns ErrFeeds.
func (l Calendars) AddFeed(ctx context.Context, account string) (secret string, err error) {
	secret, hash := newSecret()
	err = l.change(ctx, func(tx *sql.Tx, _ *control) error {
		var n int
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM calendar_feeds WHERE account = $1`,
			account).Scan(&n); err != nil {
			return err
		}
		if n >= maxFeeds {
			return ErrFeeds
		}
		_, err := tx.ExecContext(ctx,
			`INSERT INTO calendar_feeds (hash, id, account, created_at) VALUES ($1,$2,$3,$4)`,
			hash, "C"+rand.Text()[:11], account, toMillis(l.now()))
		return err
	})
	if err != nil {
		return "", fmt.Errorf("make a calendar link: %w", err)
	}
	return secret, nil
}

// ListFeeds lists the addresses of an account, the oldest first.
func (l Calendars) ListFeeds(ctx context.Context, account string) ([]CalendarFeed, error) {
	rows, err := l.read.QueryContext(ctx,
		`SELECT id, created_at, used_at FROM calendar_feeds WHERE account = $1 ORDER BY created_at, id`, account)
	all, err := collect(rows, err, func(scan func(...any) error) (CalendarFeed, error) {
		var f CalendarFeed
		var created, used int64
		err := scan(&f.ID, &created, &used)
		f.CreatedAt, f.UsedAt = fromMillis(created), fromMillis(used)
		return f, err
	})
	return all, wrap("list calendar links", err)
}

// RemoveFeed revokes an address of an account. It returns ErrNotFound.
func (l Calendars) RemoveFeed(ctx context.Context, account, id string) error {
	return wrap("revoke a calendar link", l.change(ctx, func(tx *sql.Tx, _ *control) error {
		n, err := affected(tx.ExecContext(ctx, `DELETE FROM calendar_feeds WHERE account = $1 AND id = $2`, account,
			id))
		if err == nil && n == 0 {
			err = ErrNotFound
		}
		return err
	}))
}

// FindFeed finds whose address a secret is, and remembers its use. It returns
// ErrFeed, also for the address of an account that is disabled or has no role left.
func (l Calendars) FindFeed(ctx context.Context, secret string) (Account, error) {
	var used int64
	hash := hashed(secret)
	a, err := scanAccount(func(dest ...any) error {
		return l.read.QueryRowContext(ctx, `SELECT `+accountColumns+`, f2.used_at
			FROM calendar_feeds f2 JOIN accounts a ON a.id = f2.account WHERE f2.hash = $1`,
			hash).Scan(append(dest, &used)...)
	})
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && (a.Disabled || !a.HasRole()):
		return Account{}, ErrFeed
	case err != nil:
		return Account{}, fmt.Errorf("find a calendar link: %w", err)
	}
	now := l.now()
	if now.Sub(fromMillis(used)) < time.Hour { // programs ask often
		return a, nil
	}
	_, err = l.exclusively(withoutAudit(ctx), `UPDATE calendar_feeds SET used_at = $2 WHERE hash = $1`, hash,
		toMillis(now))
	return a, wrap("remember the use of a calendar link", err)
}

// Zone returns the firm's time zone; "" where none is chosen.
func (l Calendars) Zone(ctx context.Context) (string, error) {
	var zone string
	err := l.read.QueryRowContext(ctx, `SELECT zone FROM firm_zone WHERE id = 1`).Scan(&zone)
	return zone, wrap("read the firm's time zone", err)
}

// SetZone sets the firm's time zone, a name of the IANA database.
func (l Calendars) SetZone(ctx context.Context, zone string) error {
	if _, err := time.LoadLocation(zone); err != nil || zone == "" || zone == "Local" {
		return fmt.Errorf("%q is not a time zone such as America/New_York", zone)
	}
	return wrap("set the firm's time zone", l.change(ctx, func(tx *sql.Tx, _ *control) error {
		_, err := tx.ExecContext(ctx, `UPDATE firm_zone SET zone = $1, changed_by = $2, changed_at = $3 WHERE id = 1`,
			zone, auditPerson(ctx), toMillis(l.now()))
		return err
	}))
}
