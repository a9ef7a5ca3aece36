package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// ErrSession is returned for a session that is unknown or has ended, or that belongs to a disabled
// account.
var ErrSession = errors.New("the session has ended: sign in again")

// Sessions expire when idle. Their use is recorded at most once per seenEvery, because an open page
// sends a request every few seconds.
const (
	sessionIdle = 12 * time.Hour
	seenEvery   = time.Minute
)

// Session is a signed-in browser of an account.
type Session struct {
	Account   Account
	CreatedAt time.Time
	SeenAt    time.Time
	// EndsAt is the end of the session even if it is in use.
	EndsAt time.Time
}

// SignIn describes the beginning of a session.
type SignIn struct {
	Life time.Duration
	// ProviderToken is the ID token of the sign-in provider. Empty if the provider was not used.
	ProviderToken string
	// OwnWay reports whether the person used a passkey or the sign-in provider and not a link.
	OwnWay bool
}

// newSecret returns the secret of a session or a link, and the hash to store.
func newSecret() (secret, hash string) {
	raw := make([]byte, 32)
	rand.Read(raw)
	secret = base64.RawURLEncoding.EncodeToString(raw)
	return secret, hashed(secret)
}

// hashed returns the hash of a secret, by which the secret is recognized. A secret of 32 random
// bytes needs no slow hash.
func hashed(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// BeginSession signs an account in and returns the session's secret, which only its holder may see.
// It returns ErrNotFound, and ErrSession for a disabled account.
func (l *Accounts) BeginSession(ctx context.Context, account string, in SignIn) (secret string, err error) {
	secret, hash := newSecret()
	token := ""
	if in.ProviderToken != "" {
		if token, err = l.db.SealText("session|"+hash, []byte(in.ProviderToken)); err != nil {
			return "", err
		}
	}
	err = l.db.Change(ctx, func(tx *sql.Tx) error {
		a, err := Find(ctx, tx, account)
		switch {
		case err != nil:
			return err
		case a.Disabled:
			return ErrSession
		}
		now := l.db.Now()
		if _, err := tx.ExecContext(ctx, `DELETE FROM sessions WHERE ends_at <= $1 OR seen_at <= $2`,
			store.ToMillis(now),
			store.ToMillis(now.Add(-sessionIdle))); err != nil {
			return err
		}
		if in.OwnWay {
			if err := clearLinkMakers(ctx, tx, a); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx,
			`INSERT INTO sessions (hash, account, created_at, seen_at, ends_at, provider_token)
				VALUES ($1,$2,$3,$3,$4,$5)`,
			hash, a.ID, store.ToMillis(now), store.ToMillis(now.Add(in.Life)), token); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE accounts SET signed_in_at = $2 WHERE id = $1`, a.ID, store.ToMillis(now))
		return err
	})
	if err != nil {
		return "", fmt.Errorf("begin a session of account %s: %w", account, err)
	}
	return secret, nil
}

// FindSession finds the session of a secret and records its use. It returns ErrSession if there is
// none.
func (l *Accounts) FindSession(ctx context.Context, secret string) (Session, error) {
	s, err := store.Find[struct {
		Account
		BegunAt, SeenAt, EndsAt time.Time
	}](ctx, l.db.Read, ErrSession, "find a session",
		`SELECT `+accountColumns+`, s.created_at AS begun_at, s.seen_at, s.ends_at
			FROM sessions s JOIN accounts a ON a.id = s.account
			WHERE s.hash = $1`, hashed(secret))
	now := l.db.Now()
	switch {
	case err != nil:
		return Session{}, err
	case s.Disabled || !now.Before(s.EndsAt) || !now.Before(s.SeenAt.Add(sessionIdle)):
		return Session{}, ErrSession
	}
	if now.Sub(s.SeenAt) >= seenEvery {
		if _, err := l.db.Exec(audit.Without(ctx),
			`UPDATE sessions SET seen_at = $2 WHERE hash = $1 AND seen_at < $2`,
			hashed(secret), store.ToMillis(now)); err != nil {
			return Session{}, fmt.Errorf("update a session: %w", err)
		}
		s.SeenAt = store.FromMillis(store.ToMillis(now))
	}
	return Session{
		Account:   s.Account,
		CreatedAt: s.BegunAt,
		SeenAt:    s.SeenAt,
		EndsAt:    s.EndsAt,
	}, nil
}

// ProviderToken opens the ID token of a session that a sign-in provider began. Other sessions have
// an empty token.
func (l *Accounts) ProviderToken(ctx context.Context, secret string) (string, error) {
	sealed, err := store.Find[string](ctx, l.db.Read, nil, "read the provider's token of a session",
		`SELECT provider_token FROM sessions WHERE hash = $1`, hashed(secret))
	if err != nil || sealed == "" {
		return "", err
	}
	token, err := l.db.UnsealText("session|"+hashed(secret), sealed)
	return string(token), store.Wrap("open the provider's token of a session", err)
}

// EndSession signs a session out. It does nothing if the session has already ended.
func (l *Accounts) EndSession(ctx context.Context, secret string) error {
	_, err := l.db.ExecChange(ctx, `DELETE FROM sessions WHERE hash = $1`, hashed(secret))
	return store.Wrap("end a session", err)
}

// EndOtherSessions ends the sessions of an account except the one with the secret.
func (l *Accounts) EndOtherSessions(ctx context.Context, account, secret string) error {
	_, err := l.db.ExecChange(ctx, `DELETE FROM sessions WHERE account = $1 AND hash <> $2`, account, hashed(secret))
	return store.Wrap("end the other sessions", err)
}
