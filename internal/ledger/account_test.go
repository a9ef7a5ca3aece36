package ledger_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// account adds somebody who may do everything, unless the roles say otherwise.
func (s *store) account(l *ledger.Ledger, name string, roles ...ledger.Role) ledger.Account {
	s.Helper()
	if roles == nil {
		roles = ledger.Roles
	}
	a, err := l.Accounts().Add(s.Context(), name, roles)
	s.must(err)
	return a
}

// wantErr checks what an error is.
func (s *store) wantErr(err, want error) {
	s.Helper()
	if !errors.Is(err, want) {
		s.Errorf("%v, want %v", err, want)
	}
}

func TestAccountsAreKnownByFoldedName(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		ctx, l := s.Context(), s.open()
		ana := s.account(l, "  Ana  Müller ", ledger.Operator, ledger.Preparer, ledger.Operator)
		if ana.Name != "ana müller" || !slices.Equal(ana.Roles, []ledger.Role{ledger.Preparer, ledger.Operator}) ||
			ana.HasPassword || ana.Disabled || !ana.CreatedAt.Equal(s.clock()) || !ana.SignedInAt.IsZero() {
			s.Errorf("%+v", ana)
		}
		for _, name := range []string{ana.ID, "ana müller", "ANA MÜLLER",
			"Ana Mu\u0308ller"} { // the last one decomposed
			if got, err := l.Accounts().Find(ctx, name); err != nil || got.ID != ana.ID {
				s.Errorf("%q finds %+v, %v", name, got, err)
			}
		}
		for _, name := range []string{"Ana Mu\u0308ller", "", " \t", "a\x00b", "ana\u200b", "\xff",
			strings.Repeat("a", 101)} {
			_, err := l.Accounts().Add(ctx, name, nil)
			s.wantErr(err, ledger.ErrAccount)
		}
		_, err := l.Accounts().Add(ctx, "bo", []ledger.Role{"king"})
		s.wantErr(err, ledger.ErrAccount)
		bo := s.account(l, "bo", []ledger.Role{}...)
		all, err := l.Accounts().List(ctx)
		if err != nil || len(all) != 2 || all[0].ID != ana.ID || all[1].ID != bo.ID {
			s.Errorf("%+v, %v", all, err)
		}
		_, err = l.Accounts().Find(ctx, "nobody")
		s.wantErr(err, ledger.ErrNotFound)
		s.wantErr(l.Accounts().Change(ctx, "nobody", nil, false), ledger.ErrNotFound)
		s.wantErr(l.Accounts().Change(ctx, bo.ID, []ledger.Role{"king"}, false), ledger.ErrAccount)
	})
}

// Somebody who can change accounts is always left.
func TestLastOperatorStays(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		ctx, l := s.Context(), s.open()
		ana, bo := s.account(l, "ana"), s.account(l, "bo", ledger.Preparer)
		s.wantErr(l.Accounts().Change(ctx, ana.ID, []ledger.Role{ledger.Approver}, false), ledger.ErrLastOperator)
		s.wantErr(l.Accounts().Change(ctx, ana.ID, ledger.Roles, true), ledger.ErrLastOperator)
		s.must(l.Accounts().Change(ctx, ana.ID, []ledger.Role{ledger.Operator}, false))
		s.must(l.Accounts().Change(ctx, bo.ID, ledger.Roles, true))
		s.wantErr(l.Accounts().Change(ctx, ana.ID, nil, false), ledger.ErrLastOperator) // bo cannot sign in
		s.must(l.Accounts().Change(ctx, bo.ID, ledger.Roles, false))
		s.must(l.Accounts().Change(ctx, ana.ID, nil, true))
		s.wantErr(l.Accounts().Change(ctx, bo.ID, nil, false), ledger.ErrLastOperator)
		if a, err := l.Accounts().Find(ctx, ana.ID); err != nil || !a.Disabled || a.May(ledger.Preparer) {
			s.Errorf("%+v, %v", a, err)
		}
	})
}

// Two operators who take the role from each other at once: one stays.
func TestLastOperatorStaysWhenTwoLeaveAtOnce(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		ctx := s.Context()
		ledgers := []*ledger.Ledger{s.open(), s.open()}
		pair := []ledger.Account{s.account(ledgers[0], "ana"), s.account(ledgers[0], "bo")}
		failed := make(chan error)
		for i, l := range ledgers {
			go func() { failed <- l.Accounts().Change(ctx, pair[i].ID, nil, false) }()
		}
		if one, other := <-failed, <-failed; (one == nil) == (other == nil) ||
			!errors.Is(errors.Join(one, other), ledger.ErrLastOperator) {
			s.Errorf("%v and %v", one, other)
		}
	})
}

// signIn signs in and wants it to fail so.
func (s *store) signIn(l *ledger.Ledger, name, password string, want error) {
	s.Helper()
	a, err := l.Accounts().SignIn(s.Context(), ledger.Try{Name: name, From: "192.0.2.1"}, password)
	s.wantErr(err, want)
	if (err == nil) != (a.ID != "") {
		s.Errorf("%+v beside %v", a, err)
	}
}

