package ledger

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Errors of second factors.
var (
	// ErrFactor is returned for a code or a passkey that is wrong, was used
	// before, or is not the account's.
	ErrFactor = errors.New("the code is wrong or was used before")
	// ErrFactors is returned for one factor more than an account may have.
	ErrFactors = errors.New("an account has at most 10 authenticator apps and passkeys")
	// ErrFactorTaken is returned for a passkey that is registered already.
	ErrFactorTaken = errors.New("the passkey is registered already")
)

// FactorKind is how a second factor is checked.
type FactorKind string

// The kinds of factors. The last two are never listed among an account's
// factors: they say how a session's factor was checked.
const (
	FactorApp      FactorKind = "app"      // time-based codes of an authenticator app
	FactorPasskey  FactorKind = "passkey"  // WebAuthn
	FactorRecovery FactorKind = "recovery" // a recovery code
	FactorProvider FactorKind = "provider" // the sign-in provider checked one
)

// Factor is an authenticator app or a passkey of an account.
type Factor struct {
	ID         string
	Account    string // its id
	Kind       FactorKind
	Name       string // the owner's words for it
	Credential string // the credential id of a passkey
	Data       string // the secret of an app, sealed in the database; the public key of a passkey
	Last       int64  // the time step of the last code of an app
	CreatedAt  time.Time
	UsedAt     time.Time // zero for never
}

// Bounds of an account's factors.
const (
	maxFactors    = 10
	recoveryCodes = 10
	recoveryChars = 24 // of base32: 120 random bits
)

// MatchCode reports which time step a code of a secret belongs to. A step that
// is not after the given one was used before.
type MatchCode func(secret, code string, after int64) (step int64, ok bool)

const factorColumns = `id, account, kind, name, credential, data, last, created_at, used_at`

func (l Accounts) scanFactor(scan func(...any) error) (Factor, error) {
	var f Factor
	var created, used int64
	if err := scan(&f.ID, &f.Account, &f.Kind, &f.Name, &f.Credential, &f.Data, &f.Last, &created, &used); err != nil {
		return Factor{}, err
	}
	f.CreatedAt, f.UsedAt = fromMillis(created), fromMillis(used)
	return f, nil
}

// ListFactors lists the authenticator apps and passkeys of an account, the oldest
// first. The secrets of apps are left out.
func (l Accounts) ListFactors(ctx context.Context, account string) ([]Factor, error) {
	all, err := l.factors(ctx, l.read, account)
	for i := range all {
		if all[i].Kind == FactorApp {
			all[i].Data = ""
		}
	}
	return all, wrap("list the second factors of account "+account, err)
}

func (l Accounts) factors(ctx context.Context, q querier, account string) ([]Factor, error) {
	rows, err := q.QueryContext(ctx,
		`SELECT `+factorColumns+` FROM factors WHERE account = $1 ORDER BY created_at, id`,
		account)
	all, err := collect(rows, err, l.scanFactor)
	return all, err
}

// FindPasskey finds a passkey by its credential id. It returns ErrFactor.
func (l Accounts) FindPasskey(ctx context.Context, credential string) (Factor, error) {
	f, err := l.scanFactor(l.read.QueryRowContext(ctx,
		`SELECT `+factorColumns+` FROM factors WHERE credential = $1 AND credential <> ''`, credential).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return Factor{}, ErrFactor
	}
	return f, wrap("look a passkey up", err)
}

