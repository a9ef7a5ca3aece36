package ledger_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// try signs in and says what came of it: "in", "wrong", or what has to wait.
func (s *store) try(l *ledger.Ledger, t ledger.Try, password string) string {
	s.Helper()
	_, err := l.Accounts().SignIn(s.Context(), t, password)
	many, waits := errors.AsType[*ledger.TooMany](err)
	switch {
	case err == nil:
		return "in"
	case waits:
		return many.Scope
	case errors.Is(err, ledger.ErrSignIn):
		return "wrong"
	}
	s.Fatal(err)
	return ""
}

// known signs an account in from an address and returns its browser's cookie.
func (s *store) known(l *ledger.Ledger, a ledger.Account, cookie, from string) string {
	s.Helper()
	cookie, err := l.Accounts().RememberBrowser(s.Context(), a.ID, cookie, from, "Firefox on Linux")
	s.must(err)
	return cookie
}

// owner adds an account with a password.
func (s *store) owner(l *ledger.Ledger, name string) ledger.Account {
	s.Helper()
	a := s.account(l, name)
	s.must(l.Accounts().SetPassword(s.Context(), a.ID, password))
	return a
}

// After failures, a name and an address have to wait, whether the name is known or
// not, at all servers together.
func TestFailuresToSignInWait(t *testing.T) { onBothDatabases(t, testFailuresToSignInWait) }

func testFailuresToSignInWait(s *store) {
	one, other := s.cheap(), s.cheap()
	s.owner(one, "ana")
	for i, name := range []string{"Ana", "nobody"} {
		from := fmt.Sprintf("192.0.2.%d", i)
		for range 5 {
			if got := s.try(one, ledger.Try{Name: name, From: from}, "wrong"); got != "wrong" {
				s.Fatal(got)
			}
			one, other = other, one
		}
		for _, minutes := range []time.Duration{1, 2, 4, 8, 15, 15} {
			until := s.clock().Add(minutes * time.Minute)
			for _, l := range []*ledger.Ledger{one, other} {
				_, err := l.Accounts().SignIn(s.Context(), ledger.Try{Name: strings.ToLower(name), From: from},
					password)
				many, ok := errors.AsType[*ledger.TooMany](err)
				if !ok || !many.Until.Equal(until) || many.Scope != "name and address" {
					s.Fatalf("%v, want a wait until %s", err, until)
				}
			}
			s.pass(minutes * time.Minute)
			_, err := one.Accounts().SignIn(s.Context(), ledger.Try{Name: name, From: from}, "wrong")
			failed, ok := errors.AsType[*ledger.FailedTry](err)
			if !ok || !failed.Until.After(s.clock()) {
				s.Fatalf("%v does not say that the next one waits", err)
			}
		}
	}
	s.pass(15 * time.Minute)
	mine := ledger.Try{Name: "ana", From: "192.0.2.0"}
	if got := s.try(one, mine, password); got != "in" {
		s.Error(got)
	}
	for range 5 { // a success clears the count
		if got := s.try(one, mine, "wrong"); got != "wrong" {
			s.Error(got)
		}
	}
}