const password = "correct horse battery"

func (s *store) cheap() *ledger.Ledger {
	s.Helper()
	l := s.open()
	l.HashFor(64, 1)
	return l
}

func TestSignIn(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		ctx, l := s.Context(), s.cheap()
		ana := s.account(l, "Ana")
		s.signIn(l, "ana", "", ledger.ErrSignIn) // no password is no empty one
		s.exec(`INSERT INTO organizations (created, domain, subdomain, unnamed, name, at)
			VALUES ('', 'northwind.com', '', '', 'Northwind LLC', 0)`)
		l.Accounts().RefuseInPasswords("filings.example.com")
		for _, weak := range []string{"", "elevenchars", "password1234", "Ana at Northwind", "bulkfiling ana!",
			"ana.example.com", strings.Repeat("xk", 501)} {
			s.wantErr(l.Accounts().SetPassword(ctx, ana.ID, weak), ledger.ErrWeak)
		}
		s.wantErr(l.Accounts().SetPassword(ctx, "nobody", password), ledger.ErrNotFound)
		s.must(l.Accounts().SetPassword(ctx, ana.ID, password+" f\u00fcr"))
		if a, err := l.Accounts().Find(ctx, ana.ID); err != nil || !a.HasPassword {
			s.Errorf("%+v, %v", a, err)
		}
		s.signIn(l, " ANA ", password+" fu\u0308r", nil) // as another keyboard composes it
		s.signIn(l, "ana", password, ledger.ErrSignIn)
		s.signIn(l, ana.ID, password+" f\u00fcr", ledger.ErrSignIn) // an id is no name
		s.signIn(l, "nobody", password, ledger.ErrSignIn)
		s.signIn(l, "", "", ledger.ErrSignIn)
		s.signIn(l, "ana", strings.Repeat("x", 1<<20), ledger.ErrSignIn)

		s.account(l, "bo")
		s.must(l.Accounts().Change(ctx, ana.ID, nil, true))
		s.signIn(l, "ana", password+" f\u00fcr", ledger.ErrSignIn)
	})
}

// A password is hashed anew, when it is there to be hashed, once that is meant
// to cost something else.
func TestPasswordIsHashedAnewAtAnotherCost(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		l := s.cheap()
		ana := s.account(l, "ana")
		s.must(l.Accounts().SetPassword(s.Context(), ana.ID, password))
		stored := func() (encoded string) {
			s.Helper()
			s.must(s.sql().QueryRowContext(s.Context(), `SELECT password FROM accounts`).Scan(&encoded))
			return encoded
		}
		first := stored()
		if !strings.HasPrefix(first, "$argon2id$v=19$m=64,t=1,p=1$") || strings.Contains(first, password) {
			s.Fatal(first)
		}
		s.signIn(l, "ana", password, nil)
		if stored() != first {
			s.Error("it was hashed anew for nothing")
		}
		l.HashFor(128, 2)
		s.signIn(l, "ana", password+"!", ledger.ErrSignIn)
		if stored() != first {
			s.Error("a wrong password changed something")
		}
		s.signIn(l, "ana", password, nil)
		if again := stored(); !strings.HasPrefix(again, "$argon2id$v=19$m=128,t=2,p=1$") {
			s.Error(again)
		}
		s.signIn(l, "ana", password, nil)

		s.exec(`UPDATE accounts SET password = 'plain'`)
		if _, err := l.Accounts().SignIn(s.Context(), ledger.Try{Name: "ana", From: "192.0.2.1"},
			password); err == nil ||
			errors.Is(err, ledger.ErrSignIn) {
			s.Errorf("a hash that nobody can read: %v", err)
		}
	})
}

// An unknown name, one that is disabled and one without a password take as long
// as one that is known.
func TestUnknownNamesTakeAsLong(t *testing.T) {
	if testing.Short() {
		t.Skip("skipping a test of time in short mode")
	}
	onBothDatabases(t, func(s *store) {
		l := s.open()
		l.HashFor(16<<10, 2)
		ana := s.account(l, "ana")
		s.must(l.Accounts().SetPassword(s.Context(), ana.ID, password))
		s.account(l, "bo")
		quickest := make(map[string]time.Duration)
		for range 4 {
			for _, name := range []string{"ana", "bo", "nobody"} {
				began := time.Now()
				s.signIn(l, name, "wrong", ledger.ErrSignIn)
				if took := time.Since(began); quickest[name] == 0 || took < quickest[name] {
					quickest[name] = took
				}
			}
		}
		for _, name := range []string{"bo", "nobody"} {
			if quickest[name] < quickest["ana"]/3 {
				s.Errorf("%s took %s, ana %s", name, quickest[name], quickest["ana"])
			}
		}
	})
}
