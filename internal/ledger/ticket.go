package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// ErrTicket is returned for a one-time link that is unknown, used, too old, or
// of a disabled account.
var ErrTicket = errors.New("the link is not good any more: ask for another one")

// MakeTicket makes the secret of a one-time link that signs an account in: for
// somebody who has no password yet, or has lost it. It returns ErrNotFound, and
// ErrTicket for a disabled account.
func (l *Ledger) MakeTicket(ctx context.Context, account string, life time.Duration) (secret string, err error) {
	secret, hash := newSecret()
	err = l.change(ctx, func(tx *sql.Tx, _ *control) error {
		a, err := l.account(ctx, tx, account)
		switch {
		case err != nil:
			return err
		case a.Disabled:
			return ErrTicket
		}
		now := l.now()
		if _, err := tx.ExecContext(ctx, `DELETE FROM tickets WHERE ends_at <= $1`, millis(now)); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO tickets (hash, account, created_at, ends_at) VALUES ($1,$2,$3,$4)`, hash, a.ID, millis(now), millis(now.Add(life)))
		return err
	})
	if err != nil {
		return "", fmt.Errorf("make a link for account %s: %w", account, err)
	}
	return secret, nil
}

// Ticket looks whom a link would sign in, and leaves it good. It returns
// ErrTicket.
func (l *Ledger) Ticket(ctx context.Context, secret string) (Account, error) {
	return l.ticket(ctx, l.read, secret)
}

func (l *Ledger) ticket(ctx context.Context, q querier, secret string) (Account, error) {
	a, err := scanAccount(q.QueryRowContext(ctx, `SELECT `+accountColumns+` FROM tickets t JOIN accounts a ON a.id = t.account WHERE t.hash = $1 AND t.ends_at > $2`, hashed(secret), millis(l.now())).Scan)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && a.Disabled:
		return Account{}, ErrTicket
	case err != nil:
		return Account{}, fmt.Errorf("look a link up: %w", err)
	}
	return a, nil
}

// TakeTicket uses a link up, for whoever is first. It returns ErrTicket.
func (l *Ledger) TakeTicket(ctx context.Context, secret string) (a Account, err error) {
	err = l.change(ctx, func(tx *sql.Tx, _ *control) error {
		if a, err = l.ticket(ctx, tx, secret); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM tickets WHERE hash = $1`, hashed(secret))
		return wrap("use a link up", err)
	})
	if err != nil {
		return Account{}, err
	}
	return a, nil
}
