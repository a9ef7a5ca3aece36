package ledger

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
)

// ErrIdentity is returned for a person at a sign-in provider who is linked to
// another account.
var ErrIdentity = errors.New("that person of the sign-in provider is linked to another account")

// ErrUnlinked is returned for a person at a sign-in provider who was unlinked from
// an account, and whose name is that of an account: they have one already.
var ErrUnlinked = errors.New("an account with this name exists: sign in to it, then link it under Security")

// Identity is a person as a sign-in provider knows them. The issuer and the
// subject tell who it is; the name is for people to read.
type Identity struct {
	Issuer, Subject string
	Account         string // its id
	Name            string
	CreatedAt       time.Time
	UsedAt          time.Time
}

// Arrival is a person whom the sign-in provider vouches for.
type Arrival struct {
	Issuer, Subject string
	Names           []string // what the account may be called, the best first
	Roles           []Role   // those of the groups
	From            string   // the address
}

// SignInFromProvider finds the account of a person whom the provider vouches
// for, or makes it. An account that the provider manages gets the roles of the
// groups, also where that leaves no operator: the provider has the last word.
// An account that was linked keeps its own. It returns ErrSession for a
// disabled account, and ErrUnlinked: no one gets a second account, under which
// they could approve what they uploaded with the first.
func (l Accounts) SignInFromProvider(ctx context.Context, p Arrival) (a Account, created bool, err error) {
	words, err := roleWords(p.Roles)
	if err != nil {
		return Account{}, false, err
	}
	if p.Issuer == "" || p.Subject == "" {
		return Account{}, false, fmt.Errorf("%w: the provider names no subject", ErrAccount)
	}
	var recorded AuditEvent
	err = l.change(withoutAudit(ctx), func(tx *sql.Tx, _ *control) error {
		now := l.now()
		known, err := find[struct {
			Account
			UnlinkedAt time.Time
		}](ctx, tx, ErrNotFound, "find a person of the provider",
			`SELECT `+accountColumns+`, i.unlinked_at FROM identities i JOIN accounts a ON a.id = i.account
				WHERE i.issuer = $1 AND i.subject = $2`, p.Issuer, p.Subject)
		a = known.Account
		switch {
		case errors.Is(err, ErrNotFound):
			created = true
			if a, err = l.addManaged(ctx, tx, p, words, now); err != nil {
				return err
			}
			recorded = AuditEvent{
				By:   a.Name,
				From: p.From,
				What: "account-add",
				Of:   a.Name,
				Note: "at the first sign-in by " + p.Issuer + ", roles " + cmp.Or(words, "none"),
			}
			return insertAuditEvent(ctx, tx, withID(recorded), now)
		case err != nil:
			return err
		case !known.UnlinkedAt.IsZero():
			return ErrUnlinked
		case a.Disabled:
			return ErrSession
		}
		if _, err := tx.ExecContext(ctx, `UPDATE identities SET used_at = $3 WHERE issuer = $1 AND subject = $2`,
			p.Issuer, p.Subject, toMillis(now)); err != nil {
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
		recorded = AuditEvent{
			By:   a.Name,
			From: p.From,
			What: "account-roles",
			Of:   a.Name,
			Note: "from the groups of " + p.Issuer + ": " + cmp.Or(words, "none") +
				", before: " + cmp.Or(before, "none"),
		}
		return insertAuditEvent(ctx, tx, withID(recorded), now)
	})
	if err != nil {
		return Account{}, false, fmt.Errorf("sign in by the provider: %w", err)
	}
	if recorded.What != "" {
		l.report(recorded)
	}
	return a, created, nil
}

// addManaged makes the account of a person who signs in for the first time,
// under the first name that is free. Persons whom the same provider tells apart
// may have the same name. It returns ErrUnlinked where one of the names is that
// of another account: whose it is, is for its owner to say.
func (l Accounts) addManaged(ctx context.Context, tx *sql.Tx, p Arrival, words string, now time.Time) (Account, error) {
	a := Account{ID: newAccountID(), Roles: p.Roles, ManagedBy: p.Issuer, CreatedAt: fromMillis(toMillis(now))}
	shown := ""
	all, err := l.accounts(ctx, tx)
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

// insertManaged inserts an account under base, or base and a number up to 20: the
// first that is no other account's name. It returns the name; "" where none
// was free.
func insertManaged(ctx context.Context, tx *sql.Tx, a Account, base, words string) (string, error) {
	for n := 1; n <= 20; n++ {
		name := base
		if n > 1 {
			name = folded(base + " " + strconv.Itoa(n))
		}
		if name == "" {
			break
		}
		added, err := affected(tx.ExecContext(ctx,
			`INSERT INTO accounts (id, name, roles, created_at, managed_by, email)
				VALUES ($1,$2,$3,$4,$5,$6) ON CONFLICT (name) DO NOTHING`,
			a.ID, name, words, toMillis(a.CreatedAt), a.ManagedBy, addressIn(name)))
		if err != nil || added == 1 {
			return name, err
		}
	}
	return "", nil
}

// namesOne reports whether an account's name is one of a person's; an email address is
// like what stands before its @, too.
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

// insertIdentity links a person of the provider to an account; again, where they
// were unlinked from that one. It returns ErrIdentity.
func insertIdentity(ctx context.Context, tx *sql.Tx, issuer, subject, account, name string, now time.Time) error {
	return changed(ErrIdentity)(tx.ExecContext(ctx,
		`INSERT INTO identities (issuer, subject, account, name, created_at, used_at)
			VALUES ($1,$2,$3,$4,$5,$5)
			ON CONFLICT (issuer, subject) DO UPDATE SET name = excluded.name, created_at = excluded.created_at,
				unlinked_at = 0
			WHERE identities.account = excluded.account AND identities.unlinked_at > 0`,
		issuer, subject, account, name, toMillis(now)))
}

// LinkIdentity lets the owner of a local account sign in by the provider. The
// account keeps its roles, and its sessions other than the one whose secret is given
// end. It returns ErrIdentity.
func (l Accounts) LinkIdentity(ctx context.Context, account string, p Arrival, session string) error {
	name := ""
	if len(p.Names) > 0 {
		name = folded(p.Names[0])
	}
	return wrap("link account "+account+" to the provider", l.change(ctx, func(tx *sql.Tx, _ *control) error {
		if p.Issuer == "" || p.Subject == "" {
			return fmt.Errorf("%w: the provider names no subject", ErrAccount)
		}
		if err := insertIdentity(ctx, tx, p.Issuer, p.Subject, account, name, l.now()); err != nil {
			return err
		}
		return endOtherSessions(ctx, tx, account, session)
	}))
}

// UnlinkIdentity takes a link back. The person stays known as the account's: they can
// be linked to it again, and get no account of their own. An account that the provider
// manages stays linked. Sessions other than the one whose secret is given end. It
// returns ErrNotFound.
func (l Accounts) UnlinkIdentity(ctx context.Context, account, issuer, subject, session string) error {
	return wrap("unlink account "+account, l.change(ctx, func(tx *sql.Tx, _ *control) error {
		if err := changed(ErrNotFound)(tx.ExecContext(ctx,
			`UPDATE identities
				SET unlinked_at = $4
				WHERE account = $1 AND issuer = $2 AND subject = $3 AND unlinked_at = 0
				AND NOT EXISTS (SELECT 1 FROM accounts a WHERE a.id = $1 AND a.managed_by = $2)`, account, issuer,
			subject, toMillis(l.now()))); err != nil {
			return err
		}
		return endOtherSessions(ctx, tx, account, session)
	}))
}

// ListIdentities lists how an account is known to providers.
func (l Accounts) ListIdentities(ctx context.Context, account string) ([]Identity, error) {
	return list[Identity](ctx, l.read, "list the identities of account "+account,
		`SELECT issuer, subject, account, name, created_at, used_at
			FROM identities
			WHERE account = $1 AND unlinked_at = 0
			ORDER BY created_at, subject`, account)
}
