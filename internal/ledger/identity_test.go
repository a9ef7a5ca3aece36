package ledger_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// A person of the provider is known by issuer and subject, gets an account at
// the first sign-in, and the roles of the groups at each.
func TestArrive(t *testing.T) { onBothDatabases(t, testArrive) }

func testArrive(s *suite) {
	ctx, l := s.Context(), s.open()
	local := s.account(l, "boss@example.com", account.Operator)
	arrive := func(subject string, roles ...account.Role) (account.Account, bool) {
		s.Helper()
		a, created, err := l.Accounts().SignInFromProvider(ctx, account.ProviderSignIn{
			Issuer:  "https://id.example",
			Subject: subject,
			Names:   []string{"Ana@example.com", "ana"},
			Roles:   roles,
			From:    "192.0.2.1",
		})
		s.must(err)
		return a, created
	}
	a, created := arrive("1", account.Approver)
	if !created || a.ID == local.ID || a.Name != "ana@example.com" || a.ManagedBy != "https://id.example" ||
		!a.May(account.Approver) || a.Email != a.Name {
		s.Errorf("%+v, %v", a, created)
	}
	again, created := arrive("1", account.Operator)
	if created || again.ID != a.ID || !slices.Equal(again.Roles, []account.Role{account.Operator}) {
		s.Errorf("%+v, %v", again, created)
	}
	if got, err := l.Accounts().Find(ctx, a.ID); err != nil ||
		!slices.Equal(got.Roles, []account.Role{account.Operator}) {
		s.Errorf("%+v, %v", got, err)
	}
	if none, _ := arrive("1"); len(none.Roles) != 0 {
		s.Errorf("%+v", none)
	}
	if acts := s.acts(l, audit.Query{Of: a.Name}); len(acts) != 3 || acts[2].What != "account-add" ||
		acts[0].What != "account-roles" || acts[0].From != "192.0.2.1" {
		s.Errorf("%+v", acts)
	}
	if b, created := arrive("2"); !created || b.ID == a.ID || b.Name != "ana@example.com 2" {
		s.Errorf("%+v", b)
	}
	other, created, err := l.Accounts().SignInFromProvider(ctx,
		account.ProviderSignIn{Issuer: "https://other.example", Subject: "1", Names: []string{"\x00", "bo"}})
	if err != nil || !created || other.Name != "bo" {
		s.Errorf("%+v, %v", other, err)
	}
	nameless, _, err := l.Accounts().SignInFromProvider(ctx,
		account.ProviderSignIn{Issuer: "https://other.example", Subject: "2"})
	if err != nil || nameless.Name == "" {
		s.Errorf("%+v, %v", nameless, err)
	}
	for _, p := range []account.ProviderSignIn{{Issuer: "x"}, {Subject: "x"},
		{Issuer: "x", Subject: "x", Roles: []account.Role{"king"}}} {
		_, _, err := l.Accounts().SignInFromProvider(ctx, p)
		s.wantErr(err, account.ErrAccount)
	}
	s.must(l.Accounts().Change(ctx, a.ID, nil, true))
	_, _, err = l.Accounts().SignInFromProvider(ctx,
		account.ProviderSignIn{Issuer: "https://id.example", Subject: "1", Roles: account.Roles})
	s.wantErr(err, account.ErrSession)
	if got, err := l.Accounts().Find(ctx, a.ID); err != nil || !got.Disabled || len(got.Roles) != 0 {
		s.Errorf("%+v, %v", got, err)
	}
}

// The same person who arrives twice at the same moment has one account.
func TestArriveAtTheSameMoment(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		ids := make([]string, 4)
		var wait sync.WaitGroup
		for i := range ids {
			wait.Go(func() {
				a, _, err := l.Accounts().SignInFromProvider(s.Context(),
					account.ProviderSignIn{Issuer: "i", Subject: "s", Names: []string{"ana"}})
				if err != nil {
					s.Error(err)
				}
				ids[i] = a.ID
			})
		}
		wait.Wait()
		if slices.Sort(ids); ids[0] == "" || ids[0] != ids[3] || s.count(`SELECT COUNT(*) FROM accounts`) != 1 {
			s.Errorf("%q", ids)
		}
	})
}

// Linking and unlinking end the other sessions of an account, and its links.
func TestLinkIdentity_EndsSessions(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		ana := s.account(l, "ana")
		mine := s.session(l, ana)
		changes := []func() error{
			func() error {
				return l.Accounts().LinkIdentity(ctx, ana.ID, account.ProviderSignIn{Issuer: "i", Subject: "s"}, mine)
			},
			func() error { return l.Accounts().UnlinkIdentity(ctx, ana.ID, "i", "s", mine) },
		}
		for _, change := range changes {
			other := s.session(l, ana)
			link, err := l.Accounts().MakeSignInLink(ctx, ana.ID, time.Hour)
			s.must(err)
			s.must(change())
			_, err = l.Accounts().FindSession(ctx, mine)
			s.must(err)
			_, err = l.Accounts().FindSession(ctx, other)
			s.wantErr(err, account.ErrSession)
			_, err = l.Accounts().UseSignInLink(ctx, link)
			s.wantErr(err, account.ErrSignInLink)
		}
	})
}

