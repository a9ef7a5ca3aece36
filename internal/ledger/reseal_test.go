package ledger_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// sealedThings are one value of every kind that the ledger seals, and how each is
// read back.
type sealedThings struct {
	row    ledger.Row
	upload ledger.Upload
	roster string
	factor ledger.Factor
	of     ledger.Account
}

const sheetText = "Company ID,Notes\ncomp_1,Bakery\n"

func (s *store) sealThings(l *ledger.Ledger, name string) sealedThings {
	s.Helper()
	ctx := s.Context()
	var all sealedThings
	var err error
	all.row = s.add(l, "batch-"+name, application("comp_"+name))[0]
	all.upload, err = l.Uploads().Add(ctx,
		ledger.Upload{File: "in.csv", Options: []byte("{}"), Edits: []byte("edits of " + name), CreatedBy: "Ana"},
		strings.NewReader(strings.Repeat(sheetText, 40_000)))
	s.must(err)
	all.roster, err = ledger.KeepRosterHere(ctx, l,
		ledger.CompanyList{File: "roster.csv", Content: []byte(sheetText + name)})
	s.must(err)
	s.must(l.Endpoints().Set(ctx, ledger.Endpoint{ID: "we_" + name, URL: "https://example.com"}, "whsec_"+name))
	all.of, err = l.Accounts().Add(ctx, "person "+name, nil)
	s.must(err)
	all.factor, err = l.Accounts().AddFactor(ctx,
		ledger.Factor{Account: all.of.ID, Kind: ledger.FactorApp, Name: "phone", Data: "secret of " + name}, "")
	s.must(err)
	return all
}

// readThings checks that everything opens, or that nothing does.
func (s *store) readThings(l *ledger.Ledger, name string, all sealedThings, want bool) {
	s.Helper()
	ctx := s.Context()
	number, errRow := l.Unseal(ctx, all.row)
	content, errUpload := l.Uploads().LoadContent(ctx, all.upload.ID)
	u, errEdits := l.Uploads().Find(ctx, all.upload.ID)
	r, errRoster := l.Schedules().FindCompanyList(ctx, all.roster)
	secrets, errEndpoint := l.Endpoints().Secrets(ctx)
	_, errFactor := l.Accounts().CheckCode(ctx, all.of, "123456", ledger.Try{},
		func(secret, _ string, _ int64) (int64, bool) {
			return s.clock().UnixNano(), secret == "secret of "+name
		})
	for what, ok := range map[string]bool{
		"the number":        errRow == nil && number == ssn,
		"the sheet":         errUpload == nil && len(content) == 40_000*len(sheetText),
		"the corrections":   errEdits == nil && string(u.Edits) == "edits of "+name,
		"the company list":  errRoster == nil && string(r.Content) == sheetText+name,
		"the endpoint":      errEndpoint == nil && strings.Contains(strings.Join(secrets, " "), "whsec_"+name),
		"the second factor": errFactor == nil,
	} {
		if ok != want {
			s.Errorf("%s of %s opens: %t, want %t (%v)", what, name, ok, want,
				errors.Join(errRow, errUpload, errEdits, errRoster, errEndpoint, errFactor))
		}
	}
	s.pass(time.Minute)
}

// values is how many values sealedThings are: the number, two parts of the sheet,
// its corrections, the company list, the endpoint, the factor.
const values = 7

// A rotation seals everything anew, beside processes that have the ledger open,
// and the old key can go then. Values under a key that is gone are counted.
func TestRotationOfTheKeyFile(t *testing.T) { onBothDatabases(t, testRotationOfTheKeyFile) }

func testRotationOfTheKeyFile(s *store) {
	ctx := s.Context()
	l, other := s.open(), s.open()
	if found, err := l.SealKeys().Check(ctx); err != nil || found != (ledger.Sealed{}) {
		s.Fatalf("%+v, %v", found, err)
	}
	if _, err := os.Stat(s.keyFile()); !errors.Is(err, fs.ErrNotExist) {
		s.Errorf("a key was made for nothing: %v", err)
	}
	first := s.sealThings(l, "a")
	was, err := os.ReadFile(s.keyFile())
	s.must(err)
	s.must(l.SealKeys().Add(ctx))
	s.keyIsNewerThan(string(was))
	second := s.sealThings(other, "b") // under the new key, in a process that began with the old one
	if found, err := l.SealKeys().Check(ctx); err != nil || found.Old != found.Values/2 || found.Closed != 0 ||
		found.Values != 2*values {
		s.Errorf("%+v, %v", found, err)
	}
	if err := l.SealKeys().DropOld(ctx); !errors.Is(err, ledger.ErrKeyFresh) {
		s.Error(err)
	}
	hourAgo := time.Now().Add(-2 * time.Hour)
	s.must(os.Chtimes(s.keyFile(), hourAgo, hourAgo))
	if err := l.SealKeys().DropOld(ctx); !errors.Is(err, ledger.ErrSealed) {
		s.Error(err)
	}
	if done, closed, err := l.SealKeys().Reseal(ctx); err != nil || done != values || closed != 0 {
		s.Errorf("%d, %d, %v", done, closed, err)
	}
	if done, _, err := l.SealKeys().Reseal(ctx); err != nil || done != 0 {
		s.Errorf("again: %d, %v", done, err)
	}
	for _, reader := range []*ledger.Ledger{l, other, s.open()} {
		s.readThings(reader, "a", first, true)
		s.readThings(reader, "b", second, true)
	}
	s.must(l.SealKeys().DropOld(ctx))
	now, err := os.ReadFile(s.keyFile())
	s.must(err)
	if bytes.Contains(now, bytes.TrimSpace(was)) || len(bytes.Fields(now)) != 1 {
		s.Errorf("%d keys are left", len(bytes.Fields(now)))
	}
	s.readThings(s.open(), "a", first, true)
	if n, path, err := l.SealKeys().Count(); n != 1 || path != s.keyFile() || err != nil {
		s.Error(n, path, err)
	}
	s.must(os.WriteFile(s.keyFile(), was, 0o600))
	later := s.open()
	if found, err := later.SealKeys().Check(ctx); err != nil || found.Closed != 2*values || found.Old != 0 {
		s.Errorf("with the key of before: %+v, %v", found, err)
	}
	s.readThings(later, "a", first, false)
	if done, closed, err := later.SealKeys().Reseal(ctx); err != nil || done != 0 || closed != 2*values {
		s.Errorf("what no key opens: %d, %d, %v", done, closed, err)
	}
	s.must(os.WriteFile(s.keyFile(), now, 0o600))
}

