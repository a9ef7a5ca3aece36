package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/signin"
)

var providerRoutes = []route{
	{pattern: "GET /sign-in/provider", may: anyone, serve: (*Site).toProvider},
	{pattern: "GET /sign-in/provider/callback", may: anyone, serve: (*Site).fromProvider},
	{pattern: "POST /security/provider", may: self, serve: (*Site).linkProvider},
	{pattern: "POST /security/provider/unlink", may: self, serve: (*Site).unlinkProvider},
}

// ProviderCallback is the path that the sign-in provider sends people back to.
const ProviderCallback = "/sign-in/provider/callback"

// What can go wrong at the sign-in provider.
var (
	errNoProvider = &httpError{http.StatusNotFound, "Company sign-in is not set up",
		"Ask an operator to set OIDC_ISSUER for importer serve."}
	errAway = &httpError{http.StatusBadGateway, "The sign-in provider cannot be reached",
		"No one was signed in. Try again in a minute. In an emergency, sign in to a break-glass account by its " +
			"password."}
	errAwayLocal = &httpError{
		errAway.Status, errAway.Title,
		"No one was signed in. Try again in a minute. If your account here has a password or a passkey, sign " +
			"in with it.",
	}
	errDeclined = &httpError{http.StatusForbidden, "The sign-in provider did not sign you in",
		"You declined, or the provider does not let you use this application. Try again, or ask the administrator " +
			"of the provider."}
	errUntrusted = &httpError{http.StatusForbidden, "The response of the sign-in provider is not valid",
		"No one was signed in. Go back to the sign-in page and begin again. The reason is in the server " +
			"log."}
	errLinked = &httpError{http.StatusConflict, "This company account is linked to another account",
		"Nothing was changed. Sign in to that account. A company account stays with the first account that it was " +
			"linked to."}
	errExists = &httpError{http.StatusConflict, "An account with this name exists",
		"No one was signed in. Sign in to that account with its password, then link your company account under " +
			"Security. If it is not your account, or you cannot sign in to it, ask an operator."}
)

// providerFlow is the state of a sign-in while the browser is at the provider.
type providerFlow struct {
	Ceremony signin.Ceremony
	To       string
	Link     string // the account that is to be linked; empty for a sign-in
}

// begun makes the address to send the browser to. The state is bound to the
// browser by a cookie, and is no way to what the cookie holds.
func (s *Site) begun(v *request, flow providerFlow) (string, error) {
	if s.Provider == nil {
		return "", errNoProvider
	}
	ceremony, at, err := s.Provider.Begin(v.ctx(), "")
	if err != nil {
		return "", s.providerError(v, err)
	}
	flow.Ceremony = ceremony
	data, err := json.Marshal(flow)
	if err != nil {
		return "", err
	}
	secret, err := s.Ledger.Accounts().BeginFlow(v.ctx(), ledger.FlowProvider, string(data), v.from(), flowLife)
	if err != nil {
		return "", err
	}
	v.setCookie(flowCookie(ledger.FlowProvider), secret, flowLife)
	return signin.WithState(at, stateOf(secret)), nil
}

