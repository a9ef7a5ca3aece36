package ledger_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// account adds somebody who may do everything, unless the roles say otherwise.
func (s *suite) account(l *ledger.Ledger, name string, roles ...account.Role) account.Account {
	s.Helper()
	if roles == nil {
		roles = account.Roles
	}
	a, err := l.Accounts().Add(s.Context(), name, roles)
	s.must(err)
	return a
}

// wantErr checks what an error is.
func (s *suite) wantErr(err, want error) {
	s.Helper()
	if !errors.Is(err, want) {
		s.Errorf("%v, want %v", err, want)
	}
}

func TestAccountsAreKnownByFoldedName(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		ana := s.account(l, "  Ana  Müller ", account.Operator, account.Preparer, account.Operator)
		if ana.Name != "ana müller" || !slices.Equal(ana.Roles, []account.Role{account.Preparer, account.Operator}) ||
			ana.HasPasskey || ana.Disabled || !ana.CreatedAt.Equal(s.clock()) || !ana.SignedInAt.IsZero() {
			s.Errorf("%+v", ana)
		}
		for _, name := range []string{ana.ID, "ana müller", "ANA MÜLLER",
			"Ana Mu\u0308ller", "Ａna Müller"} { // decomposed, and with a wide letter
			if got, err := l.Accounts().Find(ctx, name); err != nil || got.ID != ana.ID {
				s.Errorf("%q finds %+v, %v", name, got, err)
			}
		}
		for _, name := range []string{"Ana Mu\u0308ller", "", " \t", "a\x00b", "ana\u200b", "\xff",
			strings.Repeat("a", 101)} {
			_, err := l.Accounts().Add(ctx, name, nil)
			s.wantErr(err, account.ErrAccount)
		}
		_, err := l.Accounts().Add(ctx, "bo", []account.Role{"king"})
		s.wantErr(err, account.ErrAccount)
		bo := s.account(l, "bo", []account.Role{}...)
		all, err := l.Accounts().List(ctx)
		if err != nil || len(all) != 2 || all[0].ID != ana.ID || all[1].ID != bo.ID {
			s.Errorf("%+v, %v", all, err)
		}
		_, err = l.Accounts().Find(ctx, "nobody")
		s.wantErr(err, ledger.ErrNotFound)
		s.wantErr(l.Accounts().Change(ctx, "nobody", nil, false), ledger.ErrNotFound)
		s.wantErr(l.Accounts().Change(ctx, bo.ID, []account.Role{"king"}, false), account.ErrAccount)
	})
}

// Somebody who can change accounts is always left.
func TestLastOperatorStays(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		ana, bo := s.account(l, "ana"), s.account(l, "bo", account.Preparer)
		s.wantErr(l.Accounts().Change(ctx, ana.ID, []account.Role{account.Approver}, false), account.ErrLastOperator)
		s.wantErr(l.Accounts().Change(ctx, ana.ID, account.Roles, true), account.ErrLastOperator)
		s.must(l.Accounts().Change(ctx, ana.ID, []account.Role{account.Operator}, false))
		s.must(l.Accounts().Change(ctx, bo.ID, account.Roles, true))
		s.wantErr(l.Accounts().Change(ctx, ana.ID, nil, false), account.ErrLastOperator) // bo cannot sign in
		s.must(l.Accounts().Change(ctx, bo.ID, account.Roles, false))
		s.must(l.Accounts().Change(ctx, ana.ID, nil, true))
		s.wantErr(l.Accounts().Change(ctx, bo.ID, nil, false), account.ErrLastOperator)
		if a, err := l.Accounts().Find(ctx, ana.ID); err != nil || !a.Disabled || a.May(account.Preparer) {
			s.Errorf("%+v, %v", a, err)
		}
	})
}

// Two operators who take the role from each other at once: one stays.
func TestLastOperatorStaysWhenTwoLeaveAtOnce(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		ctx := s.Context()
		ledgers := []*ledger.Ledger{s.open(), s.open()}
		pair := []account.Account{s.account(ledgers[0], "ana"), s.account(ledgers[0], "bo")}
		failed := make(chan error)
		for i, l := range ledgers {
			go func() { failed <- l.Accounts().Change(ctx, pair[i].ID, nil, false) }()
		}
		if one, other := <-failed, <-failed; (one == nil) == (other == nil) ||
			!errors.Is(errors.Join(one, other), account.ErrLastOperator) {
			s.Errorf("%v and %v", one, other)
		}
	})
}

// Messages go to the address of an account: its name if that is one, or what an operator
// sets. The firm is told of a change.
func TestSetEmail(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		ctx, l := audit.With(s.Context(), audit.Event{By: "boss", What: "account-roles"}), s.open()
		ana, leo := s.account(l, "Ana@Example.com", account.Preparer), s.account(l, "leo", account.Preparer)
		email := func(a account.Account) string {
			s.Helper()
			a, err := l.Accounts().Find(ctx, a.ID)
			s.must(err)
			return a.Email
		}
		if email(ana) != "ana@example.com" || email(leo) != "" {
			s.Errorf("%q, %q", email(ana), email(leo))
		}
		for _, bad := range []string{"leo", "Leo <leo@example.com>", "a@b, c@d"} {
			s.wantErr(l.Accounts().SetEmail(ctx, leo.ID, bad), account.ErrAccount)
		}
		_, err := l.Accounts().Add(ctx, "ana@example.com", nil)
		s.wantErr(err, account.ErrAccount)
		s.must(l.Accounts().SetEmail(ctx, leo.ID, " Leo@Example.com "))
		if n := s.count(`SELECT COUNT(*) FROM notifications WHERE kind = 'access'`); n != 1 ||
			email(leo) != "leo@example.com" {
			s.Errorf("%d notices of the first address, %q", n, email(leo))
		}
		s.must(l.Accounts().SetEmail(ctx, leo.ID, "evil@example.com"))
		if n := s.count(`SELECT COUNT(*) FROM notifications WHERE kind = 'access'`); n != 2 {
			s.Errorf("%d notices of another address", n)
		}
		s.must(l.Accounts().SetEmail(ctx, leo.ID, ""))
		if email(leo) != "" {
			s.Error(email(leo))
		}
	})
}
