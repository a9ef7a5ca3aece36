package ledger

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// ErrSession is returned for a session that is unknown or has ended, and for
// one of a disabled account.
var ErrSession = errors.New("the session has ended: sign in again")

// A session that nobody uses ends by itself. Its use is noted now and then only:
// a page that is looked at asks every few seconds.
const (
	sessionIdle = 12 * time.Hour
	seenEvery   = time.Minute
)

// Session is somebody who has signed in.
type Session struct {
	Account   Account
	CSRF      string // what a form of this session must bring along
	CreatedAt time.Time
	SeenAt    time.Time
	EndsAt    time.Time // whatever happens
	From      string    // the address it was begun from
}

// newSecret makes the secret of a session or a link, and what is kept of it.
func newSecret() (secret, hash string) {
	raw := make([]byte, 32)
	rand.Read(raw)
	secret = base64.RawURLEncoding.EncodeToString(raw)
	return secret, hashed(secret)
}

// hashed is what is kept of a secret: enough to know it again. A secret of 32
// random bytes needs no slow hash.
func hashed(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// csrf derives the token of a session's forms, which is no way to its secret.
func csrf(secret string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("forms"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// BeginSession signs an account in and returns the session's secret, for its
// holder alone. It returns ErrNotFound, and ErrSession for a disabled account.
func (l *Ledger) BeginSession(ctx context.Context, account string, life time.Duration, from string) (secret string, err error) {
	secret, hash := newSecret()
	err = l.change(ctx, func(tx *sql.Tx, _ *control) error {
		a, err := l.account(ctx, tx, account)
		switch {
		case err != nil:
			return err
		case a.Disabled:
			return ErrSession
		}
		now := l.now()
		if _, err := tx.ExecContext(ctx, `DELETE FROM sessions WHERE ends_at <= $1 OR seen_at <= $2`, millis(now), millis(now.Add(-sessionIdle))); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO sessions (hash, account, origin, created_at, seen_at, ends_at) VALUES ($1,$2,$3,$4,$4,$5)`,
			hash, a.ID, from, millis(now), millis(now.Add(life))); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE accounts SET signed_in_at = $2 WHERE id = $1`, a.ID, millis(now))
		return err
	})
	if err != nil {
		return "", fmt.Errorf("begin a session of account %s: %w", account, err)
	}
	return secret, nil
}

// Session looks up whose session a secret is, and notes that it is used. It
// returns ErrSession.
func (l *Ledger) Session(ctx context.Context, secret string) (Session, error) {
	var s Session
	var created, seen, ends int64
	var err error
	s.Account, err = scanAccount(func(dest ...any) error {
		return l.read.QueryRowContext(ctx, `SELECT `+accountColumns+`, s.created_at, s.seen_at, s.ends_at, s.origin FROM sessions s JOIN accounts a ON a.id = s.account WHERE s.hash = $1`, hashed(secret)).
			Scan(append(dest, &created, &seen, &ends, &s.From)...)
	})
	now := l.now()
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return Session{}, ErrSession
	case err != nil:
		return Session{}, fmt.Errorf("look a session up: %w", err)
	case s.Account.Disabled || millis(now) >= ends || !now.Before(moment(seen).Add(sessionIdle)):
		return Session{}, ErrSession
	}
	if now.Sub(moment(seen)) >= seenEvery {
		if _, err := l.exclusively(unasked(ctx), `UPDATE sessions SET seen_at = $2 WHERE hash = $1 AND seen_at < $2`, hashed(secret), millis(now)); err != nil {
			return Session{}, fmt.Errorf("note that a session is used: %w", err)
		}
		seen = millis(now)
	}
	s.CSRF, s.CreatedAt, s.SeenAt, s.EndsAt = csrf(secret), moment(created), moment(seen), moment(ends)
	return s, nil
}

// EndSession signs a session out. One that has ended already is none.
func (l *Ledger) EndSession(ctx context.Context, secret string) error {
	_, err := l.exclusively(ctx, `DELETE FROM sessions WHERE hash = $1`, hashed(secret))
	return wrap("end a session", err)
}
