package backup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
	"github.com/bulkfiling/bulkfiling/internal/secret"
)

func TestMain(m *testing.M) {
	workFactor = 10
	os.Exit(m.Run())
}

// number is a Social Security number that no backup may show.
const number = "501-31-7114"

// fill makes a ledger with a batch, of which a row has a sealed number.
func fill(t *testing.T, at ledger.Location) *ledger.Ledger {
	t.Helper()
	ctx := t.Context()
	l, err := ledger.Open(ctx, ledger.Config{Dir: at.Dir, DatabaseURL: at.DatabaseURL, SealKey: at.SealKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if _, err := l.CreateBatch(ctx, ledger.Batch{ID: "b", File: "a\xffé.csv", Product: filing.EIN}); err != nil {
		t.Fatal(err)
	}
	rows := []ledger.Row{{
		Number: 2,
		Cells:  []byte(`["x"]`),
		Result: filing.Ready,
		Request: &filing.Request{
			Product: filing.EIN,
			Company: filing.CompanyRef{Ref: "comp_1"},
			Order:   filing.Order{EIN: &filing.EINItem{ResponsiblePartySSN: number}},
		},
	}}
	for _, err := range []error{
		l.AddRows(ctx, "b", rows), l.OpenBatch(ctx, "b"), l.RecordDeposit(ctx, 12345, "wire"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// restore restores a file, and returns what it says.
func restore(t *testing.T, file, passphrase string, at ledger.Location, withoutKeys bool) (Restored, error) {
	t.Helper()
	a, err := Open(file, secret.New(passphrase))
	if err != nil {
		return Restored{}, err
	}
	defer a.Close()
	return Restore(t.Context(), a, at, withoutKeys, ledger.Restore{By: "ana", File: "a.backup"})
}

// unsealed opens the number in a restored ledger.
func unsealed(t *testing.T, at ledger.Location) (string, error) {
	t.Helper()
	l, err := ledger.Open(t.Context(), ledger.Config{Dir: at.Dir, DatabaseURL: at.DatabaseURL, SealKey: at.SealKey})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Unseal(t.Context(), ledger.Row{Batch: "b", Number: 2})
}

// An encrypted backup opens what is sealed in it anywhere: with the key file that it
// brings, or under the key of the place that it is restored into.
func TestEncryptedBackupBringsItsKey(t *testing.T) {
	given := strings.Repeat("ab", 32)
	ledgertest.OnBoth(t, func(t *testing.T, database string) {
		file := filepath.Join(t.TempDir(), "x.backup")
		s, err := Write(t.Context(), fill(t, ledger.Location{Dir: ledgertest.Dir(t)}), file, secret.New("pass"))
		if err != nil || !s.Encrypted || !s.Keys || s.Rows != 1 || s.Sealed != 1 || s.Closed != 0 {
			t.Fatalf("%+v, %v", s, err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		for _, key := range []string{"", given} {
			at := ledger.Location{Dir: t.TempDir(), DatabaseURL: database, SealKey: key}
			if _, err := restore(t, file, "pass", at, false); err != nil {
				t.Fatal(err)
			}
			if got, err := unsealed(t, at); got != number {
				t.Errorf("with key %q: %q, %v", key, got, err)
			}
			_, err := os.Stat(filepath.Join(at.Dir, "sealing.key"))
			if exists := err == nil; exists != (key == "") {
				t.Errorf("with key %q: a key file is there: %v", key, exists)
			}
			if left, _ := filepath.Glob(filepath.Join(at.Dir, "restore-*")); len(left) > 0 {
				t.Errorf("%v is left", left)
			}
		}
	})
}

// A backup that is not encrypted has neither the number nor the key of it. A restore
// that would lose the number is refused, unless that is accepted.
func TestPlainBackupHasNoKey(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(t.TempDir(), "x.backup")
	s, err := Write(t.Context(), fill(t, ledger.Location{Dir: dir}), file, secret.Value{})
	if err != nil || s.Encrypted || s.Keys || s.Closed != 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	key, err := os.ReadFile(filepath.Join(dir, "sealing.key"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range parts(t, file) {
		for _, secret := range []string{number, strings.ReplaceAll(number, "-", ""), strings.TrimSpace(string(key))} {
			if bytes.Contains(content, []byte(secret)) {
				t.Errorf("part %s holds %s", name, secret)
			}
		}
	}
	at := ledger.Location{Dir: t.TempDir()}
	if _, err := restore(t, file, "", at, false); !errors.Is(err, ErrKeys) {
		t.Errorf("restored: %v", err)
	}
	if _, err := os.Stat(filepath.Join(at.Dir, "ledger.db")); err == nil {
		t.Error("a ledger is there")
	}
	if r, err := restore(t, file, "", at, true); err != nil || r.Closed != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// parts reads a backup that is not encrypted.
func parts(t *testing.T, file string) map[string][]byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	packed, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string][]byte)
	for archive := tar.NewReader(packed); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if all[h.Name], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
}

// pack writes parts as a backup.
func pack(t *testing.T, all map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	packed := gzip.NewWriter(&b)
	archive := tar.NewWriter(packed)
	names := []string{headerName}
	for name := range all {
		if name != headerName && name != manifestName {
			names = append(names, name)
		}
	}
	slices.Sort(names[1:])
	if all[manifestName] != nil {
		names = append(names, manifestName)
	}
	for _, name := range names {
		err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(all[name]))})
		if _, err2 := archive.Write(all[name]); err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
	}
	if err := errors.Join(archive.Close(), packed.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A file that cannot be restored is refused with its reason, and the ledger that is
// there stays as it is, with nothing beside it.
//
//nolint:gocognit // one table over two databases
func TestBackupsThatAreRefused(t *testing.T) {
	dir := t.TempDir()
	l := fill(t, ledger.Location{Dir: ledgertest.Dir(t)})
	plain, sealed := filepath.Join(dir, "plain.backup"), filepath.Join(dir, "sealed.backup")
	for file, passphrase := range map[string]string{plain: "", sealed: "pass"} {
		if _, err := Write(t.Context(), l, file, secret.New(passphrase)); err != nil {
			t.Fatal(err)
		}
	}
	read := func(file string) []byte {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	changed := func(change func(all map[string][]byte)) []byte {
		all := parts(t, plain)
		change(all)
		return pack(t, all)
	}
	header := func(change func(*Header)) []byte {
		return changed(func(all map[string][]byte) {
			var h Header
			if err := json.Unmarshal(all[headerName], &h); err != nil {
				t.Fatal(err)
			}
			change(&h)
			all[headerName], _ = json.Marshal(h)
		})
	}
	flipped := read(sealed)
	flipped[len(flipped)/2] ^= 1
	cases := map[string]struct {
		content    []byte
		passphrase string
		want       error
	}{
		"none":            {read(sealed), "", ErrPassphrase},
		"wrong":           {read(sealed), "guess", ErrPassphrase},
		"a byte changed":  {flipped, "pass", ErrDamaged},
		"cut off, sealed": {read(sealed)[:len(read(sealed))-70], "pass", ErrDamaged},
		"cut off":         {read(plain)[:len(read(plain))-300], "", ErrDamaged},
		"its last byte":   {read(plain)[:len(read(plain))-1], "", ErrDamaged},
		"empty":           {nil, "", ErrDamaged},
		"a spreadsheet":   {[]byte("Company ID,State\n"), "", ErrFormat},
		"another archive": {pack(t, map[string][]byte{headerName: []byte(`{"a":1}`)}), "", ErrFormat},
		"a later format":  {header(func(h *Header) { h.Format = 2 }), "", ErrFormat},
		"a newer schema": {header(func(h *Header) { h.Snapshot.Migrations = append(h.Snapshot.Migrations, 999) }),
			"", ledger.ErrNewer},
		"a changed header": {header(func(h *Header) { h.Snapshot.Commits++ }), "", ErrDamaged},
		"no manifest":      {changed(func(all map[string][]byte) { delete(all, manifestName) }), "", ErrDamaged},
		"a row less": {changed(func(all map[string][]byte) {
			for name := range all {
				if strings.Contains(name, "-entries-") {
					delete(all, name)
				}
			}
		}), "", ErrDamaged},
		"other money": {changed(func(all map[string][]byte) {
			for name, content := range all {
				if strings.Contains(name, "-entries-") {
					all[name] = bytes.Replace(content, []byte("12345"), []byte("99999"), 1)
				}
			}
		}), "", ErrDamaged},
	}
	at := ledger.Location{Dir: t.TempDir()}
	fill(t, at).Close()
	before := read(filepath.Join(at.Dir, "ledger.db"))
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "x.backup")
			if err := os.WriteFile(file, c.content, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := restore(t, file, c.passphrase, at, true); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if !bytes.Equal(before, read(filepath.Join(at.Dir, "ledger.db"))) {
				t.Error("the ledger that is there was changed")
			}
			for _, left := range []string{"restore-*", "before_restore_*"} {
				if found, _ := filepath.Glob(filepath.Join(at.Dir, left)); len(found) > 0 {
					t.Errorf("%v is left", found)
				}
			}
		})
	}
}

// A ledger that contradicts itself is neither backed up without a word nor restored.
func TestBackupOfAWrongLedger(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good.backup")
	l := fill(t, ledger.Location{Dir: ledgertest.Dir(t)})
	if _, err := Write(t.Context(), l, good, secret.Value{}); err != nil {
		t.Fatal(err)
	}
	all := parts(t, good)
	var m manifest
	if err := json.Unmarshal(all[manifestName], &m); err != nil {
		t.Fatal(err)
	}
	// A change of the rows and the manifest alike is found by the audit.
	for i, p := range m.Parts {
		if strings.Contains(p.Name, "-entries-") {
			all[p.Name] = bytes.Replace(all[p.Name], []byte("12345"), []byte("99999"), 1)
			m.Parts[i].SHA256 = sum(all[p.Name])
		}
	}
	all[manifestName], _ = json.Marshal(m)
	file := filepath.Join(dir, "bad.backup")
	if err := os.WriteFile(file, pack(t, all), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := restore(t, file, "", ledger.Location{Dir: t.TempDir()}, true); !errors.Is(err, ErrWrong) {
		t.Errorf("restored: %v", err)
	}
}

// A backup never replaces a file, and one that fails leaves none.
func TestBackupLeavesOtherFiles(t *testing.T) {
	dir := t.TempDir()
	l := fill(t, ledger.Location{Dir: ledgertest.Dir(t)})
	file := filepath.Join(dir, "x.backup")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(t.Context(), l, file, secret.Value{}); !errors.Is(err, ErrExists) {
		t.Errorf("%v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Write(ctx, l, filepath.Join(dir, "y.backup"), secret.Value{}); err == nil {
		t.Error("written although it was stopped")
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
	if content, _ := os.ReadFile(file); string(content) != "mine" {
		t.Errorf("%q", content)
	}
}
