package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/signin"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

var securityRoutes = []route{
	{pattern: "GET /security", may: self, serve: (*Site).security},
	{pattern: "POST /security/passkeys/challenge", may: self, serve: (*Site).challengeEnroll},
	{pattern: "POST /security/passkeys", may: self, serve: (*Site).addPasskey},
	{pattern: "POST /security/passkeys/{passkey}/remove", may: self, serve: (*Site).removePasskey},
	{pattern: "POST /sign-in/passkey/challenge", may: anyone, serve: (*Site).challengeSignIn},
	{pattern: "POST /sign-in/passkey", may: anyone, serve: (*Site).passkeySignIn},
}

// freshLife is how long after a sign-in a person may change the ways to sign in.
const freshLife = 10 * time.Minute

var errNotFresh = &httpError{http.StatusForbidden, "Sign in again first",
	"To change how you sign in, sign out and sign in again. Nothing was changed."}

// fresh reports whether the person signed in less than freshLife ago.
func (s *Site) fresh(v *request) bool { return s.Ledger.Now().Sub(v.session.CreatedAt) < freshLife }

// securityPage shows the ways to sign in and the newest events of the account.
type securityPage struct {
	Account  ledger.Account
	Fresh    bool
	Passkeys []ledger.Passkey
	// NoPasskeys is the reason why passkeys are not available here. Empty if they are.
	NoPasskeys string
	// Provider is the host of the sign-in provider. Empty if none is configured.
	Provider   string
	Identities []ledger.Identity
	Acts       []ledger.AuditEvent
}

const actsOnSecurity = 12

func (s *Site) security(v *request) error {
	a := v.session.Account
	page := securityPage{Account: a, Fresh: s.fresh(v)}
	err := errors.Join(
		load(&page.Passkeys)(s.Ledger.Accounts().ListPasskeys(v.ctx(), a.ID)),
		load(&page.Identities)(s.Ledger.Accounts().ListIdentities(v.ctx(), a.ID)),
		load(&page.Acts)(s.Ledger.AuditLog().List(v.ctx(), ledger.AuditQuery{Of: a.Name, Limit: actsOnSecurity})))
	if err != nil {
		return err
	}
	if _, err := s.passkeys(v); err != nil {
		page.NoPasskeys = err.Error()
	}
	if s.Provider != nil {
		page.Provider = s.Provider.Host()
	}
	return v.show("security.html", "Security", page)
}

func (s *Site) challengeEnroll(v *request) error {
	p, o, err := s.enrollment(v)
	if err != nil {
		return err
	}
	c, err := p.BeginEnrollment(o)
	return s.challenge(v, ledger.FlowEnroll, o.ID, c, err)
}

// enrollment returns the passkeys and the owner if the person may add a passkey now, at this
// address. Otherwise it returns errNotFresh, errManaged or errNoPasskeys.
func (s *Site) enrollment(v *request) (*signin.Passkeys, signin.Owner, error) {
	a := v.session.Account
	o := signin.Owner{ID: a.ID, Name: a.Name}
	switch {
	case !s.fresh(v):
		return nil, o, errNotFresh
	case a.ManagedBy != "":
		return nil, o, errManaged
	}
	p, err := s.passkeys(v)
	if err != nil {
		return nil, o, err
	}
	all, err := s.Ledger.Accounts().ListPasskeys(v.ctx(), a.ID)
	for _, one := range all {
		o.Passkeys = append(o.Passkeys, one.Data)
	}
	return p, o, err
}

// addPasskey adds a passkey that the browser has made.
func (s *Site) addPasskey(v *request) error {
	p, o, err := s.enrollment(v)
	if err != nil {
		return err
	}
	state, err := s.answered(v, ledger.FlowEnroll, o.ID)
	if err != nil {
		return err
	}
	key, err := p.FinishEnrollment(o, state.State, v.r.PostForm.Get("credential"))
	if errors.Is(err, signin.ErrPasskey) {
		s.Log.Warn("passkey refused", "account", o.ID, "err", err)
		return badRequest("The browser did not make a passkey that works here. Try again, or use another device.")
	}
	if err != nil {
		return err
	}
	added := ledger.Passkey{
		Account:    o.ID,
		Name:       v.agent(),
		Credential: key.Credential,
		Data:       key.Data,
	}
	err = s.Ledger.Accounts().AddPasskey(v.withAudit("passkey-add", v.who(), added.Name), added, v.secret)
	if err == nil {
		err = s.notifyOwner(v, "a passkey was added to")
	}
	return v.done(err, "/security", "The passkey is added. Your other sessions have ended. Next time, sign in with it.")
}

