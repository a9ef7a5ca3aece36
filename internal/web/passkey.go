package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/signin"
)

var passkeyRoutes = []route{
	{pattern: "POST /sign-in/passkey/challenge", may: anyone, serve: (*Site).challengeSignIn},
	{pattern: "POST /sign-in/passkey", may: anyone, serve: (*Site).passkeySignIn},
}

var (
	errNoPasskeys = &httpError{http.StatusUnprocessableEntity, "No passkeys at this address",
		sentence(signin.ErrNoPasskeys.Error()) + " Sign in another way."}
	errPasskey = &httpError{http.StatusUnauthorized, "The passkey was not accepted",
		"No one was signed in. The passkey may have been removed, or belongs to another site. Sign in another way."}
)

// passkeys are those of the address that people type: --public-url, or localhost
// on this machine. Other names that the server answers to are no one's. It returns
// errNoPasskeys.
func (s *Site) passkeys(v *request) (*signin.Passkeys, error) {
	at := s.Public
	if host := (&url.URL{Host: v.r.Host}).Hostname(); at == nil && host == "localhost" {
		at = &url.URL{Scheme: "http", Host: v.r.Host}
		if s.TLS {
			at.Scheme = "https"
		}
	}
	p, err := signin.NewPasskeys(at)
	if errors.Is(err, signin.ErrNoPasskeys) {
		return nil, errNoPasskeys
	}
	return p, err
}

// passkeyState is the state of a challenge between two requests.
type passkeyState struct {
	Account string // whose passkey has to answer; empty for anybody's
	State   string
	Begun   time.Time
}

// challenge gives the page's script what the browser needs.
func (s *Site) challenge(v *request, kind ledger.FlowKind, account string, c signin.Challenge, err error) error {
	if err != nil {
		return err
	}
	if err := s.beginFlow(v, kind, passkeyState{account, c.State, s.Ledger.Now()}); err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "application/json")
	_, _ = v.w.Write(c.Options) // the reader may have left
	return nil
}

// answered takes the challenge that this browser answers, for one account or for
// anybody.
func (s *Site) answered(v *request, kind ledger.FlowKind, account string) (kept passkeyState, err error) {
	if err = s.endFlow(v, kind, &kept); err == nil && kept.Account != account {
		err = errFlow
	}
	return kept, err
}

// beginFlow has the browser keep the state of a flow, sealed.
func (s *Site) beginFlow(v *request, kind ledger.FlowKind, state any) error {
	data, err := json.Marshal(state)
	if err != nil {
		return err
	}
	sealed, err := s.Ledger.Accounts().SealFlow(kind, string(data), flowLife)
	if err == nil {
		v.setCookie(flowCookie(kind), sealed, flowLife)
	}
	return err
}

// endFlow reads the state of the flow that this browser has begun, and has the browser
// forget it.
func (s *Site) endFlow(v *request, kind ledger.FlowKind, state any) error {
	cookie, err := v.r.Cookie(s.cookieName(flowCookie(kind)))
	if err != nil {
		return errFlow
	}
	v.setCookie(flowCookie(kind), "", -1)
	data, err := s.Ledger.Accounts().OpenFlow(kind, cookie.Value)
	if errors.Is(err, ledger.ErrFlow) {
		return errFlow
	}
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(data), state)
}

// flowCookie is the name of the cookie of a flow.
func flowCookie(kind ledger.FlowKind) string { return "flow-" + string(kind) }

func (s *Site) challengeSignIn(v *request) error {
	p, err := s.passkeys(v)
	if err != nil {
		return err
	}
	c, err := p.BeginSignIn()
	return s.challenge(v, ledger.FlowPasskey, "", c, err)
}

// passkeySignIn signs in by a passkey: the authenticator has verified its owner, by a
// fingerprint or a PIN.
func (s *Site) passkeySignIn(v *request) error {
	p, err := s.passkeys(v)
	if err != nil {
		return err
	}
	state, err := s.answered(v, ledger.FlowPasskey, "")
	if err != nil {
		return err
	}
	var a ledger.Account
	var kept ledger.Passkey
	find := func(credential string) (_ signin.Owner, err error) {
		if kept, err = s.Ledger.Accounts().FindPasskey(v.ctx(), credential); err != nil {
			return signin.Owner{}, err
		}
		if a, err = s.Ledger.Accounts().Find(v.ctx(), kept.Account); err != nil {
			return signin.Owner{}, err
		}
		return signin.Owner{ID: a.ID, Name: a.Name, Passkeys: []string{kept.Data}}, nil
	}
	used, err := p.FinishSignIn(state.State, v.r.PostForm.Get("credential"), find)
	if errors.Is(err, signin.ErrCloned) {
		return s.recordClonedPasskey(v, a, kept)
	}
	if err == nil {
		err = s.Ledger.Accounts().UsePasskey(v.ctx(), kept, used.Data, state.Begun)
	}
	if errors.Is(err, signin.ErrPasskey) || errors.Is(err, ledger.ErrPasskey) {
		s.recordFailedSignIn(v, a, "passkey", err)
		return errPasskey
	}
	if err != nil {
		return err
	}
	if a.ManagedBy != "" {
		return errManaged
	}
	return s.admit(v, a, "by passkey", ledger.SignIn{Life: sessionLife, OwnWay: true},
		local(v.r.PostForm.Get("to")))
}

// recordClonedPasskey records and notifies that a passkey may have been copied.
func (s *Site) recordClonedPasskey(v *request, a ledger.Account, p ledger.Passkey) error {
	s.keepTrace(v.ctx(), s.failures,
		ledger.AuditEvent{From: v.from(), What: "passkey-copied", Of: a.Name, Note: p.Name})
	_, err := s.Ledger.Notifications().Add(v.ctx(), ledger.Notification{
		Kind: ledger.NotifyAccess, Subject: "a passkey of " + a.Name + " may have been copied",
		Body: "The passkey \"" + p.Name + "\" of " + a.Name + " was used from " + v.from() +
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
