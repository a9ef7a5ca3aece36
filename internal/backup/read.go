package backup

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"filippo.io/age"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/secret"
)

// ageIntro is how an encrypted file begins.
const ageIntro = "age-encryption.org/"

// Archive is a backup that is read from its beginning to its end, once.
type Archive struct {
	Header    Header
	Encrypted bool
	Bytes     int64

	file   *os.File
	tar    *tar.Reader
	packed *gzip.Reader
	plain  io.Reader
	keys   string
	parts  []part
	rows   map[string]int64
}

// IsEncrypted reports whether a file needs a passphrase.
func IsEncrypted(file string) (bool, error) {
	f, err := os.Open(file)
	if err != nil {
		return false, fmt.Errorf("open the backup: %w", err)
	}
	defer f.Close()
	begins, err := bufio.NewReader(f).Peek(len(ageIntro))
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read the backup: %w", err)
	}
	return string(begins) == ageIntro, nil
}

// Open opens a backup and reads its header. It returns ErrFormat, ErrDamaged,
// ErrPassphrase, and ledger.ErrNewer for a backup of a newer version.
func Open(file string, passphrase secret.Value) (a *Archive, err error) {
	opened, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("open the backup: %w", err)
	}
	defer func() {
		if err != nil {
			opened.Close()
		}
	}()
	a = &Archive{file: opened, rows: make(map[string]int64)}
	info, err := a.file.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the backup: %w", err)
	}
	a.Bytes = info.Size()
	buffered := bufio.NewReaderSize(a.file, 1<<16)
	begins, _ := buffered.Peek(len(ageIntro))
	a.plain, a.Encrypted = buffered, string(begins) == ageIntro
	if a.Encrypted {
		if a.plain, err = decrypt(buffered, passphrase); err != nil {
			return nil, err
		}
	}
	if a.packed, err = gzip.NewReader(a.plain); err != nil {
		if a.Encrypted || a.Bytes == 0 {
			return nil, damaged(err)
		}
		return nil, fmt.Errorf("%s: %w", filepath.Base(file), ErrFormat)
	}
	a.tar = tar.NewReader(a.packed)
	name, content, err := a.next()
	switch {
	case err != nil:
		return nil, err
	case name != headerName || json.Unmarshal(content, &a.Header) != nil || a.Header.Format < 1:
		return nil, fmt.Errorf("%s: %w", filepath.Base(file), ErrFormat)
	case a.Header.Format > format:
		return nil, fmt.Errorf("%w: it is of format %d, and this program knows %d at most; use %s or newer", ErrFormat,
			a.Header.Format, format, a.Header.Program)
	}
	return a, nil
}

// decrypt returns what is in an encrypted file.
func decrypt(from io.Reader, passphrase secret.Value) (io.Reader, error) {
	if passphrase.IsEmpty() {
		return nil, fmt.Errorf("%w: there is none", ErrPassphrase)
	}
	identity, err := age.NewScryptIdentity(passphrase.Reveal())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPassphrase, err)
	}
	plain, err := age.Decrypt(from, identity)
	if _, wrong := errors.AsType[*age.NoIdentityMatchError](err); wrong {
		return nil, ErrPassphrase
	}
	if err != nil {
		return nil, damaged(err)
	}
	return plain, nil
}

// damaged is the error of a file that cannot be read to its end.
func damaged(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends too early", ErrDamaged)
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// Close closes the file.
func (a *Archive) Close() error { return a.file.Close() }

// next reads the next part.
func (a *Archive) next() (name string, content []byte, err error) {
	h, err := a.tar.Next()
	if err != nil {
		return "", nil, damaged(err)
	}
	if h.Size > maxPartBytes || h.Typeflag != tar.TypeReg {
		return "", nil, fmt.Errorf("%w: part %q is none of a backup", ErrDamaged, h.Name)
	}
	content, err = io.ReadAll(a.tar)
	if err != nil {
		return "", nil, damaged(err)
	}
	if h.Name != manifestName {
		a.parts = append(a.parts, part{h.Name, int64(len(content)), sum(content)})
	}
	return h.Name, content, nil
}

// Load reads the rest of the file into a copy. It returns ErrDamaged where the file
// is not what was written.
func (a *Archive) Load(ctx context.Context, c *ledger.Copy) error {
	names := make(map[string]int)
	for i, t := range a.Header.Snapshot.Tables {
		names[t.Name], a.rows[t.Name] = i, 0
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		name, content, err := a.next()
		if err != nil {
			return err
		}
		switch name {
		case manifestName:
			return a.finish(content)
		case keysName:
			a.keys = string(content)
			c.Keys = a.keys
			continue
		}
		words := strings.Split(name, "-")
		table, known := names[words[min(1, len(words)-1)]]
		if !known {
			return fmt.Errorf("%w: part %q is of no table", ErrDamaged, name)
		}
		if err := a.loadRows(ctx, c, table, content); err != nil {
			return err
		}
	}
}

func (a *Archive) loadRows(ctx context.Context, c *ledger.Copy, table int, content []byte) error {
	dec := json.NewDecoder(bytes.NewReader(content))
	for {
		values, err := readRow(dec)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return damaged(err)
		}
		if err := c.Add(ctx, table, values); err != nil {
			return err
		}
		a.rows[a.Header.Snapshot.Tables[table].Name]++
	}
}

