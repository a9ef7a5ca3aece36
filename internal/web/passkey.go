package web

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/signin"
)

var passkeyRoutes = []route{
	{pattern: "POST /sign-in/passkey/challenge", may: anyone, serve: (*Site).challengeSignIn},
	{pattern: "POST /sign-in/passkey", may: anyone, serve: (*Site).passkeySignIn},
	{pattern: "POST /sign-in/second/challenge", may: anyone, serve: (*Site).challengeSecond},
	{pattern: "POST /security/confirm/challenge", may: self, serve: (*Site).challengeConfirm},
	{pattern: "POST /security/passkeys/challenge", may: self, serve: (*Site).challengeEnroll},
}

// passkeys are those of the address that people type: --public-url, or localhost
// on this machine. Other names that the server answers to are no one's.
func (s *Site) passkeys(v *request) (*signin.Passkeys, error) {
	if s.Public != nil {
		return signin.NewPasskeys(s.Public)
	}
	host, _, err := net.SplitHostPort(v.r.Host)
	if err != nil {
		host = v.r.Host
	}
	if host != "localhost" {
		return nil, signin.ErrNoPasskeys
	}
	scheme := "http"
	if s.TLS {
		scheme = "https"
	}
	return signin.NewPasskeys(&url.URL{Scheme: scheme, Host: v.r.Host})
}

// passkeyState is the state of a challenge between two requests.
type passkeyState struct {
	Account string // whose passkey has to answer; empty for anybody's
	State   string
}

// challenge gives the page's script what the browser needs.
func (s *Site) challenge(v *request, kind ledger.FlowKind, account string, c signin.Challenge, err error) error {
	if err != nil {
		return err
	}
	data, err := json.Marshal(passkeyState{account, c.State})
	if err != nil {
		return err
	}
	secret, err := s.Ledger.Accounts().BeginFlow(v.ctx(), kind, string(data), v.from(), flowLife)
	if err != nil {
		return err
	}
	v.setCookie(flowCookie(kind), secret, flowLife)
	v.w.Header().Set("Content-Type", "application/json")
	_, _ = v.w.Write(c.Options) // the reader may have left
	return nil
}

// answered takes the challenge that this browser answers, for one account or for
// anybody.
func (s *Site) answered(v *request, kind ledger.FlowKind, account string) (string, error) {
	var kept passkeyState
	data, err := s.Ledger.Accounts().TakeFlow(v.ctx(), kind, v.flow(kind))
	if err == nil {
		err = json.Unmarshal([]byte(data), &kept)
	}
	switch {
	case (errors.Is(err, ledger.ErrFlow) || err == nil && kept.Account != account) && v.signedIn && account != "":
		return "", errPasskey
	case errors.Is(err, ledger.ErrFlow), err == nil && kept.Account != account:
		return "", errFlow
	case err != nil:
		return "", err
	}
	v.setCookie(flowCookie(kind), "", -1)
	return kept.State, nil
}

// owner is an account with its passkeys.
func (s *Site) owner(v *request, a ledger.Account) (signin.Owner, error) {
	o := signin.Owner{ID: a.ID, Name: a.Name}
	factors, err := s.Ledger.Accounts().ListFactors(v.ctx(), a.ID)
	for _, f := range factors {
		if f.Kind == ledger.FactorPasskey {
			o.Passkeys = append(o.Passkeys, f.Data)
		}
	}
	return o, err
}

func (s *Site) challengeSignIn(v *request) error {
	p, err := s.passkeys(v)
	if err != nil {
		return badRequest("%s.", err)
	}
	c, err := p.BeginSignIn()
	return s.challenge(v, ledger.FlowPasskey, "", c, err)
}

func (s *Site) challengeSecond(v *request) error {
	a, _, err := s.waiting(v)
	if err != nil {
		return err
	}
	return s.challengeCheck(v, a)
}

func (s *Site) challengeConfirm(v *request) error { return s.challengeCheck(v, v.session.Account) }

func (s *Site) challengeCheck(v *request, a ledger.Account) error {
	p, err := s.passkeys(v)
	if err != nil {
		return badRequest("%s.", err)
	}
	o, err := s.owner(v, a)
	if err != nil {
		return err
	}
	if len(o.Passkeys) == 0 {
		return badRequest("This account has no passkey. Sign in another way.")
	}
	c, err := p.BeginCheck(o)
	return s.challenge(v, ledger.FlowPasskey, a.ID, c, err)
}

