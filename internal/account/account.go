// Package account keeps the people of the page: accounts with their roles, sessions, one-time links,
// passkeys, and identities at a sign-in provider.
package account

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/outbox"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// Errors of accounts.
var (
	// ErrAccount is returned for an account that is not valid: its name is taken or is not a name,
	// or a role does not exist.
	ErrAccount = errors.New("the account is not valid")
	// ErrManaged is returned for a change to the roles or links of an account that the sign-in
	// provider manages.
	ErrManaged = errors.New(
		"the sign-in provider manages the account: its groups say what it may do, and it signs in there")
	// ErrLastOperator is returned for a change that would leave no account that may change
	// accounts.
	ErrLastOperator = errors.New("this is the last operator who can sign in: make another account an operator first")
)

// Role is a permission of an account. Every role may read the work of all people. An account
// without a role sees only how it signs in.
type Role string

// The roles. An account has any number of them.
const (
	// Preparer uploads, corrects and submits spreadsheets.
	Preparer Role = "preparer"
	// Approver approves submitted batches.
	Approver Role = "approver"
	// Operator manages money, the fleet, uncertain rows and accounts.
	Operator Role = "operator"
	// Auditor reads everything, including the audit log, and changes nothing.
	Auditor Role = "auditor"
)

// Roles lists all roles in the order in which they are stored.
var Roles = []Role{Preparer, Approver, Operator, Auditor}

// Accounts manages who may sign in to the page and how: sessions, sign-in links, passkeys, and
// identities at a provider.
type Accounts struct {
	db  *store.DB
	log *audit.Log
}

// New returns the accounts of a database.
func New(db *store.DB, log *audit.Log) *Accounts { return &Accounts{db, log} }

// Account is a person who may sign in.
type Account struct {
	ID string `json:"id"`
	// Name is folded: lower case and NFKC.
	Name       string `json:"name"`
	Roles      []Role `json:"roles"`
	Disabled   bool   `json:"disabled"`
	HasPasskey bool   `json:"passkey"`
	// ManagedBy is the issuer of the sign-in provider that sets the roles. It is empty if the
	// account is local.
	ManagedBy string    `json:"-"`
	CreatedAt time.Time `json:"createdAt"`
	// SignedInAt is the time of the last sign-in. Zero if the account never signed in.
	SignedInAt time.Time `json:"signedInAt,omitzero"`
	// Email is the address for messages to the owner. Empty if unset.
	Email string `json:"email,omitempty"`
	// LinkMakers are the other people through whose links the account signed in last.
	LinkMakers []string `json:"-"`
}

// addressIn returns name if it is a bare email address, and an empty string otherwise.
func addressIn(name string) string {
	at, err := mail.ParseAddress(name)
	if err != nil || at.Address != name || strings.ContainsFunc(name, unicode.IsSpace) {
		return ""
	}
	return name
}

// May reports whether the account has a role and is not disabled.
func (a Account) May(r Role) bool { return !a.Disabled && slices.Contains(a.Roles, r) }

// HasRole reports whether the account has any role and is not disabled.
func (a Account) HasRole() bool { return slices.ContainsFunc(Roles, a.May) }

// maxName is the maximum length of a name in characters.
const maxName = 100

// folded returns a name in the form in which it is stored: lower case and NFKC, with single spaces.
// All spellings of a name fold to the same text. It returns an empty string if the name is not
// valid.
func folded(name string) string {
	if !utf8.ValidString(name) {
		return ""
	}
	name = norm.NFKC.String(strings.ToLower(norm.NFKC.String(name)))
	name = strings.Join(strings.Fields(name), " ")
	if utf8.RuneCountInString(name) > maxName ||
		strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return ""
	}
	return name
}

