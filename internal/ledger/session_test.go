package ledger_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// session begins one for half a day and a bit.
func (s *suite) session(l *ledger.Ledger, a account.Account) string {
	s.Helper()
	secret, err := l.Accounts().BeginSession(s.Context(), a.ID,
		account.SignIn{Life: 20 * time.Hour})
	s.must(err)
	return secret
}

func (s *suite) count(query string, args ...any) (n int) {
	s.Helper()
	s.must(s.sql().QueryRowContext(s.Context(), query, args...).Scan(&n))
	return n
}

func TestSession(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		ctx, l, other := s.Context(), s.open(), s.open()
		ana := s.account(l, "ana", account.Approver)
		began := s.clock()
		secret, second := s.session(l, ana), s.session(l, ana)
		got, err := other.Accounts().FindSession(ctx, secret)
		if err != nil || got.Account.ID != ana.ID || !got.Account.May(account.Approver) ||
			!got.Account.SignedInAt.Equal(began) ||
			!got.CreatedAt.Equal(began) || !got.SeenAt.Equal(began) || !got.EndsAt.Equal(began.Add(20*time.Hour)) {
			s.Fatalf("%+v, %v", got, err)
		}
		if len(secret) < 43 || s.count(`SELECT COUNT(*) FROM sessions WHERE hash = $1 OR hash = $2`, secret,
			second) != 0 {
			s.Error("the secret is in the ledger")
		}
		for _, unknown := range []string{"", "x", secret + "x"} {
			_, err := l.Accounts().FindSession(ctx, unknown)
			s.wantErr(err, account.ErrSession)
		}
		s.must(l.Accounts().EndSession(ctx, secret))
		s.must(l.Accounts().EndSession(ctx, secret))
		_, err = other.Accounts().FindSession(ctx, secret)
		s.wantErr(err, account.ErrSession)
		if _, err := other.Accounts().FindSession(ctx, second); err != nil {
			s.Errorf("the other session: %v", err)
		}
		_, err = l.Accounts().BeginSession(ctx, "nobody", account.SignIn{Life: time.Hour})
		s.wantErr(err, ledger.ErrNotFound)
	})
}

// A session ends when its time is over, and when nobody used it for 12 hours. It
// is noted as used once a minute, not at every look.
func TestSessionEnds(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		ana := s.account(l, "ana")
		seen := func(secret string) time.Time {
			s.Helper()
			got, err := l.Accounts().FindSession(ctx, secret)
			s.must(err)
			return got.SeenAt
		}
		gone := func(secret string) {
			s.Helper()
			_, err := l.Accounts().FindSession(ctx, secret)
			s.wantErr(err, account.ErrSession)
		}
		used, left := s.session(l, ana), s.session(l, ana)
		began := s.clock()
		s.pass(59 * time.Second)
		if at := seen(used); !at.Equal(began) {
			s.Errorf("noted after %s", at.Sub(began))
		}
		s.pass(time.Second)
		if at := seen(used); !at.Equal(s.clock()) {
			s.Errorf("noted at %s", at)
		}
		s.pass(12*time.Hour - time.Minute - time.Millisecond)
		seen(used)
		s.pass(time.Millisecond)
		gone(left)
		seen(used)
		s.pass(8*time.Hour - time.Millisecond)
		seen(used)
		s.pass(time.Millisecond)
		gone(used)
		if s.session(l, ana); s.count(`SELECT COUNT(*) FROM sessions`) != 1 {
			s.Error("what has ended is kept")
		}
	})
}

// An owner ends all sessions of the account but the one in use.
func TestEndOtherSessions(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		ana, bo := s.account(l, "ana"), s.account(l, "bo")
		mine, other, bos := s.session(l, ana), s.session(l, ana), s.session(l, bo)
		s.must(l.Accounts().EndOtherSessions(ctx, ana.ID, mine))
		_, err := l.Accounts().FindSession(ctx, other)
		s.wantErr(err, account.ErrSession)
		for _, kept := range []string{mine, bos} {
			_, err := l.Accounts().FindSession(ctx, kept)
			s.must(err)
		}
	})
}

