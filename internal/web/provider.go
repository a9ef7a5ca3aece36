package web

import (
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
		"No one was signed in. Try again in a minute. If your account here has a passkey, sign in with it. In an " +
			"emergency, an operator adds an account on the server: importer accounts add."}
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
		"No one was signed in. Sign in to that account with a link or a passkey, then link your company account " +
			"under Security. If it is not your account, or you cannot sign in to it, ask an operator."}
)

// providerFlow is the state of a sign-in while the browser is at the provider.
type providerFlow struct {
	Ceremony signin.Ceremony
	To       string
	Link     string // the account that is to be linked; empty for a sign-in
}

// begun makes the address to send the browser to. A cookie binds its state to the
// browser.
func (s *Site) begun(v *request, flow providerFlow) (string, error) {
	if s.Provider == nil {
		return "", errNoProvider
	}
	ceremony, at, err := s.Provider.Begin(v.ctx())
	if err != nil {
		return "", s.providerError(v, err)
	}
	flow.Ceremony = ceremony
	return at, s.beginFlow(v, ledger.FlowProvider, flow)
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
	if err := s.endFlow(v, ledger.FlowProvider, &flow); err != nil {
		return err
	}
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
		s.keepTrace(v.ctx(), s.failures, ledger.AuditEvent{
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
	in := ledger.SignIn{Life: providerLife, ProviderToken: p.IDToken, OwnWay: true}
	return s.admit(v, a, "by "+s.Provider.Host(), in, flow.To)
}

// providerError returns the page of a failed sign-in by the provider. The details are
// only in the log.
func (s *Site) providerError(v *request, err error) error {
	s.Log.Warn("provider sign-in failed", "address", v.from(), "err", err)
	shown := errUntrusted
	switch {
	case errors.Is(err, signin.ErrProviderAway):
		return errAway
	case errors.Is(err, signin.ErrProviderRefused):
		shown = errDeclined
	case !errors.Is(err, signin.ErrUntrusted):
		return err
	}
	s.keepTrace(v.ctx(), s.failures,
		ledger.AuditEvent{From: v.from(), What: "sign-in-failed", Note: "by " + s.Provider.Host()})
	return shown
}

// linkProvider sends the owner of a local account to the provider, to be linked
// with whom it vouches for. The way there is a page: the form's own policy lets
// no form lead away from this site.
func (s *Site) linkProvider(v *request) error {
	switch {
	case !s.fresh(v):
		return errNotFresh
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
// that asked.
func (s *Site) link(v *request, flow providerFlow, person ledger.Arrival) error {
	switch {
	case !v.signedIn || v.session.Account.ID != flow.Link:
		return errFlow
	case !s.fresh(v):
		return errNotFresh
	}
	err := s.Ledger.Accounts().LinkIdentity(v.withAudit("provider-link", v.who(), s.Provider.Host()), flow.Link, person,
		v.secret)
	if errors.Is(err, ledger.ErrIdentity) {
		return errLinked
	}
	if err != nil {
		return err
	}
	err = s.notifyOwner(v, "a company account was linked to")
	return v.done(err, flow.To, "Your company account is linked. You can now sign in with it.")
}

func (s *Site) unlinkProvider(v *request) error {
	if !s.fresh(v) {
		return errNotFresh
	}
	a := v.session.Account
	err := s.Ledger.Accounts().UnlinkIdentity(v.withAudit("provider-unlink", a.Name, ""), a.ID,
		v.r.PostForm.Get("issuer"), v.r.PostForm.Get("subject"), v.secret)
	if err != nil {
		return err
	}
	err = s.notifyOwner(v, "a company account was unlinked from")
	return v.done(err, "/security", "The company account is unlinked.")
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
