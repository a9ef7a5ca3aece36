package web

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/signin"
)

// ProviderCallback is the path to which the sign-in provider redirects people.
const ProviderCallback = "/sign-in/provider/callback"

// These are the errors of a sign-in by the provider.
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
	errExists = &httpError{http.StatusConflict, "An account with this name exists",
		"No one was signed in. Sign in to that account with a link or a passkey, then link your company account " +
			"under Security. If it is not your account, or you cannot sign in to it, ask an operator."}
)

// providerHandler handles sign-ins by the sign-in provider, and signing out.
type providerHandler struct {
	*Config
	*authenticator
}

func (h *providerHandler) routes() []route {
	return []route{
		{pattern: "GET /sign-in/provider", may: anyone, serve: h.toProvider},
		{pattern: "GET " + ProviderCallback, may: anyone, serve: h.fromProvider},
		{pattern: "POST /security/provider", may: self, fresh: true, serve: h.linkProvider},
		{pattern: "POST /security/provider/unlink", may: self, fresh: true, serve: h.unlinkProvider},
		{pattern: "POST /leave", may: self, serve: h.leave},
	}
}

// providerFlow is the state of a sign-in while the browser is at the provider.
type providerFlow struct {
	Ceremony signin.Ceremony
	To       string
	// Link is the ID of the account to link. Empty for a sign-in.
	Link string
}

// begun starts a flow and returns the provider's address for the browser. A cookie binds the flow's
// state to the browser. It returns errNoProvider if no provider is configured.
func (h *providerHandler) begun(v *request, flow providerFlow) (string, error) {
	if h.Provider == nil {
		return "", errNoProvider
	}
	ceremony, at, err := h.Provider.Begin(v.ctx())
	if err != nil {
		return "", h.providerError(v, err)
	}
	flow.Ceremony = ceremony
	return at, h.beginFlow(v, account.FlowProvider, flow)
}

// toProvider redirects the browser to the provider.
func (h *providerHandler) toProvider(v *request) error {
	at, err := h.begun(v, providerFlow{To: local(v.query("to"))})
	if err != nil {
		return err
	}
	return v.redirect(at)
}

// fromProvider handles the browser's return from the provider. Each flow can be used once.
func (h *providerHandler) fromProvider(v *request) error {
	if h.Provider == nil {
		return errNoProvider
	}
	var flow providerFlow
	if err := h.endFlow(v, account.FlowProvider, &flow); err != nil {
		return err
	}
	p, err := h.Provider.Finish(v.ctx(), flow.Ceremony, v.r.URL.Query())
	if err != nil {
		return h.providerError(v, err)
	}
	person := account.ProviderSignIn{Issuer: p.Issuer, Subject: p.Subject, Names: p.Names, From: v.from()}
	for _, r := range p.Roles {
		person.Roles = append(person.Roles, account.Role(r))
	}
	if flow.Link != "" {
		return h.link(v, flow, person)
	}
	a, created, err := h.accounts.SignInFromProvider(v.ctx(), person)
	if errors.Is(err, account.ErrSession) {
		return errDisabled
	}
	if errors.Is(err, account.ErrUnlinked) {
		v.server.keepTrace(v.ctx(), v.server.failures, audit.Event{
			From: v.from(),
			What: "sign-in-failed",
			Note: "by " + h.Provider.Host() + ": an account with this name exists",
		})
		return errExists
	}
	if err != nil {
		return err
	}
	if created {
		h.Log.Info("account added by the sign-in provider", "account", a.ID)
	}
	if len(p.Groups) == 0 && a.ManagedBy != "" {
		h.Log.Warn("account without groups", "account", a.ID, "claim", h.Settings.Claim)
	}
	in := account.SignIn{Life: providerLife, ProviderToken: p.IDToken, OwnWay: true}
	return h.admit(v, a, "by "+h.Provider.Host(), in, flow.To)
}

// providerError returns the page for a failed sign-in by the provider. Only the log has the
// details.
func (h *providerHandler) providerError(v *request, err error) error {
	h.Log.Warn("provider sign-in failed", "address", v.from(), "err", err)
	shown := errUntrusted
	switch {
	case errors.Is(err, signin.ErrProviderAway):
		return errAway
	case errors.Is(err, signin.ErrProviderRefused):
		shown = errDeclined
	case !errors.Is(err, signin.ErrUntrusted):
		return err
	}
	v.server.keepTrace(v.ctx(), v.server.failures,
		audit.Event{From: v.from(), What: "sign-in-failed", Note: "by " + h.Provider.Host()})
	return shown
}

// linkProvider sends the owner of a local account to the provider, to link their company account.
// It shows a page that leads there, because the site's policy does not let a form redirect to
// another site.
func (h *providerHandler) linkProvider(v *request) error {
	if v.session.Account.ManagedBy != "" {
		return errManaged
	}
	at, err := h.begun(v, providerFlow{Link: v.session.Account.ID})
	if err != nil {
		return err
	}
	return v.onward("Continue to your company account", "Sign in there. You then come back here.", at)
}

// onward shows a page that leads to the provider immediately.
func (v *request) onward(title, text, at string) error {
	return v.show(nil, "redirect.html", title, struct{ Title, Text, At string }{title, text, at})
}

// link links a company account to the signed-in account, which must be the account that started the
// flow.
func (h *providerHandler) link(v *request, flow providerFlow, person account.ProviderSignIn) error {
	switch {
	case !v.signedIn || v.session.Account.ID != flow.Link:
		return errFlow
	case !v.fresh():
		return errNotFresh
	}
	err := h.accounts.LinkIdentity(v.withAudit("provider-link", v.who(), h.Provider.Host()), flow.Link, person,
		v.secret)
	return h.changed(v, err, "a company account was linked to",
		"Your company account is linked. You can now sign in with it.")
}

func (h *providerHandler) unlinkProvider(v *request) error {
	a := v.session.Account
	err := h.accounts.UnlinkIdentity(v.withAudit("provider-unlink", a.Name, ""), a.ID,
		v.form("issuer"), v.form("subject"), v.secret)
	return h.changed(v, err, "a company account was unlinked from", "The company account is unlinked.")
}

// signOut shows a page that also ends the provider's session. It returns false if that is not
// possible.
func (h *providerHandler) signOut(v *request, token string) (bool, error) {
	if h.Provider == nil || token == "" {
		return false, nil
	}
	at := h.Provider.SignOut(v.ctx(), token, v.server.of(v.r)+"/sign-in")
	if at == "" {
		return false, nil
	}
	v.signedIn = false
	return true, v.onward("You are signed out here", "Signing you out of your company account, too.", at)
}

func (h *providerHandler) leave(v *request) error {
	token, err := h.accounts.ProviderToken(v.ctx(), v.secret)
	if err != nil {
		h.Log.Warn("ending the provider session failed", "err", err)
	}
	if err := h.accounts.EndSession(v.withAudit("sign-out", v.who(), ""), v.secret); err != nil {
		return err
	}
	v.setCookie(sessionCookie, "", -1)
	to := local(v.form("to"))
	if to != "/" {
		return v.redirect("/sign-in?to=" + url.QueryEscape(to))
	}
	if done, err := h.signOut(v, token); done {
		return err
	}
	return v.redirect("/sign-in")
}