// Strangers who fail for a name, from however many addresses, do not keep its
// owner out of a browser or from an address where the owner signed in before.
func TestStrangersDoNotLockTheOwnerOut(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		l, other := s.cheap(), s.cheap()
		ana := s.owner(l, "ana")
		cookie := s.known(l, ana, "", "2001:db8:1::7")
		for i := range 70 {
			s.try(l, ledger.Try{Name: "ana", From: fmt.Sprintf("198.51.100.%d", i)}, "wrong")
		}
		for what, c := range map[string]struct {
			try  ledger.Try
			want string
		}{
			"the known browser, elsewhere": {ledger.Try{
				Name:    "Ana",
				From:    "203.0.113.1",
				Browser: cookie,
			}, "in"},
			"another browser at the known address": {ledger.Try{Name: "ana", From: "2001:db8:1::8"}, "in"},
			"another browser elsewhere":            {ledger.Try{Name: "ana", From: "203.0.113.2"}, "name"},
			"a browser with a cookie that is not known": {ledger.Try{
				Name:    "ana",
				From:    "203.0.113.2",
				Browser: cookie + "x",
			}, "name"},
			"the name of somebody else": {ledger.Try{Name: "bo", From: "203.0.113.2", Browser: cookie}, "wrong"},
		} {
			if got := s.try(other, c.try, password); got != c.want {
				s.Errorf("%s: %s, want %s", what, got, c.want)
			}
		}
		// Nor do they where they have the owner's own address.
		for range 40 {
			s.try(l, ledger.Try{Name: "ana", From: "2001:db8:1::9"}, "wrong")
		}
		if got := s.try(l, ledger.Try{Name: "ana", From: "2001:db8:1::7", Browser: cookie}, password); got != "in" {
			s.Error(got)
		}
		// Attempts in the known browser itself are throttled, and so is a session.
		for range 5 {
			s.try(l, ledger.Try{Name: "ana", Browser: cookie}, "wrong")
		}
		if got := s.try(l, ledger.Try{Name: "ana", Browser: cookie}, password); got != "browser" {
			s.Error(got)
		}
		in := ledger.Try{Name: "ana", From: "2001:db8:1::7", Browser: cookie, Session: s.session(l, ana)}
		for range 5 {
			if got := s.try(l, in, "wrong"); got != "wrong" {
				s.Error(got)
			}
		}
		if got := s.try(l, in, password); got != "session" {
			s.Error(got)
		}
		in.Name = "bo"
		if got := s.try(l, in, password); got == "session" {
			s.Error("the session of one account counts for another")
		}
	})
}

// The failures for a name are forgiven one by one.
func TestFailuresByNameLeak(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		l := s.cheap()
		ana := s.owner(l, "ana")
		for i := range 51 {
			s.try(l, ledger.Try{Name: "ana", From: fmt.Sprintf("198.51.100.%d", i)}, "wrong")
		}
		if got := s.try(l, ledger.Try{Name: "ana", From: "203.0.113.2"}, "wrong"); got != "name" {
			s.Error(got)
		}
		s.pass(75 * time.Minute) // five of them
		for i := range 5 {
			if got := s.try(l, ledger.Try{Name: "ana", From: fmt.Sprintf("203.0.113.%d", i)}, "wrong"); got != "wrong" {
				s.Errorf("%d: %s", i, got)
			}
		}
		if got := s.try(l, ledger.Try{Name: "ana", From: "203.0.113.9"}, "wrong"); got != "name" {
			s.Error(got)
		}
		s.must(l.Accounts().SetPassword(s.Context(), ana.ID, password))
	})
}

// One address that tries many names is slowed down, whatever it knows of its
// own; a success among them does not clear what the others cost.
func TestManyNamesFromOneAddressWait(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		l := s.cheap()
		s.owner(l, "eve")
		failed := 0
		for i := range 60 {
			switch got := s.try(l, ledger.Try{Name: fmt.Sprintf("name%d", i), From: "2001:db8::1"}, "password"); got {
			case "wrong":
				failed++
			case "address":
			default:
				s.Fatal(got)
			}
			s.try(l, ledger.Try{Name: "eve", From: "2001:db8::ffff"}, password)
		}
		if failed != 31 {
			s.Errorf("%d were tried", failed)
		}
		s.pass(10 * time.Minute)
		again := 0
		for i := range 60 {
			if s.try(l, ledger.Try{Name: fmt.Sprintf("more%d", i), From: "2001:db8::2"}, "password") == "wrong" {
				again++
			}
		}
		if again != 5 { // one every two minutes
			s.Errorf("%d were tried later", again)
		}
		if got := s.try(l, ledger.Try{Name: "name1", From: "2001:db8:0:1::1"}, "password"); got != "wrong" {
			s.Errorf("another network: %s", got)
		}
	})
}

// Many tries at once are no way around the count.
func TestFailuresAtOnceAreCounted(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		ledgers := []*ledger.Ledger{s.open(), s.open()}
		results := make(chan error)
		const tries = 24
		for i := range tries {
			go func() {
				_, err := ledgers[i%2].Accounts().CountTry(s.Context(),
					ledger.Try{Kind: "code", Name: "ana", From: "192.0.2.1"})
				results <- err
			}()
		}
		let := 0
		for range tries {
			err := <-results
			if _, many := errors.AsType[*ledger.TooMany](err); many {
				continue
			}
			s.must(err)
			let++
		}
		if let != 5 {
			s.Errorf("%d were let through", let)
		}
	})
}