func TestDisabledAndChangedAccountsAreSignedOut(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		ana, bo := s.account(l, "ana"), s.account(l, "bo")
		anas, bos := s.session(l, ana), s.session(l, bo)
		link, err := l.Accounts().MakeSignInLink(ctx, ana.ID, time.Hour)
		s.must(err)
		s.must(l.Accounts().Change(ctx, ana.ID, nil, false)) // what she may do is asked at every look
		if got, err := l.Accounts().FindSession(ctx, anas); err != nil || len(got.Account.Roles) != 0 {
			s.Errorf("%+v, %v", got, err)
		}
		s.exec(`UPDATE accounts SET disabled = 1 WHERE id = $1`, ana.ID) // whatever became of her sessions
		_, err = l.Accounts().FindSession(ctx, anas)
		s.wantErr(err, account.ErrSession)
		_, err = l.Accounts().FindSignInLink(ctx, link)
		s.wantErr(err, account.ErrSignInLink)
		_, err = l.Accounts().UseSignInLink(ctx, link)
		s.wantErr(err, account.ErrSignInLink)
		s.must(l.Accounts().Change(ctx, ana.ID, nil, true))
		s.must(l.Accounts().Change(ctx, ana.ID, nil, false))
		_, err = l.Accounts().FindSession(ctx, anas)
		s.wantErr(err, account.ErrSession)
		_, err = l.Accounts().UseSignInLink(ctx, link)
		s.wantErr(err, account.ErrSignInLink)
		s.must(l.Accounts().Change(ctx, ana.ID, nil, true))
		_, err = l.Accounts().BeginSession(ctx, ana.ID, account.SignIn{Life: time.Hour})
		s.wantErr(err, account.ErrSession)
		_, err = l.Accounts().MakeSignInLink(ctx, ana.ID, time.Hour)
		s.wantErr(err, account.ErrSignInLink)
		if _, err := l.Accounts().FindSession(ctx, bos); err != nil {
			s.Errorf("somebody else's session: %v", err)
		}
	})
}

func TestSignInLink(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		ana := s.account(l, "ana")
		makeLink := func() string {
			s.Helper()
			secret, err := l.Accounts().MakeSignInLink(ctx, "ANA", time.Hour)
			s.must(err)
			return secret
		}
		secret := makeLink()
		if len(secret) < 43 || s.count(`SELECT COUNT(*) FROM sign_in_links WHERE hash = $1`, secret) != 0 {
			s.Error("the secret is in the ledger")
		}
		for range 2 {
			if a, err := l.Accounts().FindSignInLink(ctx, secret); err != nil || a.ID != ana.ID {
				s.Errorf("a look: %+v, %v", a, err)
			}
		}
		if a, err := l.Accounts().UseSignInLink(ctx, secret); err != nil || a.ID != ana.ID {
			s.Errorf("%+v, %v", a, err)
		}
		for _, bad := range []string{secret, "", "x"} {
			_, err := l.Accounts().FindSignInLink(ctx, bad)
			s.wantErr(err, account.ErrSignInLink)
			_, err = l.Accounts().UseSignInLink(ctx, bad)
			s.wantErr(err, account.ErrSignInLink)
		}
		old := makeLink()
		s.pass(time.Hour - time.Millisecond)
		if _, err := l.Accounts().FindSignInLink(ctx, old); err != nil {
			s.Error(err)
		}
		s.pass(time.Millisecond)
		_, err := l.Accounts().UseSignInLink(ctx, old)
		s.wantErr(err, account.ErrSignInLink)
		if makeLink(); s.count(`SELECT COUNT(*) FROM sign_in_links`) != 1 {
			s.Error("what is too old is kept")
		}
		_, err = l.Accounts().MakeSignInLink(ctx, "nobody", time.Hour)
		s.wantErr(err, ledger.ErrNotFound)
		revoked := makeLink()
		open, err := l.Accounts().ListSignInLinks(ctx)
		s.must(err)
		s.must(l.Accounts().RevokeSignInLink(ctx, open[0].ID))
		s.wantErr(l.Accounts().RevokeSignInLink(ctx, open[0].ID), ledger.ErrNotFound)
		_, err = l.Accounts().FindSignInLink(ctx, revoked)
		s.wantErr(err, account.ErrSignInLink)
	})
}

// A link signs in once: the first of many.
func TestSignInLinkIsUsedOnce(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		ledgers := []*ledger.Ledger{s.open(), s.open()}
		s.account(ledgers[0], "ana")
		secret, err := ledgers[0].Accounts().MakeSignInLink(s.Context(), "ana", time.Hour)
		s.must(err)
		const takers = 8
		results := make(chan error)
		for i := range takers {
			go func() {
				_, err := ledgers[i%2].Accounts().UseSignInLink(s.Context(), secret)
				results <- err
			}()
		}
		taken := 0
		for range takers {
			if err := <-results; err == nil {
				taken++
			} else if !errors.Is(err, account.ErrSignInLink) {
				s.Error(err)
			}
		}
		if taken != 1 {
			s.Errorf("it was taken %d times", taken)
		}
	})
}