// AddFactor adds an authenticator app or a passkey, and ends the account's
// sessions other than the one whose secret is given. It returns ErrFactors and
// ErrFactorTaken.
func (l Accounts) AddFactor(ctx context.Context, f Factor, session string) (Factor, error) {
	f.ID = "F" + rand.Text()[:15]
	data := f.Data
	if f.Kind == FactorApp {
		var err error
		if data, err = l.sealText(factorPlace(f.ID), f.Data); err != nil {
			return Factor{}, err
		}
	}
	f.Name = cmp.Or(strings.Join(strings.Fields(f.Name), " "), string(f.Kind))
	err := l.change(ctx, func(tx *sql.Tx, _ *control) error {
		var n int
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM factors WHERE account = $1`,
			f.Account).Scan(&n); err != nil {
			return err
		}
		if n >= maxFactors {
			return ErrFactors
		}
		f.CreatedAt = fromMillis(toMillis(l.now()))
		added, err := affected(tx.ExecContext(ctx,
			`INSERT INTO factors (`+factorColumns+`) VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$8) ON CONFLICT DO NOTHING`,
			f.ID, f.Account, string(f.Kind), f.Name, f.Credential, data, f.Last, toMillis(f.CreatedAt)))
		if err == nil && added == 0 {
			err = ErrFactorTaken
		}
		if err != nil {
			return err
		}
		return endOtherSessions(ctx, tx, f.Account, session)
	})
	if err != nil {
		return Factor{}, fmt.Errorf("add a second factor to account %s: %w", f.Account, err)
	}
	return f, nil
}

// RemoveFactor removes a factor of an account, and ends its sessions other than
// the one whose secret is given. The recovery codes go with the last factor. It
// returns ErrNotFound.
func (l Accounts) RemoveFactor(ctx context.Context, account, id, session string) error {
	return wrap("remove a second factor of account "+account, l.change(ctx, func(tx *sql.Tx, _ *control) error {
		n, err := affected(tx.ExecContext(ctx, `DELETE FROM factors WHERE id = $1 AND account = $2`, id, account))
		switch {
		case err != nil:
			return err
		case n == 0:
			return ErrNotFound
		}
		if _, err := tx.ExecContext(ctx,
			`DELETE FROM recovery_codes WHERE account = $1
				AND NOT EXISTS (SELECT 1 FROM factors f WHERE f.account = $1)`, account); err != nil {
			return err
		}
		return endOtherSessions(ctx, tx, account, session)
	}))
}

// ResetFactors removes all factors and recovery codes of an account and signs it
// out everywhere: its owner has lost them.
func (l Accounts) ResetFactors(ctx context.Context, account string) error {
	return wrap("reset the second factors of account "+account, l.change(ctx, func(tx *sql.Tx, _ *control) error {
		for _, table := range []string{"factors", "recovery_codes", "sessions"} {
			if _, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE account = $1`, account); err != nil {
				return err
			}
		}
		return nil
	}))
}