// stateOf derives the state from the secret of a flow.
func stateOf(secret string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("state"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// toProvider sends the browser to the provider.
func (s *Site) toProvider(v *request) error {
	at, err := s.begun(v, providerFlow{To: local(v.r.URL.Query().Get("to"))})
	if err != nil {
		return err
	}
	return v.redirect(at)
}

// fromProvider takes what the browser has brought back: once.
func (s *Site) fromProvider(v *request) error {
	if s.Provider == nil {
		return errNoProvider
	}
	var flow providerFlow
	secret := v.flow(ledger.FlowProvider)
	data, err := s.Ledger.Accounts().TakeFlow(v.ctx(), ledger.FlowProvider, secret)
	if errors.Is(err, ledger.ErrFlow) {
		return errFlow
	}
	if err == nil {
		err = json.Unmarshal([]byte(data), &flow)
	}
	if err != nil {
		return err
	}
	v.setCookie(flowCookie(ledger.FlowProvider), "", -1)
	flow.Ceremony.State = stateOf(secret)
	p, err := s.Provider.Finish(v.ctx(), flow.Ceremony, v.r.URL.Query())
	if err != nil {
		return s.providerError(v, err)
	}
	person := ledger.Arrival{Issuer: p.Issuer, Subject: p.Subject, Names: p.Names, From: v.from()}
	for _, r := range p.Roles {
		person.Roles = append(person.Roles, ledger.Role(r))
	}
	if flow.Link != "" {
		return s.link(v, flow, person)
	}
	a, created, err := s.Ledger.Accounts().SignInFromProvider(v.ctx(), person)
	if errors.Is(err, ledger.ErrSession) {
		return errDisabled
	}
	if errors.Is(err, ledger.ErrUnlinked) {
		s.keepTrace(v.ctx(), ledger.AuditEvent{
			From: v.from(),
			What: "sign-in-failed",
			Note: "by " + s.Provider.Host() + ": an account with this name exists",
		})
		return errExists
	}
	if err != nil {
		return err
	}
	if created {
		s.Log.Info("account added by the sign-in provider", "account", a.ID)
	}
	if len(p.Groups) == 0 && a.ManagedBy != "" {
		s.Log.Warn("account without groups", "account", a.ID, "claim", s.Settings.Claim)
	}
	by := arrival{To: flow.To, By: "by " + s.Provider.Host(), Token: p.IDToken}
	rules, err := s.Ledger.Accounts().LoadSignInRules(v.ctx())
	if err != nil {
		return err
	}
	if p.SecondFactor || rules.TrustProvider {
		by.Factor = ledger.FactorProvider
	}
	return s.admit(v, a, by)
}

// providerError returns the page of a failed sign-in by the provider. The details are
// only in the log.
func (s *Site) providerError(v *request, err error) error {
	s.Log.Warn("provider sign-in failed", "address", v.from(), "err", err)
	shown := errUntrusted
	switch {
	case errors.Is(err, signin.ErrProviderAway) && s.ProviderOnly:
		return errAway
	case errors.Is(err, signin.ErrProviderAway):
		return errAwayLocal
	case errors.Is(err, signin.ErrProviderRefused):
		shown = errDeclined
	case !errors.Is(err, signin.ErrUntrusted):
		return err
	}
	s.keepTrace(v.ctx(), ledger.AuditEvent{From: v.from(), What: "sign-in-failed", Note: "by " + s.Provider.Host()})
	return shown
}

// linkProvider sends the owner of a local account to the provider, to be linked
// with whom it vouches for. The way there is a page: the form's own policy lets
// no form lead away from this site.
func (s *Site) linkProvider(v *request) error {
	switch {
	case !s.confirmed(v):
		return errConfirm
	case v.session.Account.ManagedBy != "":
		return errManaged
	}
	at, err := s.begun(v, providerFlow{To: "/security", Link: v.session.Account.ID})
	if err != nil {
		return err
	}
	return v.onward("Continue to your company account", "Sign in there. You then come back here.", at)
}

// onward is a page that leads to the provider at once.
func (v *request) onward(title, text, at string) error {
	return v.show("redirect.html", title, struct{ Title, Text, At string }{title, text, at})
}

// link links a company account to the signed-in account, if that is still the one
// that asked and its owner has confirmed it.
func (s *Site) link(v *request, flow providerFlow, person ledger.Arrival) error {
	switch {
	case !v.signedIn || v.session.Account.ID != flow.Link:
		return errFlow
	case !s.confirmed(v):
		return errConfirm
	}
	act := ledger.AuditEvent{
		By:   v.who(),
		From: v.from(),
		What: "provider-link",
		Of:   v.who(),
		Note: s.Provider.Host(),
	}
	err := s.Ledger.Accounts().LinkIdentity(ledger.WithAudit(v.ctx(), act), flow.Link, person)
	if errors.Is(err, ledger.ErrIdentity) {
		return errLinked
	}
	if err != nil {
		return err
	}
	if err := s.notifyOwner(v, "a company account was linked to"); err != nil {
		return err
	}
	v.flash("ok", "Your company account is linked. You can now sign in with it.")
	return v.redirect(flow.To)
}

func (s *Site) unlinkProvider(v *request) error {
	if !s.confirmed(v) {
		return errConfirm
	}
	a := v.session.Account
	err := s.Ledger.Accounts().UnlinkIdentity(v.withAudit("provider-unlink", a.Name, ""), a.ID,
		v.r.PostForm.Get("issuer"), v.r.PostForm.Get("subject"))
	if err != nil {
		return err
	}
	if err := s.notifyOwner(v, "a company account was unlinked from"); err != nil {
		return err
	}
	v.flash("ok", "The company account is unlinked.")
	return v.redirect("/security")
}

// signOut is the page that ends the provider's session, too; false where there is
// none.
func (s *Site) signOut(v *request, token string) (bool, error) {
	if s.Provider == nil || token == "" {
		return false, nil
	}
	at := s.Provider.SignOut(v.ctx(), token, s.address(v.r)+"/sign-in")
	if at == "" {
		return false, nil
	}
	v.signedIn = false
	return true, v.onward("You are signed out here", "Signing you out of your company account, too.", at)
}