// A local account that is linked keeps its own roles, and a person of the
// provider is linked once.
func TestLinkedAccount(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		ana, leo := s.account(l, "ana", account.Operator), s.account(l, "leo")
		person := account.ProviderSignIn{
			Issuer:  "i",
			Subject: "s",
			Names:   []string{"Ana@Example.com"},
			Roles:   []account.Role{account.Preparer},
		}
		s.must(l.Accounts().LinkIdentity(ctx, ana.ID, person, ""))
		s.wantErr(l.Accounts().LinkIdentity(ctx, leo.ID, person, ""), account.ErrIdentity)
		a, created, err := l.Accounts().SignInFromProvider(ctx, person)
		if err != nil || created || a.ID != ana.ID || !slices.Equal(a.Roles, []account.Role{account.Operator}) ||
			a.ManagedBy != "" {
			s.Errorf("%+v, %v, %v", a, created, err)
		}
		all, err := l.Accounts().ListIdentities(ctx, ana.ID)
		if err != nil || len(all) != 1 || all[0].Name != "ana@example.com" || all[0].Subject != "s" {
			s.Errorf("%+v, %v", all, err)
		}
		s.wantErr(l.Accounts().UnlinkIdentity(ctx, leo.ID, "i", "s", ""), ledger.ErrNotFound)
		s.must(l.Accounts().UnlinkIdentity(ctx, ana.ID, "i", "s", ""))
		s.wantErr(l.Accounts().UnlinkIdentity(ctx, ana.ID, "i", "s", ""), ledger.ErrNotFound)
		if all, err := l.Accounts().ListIdentities(ctx, ana.ID); err != nil || len(all) != 0 {
			s.Errorf("%+v, %v", all, err)
		}
		_, _, err = l.Accounts().SignInFromProvider(ctx, person)
		s.wantErr(err, account.ErrUnlinked)
		person.Names = []string{"zed"} // whatever the provider calls them now
		_, _, err = l.Accounts().SignInFromProvider(ctx, person)
		s.wantErr(err, account.ErrUnlinked)
		s.wantErr(l.Accounts().LinkIdentity(ctx, leo.ID, person, ""), account.ErrIdentity)
		s.must(l.Accounts().LinkIdentity(ctx, ana.ID, person, ""))
		if a, _, err := l.Accounts().SignInFromProvider(ctx, person); err != nil || a.ID != ana.ID {
			s.Errorf("linked again: %+v, %v", a, err)
		}
		s.must(l.Accounts().UnlinkIdentity(ctx, ana.ID, "i", "s", ""))
		managed, created, err := l.Accounts().SignInFromProvider(ctx,
			account.ProviderSignIn{Issuer: "i", Subject: "t", Names: []string{"bo"}, Roles: person.Roles})
		if err != nil || !created {
			s.Errorf("%+v, %v", managed, err)
		}
		s.wantErr(l.Accounts().UnlinkIdentity(ctx, managed.ID, "i", "t", ""), ledger.ErrNotFound)
		s.wantErr(l.Accounts().Change(ctx, managed.ID, account.Roles, false), account.ErrManaged)
		_, err = l.Accounts().MakeSignInLink(ctx, managed.ID, time.Hour)
		s.wantErr(err, account.ErrManaged)
		s.must(l.Accounts().Change(ctx, managed.ID, managed.Roles, true))
	})
}

// Nobody gets a second account at the provider by the name of their first, whichever of
// the provider's names it is.
func TestNoArrivalUnderTheNameOfAnother(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.account(l, "ana", account.Preparer)
		s.account(l, "leo@example.com", account.Preparer)
		for i, names := range [][]string{{"ana"}, {"Ana"}, {"ana@example.com"}, {"a.lima@example.com", "ana"},
			{"ａｎａ"}, {"Leo@example.com"}, {"leo"}} {
			_, _, err := l.Accounts().SignInFromProvider(ctx, account.ProviderSignIn{
				Issuer:  "i",
				Subject: string(rune('a' + i)),
				Names:   names,
				Roles:   []account.Role{account.Approver},
			})
			if !errors.Is(err, account.ErrUnlinked) {
				s.Errorf("%q: %v", names, err)
			}
		}
		if n := s.count(`SELECT COUNT(*) FROM accounts`); n != 2 {
			s.Errorf("%d accounts", n)
		}
		for i, names := range [][]string{{"leo@example.org"}, {"anais"}} {
			if _, created, err := l.Accounts().SignInFromProvider(ctx,
				account.ProviderSignIn{Issuer: "i", Subject: string(rune('p' + i)), Names: names}); err != nil ||
				!created {
				s.Errorf("%q: %v", names, err)
			}
		}
	})
}