// Each kind of proof has its own counters. A try that succeeds or was not made
// does not count.
func TestKindsCountByThemselves(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		l := s.open()
		count := func(kind string) (*ledger.CountedTry, error) {
			return l.Accounts().CountTry(s.Context(), ledger.Try{Kind: kind, Name: "ana", From: "192.0.2.1"})
		}
		for range 5 {
			_, err := count("code")
			s.must(err)
		}
		if _, err := count("code"); err == nil {
			s.Error("a sixth code is let through")
		}
		for range 30 {
			c, err := count("")
			s.must(err)
			s.must(c.TakeBack(s.Context()))
		}
		for i := range 5 {
			c, err := count("")
			s.must(err)
			if c.Until.IsZero() != (i < 4) {
				s.Errorf("failure %d locks until %s", i+1, c.Until)
			}
			if i == 4 {
				s.must(c.TakeBack(s.Context())) // which unlocks what it has locked
			}
		}
		ana := s.account(l, "ana")
		for i := range 5 {
			_, err := l.Accounts().CheckCode(s.Context(), ana, "000000", ledger.Try{From: "203.0.113.7"}, stepOf)
			failed, ok := errors.AsType[*ledger.FailedTry](err)
			if !ok || !errors.Is(err, ledger.ErrFactor) || failed.Until.IsZero() != (i < 4) {
				s.Errorf("code %d: %v", i+1, err)
			}
		}
		c, err := count("")
		s.must(err)
		s.must(c.Succeed(s.Context()))
		for range 5 {
			_, err := count("")
			s.must(err)
		}
	})
}

// Names that were tried are forgotten after a day, and are never kept as typed.
func TestOldFailuresAreForgotten(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		l := s.cheap()
		for _, name := range []string{"a", "b", "c", password} {
			s.signIn(l, name, "wrong", ledger.ErrSignIn)
		}
		count := func(where string, want int) {
			s.Helper()
			if n := s.count(`SELECT COUNT(*) FROM failures ` + where); n != want {
				s.Errorf("%d failures are kept, want %d", n, want)
			}
		}
		count("", 9) // two of each name, and one of the address
		count("WHERE hash LIKE '%horse%'", 0)
		s.pass(24*time.Hour + time.Millisecond)
		s.signIn(l, "d", "wrong", ledger.ErrSignIn)
		count("", 3)
	})
}

// A browser is known by a secret of its own for each account. A new password,
// its owner and time make it a stranger's again.
func TestKnownBrowsers(t *testing.T) { onBothDatabases(t, testKnownBrowsers) }

