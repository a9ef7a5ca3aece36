package ledger

import (
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

	"github.com/bulkfiling/bulkfiling/internal/money"
)

// Errors of accounts.
var (
	// ErrAccount is returned for an account that cannot be as it is wanted: its
	// name is taken or is none, or there is no such role.
	ErrAccount = errors.New("the account is not valid")
	// ErrManaged is returned for a role, a password or a link of an account that
	// the sign-in provider manages.
	ErrManaged = errors.New(
		"the sign-in provider manages the account: its groups say what it may do, and it signs in there")
	// ErrLastOperator is returned for a change that would leave no one who may
	// change accounts.
	ErrLastOperator = errors.New("this is the last operator who can sign in: make another account an operator first")
)

// Role is a permission of an account. Every role may see the work of all; an
// account without a role sees only its own sessions.
type Role string

// The roles. An account may have several, or none.
const (
	Preparer Role = "preparer" // uploads spreadsheets, corrects and submits them
	Approver Role = "approver" // approves submitted batches
	Operator Role = "operator" // money, the fleet, uncertain rows, accounts
	Auditor  Role = "auditor"  // looks at everything, the audit log included, and changes nothing
)

// Roles are all there are.
var Roles = []Role{Preparer, Approver, Operator, Auditor}

// Account is a person who may sign in.
type Account struct {
	ID          string
	Name        string // folded
	Roles       []Role
	Disabled    bool
	HasPassword bool
	HasFactor   bool   // an authenticator app or a passkey
	ManagedBy   string // the issuer of the sign-in provider that says its roles; empty for a local account
	BreakGlass  bool   // signs in by its password when all others have to use the provider
	CreatedAt   time.Time
	SignedInAt  time.Time // the last time; zero for never

	ApproveUpTo money.Cents // batches that cost more it does not approve; 0 for no limit
	Email       string      // where messages to its owner go; "" for the name, where that is an address
}

// MailTo is where messages to the account's owner go; "" for nowhere.
func (a Account) MailTo() string {
	if a.Email == "" && isEmail(a.Name) {
		return a.Name
	}
	return a.Email
}

// isEmail reports whether a text is one email address and nothing else.
func isEmail(text string) bool {
	at, err := mail.ParseAddress(text)
	return err == nil && at.Address == text && !strings.ContainsFunc(text, unicode.IsSpace)
}

// May reports whether the account has a role, and is not disabled.
func (a Account) May(r Role) bool { return !a.Disabled && slices.Contains(a.Roles, r) }

// HasRole reports whether the account has any role, and is not disabled.
func (a Account) HasRole() bool { return slices.ContainsFunc(Roles, a.May) }

// maxName is how long a name may be, in characters.
const maxName = 100

// folded is a name as it is kept: in lower case and NFC, so that however it is
// typed it is the same; "" for what is no name.
func folded(name string) string {
	if !utf8.ValidString(name) {
		return ""
	}
	name = norm.NFC.String(strings.ToLower(norm.NFC.String(name)))
	name = strings.Join(strings.Fields(name), " ")
	if utf8.RuneCountInString(name) > maxName ||
		strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return ""
	}
	return name
}

// roleWords are roles as they are kept: each once, in one order.
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

const accountColumns = `a.id, a.name, a.roles, a.disabled, a.password <> '',
		EXISTS (SELECT 1 FROM factors f WHERE f.account = a.id), a.managed_by, a.break_glass, a.created_at,
		a.signed_in_at, a.approve_up_to, a.email`

func scanAccount(scan func(...any) error) (Account, error) {
	var a Account
	var roles string
	var created, signedIn int64
	if err := scan(&a.ID, &a.Name, &roles, &a.Disabled, &a.HasPassword, &a.HasFactor, &a.ManagedBy, &a.BreakGlass,
		&created, &signedIn, &a.ApproveUpTo, &a.Email); err != nil {
		return Account{}, err
	}
	for r := range strings.FieldsSeq(roles) {
		a.Roles = append(a.Roles, Role(r))
	}
	a.CreatedAt, a.SignedInAt = fromMillis(created), fromMillis(signedIn)
	return a, nil
}

// newAccountID makes an account's id. It has a capital letter, a name has none:
// neither is taken for the other.
func newAccountID() string { return "A" + rand.Text()[:11] }

