package ledger_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// stepOf takes the code of a secret to be the secret and the number of its step.
func stepOf(secret, code string, after int64) (int64, bool) {
	digits, found := strings.CutPrefix(code, strings.ToUpper(secret))
	if !found || len(digits) != 1 {
		return 0, false
	}
	step := int64(digits[0] - '0')
	return step, step > after
}

func (s *store) factor(l *ledger.Ledger, a ledger.Account, kind ledger.FactorKind, data, session string) ledger.Factor {
	s.Helper()
	f := ledger.Factor{
		Account: a.ID,
		Kind:    kind,
		Name:    "my  phone",
		Data:    data,
		Last:    1,
	}
	if kind == ledger.FactorPasskey {
		f.Credential = "credential " + data
	}
	f, err := l.Accounts().AddFactor(s.Context(), f, session)
	s.must(err)
	return f
}

// A code of an app counts once, and a step before the last one not at all,
// however many try at the same moment.
func TestCodeOfAnAppCountsOnce(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		ctx, l := s.Context(), s.open()
		ana, leo := s.account(l, "ana"), s.account(l, "leo")
		f := s.factor(l, ana, ledger.FactorApp, "base", "")
		if s.count(`SELECT COUNT(*) FROM factors WHERE data LIKE '%base%'`) != 0 {
			s.Error("the secret is in the ledger")
		}
		all, err := l.Accounts().ListFactors(ctx, ana.ID)
		if err != nil || len(all) != 1 || all[0].ID != f.ID || all[0].Name != "my phone" || all[0].Data != "" {
			s.Errorf("%+v, %v", all, err)
		}
		if a, err := l.Accounts().Find(ctx, "ana"); err != nil || !a.HasFactor {
			s.Errorf("%+v, %v", a, err)
		}
		check := func(a ledger.Account, code string) error {
			_, err := l.Accounts().CheckCode(ctx, a, code, ledger.Try{From: "192.0.2.1"}, stepOf)
			return err
		}
		s.wantErr(check(ana, "BASE1"), ledger.ErrFactor) // as old as the one it was set up by
		s.wantErr(check(ana, ""), ledger.ErrFactor)
		s.wantErr(check(leo, "BASE5"), ledger.ErrFactor)
		s.pass(25 * time.Hour) // forgets the failures
		var wins, losses int
		var mu sync.Mutex
		var wait sync.WaitGroup
		for range 4 {
			wait.Go(func() {
				err := check(ana, " base-3")
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					wins++
				} else if errors.Is(err, ledger.ErrFactor) {
					losses++
				}
			})
		}
		if wait.Wait(); wins != 1 || losses != 3 {
			s.Errorf("%d won, %d lost", wins, losses)
		}
		s.pass(25 * time.Hour) // forgets the failures
		s.must(check(ana, "BASE4"))
		s.wantErr(check(ana, "BASE2"), ledger.ErrFactor)
	})
}

// Wrong codes are counted per account, and a right password between them takes
// none of them back.
func TestWrongCodesAreThrottled(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		ctx, l := s.Context(), s.cheap()
		ana := s.account(l, "ana")
		s.must(l.Accounts().SetPassword(ctx, ana.ID, password))
		s.factor(l, ana, ledger.FactorApp, "base", "")
		for range 5 {
			s.signIn(l, "ana", password, nil)
			_, err := l.Accounts().CheckCode(ctx, ana, "000000", ledger.Try{From: "192.0.2.1"}, stepOf)
			s.wantErr(err, ledger.ErrFactor)
		}
		s.signIn(l, "ana", password, nil)
		often := new(ledger.TooMany)
		if _, err := l.Accounts().CheckCode(ctx, ana, "BASE5", ledger.Try{From: "192.0.2.1"},
			stepOf); !errors.As(err, &often) {
			s.Errorf("the sixth code: %v", err)
		}
		s.pass(time.Minute)
		if kind, err := l.Accounts().CheckCode(ctx, ana, "BASE5", ledger.Try{From: "192.0.2.1"}, stepOf); err != nil ||
			kind != ledger.FactorApp {
			s.Errorf("after the wait: %s, %v", kind, err)
		}
	})
}

