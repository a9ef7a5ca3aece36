package account

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// ErrIdentity is returned if a person at a sign-in provider is already linked to another account.
var ErrIdentity = errors.New("that person of the sign-in provider is linked to another account")

// ErrUnlinked is returned if a person at a sign-in provider was unlinked from an account, or has
// the name of an existing account. The person already has an account.
var ErrUnlinked = errors.New("an account with this name exists: sign in to it, then link it under Security")

// Identity is a person at a sign-in provider. The issuer and the subject identify the person. The
// name is for display only.
type Identity struct {
	Issuer, Subject string
	// Account is the ID of the account.
	Account   string
	Name      string
	CreatedAt time.Time
	UsedAt    time.Time
}

// ProviderSignIn is a person who was authenticated by the sign-in provider.
type ProviderSignIn struct {
	Issuer, Subject string
	// Names are the possible names of the account, the best first.
	Names []string
	// Roles are the roles that the person's groups grant.
	Roles []Role
	// From is the person's network address.
	From string
}

// SignInFromProvider finds or creates the account of a person whom the provider has authenticated.
// An account that the provider manages gets the roles of the person's groups, even if that leaves
// no operator, because the provider is authoritative. An account that was linked keeps its roles.
// It returns ErrSession for a disabled account, and ErrUnlinked instead of creating a second
// account with which a person could approve their own uploads.
func (l *Accounts) SignInFromProvider(ctx context.Context, p ProviderSignIn) (a Account, created bool, err error) {
	words, err := roleWords(p.Roles)
	if err != nil {
		return Account{}, false, err
	}
	if p.Issuer == "" || p.Subject == "" {
		return Account{}, false, fmt.Errorf("%w: the provider names no subject", ErrAccount)
	}
	var recorded audit.Event
	err = l.db.Change(audit.Without(ctx), func(tx *sql.Tx) error {
		now := l.db.Now()
		known, err := store.Find[struct {
			Account
			UnlinkedAt time.Time
		}](ctx, tx, store.ErrNotFound, "find a person of the provider",
			`SELECT `+accountColumns+`, i.unlinked_at FROM identities i JOIN accounts a ON a.id = i.account
				WHERE i.issuer = $1 AND i.subject = $2`, p.Issuer, p.Subject)
		a = known.Account
		switch {
		case errors.Is(err, store.ErrNotFound):
			created = true
			if a, err = l.addManaged(ctx, tx, p, words, now); err != nil {
				return err
			}
			recorded = audit.Event{
				By:   a.Name,
				From: p.From,
				What: "account-add",
				Of:   a.Name,
				Note: "at the first sign-in by " + p.Issuer + ", roles " + cmp.Or(words, "none"),
			}
			return audit.Insert(ctx, tx, recorded, now)
		case err != nil:
			return err
		case !known.UnlinkedAt.IsZero():
			return ErrUnlinked
		case a.Disabled:
			return ErrSession
		}
		if _, err := tx.ExecContext(ctx, `UPDATE identities SET used_at = $3 WHERE issuer = $1 AND subject = $2`,
			p.Issuer, p.Subject, store.ToMillis(now)); err != nil {
			return err
		}
		before, err := roleWords(a.Roles)
		if err != nil || a.ManagedBy != p.Issuer || before == words {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE accounts SET roles = $2 WHERE id = $1`, a.ID, words); err != nil {
			return err
		}
		a.Roles = p.Roles
		recorded = audit.Event{
			By:   a.Name,
			From: p.From,
			What: "account-roles",
			Of:   a.Name,
			Note: "from the groups of " + p.Issuer + ": " + cmp.Or(words, "none") +
				", before: " + cmp.Or(before, "none"),
		}
		return audit.Insert(ctx, tx, recorded, now)
	})
	if err != nil {
		return Account{}, false, fmt.Errorf("sign in by the provider: %w", err)
	}
	if recorded.What != "" {
		l.log.Report(recorded)
	}
	return a, created, nil
}

// addManaged creates the account of a person who signs in for the first time, under the first free
// name. Several persons of the same provider may have the same name. It returns ErrUnlinked if
// another account has one of the names, because only its owner can confirm whose it is.
func (l *Accounts) addManaged(
	ctx context.Context,
	tx *sql.Tx,
	p ProviderSignIn,
	words string,
	now time.Time,
) (Account, error) {
	a := Account{
		ID:        newAccountID(),
		Roles:     p.Roles,
		ManagedBy: p.Issuer,
		CreatedAt: store.FromMillis(store.ToMillis(now)),
	}
	shown := ""
	all, err := List(ctx, tx)
	if err != nil {
		return Account{}, err
	}
	if slices.ContainsFunc(all, func(a Account) bool { return a.ManagedBy != p.Issuer && namesOne(a.Name, p.Names) }) {
		return Account{}, ErrUnlinked
	}
	for _, name := range slices.Concat(p.Names,
		[]string{"user " + strings.ToLower(hashed(p.Issuer + " " + p.Subject)[:12])}) {
		base := folded(name)
		if base == "" {
			continue
		}
		shown = cmp.Or(shown, base)
		if a.Name, err = insertManaged(ctx, tx, a, base, words); err != nil {
			return Account{}, err
		}
		if a.Name != "" {
			break
		}
	}
	if a.Name == "" {
		return Account{}, fmt.Errorf("%w: no name is free", ErrAccount)
	}
	a.Email = addressIn(a.Name)
	if err := insertIdentity(ctx, tx, p.Issuer, p.Subject, a.ID, shown, now); err != nil {
		return Account{}, err
	}
	return a, nil
}

// insertManaged inserts an account under the first free name. It tries base, then base with a
// number up to 20. It returns the name, or an empty string if none is free.
func insertManaged(ctx context.Context, tx *sql.Tx, a Account, base, words string) (string, error) {
	for n := 1; n <= 20; n++ {
		name := base
		if n > 1 {
			name = folded(base + " " + strconv.Itoa(n))
		}
		if name == "" {
			break
		}
		added, err := store.Affected(tx.ExecContext(ctx,
			`INSERT INTO accounts (id, name, roles, created_at, managed_by, email)
				VALUES ($1,$2,$3,$4,$5,$6) ON CONFLICT (name) DO NOTHING`,
			a.ID, name, words, store.ToMillis(a.CreatedAt), a.ManagedBy, addressIn(name)))
		if err != nil || added == 1 {
			return name, err
		}
	}
	return "", nil
}

// namesOne reports whether an account's name is one of a person's names. An email address also
// matches a name that equals its local part.
func namesOne(account string, names []string) bool {
	local, _, address := strings.Cut(account, "@")
	for _, name := range names {
		name = folded(name)
		before, _, isAddress := strings.Cut(name, "@")
		if name == account || address != isAddress && before == local {
			return true
		}
	}
	return false
}

// insertIdentity links a person of the provider to an account. It also restores a link to that
// account that was removed. It returns ErrIdentity if the person has a different account.
func insertIdentity(ctx context.Context, tx *sql.Tx, issuer, subject, account, name string, now time.Time) error {
	return store.RequireChange(ErrIdentity)(tx.ExecContext(ctx,
		`INSERT INTO identities (issuer, subject, account, name, created_at, used_at)
			VALUES ($1,$2,$3,$4,$5,$5)
			ON CONFLICT (issuer, subject) DO UPDATE SET name = excluded.name, created_at = excluded.created_at,
				unlinked_at = 0
			WHERE identities.account = excluded.account AND identities.unlinked_at > 0`,
		issuer, subject, account, name, store.ToMillis(now)))
}

// LinkIdentity lets the owner of a local account sign in with the provider. The account keeps its
// roles. All its sessions end except the one with the secret. It returns ErrIdentity if the person
// has a different account.
func (l *Accounts) LinkIdentity(ctx context.Context, account string, p ProviderSignIn, session string) error {
	name := ""
	if len(p.Names) > 0 {
		name = folded(p.Names[0])
	}
	return store.Wrap("link account "+account+" to the provider", l.db.Change(ctx, func(tx *sql.Tx) error {
		if p.Issuer == "" || p.Subject == "" {
			return fmt.Errorf("%w: the provider names no subject", ErrAccount)
		}
		if err := insertIdentity(ctx, tx, p.Issuer, p.Subject, account, name, l.db.Now()); err != nil {
			return err
		}
		return endOtherSessions(ctx, tx, account, session)
	}))
}

// UnlinkIdentity removes a link. The ledger remembers that the person belongs to the account, so
// the person can be linked to it again but does not get a separate account. An account that the
// provider manages stays linked. All sessions end except the one with the secret. It returns
// ErrNotFound if no such link exists.
func (l *Accounts) UnlinkIdentity(ctx context.Context, account, issuer, subject, session string) error {
	return store.Wrap("unlink account "+account, l.db.Change(ctx, func(tx *sql.Tx) error {
		if err := store.RequireChange(store.ErrNotFound)(tx.ExecContext(ctx,
			`UPDATE identities
				SET unlinked_at = $4
				WHERE account = $1 AND issuer = $2 AND subject = $3 AND unlinked_at = 0
				AND NOT EXISTS (SELECT 1 FROM accounts a WHERE a.id = $1 AND a.managed_by = $2)`, account, issuer,
			subject, store.ToMillis(l.db.Now()))); err != nil {
			return err
		}
		return endOtherSessions(ctx, tx, account, session)
	}))
}

// ListIdentities lists the identities of an account at sign-in providers.
func (l *Accounts) ListIdentities(ctx context.Context, account string) ([]Identity, error) {
	return store.List[Identity](ctx, l.db.Read, "list the identities of account "+account,
		`SELECT issuer, subject, account, name, created_at, used_at
			FROM identities
			WHERE account = $1 AND unlinked_at = 0
			ORDER BY created_at, subject`, account)
}