func endOtherSessions(ctx context.Context, tx *sql.Tx, account, session string) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM sessions WHERE account = $1 AND hash <> $2`, account, hashed(session))
	return err
}

// CheckCode checks a code of an authenticator app, or a recovery code: whatever
// was typed. Each counts once, for the first call. Wrong ones are counted like
// wrong passwords, apart from these: a right password does not take the count
// of wrong codes back. The try says where the code comes from. CheckCode
// returns ErrFactor and *TooMany.
func (l Accounts) CheckCode(ctx context.Context, a Account, code string, t Try, match MatchCode) (FactorKind, error) {
	ctx = withoutAudit(ctx) // the audit event is that of the session that follows, or the change
	t.Kind, t.Name = "code", a.Name
	counted, err := l.CountTry(ctx, t)
	if err != nil {
		return "", err
	}
	kind := FactorApp
	if code = recoveryCode(code); len(code) == recoveryChars {
		kind = FactorRecovery
		err = l.useRecoveryCode(ctx, a, code)
	} else {
		err = l.useAppCode(ctx, a, code, match)
	}
	switch {
	case err == nil:
		err = counted.Succeed(ctx)
	case errors.Is(err, ErrFactor):
		err = &FailedTry{Until: counted.Until, Scope: counted.Scope, Err: err}
	default: // the code was not looked at
		err = errors.Join(err, counted.TakeBack(context.WithoutCancel(ctx)))
	}
	if err != nil {
		return "", fmt.Errorf("check the second factor of account %s: %w", a.ID, err)
	}
	return kind, nil
}

func (l Accounts) useAppCode(ctx context.Context, a Account, code string, match MatchCode) error {
	all, err := l.factors(ctx, l.read, a.ID)
	if err != nil {
		return err
	}
	for _, f := range all {
		if f.Kind != FactorApp {
			continue
		}
		secret, err := l.openText(factorPlace(f.ID), f.Data)
		if err != nil {
			return err
		}
		step, ok := match(secret, code, f.Last)
		if !ok {
			continue
		}
		n, err := affected(l.exclusively(ctx, `UPDATE factors SET last = $2, used_at = $3 WHERE id = $1 AND last < $2`,
			f.ID, step, toMillis(l.now())))
		switch {
		case err != nil:
			return err
		case n == 1:
			return nil
		}
	}
	return ErrFactor
}

// UsePasskey records what an assertion changed of a passkey: its signature
// counter as a rule. It returns ErrFactor where another assertion was quicker,
// or the passkey was removed.
func (l Accounts) UsePasskey(ctx context.Context, f Factor, data string) error {
	n, err := affected(l.exclusively(withoutAudit(ctx),
		`UPDATE factors SET data = $3, used_at = $4 WHERE id = $1 AND data = $2`, f.ID, f.Data, data,
		toMillis(l.now())))
	if err == nil && n == 0 {
		err = ErrFactor
	}
	return wrap("note that a passkey is used", err)
}

// recoveryCode is what was typed without blanks and dashes, in capitals.
func recoveryCode(typed string) string {
	return strings.ToUpper(strings.NewReplacer(" ", "", "-", "").Replace(typed))
}

// ReplaceRecoveryCodes makes an account's recovery codes, and ends those before
// them. Nobody can read them again: only their hashes are kept.
func (l Accounts) ReplaceRecoveryCodes(ctx context.Context, account string) ([]string, error) {
	codes := make([]string, recoveryCodes)
	err := l.change(ctx, func(tx *sql.Tx, _ *control) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM recovery_codes WHERE account = $1`, account); err != nil {
			return err
		}
		for i := range codes {
			code := rand.Text()[:recoveryChars]
			codes[i] = code[:6] + "-" + code[6:12] + "-" + code[12:18] + "-" + code[18:]
			if _, err := tx.ExecContext(ctx, `INSERT INTO recovery_codes (account, hash) VALUES ($1,$2)`, account,
				hashed(code)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("make recovery codes of account %s: %w", account, err)
	}
	return codes, nil
}

// CountRecoveryCodes counts the recovery codes of an account that are left.
func (l Accounts) CountRecoveryCodes(ctx context.Context, account string) (n int, err error) {
	err = l.read.QueryRowContext(ctx, `SELECT COUNT(*) FROM recovery_codes WHERE account = $1`, account).Scan(&n)
	return n, wrap("count recovery codes", err)
}

func (l Accounts) useRecoveryCode(ctx context.Context, a Account, code string) error {
	n, err := affected(l.exclusively(ctx, `DELETE FROM recovery_codes WHERE account = $1 AND hash = $2`, a.ID,
		hashed(code)))
	if err == nil && n == 0 {
		err = ErrFactor
	}
	return err
}

func factorPlace(id string) []byte { return []byte("factor|" + id) }

// sealText seals a text; place binds it to where it is kept.
func (l Accounts) sealText(place []byte, text string) (string, error) {
	aead, err := l.sealer()
	if err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(aead.Seal(nil, nil, []byte(text), place)), nil
}

// openText opens what sealText has sealed for the same place. It returns
// ErrSealed.
func (l Accounts) openText(place []byte, sealed string) (string, error) {
	aead, err := l.sealer()
	if err != nil {
		return "", err
	}
	raw, err := base64.StdEncoding.DecodeString(sealed)
	if err == nil {
		raw, err = aead.Open(nil, nil, raw, place)
	}
	if err != nil {
		return "", ErrSealed
	}
	return string(raw), nil
}
