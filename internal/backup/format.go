// Package backup writes a ledger into one file and makes a ledger of such a file. The
// file is the same for both databases.
//
// A backup is a tar archive, compressed with gzip, and encrypted with age if there is
// a passphrase. Its parts are:
//
//	backup.json      the format's version and what the ledger says of itself
//	sealing.key      the keys of sealed values, in encrypted files alone
//	NUMBER.jsonl     the rows of a table: a JSON array of values in each line
//	manifest.json    how many rows each table has, and the SHA-256 of each part
//
// The manifest comes last: a file without one is not complete.
package backup

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// format is the version of the format. A program reads those up to its own.
const format = 1

// The names of the parts.
const (
	headerName   = "backup.json"
	keysName     = "sealing.key"
	manifestName = "manifest.json"
)

// Limits of what is read from a file that may be anything.
const (
	partBytes    = 1 << 20 // of rows in one part, as they are written
	maxPartBytes = 1 << 28
)

// Errors by name.
var (
	// ErrFormat is returned for a file that is not a backup, or not of a version that
	// this program reads.
	ErrFormat = errors.New("the file is not a backup that this program reads")
	// ErrDamaged is returned for a backup that is cut off or was changed.
	ErrDamaged = errors.New("the backup is damaged or incomplete")
	// ErrPassphrase is returned for a wrong passphrase, or where there is none.
	ErrPassphrase = errors.New("the backup is encrypted, and the passphrase is not the right one")
	// ErrExists is returned for a file that is there: a backup never replaces one.
	ErrExists = errors.New("the file exists")
	// ErrWrong is returned for a backup of a ledger that contradicts itself.
	ErrWrong = errors.New("the ledger in the backup contradicts itself")
	// ErrKeys is returned for a backup with values that no key here opens.
	ErrKeys = errors.New("the sealing key is missing")
)

// Header is what a backup says of itself before its rows.
type Header struct {
	Format   int             `json:"format"`
	Program  string          `json:"program"`
	Snapshot ledger.Snapshot `json:"ledger"`
	Keys     bool            `json:"keys"` // the sealing keys are in the file
}

// part is a part of the file in its manifest.
type part struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// manifest ends a backup.
type manifest struct {
	Rows  map[string]int64 `json:"rows"`
	Parts []part           `json:"parts"`
}

// Summary is what is in a backup, as it was read back.
type Summary struct {
	File      string
	Bytes     int64
	At        time.Time // of the ledger in it
	Schema    int64
	Commits   int64
	Batches   int64
	Rows      int // of batches
	Purchases int
	Sealed    int // values
	Closed    int // of them, that no key here and none in the file opens
	Encrypted bool
	Keys      bool // the sealing keys are in it
	Owner     string
}

// encoded is a value that JSON has no form for: bytes, or text that is not UTF-8.
type encoded struct {
	Bytes *string `json:"b,omitempty"`
	Text  *string `json:"t,omitempty"`
}

// appendRow appends a row as a line.
func appendRow(line []byte, values []any) ([]byte, error) {
	shown := make([]any, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case []byte:
			text := base64.StdEncoding.EncodeToString(v)
			shown[i] = encoded{Bytes: &text}
		case string:
			shown[i] = v
			if !utf8.ValidString(v) {
				text := base64.StdEncoding.EncodeToString([]byte(v))
				shown[i] = encoded{Text: &text}
			}
		default:
			shown[i] = v
		}
	}
	text, err := json.Marshal(shown)
	if err != nil {
		return line, fmt.Errorf("write a row: %w", err)
	}
	return append(append(line, text...), '\n'), nil
}

// readRow reads what appendRow has written.
func readRow(dec *json.Decoder) ([]any, error) {
	var shown []json.RawMessage
	if err := dec.Decode(&shown); err != nil {
		return nil, err
	}
	values := make([]any, len(shown))
	for i, raw := range shown {
		var err error
		switch {
		case len(raw) == 0:
			err = errors.New("an empty value")
		case raw[0] == 'n':
		case raw[0] == '"':
			var s string
			err = json.Unmarshal(raw, &s)
			values[i] = s
		case raw[0] == '{':
			values[i], err = decodeValue(raw)
		default:
			var n int64
			err = json.Unmarshal(raw, &n)
			values[i] = n
		}
		if err != nil {
			return nil, err
		}
	}
	return values, nil
}

func decodeValue(raw json.RawMessage) (any, error) {
	var e encoded
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, err
	}
	switch {
	case e.Bytes != nil:
		return base64.StdEncoding.DecodeString(*e.Bytes)
	case e.Text != nil:
		text, err := base64.StdEncoding.DecodeString(*e.Text)
		return string(text), err
	}
	return nil, errors.New("a value of an unknown kind")
}