// Add adds an account without a password. It returns ErrAccount.
func (l Accounts) Add(ctx context.Context, name string, roles []Role) (Account, error) {
	words, err := roleWords(roles)
	if err != nil {
		return Account{}, err
	}
	a := Account{ID: newAccountID(), Name: folded(name), CreatedAt: fromMillis(toMillis(l.now()))}
	if a.Name == "" {
		return Account{}, fmt.Errorf("%w: %q is not a valid name", ErrAccount, name)
	}
	if err := checkName(a.Name); err != nil {
		return Account{}, err
	}
	err = l.change(ctx, func(tx *sql.Tx, _ *control) error {
		all, err := l.accounts(ctx, tx)
		if err != nil {
			return err
		}
		if err := refuseSimilar(a.Name, all); err != nil {
			return err
		}
		n, err := affected(tx.ExecContext(ctx,
			`INSERT INTO accounts (id, name, roles, created_at) VALUES ($1,$2,$3,$4) ON CONFLICT (name) DO NOTHING`,
			a.ID, a.Name, words, toMillis(a.CreatedAt)))
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: the name is taken", ErrAccount)
		}
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

// Change gives an account its roles, and disables or enables it. What is
// disabled is signed out at once, and its links are no good any more. It
// returns ErrNotFound, ErrAccount, ErrManaged and ErrLastOperator.
func (l Accounts) Change(ctx context.Context, id string, roles []Role, disabled bool) error {
	words, err := roleWords(roles)
	if err != nil {
		return err
	}
	err = l.change(ctx, func(tx *sql.Tx, _ *control) error {
		a, err := l.account(ctx, tx, id)
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
			boolInt(disabled)); err != nil {
			return err
		}
		if err := l.reportRoles(ctx, tx, a.Name, a.Roles, roles); err != nil || !disabled {
			return err
		}
		return endSignIns(ctx, tx, id)
	})
	if err != nil {
		return fmt.Errorf("change account %s: %w", id, err)
	}
	return nil
}

// SetApprovals says what an account may approve at most, 0 for any amount, and where
// messages to its owner go, "" for its name where that is an address. A higher limit
// is reported like a role that lets money out. It returns ErrNotFound and ErrAccount.
func (l Accounts) SetApprovals(ctx context.Context, id string, upTo money.Cents, email string) error {
	email = strings.TrimSpace(email)
	switch {
	case upTo < 0:
		return fmt.Errorf("%w: an approval limit is 0 or more", ErrAccount)
	case email != "" && !isEmail(email):
		return fmt.Errorf("%w: %q is not an email address", ErrAccount, email)
	}
	return wrap("change what account "+id+" may approve", l.change(ctx, func(tx *sql.Tx, _ *control) error {
		a, err := l.account(ctx, tx, id)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE accounts SET approve_up_to = $2, email = $3 WHERE id = $1`, a.ID,
			upTo, email); err != nil {
			return err
		}
		if !a.May(Approver) || a.ApproveUpTo == 0 || upTo > 0 && upTo <= a.ApproveUpTo {
			return nil
		}
		limit := "any amount"
		if upTo > 0 {
			limit = "up to " + upTo.Dollars()
		}
		by := nameOr(auditPerson(ctx))
		return l.addAccessNotification(ctx, tx, a.Name+" may approve "+limit,
			fmt.Sprintf("%s changed what %s may approve.\nFrom now on: %s.\nBefore: up to %s.\nWho changed what: "+
				"importer audit\n", by, a.Name, limit, a.ApproveUpTo.Dollars()))
	}))
}

// requireAnotherOperator returns ErrLastOperator where no account but id may change
// accounts.
func (l Accounts) requireAnotherOperator(ctx context.Context, tx *sql.Tx, id string) error {
	all, err := l.accounts(ctx, tx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(all, func(other Account) bool { return other.ID != id && other.May(Operator) }) {
		return ErrLastOperator
	}
	return nil
}

// endSignIns deletes the sessions, links and known browsers of an account.
func endSignIns(ctx context.Context, tx *sql.Tx, account string) error {
	for _, query := range []string{
		`DELETE FROM sessions WHERE account = $1`,
		`DELETE FROM sign_in_links WHERE account = $1`,
		`DELETE FROM known_browsers WHERE account = $1`,
	} {
		if _, err := tx.ExecContext(ctx, query, account); err != nil {
			return err
		}
	}
	return nil
}

// reportRoles adds a notification of granted roles that may spend money.
func (l Accounts) reportRoles(ctx context.Context, tx *sql.Tx, name string, before, after []Role) error {
	var granted []string
	for _, r := range wantsFactor {
		if slices.Contains(after, r) && !slices.Contains(before, r) {
			granted = append(granted, string(r))
		}
	}
	if len(granted) == 0 {
		return nil
	}
	what := strings.Join(granted, " and ")
	return l.addAccessNotification(ctx, tx, name+" got the role "+what,
		fmt.Sprintf(
			"%s gave %s the role %s.\nIf no one in your firm expects this, disable the account now: importer "+
				"accounts disable %q\n",
			nameOr(auditPerson(ctx)), name, what, name))
}

// List lists all accounts by name.
func (l Accounts) List(ctx context.Context) ([]Account, error) {
	return l.accounts(ctx, l.read)
}

func (l Accounts) accounts(ctx context.Context, q querier) ([]Account, error) {
	rows, err := q.QueryContext(ctx, `SELECT `+accountColumns+` FROM accounts a ORDER BY a.name`)
	all, err := collect(rows, err, scanAccount)
	return all, wrap("list the accounts", err)
}

// Find finds an account by its id or its name. It returns ErrNotFound.
func (l Accounts) Find(ctx context.Context, idOrName string) (Account, error) {
	a, err := l.account(ctx, l.read, idOrName)
	if err != nil {
		return Account{}, fmt.Errorf("the account %q: %w", idOrName, err)
	}
	return a, nil
}

func (l Accounts) account(ctx context.Context, q querier, idOrName string) (Account, error) {
	a, err := scanAccount(q.QueryRowContext(ctx,
		`SELECT `+accountColumns+` FROM accounts a WHERE a.id = $1 OR a.name = $2`, idOrName, folded(idOrName)).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	return a, err
}