func TestRecoveryCodes(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		ctx, l := s.Context(), s.open()
		ana, leo := s.account(l, "ana"), s.account(l, "leo")
		f := s.factor(l, ana, ledger.FactorApp, "base", "")
		older, err := l.Accounts().ReplaceRecoveryCodes(ctx, ana.ID)
		s.must(err)
		codes, err := l.Accounts().ReplaceRecoveryCodes(ctx, ana.ID)
		s.must(err)
		if len(codes) != 10 || len(slices.Compact(slices.Sorted(slices.Values(codes)))) != 10 ||
			s.count(`SELECT COUNT(*) FROM recovery_codes WHERE hash LIKE '%-%'`) != 0 {
			s.Errorf("%q", codes)
		}
		check := func(a ledger.Account, code string) error {
			kind, err := l.Accounts().CheckCode(ctx, a, code, ledger.Try{}, stepOf)
			if err == nil && kind != ledger.FactorRecovery {
				s.Errorf("%s counts as %s", code, kind)
			}
			return err
		}
		s.wantErr(check(ana, older[0]), ledger.ErrFactor)
		s.wantErr(check(leo, codes[0]), ledger.ErrFactor)
		s.must(check(ana, strings.ToLower(strings.ReplaceAll(codes[0], "-", " "))))
		s.wantErr(check(ana, codes[0]), ledger.ErrFactor)
		if n, err := l.Accounts().CountRecoveryCodes(ctx, ana.ID); err != nil || n != 9 {
			s.Errorf("%d are left, %v", n, err)
		}
		s.must(l.Accounts().RemoveFactor(ctx, ana.ID, f.ID, ""))
		if n, err := l.Accounts().CountRecoveryCodes(ctx, ana.ID); err != nil || n != 0 {
			s.Errorf("%d outlived the last factor, %v", n, err)
		}
	})
}

// A factor that is added or removed ends the other sessions, and an account has
// a bounded number of them.
func TestFactorsOfAnAccount(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		ctx, l := s.Context(), s.open()
		ana, leo := s.account(l, "ana"), s.account(l, "leo")
		mine, other, theirs := s.session(l, ana), s.session(l, ana), s.session(l, leo)
		f := s.factor(l, ana, ledger.FactorPasskey, "k", mine)
		for secret, want := range map[string]error{mine: nil, theirs: nil, other: ledger.ErrSession} {
			_, err := l.Accounts().FindSession(ctx, secret)
			s.wantErr(err, want)
		}
		_, err := l.Accounts().AddFactor(ctx, ledger.Factor{
			Account:    leo.ID,
			Kind:       ledger.FactorPasskey,
			Credential: f.Credential,
			Data:       "x",
		}, "")
		s.wantErr(err, ledger.ErrFactorTaken)
		found, err := l.Accounts().FindPasskey(ctx, f.Credential)
		if err != nil || found.Account != ana.ID || found.Data != "k" {
			s.Errorf("%+v, %v", found, err)
		}
		s.must(l.Accounts().UsePasskey(ctx, found, "k2"))
		s.wantErr(l.Accounts().UsePasskey(ctx, found, "k3"), ledger.ErrFactor) // somebody used it meanwhile
		_, err = l.Accounts().FindPasskey(ctx, "")
		s.wantErr(err, ledger.ErrFactor)
		s.wantErr(l.Accounts().RemoveFactor(ctx, leo.ID, f.ID, ""), ledger.ErrNotFound)
		for i := range 9 {
			s.factor(l, ana, ledger.FactorPasskey, string(rune('a'+i)), mine)
		}
		_, err = l.Accounts().AddFactor(ctx, ledger.Factor{Account: ana.ID, Kind: ledger.FactorApp, Data: "x"}, mine)
		s.wantErr(err, ledger.ErrFactors)
		_, err = l.Accounts().ReplaceRecoveryCodes(ctx, ana.ID)
		s.must(err)
		s.must(l.Accounts().ResetFactors(ctx, ana.ID))
		all, err := l.Accounts().ListFactors(ctx, ana.ID)
		left, _ := l.Accounts().CountRecoveryCodes(ctx, ana.ID)
		if err != nil || len(all)+left != 0 {
			s.Errorf("%+v and %d codes are left, %v", all, left, err)
		}
		_, err = l.Accounts().FindSession(ctx, mine)
		s.wantErr(err, ledger.ErrSession)
	})
}