// roleWords encodes roles for the database: each once, in the order of Roles. It returns ErrAccount
// if a role does not exist.
func roleWords(roles []Role) (string, error) {
	var words []string
	for _, r := range Roles {
		if slices.Contains(roles, r) {
			words = append(words, string(r))
		}
	}
	for _, r := range roles {
		if !slices.Contains(Roles, r) {
			return "", fmt.Errorf("%w: %q is not a role", ErrAccount, r)
		}
	}
	return strings.Join(words, " "), nil
}

const accountColumns = `a.id, a.name, a.roles, a.disabled,
		EXISTS (SELECT 1 FROM passkeys p WHERE p.account = a.id) AS has_passkey, a.managed_by, a.created_at,
		a.signed_in_at, a.email, a.link_makers`

// newAccountID returns a random account ID. An ID has a capital letter and a folded name has none,
// so neither is mistaken for the other.
func newAccountID() string { return "A" + rand.Text()[:11] }

// Add adds an account. If its name is an email address, mail to the account goes to that address.
// It returns ErrAccount.
func (l *Accounts) Add(ctx context.Context, name string, roles []Role) (Account, error) {
	words, err := roleWords(roles)
	if err != nil {
		return Account{}, err
	}
	a := Account{ID: newAccountID(), Name: folded(name), CreatedAt: store.FromMillis(store.ToMillis(l.db.Now()))}
	if a.Name == "" {
		return Account{}, fmt.Errorf("%w: %q is not a valid name", ErrAccount, name)
	}
	err = l.db.Change(ctx, func(tx *sql.Tx) error {
		err := store.RequireChange(fmt.Errorf("%w: the name is taken", ErrAccount))(tx.ExecContext(ctx,
			`INSERT INTO accounts (id, name, roles, created_at, email)
				VALUES ($1,$2,$3,$4,$5) ON CONFLICT (name) DO NOTHING`,
			a.ID, a.Name, words, store.ToMillis(a.CreatedAt), addressIn(a.Name)))
		if err != nil {
			return err
		}
		return l.reportRoles(ctx, tx, a.Name, nil, roles)
	})
	if err != nil {
		return Account{}, fmt.Errorf("add the account %s: %w", a.Name, err)
	}
	return l.Find(ctx, a.ID)
}

// Change sets the roles of an account and disables or enables it. Disabling an account ends its
// sessions and its links at once. It returns ErrNotFound, ErrAccount, ErrManaged and
// ErrLastOperator.
func (l *Accounts) Change(ctx context.Context, id string, roles []Role, disabled bool) error {
	words, err := roleWords(roles)
	if err != nil {
		return err
	}
	err = l.db.Change(ctx, func(tx *sql.Tx) error {
		a, err := Find(ctx, tx, id)
		if err != nil {
			return err
		}
		if before, err := roleWords(a.Roles); err != nil || a.ManagedBy != "" && before != words {
			return errors.Join(err, ErrManaged)
		}
		if a.May(Operator) && (disabled || !slices.Contains(roles, Operator)) {
			if err := l.requireAnotherOperator(ctx, tx, id); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, `UPDATE accounts SET roles = $2, disabled = $3 WHERE id = $1`, id, words,
			store.BoolInt(disabled)); err != nil {
			return err
		}
		if err := l.reportRoles(ctx, tx, a.Name, a.Roles, roles); err != nil || !disabled {
			return err
		}
		return endSignIns(ctx, tx, id)
	})
	return store.Wrap("change account "+id, err)
}

