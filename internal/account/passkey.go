package account

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// Errors of passkeys.
var (
	// ErrPasskey is returned for a passkey that is not registered or was removed.
	ErrPasskey = errors.New("the passkey is not registered here")
	// ErrPasskeys is returned if an account already has the maximum number of passkeys.
	ErrPasskeys = errors.New("an account has at most 10 passkeys")
	// ErrPasskeyTaken is returned for a passkey that is already registered.
	ErrPasskeyTaken = errors.New("the passkey is registered already")
)

// Passkey is a WebAuthn credential with which an account signs in.
type Passkey struct {
	ID string
	// Account is the ID of the account.
	Account string
	// Name is chosen by the owner.
	Name string
	// Credential is the credential ID.
	Credential string
	// Data is the public key and its state as JSON.
	Data      string
	CreatedAt time.Time
	// UsedAt is zero if the passkey was never used.
	UsedAt time.Time
}

// maxPasskeys is the maximum number of passkeys of an account.
const maxPasskeys = 10

const passkeyColumns = `id, account, name, credential, data, created_at, used_at`

// ListPasskeys lists the passkeys of an account, the oldest first.
func (l *Accounts) ListPasskeys(ctx context.Context, account string) ([]Passkey, error) {
	return store.List[Passkey](ctx, l.db.Read, "list the passkeys of account "+account,
		`SELECT `+passkeyColumns+` FROM passkeys WHERE account = $1 ORDER BY created_at, id`, account)
}

// FindPasskey finds a passkey by its credential ID. It returns ErrPasskey if there is none.
func (l *Accounts) FindPasskey(ctx context.Context, credential string) (Passkey, error) {
	return store.Find[Passkey](ctx, l.db.Read, ErrPasskey, "find a passkey",
		`SELECT `+passkeyColumns+` FROM passkeys WHERE credential = $1`, credential)
}

// AddPasskey adds a passkey and ends the account's sessions except the one with the secret. It
// returns ErrPasskeys and ErrPasskeyTaken.
func (l *Accounts) AddPasskey(ctx context.Context, p Passkey, session string) error {
	err := l.db.Change(ctx, func(tx *sql.Tx) error {
		var n int
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM passkeys WHERE account = $1`,
			p.Account).Scan(&n); err != nil {
			return err
		}
		if n >= maxPasskeys {
			return ErrPasskeys
		}
		added, err := store.Affected(tx.ExecContext(ctx,
			`INSERT INTO passkeys (`+passkeyColumns+`) VALUES ($1,$2,$3,$4,$5,$6,0) ON CONFLICT DO NOTHING`,
			"K"+rand.Text()[:15], p.Account, p.Name, p.Credential, p.Data, store.ToMillis(l.db.Now())))
		switch {
		case err != nil:
			return err
		case added == 0:
			return ErrPasskeyTaken
		}
		return endOtherSessions(ctx, tx, p.Account, session)
	})
	return store.Wrap("add a passkey to account "+p.Account, err)
}

// RemovePasskey removes a passkey of an account and ends the account's sessions except the one with
// the secret. It returns ErrNotFound if there is no such passkey.
func (l *Accounts) RemovePasskey(ctx context.Context, account, id, session string) error {
	return store.Wrap("remove a passkey of account "+account, l.db.Change(ctx, func(tx *sql.Tx) error {
		if err := store.RequireChange(store.ErrNotFound)(tx.ExecContext(ctx,
			`DELETE FROM passkeys WHERE id = $1 AND account = $2`, id, account)); err != nil {
			return err
		}
		return endOtherSessions(ctx, tx, account, session)
	}))
}

// UsePasskey records that a passkey answered the challenge issued at a given time, and the data
// that the use changed, such as its signature counter. It returns ErrPasskey if the passkey was
// used or removed since then, because an answer is valid only once.
func (l *Accounts) UsePasskey(ctx context.Context, p Passkey, data string, challenged time.Time) error {
	return store.Wrap("record the use of a passkey", store.RequireChange(ErrPasskey)(l.db.Exec(audit.Without(ctx),
		`UPDATE passkeys SET data = $3, used_at = $4 WHERE id = $1 AND data = $2 AND used_at <= $5`, p.ID, p.Data, data,
		store.ToMillis(l.db.Now()), store.ToMillis(challenged))))
}

// endOtherSessions deletes the sign-in links of an account, and its sessions except the one with
// the secret.
func endOtherSessions(ctx context.Context, tx *sql.Tx, account, session string) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM sign_in_links WHERE account = $1`, account); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM sessions WHERE account = $1 AND hash <> $2`, account, hashed(session))
	return err
}
