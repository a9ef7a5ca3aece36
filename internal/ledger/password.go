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
	"time"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"
)

// Errors of passwords.
var (
	// ErrWeak is returned for a password that is too short, or longer than
	// anybody types.
	ErrWeak = errors.New("a password has at least 12 characters, and no more than 1000")
	// ErrSignIn is returned for a sign-in that failed, whatever was wrong.
	ErrSignIn = errors.New("the name or the password is wrong")
)

// TooMany is returned for a sign-in under a name that failed too often of late.
type TooMany struct {
	Until time.Time // when to try again
}

func (e *TooMany) Error() string {
	return "too many failures to sign in under this name: try again later"
}

// Limits of passwords, in characters, and of sign-ins.
const (
	minPassword = 12
	maxPassword = 1000
	maxHashing  = 2              // at once in a process: each takes the memory of hashing
	freeTries   = 4              // that may fail without a wait
	forgetAfter = 24 * time.Hour // without another failure
)

// tryWaits are those after the failures that are not free; the last one stays.
var tryWaits = []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 15 * time.Minute}

// hashing is what argon2id is made to cost.
type hashing struct {
	memory uint32 // KiB
	time   uint32 // passes
	lanes  uint8
}

// The second choice of RFC 9106, but on one lane: two sign-ins at once have the
// cores that several lanes would want.
var defaultHashing = hashing{memory: 64 << 10, time: 3, lanes: 1}

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
	if _, err := fmt.Sscanf(parts[2]+" "+parts[3], "v=%d m=%d,t=%d,p=%d", &version, &h.memory, &h.time, &h.lanes); err != nil || version != argon2.Version || h.time < 1 || h.lanes < 1 {
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

// hash waits until a password may be hashed, and does it.
func (l *Ledger) hash(ctx context.Context, do func()) error {
	select {
	case l.hashers <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-l.hashers }()
	do()
	return nil
}

// SetPassword gives an account its password and signs it out everywhere. It
// returns ErrNotFound and ErrWeak.
func (l *Ledger) SetPassword(ctx context.Context, id, password string) error {
	if n := utf8.RuneCountInString(password); n < minPassword || n > maxPassword {
		return ErrWeak
	}
	var encoded string
	err := l.hash(ctx, func() { encoded = l.hashing.encode(password) })
	if err == nil {
		err = l.change(ctx, func(tx *sql.Tx, _ *control) error {
			n, err := affected(tx.ExecContext(ctx, `UPDATE accounts SET password = $2 WHERE id = $1`, id, encoded))
			switch {
			case err != nil:
				return err
			case n == 0:
				return ErrNotFound
			}
			_, err = tx.ExecContext(ctx, `DELETE FROM sessions WHERE account = $1`, id)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("set the password of account %s: %w", id, err)
	}
	return nil
}

// SignIn looks whose name and password these are; from is the address they came
// from. It returns ErrSignIn for whatever is wrong, after the same time for an
// unknown name, and *TooMany after five failures of a name in a row: it then
// waits for 1 minute, 2, 4, 8, and 15 from there on. All processes over the
// ledger count together.
func (l *Ledger) SignIn(ctx context.Context, name, password, from string) (Account, error) {
	ctx = unasked(ctx) // the act is what follows: the session
	if err := l.countTry(ctx, folded(name), from); err != nil {
		return Account{}, err
	}
	a, err := l.account(ctx, l.read, name)
	known := err == nil && a.Name == folded(name) && a.HasPassword && !a.Disabled
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Account{}, fmt.Errorf("sign in: %w", err)
	}
	var encoded string
	if known {
		if err := l.read.QueryRowContext(ctx, `SELECT password FROM accounts WHERE id = $1`, a.ID).Scan(&encoded); err != nil {
			return Account{}, fmt.Errorf("sign in: %w", err)
		}
	}
	if utf8.RuneCountInString(password) > maxPassword {
		password = "" // nobody's, and nothing to hash
	}
	var same bool
	var unreadable error
	renewed := encoded
	err = l.hash(ctx, func() {
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
		return Account{}, fmt.Errorf("sign in: %w", err)
	case !same:
		return Account{}, ErrSignIn
	}
	// Whoever was disabled, or got another password, while we hashed is not let in.
	n, err := affected(l.exclusively(ctx, `UPDATE accounts SET password = $3 WHERE id = $1 AND password = $2 AND disabled = 0`, a.ID, encoded, renewed))
	switch {
	case err != nil:
		return Account{}, fmt.Errorf("sign in: %w", err)
	case n == 0:
		return Account{}, ErrSignIn
	}
	return a, wrap("sign in", l.forgetTries(ctx, folded(name)))
}

// forgetTries takes the count of failures of a name back.
func (l *Ledger) forgetTries(ctx context.Context, name string) error {
	_, err := l.exclusively(ctx, `DELETE FROM failures WHERE hash = $1`, hashed(name))
	return err
}

// countTry counts a try to sign in as a failure before it is made: many at once
// are counted one by one. A success takes the count back.
func (l *Ledger) countTry(ctx context.Context, name, from string) error {
	hash, now := hashed(name), l.now()
	for {
		var count int
		var until int64
		err := l.read.QueryRowContext(ctx, `SELECT count, until FROM failures WHERE hash = $1 AND at >= $2`, hash, millis(now.Add(-forgetAfter))).Scan(&count, &until)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			if _, err := l.exclusively(ctx, `DELETE FROM failures WHERE at < $1`, millis(now.Add(-forgetAfter))); err != nil {
				return fmt.Errorf("forget old failures to sign in: %w", err)
			}
		case err != nil:
			return fmt.Errorf("count failures to sign in: %w", err)
		case until > millis(now):
			return &TooMany{Until: moment(until)}
		}
		next := int64(0)
		if count >= freeTries {
			next = millis(now.Add(tryWaits[min(count-freeTries, len(tryWaits)-1)]))
		}
		n, err := affected(l.exclusively(ctx, `INSERT INTO failures (hash, count, until, at, origin) VALUES ($1,$2,$3,$4,$5)
			ON CONFLICT (hash) DO UPDATE SET count = excluded.count, until = excluded.until, at = excluded.at, origin = excluded.origin WHERE failures.count = $6`,
			hash, count+1, next, millis(now), from, count))
		if err != nil {
			return fmt.Errorf("count failures to sign in: %w", err)
		}
		if n == 1 {
			return nil
		}
		// Somebody else tried at the same moment: look again.
	}
}