// Where the firm wants a second factor, approvers and operators have none of
// their roles in a session without one, at once and until the rule ends.
func TestSessionWithoutASecondFactorHasNoRoles(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		ctx, l := s.Context(), s.open()
		op, prep := s.account(l, "op", ledger.Operator, ledger.Preparer), s.account(l, "prep", ledger.Preparer)
		plain, prepares := s.session(l, op), s.session(l, prep)
		proven, err := l.Accounts().BeginProvenSession(ctx, op.ID, time.Hour, "",
			ledger.Proof{Factor: ledger.FactorApp, ProviderToken: "a.b.c"})
		s.must(err)
		want := func(secret string, roles, lacks []ledger.Role) {
			s.Helper()
			got, err := l.Accounts().FindSession(ctx, secret)
			if err != nil || !slices.Equal(got.Account.Roles, roles) || !slices.Equal(got.Lacks, lacks) {
				s.Errorf("%v lacks %v, %v", got.Account.Roles, got.Lacks, err)
			}
		}
		both := []ledger.Role{ledger.Preparer, ledger.Operator}
		want(plain, both, nil)
		s.must(l.Accounts().SetSignInRules(ctx, ledger.SignInRules{SecondFactor: true, TrustProvider: true}))
		if r, err := l.Accounts().LoadSignInRules(ctx); err != nil || !r.SecondFactor || !r.TrustProvider {
			s.Errorf("%+v, %v", r, err)
		}
		want(plain, nil, both)
		want(proven, both, nil)
		want(prepares, []ledger.Role{ledger.Preparer}, nil)
		s.must(l.Accounts().SetSignInRules(ctx, ledger.SignInRules{}))
		want(plain, both, nil)

		confirmed, err := l.Accounts().BeginProvenSession(ctx, op.ID, time.Hour, "", ledger.Proof{Confirmed: true})
		s.must(err)
		if got, err := l.Accounts().FindSession(ctx, confirmed); err != nil || !got.ConfirmedAt.Equal(s.clock()) {
			s.Errorf("%+v, %v", got, err)
		}
		if got, err := l.Accounts().FindSession(ctx, proven); err != nil || !got.ConfirmedAt.IsZero() {
			s.Errorf("%+v, %v", got, err)
		}
		if token, err := l.Accounts().ProviderToken(ctx, proven); err != nil || token != "a.b.c" {
			s.Errorf("%q, %v", token, err)
		}
		if token, err := l.Accounts().ProviderToken(ctx, plain); err != nil || token != "" {
			s.Errorf("%q, %v", token, err)
		}
		if s.count(`SELECT COUNT(*) FROM sessions WHERE provider_token LIKE '%a.b.c%'`) != 0 {
			s.Error("the token is in the clear")
		}
	})
}

// What a flow remembers is sealed, for one kind, and used once.
func TestFlow(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		ctx, l, other := s.Context(), s.open(), s.open()
		secret, err := l.Accounts().BeginFlow(ctx, ledger.FlowProvider, "nonce 1", "192.0.2.1", time.Minute)
		s.must(err)
		if s.count(`SELECT COUNT(*) FROM flows WHERE data LIKE '%nonce%' OR hash = $1`, secret) != 0 {
			s.Error("the flow is in the clear")
		}
		if data, err := other.Accounts().FindFlow(ctx, ledger.FlowProvider, secret); err != nil || data != "nonce 1" {
			s.Errorf("%q, %v", data, err)
		}
		for _, wrong := range []string{"", "x"} {
			_, err := l.Accounts().TakeFlow(ctx, ledger.FlowProvider, wrong)
			s.wantErr(err, ledger.ErrFlow)
		}
		_, err = l.Accounts().TakeFlow(ctx, ledger.FlowSecond, secret)
		s.wantErr(err, ledger.ErrFlow)
		if data, err := other.Accounts().TakeFlow(ctx, ledger.FlowProvider, secret); err != nil || data != "nonce 1" {
			s.Errorf("%q, %v", data, err)
		}
		_, err = l.Accounts().TakeFlow(ctx, ledger.FlowProvider, secret)
		s.wantErr(err, ledger.ErrFlow)
		late, err := l.Accounts().BeginFlow(ctx, ledger.FlowProvider, "x", "192.0.2.1", time.Minute)
		s.must(err)
		s.pass(time.Minute)
		_, err = l.Accounts().TakeFlow(ctx, ledger.FlowProvider, late)
		s.wantErr(err, ledger.ErrFlow)
		_, err = l.Accounts().BeginFlow(ctx, ledger.FlowSecond, "x", "192.0.2.1", time.Minute)
		s.must(err)
		if n := s.count(`SELECT COUNT(*) FROM flows`); n != 1 {
			s.Errorf("%d flows are left", n)
		}
		often := new(ledger.TooMany)
		for err == nil {
			_, err = l.Accounts().BeginFlow(ctx, ledger.FlowPasskey, "x", "192.0.2.1", time.Minute)
		}
		if n := s.count(`SELECT COUNT(*) FROM flows`); n != 100 || !errors.As(err, &often) {
			s.Errorf("%d flows of one address, %v", n, err)
		}
		_, err = l.Accounts().BeginFlow(ctx, ledger.FlowPasskey, "x", "192.0.2.2", time.Minute)
		s.must(err)
	})
}