func testKnownBrowsers(s *store) {
	ctx, l := s.Context(), s.cheap()
	ana, bo := s.owner(l, "ana"), s.owner(l, "bo")
	cookie := s.known(l, ana, "", "192.0.2.1")
	if s.count(`SELECT COUNT(*) FROM known_browsers WHERE hash = $1`, cookie) != 0 || len(cookie) < 43 {
		s.Error("the secret is in the ledger, or short")
	}
	if again := s.known(l, ana, cookie, "192.0.2.7"); again != cookie {
		s.Errorf("%s became %s", cookie, again)
	}
	both := s.known(l, bo, cookie, "192.0.2.1")
	known := func(a ledger.Account, cookie string) bool {
		c, err := l.Accounts().CountTry(ctx, ledger.Try{Name: a.Name, From: "203.0.113.5", Browser: cookie})
		s.must(err)
		s.must(c.TakeBack(ctx))
		return c.Known
	}
	if !known(ana, both) || !known(bo, both) || known(bo, cookie) {
		s.Error("the cookie of two accounts")
	}
	if planted := s.known(l, ana, "planted", "192.0.2.1"); known(bo, "planted") || !known(ana, planted) ||
		!strings.HasSuffix(planted, planted[len("planted."):]) {
		s.Error("a planted secret is taken over")
	}
	for range 10 { // of many accounts the last ones stay
		both = s.known(l, s.account(l, fmt.Sprint("x", s.count(`SELECT COUNT(*) FROM accounts`))), both,
			"192.0.2.1")
	}
	if n := strings.Count(both, "."); n != 3 {
		s.Errorf("%d secrets in %s", n+1, both)
	}
	all, err := l.Accounts().ListBrowsers(ctx, ana, cookie)
	s.must(err)
	if len(all) != 2 || all[0].Current == all[1].Current || all[0].From == "" ||
		all[0].Agent != "Firefox on Linux" {
		s.Fatalf("%+v", all)
	}
	for _, b := range all {
		if b.Current {
			s.wantErr(l.Accounts().ForgetBrowser(ctx, bo.ID, b.ID), ledger.ErrNotFound)
			s.must(l.Accounts().ForgetBrowser(ctx, ana.ID, b.ID))
		}
	}
	if known(ana, cookie) {
		s.Error("a browser that its owner forgot is known")
	}
	cookie = s.known(l, ana, "", "192.0.2.1")
	s.must(l.Accounts().SetPassword(ctx, ana.ID, password))
	if known(ana, cookie) {
		s.Error("a browser of an older password is known")
	}
	cookie = s.known(l, ana, "", "192.0.2.1")
	s.pass(180 * 24 * time.Hour)
	if known(ana, cookie) {
		s.Error("a browser of half a year ago is known")
	}
	for range 30 {
		s.known(l, ana, "", "192.0.2.1")
	}
	if all, err := l.Accounts().ListBrowsers(ctx, ana, ""); err != nil || len(all) != 20 {
		s.Errorf("%d browsers are known, %v", len(all), err)
	}
}

// An owner sees where the account is signed in, ends one session, and all others.
func TestSessionsAreListedAndEnded(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		ctx, l := s.Context(), s.cheap()
		ana, bo := s.account(l, "ana"), s.account(l, "bo")
		first, second, third, bos := s.session(l, ana), s.session(l, ana), s.session(l, ana), s.session(l, bo)
		list := func(a ledger.Account, want int) []ledger.Session {
			s.Helper()
			all, err := l.Accounts().ListSessions(ctx, a.ID)
			s.must(err)
			if len(all) != want {
				s.Errorf("%d sessions, want %d", len(all), want)
			}
			return all
		}
		for _, one := range list(ana, 3) {
			if one.From != "192.0.2.1" || one.Agent != "Firefox on Linux" || !one.CreatedAt.Equal(s.clock()) ||
				strings.Contains(first+second+third, one.ID) {
				s.Errorf("%+v", one)
			}
		}
		of, err := l.Accounts().FindSession(ctx, second)
		s.must(err)
		s.wantErr(l.Accounts().EndSessionOf(ctx, bo.ID, of.ID), ledger.ErrNotFound)
		s.must(l.Accounts().EndSessionOf(ctx, ana.ID, of.ID))
		_, err = l.Accounts().FindSession(ctx, second)
		s.wantErr(err, ledger.ErrSession)
		mine := s.known(l, ana, "", "192.0.2.1")
		s.known(l, ana, "", "192.0.2.2")
		if n, err := l.Accounts().EndOtherSessions(ctx, ana.ID, first, mine); err != nil || n != 1 {
			s.Errorf("%d ended, %v", n, err)
		}
		list(ana, 1)
		if _, err := l.Accounts().FindSession(ctx, first); err != nil {
			s.Error(err)
		}
		if _, err := l.Accounts().FindSession(ctx, bos); err != nil {
			s.Error(err)
		}
		if all, err := l.Accounts().ListBrowsers(ctx, ana, mine); err != nil || len(all) != 1 || !all[0].Current {
			s.Errorf("%+v, %v", all, err)
		}
		if n, err := l.Accounts().EndOtherSessions(ctx, ana.ID, "", ""); err != nil || n != 1 {
			s.Errorf("%d ended, %v", n, err)
		}
		s.pass(12 * time.Hour)
		list(bo, 0)
	})
}
