package backup

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"filippo.io/age"

	"github.com/bulkfiling/bulkfiling/internal/folder"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/secret"
)

// workFactor is how much work a passphrase costs, as a power of two; 0 for age's own.
// Tests make it cheap.
var workFactor int

// Write backs a ledger up into a new file, beside processes that work on it, and
// proves the file by reading it back. The file appears whole under its name, or not at
// all. It returns ErrExists for a file that is there.
func Write(ctx context.Context, l *ledger.Ledger, file string, passphrase secret.Value) (s Summary, err error) {
	if _, err := os.Lstat(file); err == nil {
		return s, fmt.Errorf("%s: %w; name another one", file, ErrExists)
	}
	keys, keysErr := l.SealKeys().Text()
	if keysErr != nil && !errors.Is(keysErr, ledger.ErrKeyGiven) {
		return s, keysErr
	}
	fresh, err := os.CreateTemp(filepath.Dir(file), ".backup-*.part") // for its owner alone
	if err != nil {
		return s, fmt.Errorf("create the backup: %w", err)
	}
	defer os.Remove(fresh.Name())
	w := &writer{passphrase: passphrase, program: program()}
	if keysErr == nil && !passphrase.IsEmpty() {
		w.keys = keys
	}
	err = w.write(ctx, l, fresh)
	if err = errors.Join(err, fresh.Sync(), fresh.Close()); err != nil {
		return s, fmt.Errorf("write the backup: %w", err)
	}
	if s, err = verify(ctx, fresh.Name(), passphrase, keys); err != nil {
		return s, fmt.Errorf("the backup was written, and could not be read back: %w", err)
	}
	s.File = file
	// A link, for it never replaces a file; a rename where the file system has none.
	if err := os.Link(fresh.Name(), file); err != nil {
		if errors.Is(err, os.ErrExist) {
			return s, fmt.Errorf("%s: %w; name another one", file, ErrExists)
		}
		if err := os.Rename(fresh.Name(), file); err != nil {
			return s, fmt.Errorf("name the backup: %w", err)
		}
	}
	return s, folder.Sync(filepath.Dir(file))
}

// program names the version of this program.
func program() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

// writer writes the parts of a backup.
type writer struct {
	passphrase secret.Value
	keys       string
	program    string

	tar      *tar.Writer
	at       time.Time
	manifest manifest
	rows     []byte // of the part that is being filled
	table    int
	names    []string
}

func (w *writer) write(ctx context.Context, l *ledger.Ledger, to io.Writer) (err error) {
	buffered := bufio.NewWriterSize(to, 1<<16)
	sealed := io.WriteCloser(nopCloser{buffered})
	if !w.passphrase.IsEmpty() {
		recipient, err := age.NewScryptRecipient(w.passphrase.Reveal())
		if err != nil {
			return err
		}
		if workFactor > 0 {
			recipient.SetWorkFactor(workFactor)
		}
		if sealed, err = age.Encrypt(buffered, recipient); err != nil {
			return err
		}
	}
	packed := gzip.NewWriter(sealed)
	w.tar = tar.NewWriter(packed)
	w.manifest.Rows = make(map[string]int64)
	if err := l.Export(ctx, w.begin, w.row); err != nil {
		return err
	}
	if err := w.flush(); err != nil {
		return err
	}
	if err := w.addJSON(manifestName, w.manifest); err != nil {
		return err
	}
	return errors.Join(w.tar.Close(), packed.Close(), sealed.Close(), buffered.Flush())
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// begin writes what comes before the rows.
func (w *writer) begin(s *ledger.Snapshot) error {
	w.at = s.At
	for _, t := range s.Tables {
		w.names = append(w.names, t.Name)
		w.manifest.Rows[t.Name] = 0
	}
	if err := w.addJSON(headerName, Header{
		Format:   format,
		Program:  w.program,
		Snapshot: *s,
		Keys:     w.keys != "",
	}); err != nil || w.keys == "" {
		return err
	}
	return w.add(keysName, []byte(w.keys))
}

// row adds a row to the part of its table.
func (w *writer) row(table int, values []any) (err error) {
	if table != w.table {
		if err := w.flush(); err != nil {
			return err
		}
		w.table = table
	}
	if w.rows, err = appendRow(w.rows, values); err != nil {
		return err
	}
	w.manifest.Rows[w.names[table]]++
	if len(w.rows) >= partBytes {
		return w.flush()
	}
	return nil
}

// flush writes the rows that wait as a part. Its name begins with the number of its
// table.
func (w *writer) flush() error {
	if len(w.rows) == 0 {
		return nil
	}
	err := w.add(fmt.Sprintf("%03d-%s-%06d.jsonl", w.table, w.names[w.table], len(w.manifest.Parts)), w.rows)
	w.rows = w.rows[:0]
	return err
}

func (w *writer) addJSON(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return w.add(name, text)
}

func (w *writer) add(name string, content []byte) error {
	err := w.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(content)), ModTime: w.at})
	if err != nil {
		return err
	}
	w.manifest.Parts = append(w.manifest.Parts, part{name, int64(len(content)), sum(content)})
	_, err = w.tar.Write(content)
	return err
}

// sum is the SHA-256 of a part.
func sum(content []byte) string {
	hash := sha256.Sum256(content)
	return hex.EncodeToString(hash[:])
}