// A key that another process adds while the keys before it are dropped costs no
// key that something needs.
func TestKeysAreNotDroppedBesideARotation(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		l, other := s.open(), s.open()
		things := s.sealThings(l, "a")
		s.must(l.SealKeys().Add(s.Context()))
		_, _, err := l.SealKeys().Reseal(s.Context())
		s.must(err)
		hourAgo := time.Now().Add(-2 * time.Hour)
		s.must(os.Chtimes(s.keyFile(), hourAgo, hourAgo))
		added := false
		beside := &ledger.BeforeChange{Context: s.Context(), Do: func() {
			added = true
			s.must(other.SealKeys().Add(s.Context()))
		}}
		if err := l.SealKeys().DropOld(beside); !errors.Is(err, ledger.ErrKeyFresh) || !added {
			s.Errorf("%t, %v", added, err)
		}
		if n, _, err := s.open().SealKeys().Count(); n != 3 || err != nil {
			s.Errorf("%d keys, %v", n, err)
		}
		s.readThings(s.open(), "a", things, true)
	})
}

// keyIsNewerThan checks the file: a new key before the old one, for its owner alone.
func (s *store) keyIsNewerThan(was string) {
	s.Helper()
	now, err := os.ReadFile(s.keyFile())
	s.must(err)
	keys := strings.Fields(string(now))
	info, err := os.Stat(s.keyFile())
	if s.must(err); len(keys) != 2 || keys[1] != strings.TrimSpace(was) || keys[0] == keys[1] ||
		info.Mode().Perm() != 0o600 {
		s.Errorf("%d keys, mode %o", len(keys), info.Mode().Perm())
	}
	if left, err := filepath.Glob(s.keyFile() + ".*"); err != nil || len(left) > 0 {
		s.Errorf("left beside the key: %v, %v", left, err)
	}
}

// A fleet is given its keys: the first seals, the others open, and nothing is
// changed on a disk.
func TestRotationOfGivenKeys(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		ctx := s.Context()
		old, fresh := strings.Repeat("0a", 32), strings.Repeat("0b", 32)
		s.config.SealKey = old
		l := s.open()
		things := s.sealThings(l, "a")
		if err := l.SealKeys().Add(ctx); !errors.Is(err, ledger.ErrKeyGiven) {
			s.Error(err)
		}
		for _, given := range []string{old + "," + fresh, old + "\n" + fresh + "\n", fresh + " " + old} {
			s.config.SealKey = given
			s.readThings(s.open(), "a", things, true)
		}
		l = s.open()
		if done, closed, err := l.SealKeys().Reseal(ctx); err != nil || done != values || closed != 0 {
			s.Errorf("%d, %d, %v", done, closed, err)
		}
		s.config.SealKey = fresh
		s.readThings(s.open(), "a", things, true)
		s.config.SealKey = old
		s.readThings(s.open(), "a", things, false)
		if _, err := os.Stat(s.keyFile()); !errors.Is(err, fs.ErrNotExist) {
			s.Errorf("a key file was made: %v", err)
		}
		s.config.SealKey = fresh
	})
}

// What an earlier version has sealed does not name its key. It opens, and is
// sealed anew like any other.
func TestSealedByAnEarlierVersion(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		ctx := s.Context()
		s.config.SealKey = strings.Repeat("0c", 32)
		l := s.open()
		row := s.add(l, "a", application("comp_1"))[0]
		s.exec(fmt.Sprintf(`UPDATE secrets SET sealed = '%s'`,
			ledger.SealAsBefore(l, ssn, fmt.Sprintf("%s|%d", row.Batch, row.Number))))
		s.opens(l, row, true)
		if found, err := l.SealKeys().Check(ctx); err != nil || found != (ledger.Sealed{Values: 1, Old: 1}) {
			s.Errorf("%+v, %v", found, err)
		}
		if done, closed, err := l.SealKeys().Reseal(ctx); err != nil || done != 1 || closed != 0 {
			s.Errorf("%d, %d, %v", done, closed, err)
		}
		s.opens(l, row, true)
		if found, err := l.SealKeys().Check(ctx); err != nil || found != (ledger.Sealed{Values: 1}) {
			s.Errorf("%+v, %v", found, err)
		}
	})
}