func (s *Site) challengeEnroll(v *request) error {
	if !s.confirmed(v) {
		return errConfirm
	}
	p, err := s.passkeys(v)
	if err != nil {
		return badRequest("%s.", err)
	}
	o, err := s.owner(v, v.session.Account)
	if err != nil {
		return err
	}
	c, err := p.BeginEnrollment(o)
	return s.challenge(v, ledger.FlowEnroll, v.session.Account.ID, c, err)
}

// checkPasskey checks a passkey as the second factor. It returns ErrFactor.
func (s *Site) checkPasskey(v *request, a ledger.Account, answer string) error {
	p, err := s.passkeys(v)
	if err != nil {
		return badRequest("%s.", err)
	}
	state, err := s.answered(v, ledger.FlowPasskey, a.ID)
	if err != nil {
		return err
	}
	o, err := s.owner(v, a)
	if err != nil {
		return err
	}
	used, err := p.FinishCheck(o, state, answer)
	return s.usePasskey(v, used, err)
}

// usePasskey records the use of a passkey, or why it was refused.
func (s *Site) usePasskey(v *request, used signin.Passkey, refused error) error {
	kept, err := s.Ledger.Accounts().FindPasskey(v.ctx(), used.Credential)
	switch {
	case errors.Is(refused, signin.ErrCloned) && err == nil:
		return s.recordClonedPasskey(v, kept)
	case errors.Is(refused, signin.ErrPasskey):
		s.Log.Warn("passkey refused", "address", v.from(), "err", refused)
		return ledger.ErrFactor
	case refused != nil:
		return refused
	case err != nil:
		return err
	}
	return s.Ledger.Accounts().UsePasskey(v.ctx(), kept, used.Data)
}

// recordClonedPasskey records and notifies that a passkey may have been copied.
func (s *Site) recordClonedPasskey(v *request, f ledger.Factor) error {
	a, err := s.Ledger.Accounts().Find(v.ctx(), f.Account)
	if err != nil {
		return err
	}
	s.keepTrace(v.ctx(), ledger.AuditEvent{From: v.from(), What: "passkey-copied", Of: a.Name, Note: f.Name})
	_, err = s.Ledger.Notifications().Add(v.ctx(), ledger.Notification{
		Kind: ledger.NotifyAccess, Subject: "a passkey of " + a.Name + " may have been copied",
		Body: "The passkey \"" + f.Name + "\" of " + a.Name + " was used from " + v.from() +
			" with a use counter that went back, so a copy may exist. The sign-in was refused.\n" + a.Name +
			" must remove that passkey under Security and add another one.\n",
	})
	if err != nil {
		return err
	}
	return &httpError{
		http.StatusForbidden, "The passkey was refused",
		"Its use counter went back, so a copy may exist. Sign in another way, remove the passkey " +
			"under Security, and add another one.",
	}
}

// passkeySignIn signs in by a passkey alone: the authenticator has checked its
// owner, by a fingerprint or a PIN.
func (s *Site) passkeySignIn(v *request) error {
	p, err := s.passkeys(v)
	if err != nil {
		return badRequest("%s.", err)
	}
	state, err := s.answered(v, ledger.FlowPasskey, "")
	if err != nil {
		return err
	}
	var a ledger.Account
	used, err := p.FinishSignIn(state, v.r.PostForm.Get("credential"), func(credential string) (signin.Owner, error) {
		f, err := s.Ledger.Accounts().FindPasskey(v.ctx(), credential)
		if errors.Is(err, ledger.ErrFactor) {
			return signin.Owner{}, signin.ErrPasskey
		}
		if err != nil {
			return signin.Owner{}, err
		}
		if a, err = s.Ledger.Accounts().Find(v.ctx(), f.Account); err != nil {
			return signin.Owner{}, err
		}
		return signin.Owner{ID: a.ID, Name: a.Name, Passkeys: []string{f.Data}}, nil
	})
	err = s.usePasskey(v, used, err)
	if errors.Is(err, ledger.ErrFactor) {
		s.recordFailedSignIn(v, a.Name, "passkey", err)
		return &httpError{http.StatusUnauthorized, "The passkey was not accepted",
			"No one was signed in. The passkey may have been removed, or belongs to another site. Sign in another way."}
	}
	if err != nil {
		return err
	}
	return s.admit(v, a, arrival{To: local(v.r.PostForm.Get("to")), By: byPasskey, Factor: ledger.FactorPasskey})
}