// finish compares what was read with the manifest, and reads the file to its end: its
// last bytes prove the others.
func (a *Archive) finish(content []byte) error {
	var said manifest
	if err := json.Unmarshal(content, &said); err != nil {
		return damaged(err)
	}
	if !slices.Equal(said.Parts, a.parts) || !maps.Equal(said.Rows, a.rows) {
		return fmt.Errorf("%w: its parts are not those of its manifest", ErrDamaged)
	}
	if _, err := a.tar.Next(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: it goes on behind its manifest", ErrDamaged)
	}
	for _, r := range []io.Reader{a.packed, a.plain} {
		if _, err := io.Copy(io.Discard, r); err != nil {
			return damaged(err)
		}
	}
	return nil
}

// describe sums up what a loaded backup holds.
func (a *Archive) describe(file string, report ledger.AuditReport, sealed ledger.Sealed) Summary {
	s := a.Header.Snapshot
	owner := ""
	if len(s.Organizations) > 0 {
		owner = s.Organizations[0].Label()
	}
	return Summary{
		File:      file,
		Bytes:     a.Bytes,
		At:        s.At,
		Schema:    s.Schema(),
		Commits:   s.Commits,
		Batches:   a.rows["batches"],
		Rows:      report.Rows,
		Purchases: report.Purchases,
		Sealed:    sealed.Values,
		Closed:    sealed.Closed,
		Encrypted: a.Encrypted,
		Keys:      a.keys != "",
		Owner:     owner,
	}
}

// check proves the copy.
func check(ctx context.Context, l *ledger.Ledger) (ledger.AuditReport, ledger.Sealed, error) {
	report, err := l.Verify(ctx)
	if err != nil {
		return report, ledger.Sealed{}, err
	}
	if len(report.Wrong) > 0 {
		return report, ledger.Sealed{}, fmt.Errorf("%w: %s", ErrWrong, strings.Join(report.Wrong, "; "))
	}
	sealed, err := l.SealKeys().Check(ctx)
	return report, sealed, err
}

// Verify reads a backup into a ledger of its own, which goes again, and proves it.
func Verify(ctx context.Context, file string, passphrase secret.Value) (Summary, error) {
	return verify(ctx, file, passphrase, "")
}

func verify(ctx context.Context, file string, passphrase secret.Value, keys string) (s Summary, err error) {
	a, err := Open(file, passphrase)
	if err != nil {
		return s, err
	}
	defer a.Close()
	dir, err := os.MkdirTemp(filepath.Dir(file), ".backup-*.check")
	if err != nil {
		return s, fmt.Errorf("create a folder to read the backup: %w", err)
	}
	defer os.RemoveAll(dir)
	c, err := ledger.NewCopy(ctx, ledger.Location{Dir: dir, SealKey: keys}, &a.Header.Snapshot)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, c.Remove()) }()
	if err := a.Load(ctx, c); err != nil {
		return s, err
	}
	l, err := c.Finish(ctx)
	if err != nil {
		return s, err
	}
	report, sealed, err := check(ctx, l)
	if err = errors.Join(err, l.Close()); err != nil {
		return s, err
	}
	return a.describe(file, report, sealed), nil
}

// Restored is what a restore has done.
type Restored struct {
	Summary
	Kept       string   // where the ledger is that was there; "" where there was none
	Uncertain  int      // rows whose answer was awaited
	Schedules  []string // that were paused
	Generation string   // that begins with it
}

// Restore puts the ledger of a backup in the place of another one, in which nothing
// is sent; by says who restores which file. Until it is proven nothing of the other one is changed. Values that no key
// opens are lost: it returns ErrKeys unless withoutKeys accepts that.
func Restore(ctx context.Context, a *Archive, at ledger.Location, withoutKeys bool,
	by ledger.Restore) (r Restored, err error) {
	if err := ledger.CheckUnused(ctx, at); err != nil {
		return r, err
	}
	c, err := ledger.NewCopy(ctx, at, &a.Header.Snapshot)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, c.Remove()) }()
	if err := a.Load(ctx, c); err != nil {
		return r, err
	}
	l, err := c.Finish(ctx)
	if err != nil {
		return r, err
	}
	err = func() error {
		report, sealed, err := check(ctx, l)
		if err != nil {
			return err
		}
		r.Summary = a.describe(a.file.Name(), report, sealed)
		if sealed.Closed > 0 && !withoutKeys {
			return fmt.Errorf("%w: none of the keys here opens %d of %d sealed values (Social Security numbers of "+
				"rows that are not placed, uploads, company lists, signing secrets)", ErrKeys, sealed.Closed,
				sealed.Values)
		}
		if at.SealKey != "" && a.keys != "" {
			if _, _, err := l.SealKeys().Reseal(ctx); err != nil { // the keys of the file are not kept
				return err
			}
		}
		err = l.HaltRestored(ctx, &a.Header.Snapshot, &by)
		r.Uncertain, r.Schedules, r.Generation = by.Uncertain, by.Schedules, by.Generation
		return err
	}()
	if err = errors.Join(err, l.Close()); err != nil {
		return r, err
	}
	r.Kept, err = c.Publish(ctx)
	return r, err
}
