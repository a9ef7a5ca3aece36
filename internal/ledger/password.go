package ledger

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"

	"github.com/bulkfiling/bulkfiling/internal/password"
)

// Errors of passwords.
var (
	// ErrWeak is returned for a password that would be guessed soon. The error
	// around it says why, and what to do.
	ErrWeak = password.ErrWeak
	// ErrSignIn is returned for a sign-in that failed, whatever was wrong.
	ErrSignIn = errors.New("the name or the password is wrong")
)

// hashing is what argon2id is made to cost.
type hashing struct {
	memory uint32 // KiB
	time   uint32 // passes
	lanes  uint8
}

// The second choice of RFC 9106, but on one lane: two sign-ins at once have the
// cores that several lanes would want.
var defaultHashing = hashing{memory: 64 << 10, time: 3, lanes: 1}

var cheapPasswords atomic.Bool

// TestUseCheapPasswords makes the ledgers that a test opens from now on hash
// passwords at next to no cost. A test that is not about the hashes has no use
// for the 64 MB and the tenth of a second that each takes.
func TestUseCheapPasswords(testing.TB) { cheapPasswords.Store(true) }

// hashingOf is what a hash of a new password costs.
func hashingOf() hashing {
	if cheapPasswords.Load() {
		return hashing{memory: 8, time: 1, lanes: 1}
	}
	return defaultHashing
}

// key is what argon2id makes of a password.
func (h hashing) key(password string, salt []byte, length int) []byte {
	return argon2.IDKey([]byte(norm.NFC.String(password)), salt, h.time, h.memory, h.lanes, uint32(length))
}

// String is the beginning of a hash in PHC's form.
func (h hashing) String() string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$", argon2.Version, h.memory, h.time, h.lanes)
}

// encode hashes a password, in PHC's form.
func (h hashing) encode(password string) string {
	salt := make([]byte, 16)
	rand.Read(salt)
	b64 := base64.RawStdEncoding
	return h.String() + b64.EncodeToString(salt) + "$" + b64.EncodeToString(h.key(password, salt, 32))
}

// matches reports whether a password is the one that was hashed, at whatever
// cost it was then.
func matches(password, encoded string) (bool, error) {
	var version int
	var h hashing
	parts := strings.Split(encoded, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" {
		return false, errors.New("the hash of a password is not argon2id's")
	}
	if _, err := fmt.Sscanf(parts[2]+" "+parts[3], "v=%d m=%d,t=%d,p=%d", &version, &h.memory, &h.time,
		&h.lanes); err != nil || version != argon2.Version || h.time < 1 || h.lanes < 1 {
		return false, errors.New("the hash of a password has no readable cost")
	}
	salt, err := base64.RawStdEncoding.DecodeString(parts[4])
	if err != nil {
		return false, errors.New("the hash of a password has no readable salt")
	}
	key, err := base64.RawStdEncoding.DecodeString(parts[5])
	if err != nil || len(key) == 0 {
		return false, errors.New("the hash of a password has no readable key")
	}
	return subtle.ConstantTimeCompare(key, h.key(password, salt, len(key))) == 1, nil
}

// maxPassword is how long the password of a sign-in may be, in characters.
const maxPassword = password.Max

// RefuseInPasswords names words that people here would build a password of, beside
// those that the ledger knows: names of the account and of the organization.
func (l Accounts) RefuseInPasswords(words ...string) { l.contextWords.Store(&words) }

// allowPassword refuses a password that would be guessed soon. It returns ErrWeak
// and ErrNotFound.
func (l Accounts) allowPassword(ctx context.Context, id, fresh string) error {
	a, err := l.Find(ctx, id)
	if err != nil {
		return err
	}
	context := []string{a.Name}
	if words := l.contextWords.Load(); words != nil {
		context = append(context, *words...)
	}
	rows, err := l.read.QueryContext(ctx, `SELECT name, domain, subdomain FROM organizations`)
	err = each(rows, err, func(scan func(...any) error) error {
		var name, domain, subdomain string
		err := scan(&name, &domain, &subdomain)
		context = append(context, name, domain, subdomain)
		return err
	})
	if err != nil {
		return fmt.Errorf("read the names of the organization: %w", err)
	}
	return password.Check(fresh, context...)
}

// SetPassword gives an account its password, signs it out everywhere, forgets its
// known browsers and ends its sign-in links. It returns ErrNotFound, ErrManaged,
// ErrWeak and ErrCrowded.
func (l Accounts) SetPassword(ctx context.Context, id, password string) error {
	return l.setPassword(ctx, id, password, func(tx *sql.Tx) error {
		if !atTerminal(ctx) {
			return nil
		}
		return ownCredentials(ctx, tx, id)
	})
}

