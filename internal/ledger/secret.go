package ledger

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"bulkfiling/internal/filing"
)

// Social Security numbers are needed from the import to the order and not a
// moment longer. In between they are sealed under a key that is not in the
// database: a file in the data folder that only its owner can read, or, for a
// fleet, the environment.

// ErrSealed is returned where a secret cannot be opened: it was sealed under
// another key, or is not there any more.
var ErrSealed = errors.New("the sealed number cannot be opened with this key")

// sealKeyFile is the key's name in the data folder.
const sealKeyFile = "sealing.key"

// sealer makes the cipher, creating the key file at its first use.
func (l *Ledger) sealer() (cipher.AEAD, error) {
	l.sealing.Do(func() { l.aead, l.sealErr = openSealer(l.dir, l.sealKey) })
	return l.aead, l.sealErr
}

func openSealer(dir, key string) (cipher.AEAD, error) {
	if key == "" {
		var err error
		if key, err = keyFile(filepath.Join(dir, sealKeyFile)); err != nil {
			return nil, err
		}
	}
	raw, err := hex.DecodeString(strings.TrimSpace(key))
	if err != nil || len(raw) != 32 {
		return nil, errors.New("the sealing key is not 64 hexadecimal digits")
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return nil, fmt.Errorf("make the cipher: %w", err)
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// keyFile reads the key, or makes one. Two processes at once agree on one: the
// file appears whole under its name, or not at all.
func keyFile(path string) (string, error) {
	content, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return content, err
	}
	raw := make([]byte, 32)
	rand.Read(raw)
	fresh, err := os.CreateTemp(filepath.Dir(path), sealKeyFile+".*")
	if err != nil {
		return "", fmt.Errorf("make the sealing key: %w", err)
	}
	defer os.Remove(fresh.Name())
	_, err = fresh.WriteString(hex.EncodeToString(raw) + "\n")
	err = errors.Join(err, fresh.Chmod(0o600), fresh.Sync(), fresh.Close())
	if err == nil {
		if err = os.Link(fresh.Name(), path); errors.Is(err, fs.ErrExist) {
			err = nil // another process was quicker: its key it is
		}
	}
	if err != nil {
		return "", fmt.Errorf("make the sealing key: %w", err)
	}
	return readKey(path)
}

func readKey(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("read the sealing key: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("others can read the sealing key %s: chmod 600 it", path)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the sealing key: %w", err)
	}
	return string(content), nil
}

// place binds a sealed number to its row, so that one cannot stand for another.
func place(batch string, number int) []byte { return fmt.Appendf(nil, "%s|%d", batch, number) }

// withoutSecret returns the request as it may be stored, and the number that
// was in it; "" where there was none.
func withoutSecret(r *filing.Request) (*filing.Request, string) {
	if r == nil || r.Order.EIN == nil || r.Order.EIN.ResponsiblePartySSN == "" {
		return r, ""
	}
	stored, ein := *r, *r.Order.EIN
	ein.ResponsiblePartySSN = ""
	stored.Order.EIN = &ein
	return &stored, r.Order.EIN.ResponsiblePartySSN
}

func (l *Ledger) seal(batch string, number int, secret string) (string, error) {
	aead, err := l.sealer()
	if err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(aead.Seal(nil, nil, []byte(secret), place(batch, number))), nil
}

// Unseal opens the Social Security number of a row that is about to be sent.
func (l *Ledger) Unseal(ctx context.Context, r Row) (string, error) {
	var sealed string
	err := l.read.QueryRowContext(ctx, `SELECT sealed FROM secrets WHERE batch = $1 AND number = $2`, r.Batch, r.Number).Scan(&sealed)
	if errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("row %d of batch %s: %w", r.Number, r.Batch, ErrSealed)
	}
	if err != nil {
		return "", fmt.Errorf("read the sealed number of row %d of batch %s: %w", r.Number, r.Batch, err)
	}
	return l.unseal(sealed, r.Batch, r.Number)
}

func (l *Ledger) unseal(sealed, batch string, number int) (string, error) {
	aead, err := l.sealer()
	if err != nil {
		return "", err
	}
	raw, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil {
		return "", fmt.Errorf("row %d of batch %s: %w", number, batch, ErrSealed)
	}
	secret, err := aead.Open(nil, nil, raw, place(batch, number))
	if err != nil {
		return "", fmt.Errorf("row %d of batch %s: %w", number, batch, ErrSealed)
	}
	return string(secret), nil
}

// forget erases the numbers of rows that will not be sent any more. A rejected
// row keeps its own: a retry needs it.
func (g *groupWriter) forget() error {
	var done []record
	for _, s := range g.changed {
		switch s.result {
		case filing.Placed, filing.Exists, filing.Skipped, filing.Canceled:
			done = append(done, record{s.batch, int64(s.number)})
		}
	}
	if len(done) == 0 || !g.sealed {
		return nil
	}
	if err := g.l.exec(g.ctx, g.tx, `DELETE FROM secrets WHERE EXISTS (SELECT 1 {{v}} WHERE v.batch = secrets.batch AND v.number = secrets.number)`,
		columns{"batch text", "number bigint"}, done); err != nil {
		return fmt.Errorf("forget numbers: %w", err)
	}
	return nil
}