// SetEmail sets the address for messages to the owner of an account. An empty address stops them.
// The firm is notified if another person changes the address. It returns ErrNotFound and ErrAccount.
func (l *Accounts) SetEmail(ctx context.Context, id, email string) error {
	if email = folded(email); email != addressIn(email) {
		return fmt.Errorf("%w: %q is not an email address", ErrAccount, email)
	}
	return store.Wrap("change the address of account "+id, l.db.Change(ctx, func(tx *sql.Tx) error {
		a, err := Find(ctx, tx, id)
		if err != nil || a.Email == email {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE accounts SET email = $2 WHERE id = $1`, a.ID, email); err != nil {
			return err
		}
		by := PersonName(audit.Person(ctx))
		if by == a.Name {
			return nil
		}
		return NotifyAccess(ctx, tx, l.db.Now(), "the email address of "+a.Name+" was changed",
			fmt.Sprintf("%s changed where messages to %s are mailed.\nIf no one in your firm expects this, "+
				"disable the account now: importer accounts disable %q\n", NameOr(by), a.Name, a.Name))
	}))
}

// requireAnotherOperator returns ErrLastOperator if no account except id may change accounts.
func (l *Accounts) requireAnotherOperator(ctx context.Context, tx *sql.Tx, id string) error {
	all, err := List(ctx, tx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(all, func(other Account) bool { return other.ID != id && other.May(Operator) }) {
		return ErrLastOperator
	}
	return nil
}

// endSignIns deletes the sessions and links of an account.
func endSignIns(ctx context.Context, tx *sql.Tx, account string) error {
	return store.ExecEach(ctx, tx, account, `DELETE FROM sessions WHERE account = $1`,
		`DELETE FROM sign_in_links WHERE account = $1`)
}

// reportRoles adds a notification if the account was granted a role that may spend money.
func (l *Accounts) reportRoles(ctx context.Context, tx *sql.Tx, name string, before, after []Role) error {
	var granted []string
	for _, r := range []Role{Approver, Operator} {
		if slices.Contains(after, r) && !slices.Contains(before, r) {
			granted = append(granted, string(r))
		}
	}
	if len(granted) == 0 {
		return nil
	}
	what := strings.Join(granted, " and ")
	return NotifyAccess(ctx, tx, l.db.Now(), name+" got the role "+what,
		fmt.Sprintf(
			"%s gave %s the role %s.\nIf no one in your firm expects this, disable the account now: importer "+
				"accounts disable %q\n",
			NameOr(audit.Person(ctx)), name, what, name))
}

// List lists all accounts by name.
func (l *Accounts) List(ctx context.Context) ([]Account, error) {
	return List(ctx, l.db.Read)
}

// List lists the accounts by name, within a change if q is its transaction.
func List(ctx context.Context, q store.Querier) ([]Account, error) {
	return store.List[Account](ctx, q, "list the accounts", `SELECT `+accountColumns+` FROM accounts a ORDER BY a.name`)
}

// Find finds an account by its id or its name. It returns ErrNotFound.
func (l *Accounts) Find(ctx context.Context, idOrName string) (Account, error) {
	return Find(ctx, l.db.Read, idOrName)
}

// Find finds an account by its ID or name, within a change if q is its transaction. It returns
// store.ErrNotFound.
func Find(ctx context.Context, q store.Querier, idOrName string) (Account, error) {
	return store.Find[Account](ctx, q, store.ErrNotFound, fmt.Sprintf("the account %q", idOrName),
		`SELECT `+accountColumns+` FROM accounts a WHERE a.id = $1 OR a.name = $2`, idOrName, folded(idOrName))
}

// PersonName returns a name in the form that contributors have.
func PersonName(name string) string { return cmp.Or(folded(name), name) }

// LinkMakers lists the other people through whose links an account signed in last.
func LinkMakers(ctx context.Context, q store.Querier, name string) ([]string, error) {
	a, err := store.Find[Account](ctx, q, nil, "find who made the links of "+name,
		`SELECT link_makers FROM accounts WHERE name = $1`, PersonName(name))
	return a.LinkMakers, err
}

// NameOr returns a name for use within a sentence.
func NameOr(name string) string {
	if name == "" {
		return "someone"
	}
	return name
}

// NotifyAccess adds a notification of a change of permissions within the change.
func NotifyAccess(ctx context.Context, tx *sql.Tx, now time.Time, subject, body string) error {
	_, err := outbox.Insert(ctx, tx, now, outbox.Notification{Kind: outbox.KindAccess, Subject: subject, Body: body})
	return err
}
