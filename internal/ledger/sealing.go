package ledger

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"unicode"
)

// A sealed value says which key sealed it: sealMark, the key's id, then the nonce
// and what AES-GCM makes of the value. Values of earlier versions begin with the
// nonce; each key is tried on them.
const (
	sealMark   = "BFS1"
	keyIDBytes = 8
	markBytes  = len(sealMark) + keyIDBytes // a multiple of three: base64 begins alike, too
)

// sealKeyFile is the key's name in the data folder.
const sealKeyFile = "sealing.key"

// sealingKey is one key, and the beginning of what it seals.
type sealingKey struct {
	mark string
	aead cipher.AEAD
}

// keyring are the keys that open values, the one that seals first.
type keyring []sealingKey

// Seal has the form of cipher.AEAD's; dst and nonce are nil.
func (k keyring) Seal(dst, nonce, value, place []byte) []byte {
	return append(append(dst, k[0].mark...), k[0].aead.Seal(nil, nonce, value, place)...)
}

// Open opens what Seal has sealed for the same place, under any of the keys. It
// returns ErrSealed.
func (k keyring) Open(_, nonce, sealed, place []byte) ([]byte, error) {
	for i := range k {
		if bytes.HasPrefix(sealed, []byte(k[i].mark)) {
			if value, err := k[i].aead.Open(nil, nonce, sealed[markBytes:], place); err == nil {
				return value, nil
			}
		}
	}
	for i := range k {
		if value, err := k[i].aead.Open(nil, nonce, sealed, place); err == nil {
			return value, nil
		}
	}
	return nil, ErrSealed
}

// sealing is where a process has its keys from.
type sealing struct {
	given string // the keys, where they were given; empty for the file
	path  string // of the file

	mu   sync.Mutex
	keys keyring
	file os.FileInfo // the file that the keys were read from
}

// sealer returns the keys, creating the key file at its first use. A file that
// was changed since, as by a rotation, is read again.
func (db *database) sealer() (keyring, error) {
	s := &db.sealing
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.given != "" {
		if s.keys != nil {
			return s.keys, nil
		}
		var err error
		s.keys, err = parseKeys(s.given)
		return s.keys, err
	}
	info, err := os.Stat(s.path)
	switch {
	case s.keys != nil && (err != nil || sameFile(s.file, info)):
		return s.keys, nil
	case errors.Is(err, fs.ErrNotExist):
		info = nil
	case err != nil:
		return nil, fmt.Errorf("read the sealing key: %w", err)
	}
	text, err := keyFile(s.path)
	if err != nil {
		return nil, err
	}
	keys, err := parseKeys(text)
	if err != nil {
		return nil, err
	}
	if info == nil { // it was made just now
		if info, err = os.Stat(s.path); err != nil {
			return nil, fmt.Errorf("read the sealing key: %w", err)
		}
	}
	s.keys, s.file = keys, info
	return keys, nil
}

func sameFile(a, b os.FileInfo) bool {
	return a != nil && os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

// parseKeys reads keys that blanks, commas or lines part.
func parseKeys(text string) (keyring, error) {
	var keys keyring
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == ',' }) {
		raw, err := hex.DecodeString(word)
		if err != nil || len(raw) != 32 {
			return nil, errors.New("the sealing key is not 64 hexadecimal digits")
		}
		block, err := aes.NewCipher(raw)
		if err != nil {
			return nil, fmt.Errorf("make the cipher: %w", err)
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, fmt.Errorf("make the cipher: %w", err)
		}
		sum := sha256.Sum256(append([]byte("sealing key id|"), raw...))
		keys = append(keys, sealingKey{mark: sealMark + string(sum[:keyIDBytes]), aead: aead})
	}
	if keys == nil {
		return nil, errors.New("the sealing key is not 64 hexadecimal digits")
	}
	return keys, nil
}

// keyFile reads the keys, or makes one. Two processes at once agree on one: the
// file appears whole under its name, or not at all.
func keyFile(path string) (string, error) {
	content, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return content, err
	}
	err = writeKeys(path, newKey()+"\n", func(fresh string) error {
		if err := os.Link(fresh, path); !errors.Is(err, fs.ErrExist) {
			return err
		}
		return nil // another process was quicker: its key it is
	})
	if err != nil {
		return "", fmt.Errorf("make the sealing key: %w", err)
	}
	return readKey(path)
}

func newKey() string {
	raw := make([]byte, 32)
	rand.Read(raw)
	return hex.EncodeToString(raw)
}

// writeKeys writes keys to a file beside the one that they are for, which only
// its owner can read, and has it put in place.
func writeKeys(path, content string, put func(fresh string) error) error {
	fresh, err := os.CreateTemp(filepath.Dir(path), sealKeyFile+".*")
	if err != nil {
		return err
	}
	defer os.Remove(fresh.Name())
	_, err = fresh.WriteString(content)
	if err = errors.Join(err, fresh.Chmod(0o600), fresh.Sync(), fresh.Close()); err != nil {
		return err
	}
	return put(fresh.Name())
}

func readKey(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("read the sealing key: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" { // where a mode says nothing
		return "", fmt.Errorf("others can read the sealing key %s: chmod 600 it", path)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the sealing key: %w", err)
	}
	return string(content), nil
}