// PasswordMark tells one password of an account from another, and is no way to either.
func (l Accounts) PasswordMark(ctx context.Context, account string) (string, error) {
	var encoded string
	err := l.read.QueryRowContext(ctx, `SELECT password FROM accounts WHERE id = $1`, account).Scan(&encoded)
	return hashed("mark " + encoded)[:publicID], wrap("mark the password of account "+account, err)
}

// setPassword sets a password, and does first what goes with it.
func (l Accounts) setPassword(ctx context.Context, id, password string, first func(*sql.Tx) error) error {
	if err := l.allowPassword(ctx, id, password); err != nil {
		return err
	}
	var encoded string
	err := l.hashers.do(ctx, hashTurn{known: true}, func() { encoded = l.hashing.encode(password) })
	if err == nil {
		err = l.change(ctx, func(tx *sql.Tx, _ *control) error {
			if err := first(tx); err != nil {
				return err
			}
			a, err := l.account(ctx, tx, id)
			switch {
			case err != nil:
				return err
			case a.ManagedBy != "":
				return ErrManaged
			}
			if _, err := tx.ExecContext(ctx, `UPDATE accounts SET password = $2 WHERE id = $1`, a.ID,
				encoded); err != nil {
				return err
			}
			for _, query := range []string{
				`DELETE FROM sessions WHERE account = $1`, `DELETE FROM known_browsers WHERE account = $1`,
				`DELETE FROM sign_in_links WHERE account = $1`,
			} {
				if _, err := tx.ExecContext(ctx, query, id); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("set the password of account %s: %w", id, err)
	}
	return nil
}

// FailedTry is a try that failed: ErrSignIn, whatever was wrong, or ErrFactor.
type FailedTry struct {
	Until time.Time // when the next one may be made; zero for at once
	Scope string    // which failures make it wait
	Err   error
}

func (e *FailedTry) Error() string { return e.Err.Error() }

// Unwrap returns why it failed.
func (e *FailedTry) Unwrap() error { return e.Err }

// SignIn looks whose name and password these are. It returns *FailedTry for
// whatever is wrong, after the same time for an unknown name, *TooMany for a try
// that has to wait (see CountTry), and ErrCrowded.
func (l Accounts) SignIn(ctx context.Context, t Try, password string) (Account, error) {
	ctx = withoutAudit(ctx) // the audit event is that of the session that follows
	counted, err := l.CountTry(ctx, t)
	if err != nil {
		return Account{}, err
	}
	a, err := l.checkPassword(ctx, t, password, counted.Known)
	switch {
	case errors.Is(err, ErrSignIn):
		return Account{}, &FailedTry{Until: counted.Until, Scope: counted.Scope, Err: ErrSignIn}
	case err != nil: // the password was not looked at
		return Account{}, fmt.Errorf("sign in: %w", errors.Join(err, counted.TakeBack(context.WithoutCancel(ctx))))
	}
	return a, counted.Succeed(ctx)
}

// checkPassword finds the account whose name and password these are. It returns
// ErrSignIn and ErrCrowded.
func (l Accounts) checkPassword(ctx context.Context, t Try, password string, knownBrowser bool) (Account, error) {
	a, err := l.account(ctx, l.read, t.Name)
	known := err == nil && a.Name == folded(t.Name) && a.HasPassword && !a.Disabled
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Account{}, err
	}
	var encoded string
	if known {
		if err := l.read.QueryRowContext(ctx, `SELECT password FROM accounts WHERE id = $1`,
			a.ID).Scan(&encoded); err != nil {
			return Account{}, err
		}
	}
	if utf8.RuneCountInString(password) > maxPassword {
		password = "" // no account's, and nothing to hash
	}
	var same bool
	var unreadable error
	renewed := encoded
	err = l.hashers.do(ctx, hashTurn{network: Network(t.From), known: knownBrowser}, func() {
		if !known {
			// As long as it takes for a known one.
			l.hashing.key(password, make([]byte, 16), 32)
			return
		}
		if same, unreadable = matches(password, encoded); same && !strings.HasPrefix(encoded, l.hashing.String()) {
			renewed = l.hashing.encode(password)
		}
	})
	switch err := errors.Join(err, unreadable); {
	case err != nil:
		return Account{}, err
	case !same:
		return Account{}, ErrSignIn
	}
	// An account that was disabled, or got another password, during the hashing
	// is not signed in.
	n, err := affected(l.exclusively(ctx,
		`UPDATE accounts SET password = $3 WHERE id = $1 AND password = $2 AND disabled = 0`, a.ID, encoded, renewed))
	if err == nil && n == 0 {
		err = ErrSignIn
	}
	return a, err
}
