package store

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"unicode"
)

// A sealed value begins with sealMark and the ID of the key that sealed it. The nonce and the
// output of AES-GCM follow.
const (
	sealMark   = "BFS1"
	keyIDBytes = 8
	// markBytes is a multiple of three, so that the base64 form has a fixed beginning, too.
	markBytes = len(sealMark) + keyIDBytes
)

// sealKeyFile is the name of the key file in the data folder.
const sealKeyFile = "sealing.key"

// sealingKey is one key and the mark at the beginning of its sealed values.
type sealingKey struct {
	mark string
	aead cipher.AEAD
}

// keyring has the keys that open values. The first key seals.
type keyring []sealingKey

// seal seals a value with the first key and binds it to its place.
func (k keyring) seal(place string, value []byte) []byte {
	return append([]byte(k[0].mark), k[0].aead.Seal(nil, nil, value, []byte(place))...)
}

// open opens a value that Seal has sealed for the same place, with any of the keys. It returns
// ErrSealed if none fits.
func (k keyring) open(place string, sealed []byte) ([]byte, error) {
	for i := range k {
		if bytes.HasPrefix(sealed, []byte(k[i].mark)) {
			if value, err := k[i].aead.Open(nil, nil, sealed[markBytes:], []byte(place)); err == nil {
				return value, nil
			}
		}
	}
	return nil, ErrSealed
}

// ErrSealed is returned if a sealed value cannot be opened, because it was sealed with another key or no
// longer exists.
var ErrSealed = errors.New("the sealed number cannot be opened with this key")

// IsKeyShared reports whether every process that has the database open can open the sealed values.
func (db *DB) IsKeyShared() bool { return !db.Dialect.IsServer || db.sealing.given != "" }

// Seal seals a value and binds it to its place.
func (db *DB) Seal(place string, value []byte) ([]byte, error) {
	keys, err := db.sealer()
	if err != nil {
		return nil, err
	}
	return keys.seal(place, value), nil
}

// Unseal opens a value that Seal has sealed for the same place. It returns ErrSealed if no key fits.
func (db *DB) Unseal(place string, sealed []byte) ([]byte, error) {
	keys, err := db.sealer()
	if err != nil {
		return nil, err
	}
	return keys.open(place, sealed)
}

// SealText seals a value as text and binds it to its place.
func (db *DB) SealText(place string, value []byte) (string, error) {
	sealed, err := db.Seal(place, value)
	return base64.StdEncoding.EncodeToString(sealed), err
}

// UnsealText opens a value that SealText has sealed for the same place. It returns ErrSealed if no
// key fits.
func (db *DB) UnsealText(place, sealed string) ([]byte, error) {
	raw, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil {
		return nil, ErrSealed
	}
	return db.Unseal(place, raw)
}

// SealedPart is the number of bytes that are sealed at once.
const SealedPart = 1 << 20

// SealParts seals a content in parts and stores each part as it arrives, so that only one is in
// memory. It returns the number of bytes.
func (db *DB) SealParts(place string, content io.Reader,
	store func(part int, sealed []byte) error) (size int64, err error) {
	keys, err := db.sealer()
	if err != nil {
		return 0, err
	}
	part := make([]byte, SealedPart)
	for n := 0; ; n++ {
		read, end := io.ReadFull(content, part)
		if end != nil && !errors.Is(end, io.EOF) && !errors.Is(end, io.ErrUnexpectedEOF) {
			return size, end
		}
		size += int64(read)
		if read > 0 {
			if err := store(n, keys.seal(fmt.Sprintf("%s|%d", place, n), part[:read])); err != nil {
				return size, err
			}
		}
		if end != nil {
			return size, nil
		}
	}
}

// UnsealParts opens a content that SealParts has sealed for the same place. The query returns the
// parts in their order. It returns ErrSealed if no key fits.
func (db *DB) UnsealParts(ctx context.Context, place, query, id string) ([]byte, error) {
	keys, err := db.sealer()
	if err != nil {
		return nil, err
	}
	var content []byte
	n := 0
	rows, err := db.Read.QueryContext(ctx, query, id)
	err = Each(rows, err, func(scan func(...any) error) error {
		var sealed []byte
		if err := scan(&sealed); err != nil {
			return err
		}
		part, err := keys.open(fmt.Sprintf("%s|%d", place, n), sealed)
		n++
		content = append(content, part...)
		return err
	})
	return content, err
}

// sealing holds the keys of a process.
type sealing struct {
	// given has the keys of FILING_SEAL_KEY. If it is empty, the keys are in the file at path.
	given string
	path  string

	mu   sync.Mutex
	keys keyring
}

// sealer returns the keys. It creates the key file at the first use.
func (db *DB) sealer() (keyring, error) {
	s := &db.sealing
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys != nil {
		return s.keys, nil
	}
	text := s.given
	if text == "" {
		var err error
		if text, err = keyFile(s.path); err != nil {
			return nil, err
		}
	}
	var err error
	s.keys, err = parseKeys(text)
	return s.keys, err
}

// parseKeys reads keys that are separated by blanks, commas or line breaks.
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

// keyFile reads the keys, or creates a key. Two processes that start at once agree on one key,
// because the file appears under its name only when it is complete.
func keyFile(path string) (string, error) {
	content, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return content, err
	}
	if err := makeKey(path); err != nil {
		return "", fmt.Errorf("make the sealing key: %w", err)
	}
	return readKey(path)
}

// makeKey writes a new key to a file that only its owner can read, unless the file exists.
func makeKey(path string) error {
	raw := make([]byte, 32)
	rand.Read(raw)
	fresh, err := os.CreateTemp(filepath.Dir(path), sealKeyFile+".*")
	if err != nil {
		return err
	}
	defer os.Remove(fresh.Name())
	_, err = fresh.WriteString(hex.EncodeToString(raw) + "\n")
	if err = errors.Join(err, fresh.Chmod(0o600), fresh.Sync(), fresh.Close()); err != nil {
		return err
	}
	if err := os.Link(fresh.Name(), path); !errors.Is(err, fs.ErrExist) {
		return err
	}
	// Another process was faster.
	return nil
}

func readKey(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("read the sealing key: %w", err)
	}
	// On Windows a file mode does not show who can read the file.
	if info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		return "", fmt.Errorf("others can read the sealing key %s: chmod 600 it", path)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the sealing key: %w", err)
	}
	return string(content), nil
}