func (s *Site) removePasskey(v *request) error {
	if !s.fresh(v) {
		return errNotFresh
	}
	if err := s.Ledger.Accounts().RemovePasskey(v.withAudit("passkey-remove", v.who(), ""), v.session.Account.ID,
		v.r.PathValue("passkey"), v.secret); err != nil {
		return err
	}
	err := s.notifyOwner(v, "a passkey was removed from")
	return v.done(err, "/security", "The passkey is removed. Your other sessions have ended.")
}

// notifyOwner notifies the owner of an account and the firm that the ways to sign in have changed.
func (s *Site) notifyOwner(v *request, what string) error {
	n := ledger.Notification{
		Kind:    ledger.NotifyAccess,
		Subject: "sign-in of " + v.who() + " changed",
		Body: text.Capital(what) + " " + v.who() + ", from " + v.from() + " (" + v.agent() + ").\nIf " + v.who() +
			" did not do this, disable the account now: importer accounts disable \"" + v.who() + "\"\n",
	}
	if to := v.session.Account.Email; to != "" {
		n.Recipients = []string{to}
	}
	_, err := s.Ledger.Notifications().Add(v.ctx(), n)
	return err
}

// These are the families of browsers and systems by a mark in User-Agent. The first match wins,
// because most browsers also name other browsers after their own name.
var (
	browserFamilies = []struct{ mark, name string }{
		{"Edg", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"}, {"Chrome/", "Chrome"},
		{"CriOS/", "Chrome"}, {"Safari/", "Safari"},
	}
	systemFamilies = []struct{ mark, name string }{
		{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"CrOS", "ChromeOS"}, {"Windows", "Windows"},
		{"Macintosh", "Mac"}, {"Linux", "Linux"},
	}
)

// agent returns the family of the visitor's browser and system in words. The rest of User-Agent is
// not stored.
func (v *request) agent() string {
	said := v.r.UserAgent()
	name := "Unknown browser"
	for _, f := range browserFamilies {
		if strings.Contains(said, f.mark) {
			name = f.name
			break
		}
	}
	for _, f := range systemFamilies {
		if strings.Contains(said, f.mark) {
			return name + " on " + f.name
		}
	}
	return name
}

var (
	errNoPasskeys = &httpError{http.StatusUnprocessableEntity, "No passkeys at this address",
		sentence(signin.ErrNoPasskeys.Error()) + " Sign in another way."}
	errPasskey = &httpError{http.StatusUnauthorized, "The passkey was not accepted",
		"No one was signed in. The passkey may have been removed, or belongs to another site. Sign in another way."}
)

// passkeys returns the passkeys for the address that people use: --public-url, or localhost on this
// machine. At all other addresses it returns errNoPasskeys.
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
	// Account is the ID of the account whose passkey has to answer. Empty if any passkey may.
	Account string
	State   string
	Begun   time.Time
}

// challenge stores the state of a challenge and sends its options to the page's script.
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

// answered ends the challenge that this browser answers, and returns its state. It returns errFlow
// if the challenge was made for another account. An empty account stands for any passkey.
func (s *Site) answered(v *request, kind ledger.FlowKind, account string) (kept passkeyState, err error) {
	if err = s.endFlow(v, kind, &kept); err == nil && kept.Account != account {
		err = errFlow
	}
	return kept, err
}

// beginFlow stores the sealed state of a flow in a cookie.
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

// endFlow reads the state of a flow from its cookie and deletes the cookie. It returns errFlow if
// there is no valid state.
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

// flowCookie returns the name of the cookie of a flow.
func flowCookie(kind ledger.FlowKind) string { return "flow-" + string(kind) }

func (s *Site) challengeSignIn(v *request) error {
	p, err := s.passkeys(v)
	if err != nil {
		return err
	}
	c, err := p.BeginSignIn()
	return s.challenge(v, ledger.FlowPasskey, "", c, err)
}

// passkeySignIn signs in with a passkey. The authenticator has verified its owner by a fingerprint
// or a PIN.
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

// recordClonedPasskey records that a passkey may have been copied, and notifies the firm. It
// returns the error for the reader.
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
