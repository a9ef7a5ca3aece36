package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/signin"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

var signInRoutes = []route{
	{pattern: "GET /sign-in", may: anyone, serve: (*Site).signInPage},
	{pattern: "POST /sign-in", may: anyone, serve: (*Site).mailLink},
	{pattern: "GET /enter", may: anyone, serve: (*Site).enterPage},
	{pattern: "POST /enter", may: anyone, serve: (*Site).enter},
	{pattern: "POST /leave", may: self, serve: (*Site).leave},
	{pattern: "GET /sign-in/provider", may: anyone, serve: (*Site).toProvider},
	{pattern: "GET /sign-in/provider/callback", may: anyone, serve: (*Site).fromProvider},
	{pattern: "POST /security/provider", may: self, serve: (*Site).linkProvider},
	{pattern: "POST /security/provider/unlink", may: self, serve: (*Site).unlinkProvider},
}

const (
	// sessionLife is the maximum length of a session. The ledger ends an idle session earlier.
	sessionLife = 7 * 24 * time.Hour
	// providerLife is the maximum length of a session by the sign-in provider. The person's groups
	// are thus checked again every working day.
	providerLife = 12 * time.Hour
	// flowLife is how long a browser may take for the second half of a sign-in.
	flowLife = 10 * time.Minute
	// linkLife is how long a link from an operator works, and mailedLife how long a mailed link
	// works.
	linkLife   = 24 * time.Hour
	mailedLife = 30 * time.Minute
	// mailAtOnce is the maximum number of links that are mailed at once. Further requests are
	// dropped.
	mailAtOnce = 8
)

var (
	errSignInLink = &httpError{http.StatusGone, "This link no longer works",
		"A link works once and expires. Ask for a new one on the sign-in page, or ask an operator. On your own " +
			"computer, start importer serve again to get a new link."}
	errDisabled = &httpError{http.StatusForbidden, "The account is disabled",
		"No one was signed in. Ask an operator to enable the account."}
	errManaged = &httpError{http.StatusForbidden, "Sign in with your company account",
		"The sign-in provider manages this account. Go back to the sign-in page and choose your company account."}
	errFlow = &httpError{http.StatusGone, "The sign-in took too long", "Nothing was changed. Sign in again."}
)

// entrance is the sign-in page.
type entrance struct {
	To string
	// Provider is the host of the sign-in provider. Empty if none is configured.
	Provider string
	// Away reports whether the provider was unreachable at the last request.
	Away     bool
	Passkeys bool
	// Mails reports whether sign-in links can be mailed.
	Mails bool
	Local bool
	// Sent is the name or address for which a link was requested.
	Sent string
}

func (s *Site) showEntrance(v *request, e entrance) error {
	if s.Provider != nil {
		e.Provider, e.Away = s.Provider.Host(), s.Provider.Away() != nil
	}
	_, err := s.passkeys(v)
	e.Passkeys, e.Mails, e.Local = err == nil, s.mails(), s.Local
	return v.show("sign-in.html", "Sign in", e)
}

// mails reports whether links can be mailed. It requires a known address of the site, so that a
// stranger cannot choose the host in a link.
func (s *Site) mails() bool { return s.Mail != nil && (s.Public != nil || s.Local) }

func (s *Site) signInPage(v *request) error {
	to := local(v.r.URL.Query().Get("to"))
	if v.signedIn {
		return v.redirect(to)
	}
	return s.showEntrance(v, entrance{To: to})
}

// mailLink mails a link to the account with a name or an address. The response and its timing do
// not reveal whether the account exists.
func (s *Site) mailLink(v *request) error {
	name := strings.TrimSpace(v.r.PostForm.Get("name"))
	if !s.mails() {
		return badRequest("This server sends no email. Ask an operator for a sign-in link.")
	}
	ctx, from, address := context.WithoutCancel(v.ctx()), v.from(), s.address(v.r)
	select {
	case s.mailSlots <- struct{}{}:
		s.mailing.Go(func() {
			defer func() { <-s.mailSlots }()
			if err := s.sendLink(ctx, name, from, address); err != nil {
				s.Log.Error("sign-in link not mailed", "err", err)
			}
		})
	default:
		s.Log.Warn("sign-in link dropped", "address", from)
	}
	return s.showEntrance(v, entrance{To: local(v.r.PostForm.Get("to")), Sent: name})
}

func (s *Site) sendLink(ctx context.Context, name, from, address string) error {
	a, secret, err := s.Ledger.Accounts().MakeMailedLink(ctx, name, from, mailedLife)
	if errors.Is(err, ledger.ErrSignInLink) {
		s.Log.Warn("no sign-in link to mail", "address", from)
		return nil
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return s.Mail(ctx, a.Email, "Bulkfiling: your sign-in link", "Open this link to sign in as "+a.Name+
		". It works once, within "+text.Count(int(mailedLife.Minutes()), "minute")+".\n\n"+linkTo(address, secret)+
		"\n\nIf you did not ask for it, ignore this email.")
}

// linkTo returns the address of a one-time link.
func linkTo(address, secret string) string { return address + "/enter?link=" + url.QueryEscape(secret) }

// enterPage shows the account of a one-time link. It does not use up the link, because programs
// that scan messages open links before their readers do.
func (s *Site) enterPage(v *request) error {
	secret := v.r.URL.Query().Get("link")
	account, err := s.Ledger.Accounts().FindSignInLink(v.ctx(), secret)
	if errors.Is(err, ledger.ErrSignInLink) {
		return errSignInLink
	}
	if err != nil {
		return err
	}
	return v.show("link-sign-in.html", "Sign in", struct {
		Secret, Name string
		// Auto reports whether the page may submit itself. It must not if another account is signed
		// in, which a stranger's link would replace.
		Auto bool
	}{secret, account.Name, !v.signedIn || v.session.Account.ID == account.ID})
}

func (s *Site) enter(v *request) error {
	account, err := s.Ledger.Accounts().UseSignInLink(v.ctx(), v.r.PostForm.Get("link"))
	if errors.Is(err, ledger.ErrSignInLink) {
		s.recordFailedSignIn(v, account, "link", err)
		return errSignInLink
	}
	if err != nil {
		return err
	}
	return s.admit(v, account, "by a link", ledger.SignIn{Life: sessionLife}, "/")
}

// admit signs in a person who has proved their identity. how is the note in the audit log.
func (s *Site) admit(v *request, a ledger.Account, how string, in ledger.SignIn, to string) error {
	// The new session replaces the session of this browser.
	if v.signedIn {
		if err := s.Ledger.Accounts().EndSession(v.ctx(), v.secret); err != nil {
			return err
		}
	}
	in.From, in.Agent = v.from(), v.agent()
	act := ledger.AuditEvent{
		By:   a.Name,
		From: v.from(),
		What: "sign-in",
		Of:   a.Name,
		Note: how,
	}
	secret, err := s.Ledger.Accounts().BeginSession(ledger.WithAudit(v.ctx(), act), a.ID, in)
	if errors.Is(err, ledger.ErrSession) {
		return errDisabled
	}
	if err != nil {
		return err
	}
	v.setCookie(sessionCookie, secret, in.Life)
	return v.redirect(to)
}

func (s *Site) leave(v *request) error {
	token, err := s.Ledger.Accounts().ProviderToken(v.ctx(), v.secret)
	if err != nil {
		s.Log.Warn("ending the provider session failed", "err", err)
	}
	if err := s.Ledger.Accounts().EndSession(v.withAudit("sign-out", v.who(), ""), v.secret); err != nil {
		return err
	}
	v.setCookie(sessionCookie, "", -1)
	to := local(v.r.PostForm.Get("to"))
	if to != "/" {
		return v.redirect("/sign-in?to=" + url.QueryEscape(to))
	}
	if done, err := s.signOut(v, token); done {
		return err
	}
	return v.redirect("/sign-in")
}

// sentence capitalizes an error's text and ends it with a period.
func sentence(words string) string {
	if words == "" {
		return ""
	}
	return text.Capital(strings.TrimSuffix(words, ".")) + "."
}

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
	// Link is the ID of the account to link. Empty for a sign-in.
	Link string
}

// begun starts a flow and returns the provider's address for the browser. A cookie binds the flow's
// state to the browser. It returns errNoProvider if no provider is configured.
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

// toProvider redirects the browser to the provider.
func (s *Site) toProvider(v *request) error {
	at, err := s.begun(v, providerFlow{To: local(v.r.URL.Query().Get("to"))})
	if err != nil {
		return err
	}
	return v.redirect(at)
}

// fromProvider handles the browser's return from the provider. Each flow can be used once.
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

// providerError returns the page for a failed sign-in by the provider. Only the log has the
// details.
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

// linkProvider sends the owner of a local account to the provider, to link their company account.
// It shows a page that leads there, because the site's policy does not let a form redirect to
// another site.
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

// onward shows a page that leads to the provider immediately.
func (v *request) onward(title, text, at string) error {
	return v.show("redirect.html", title, struct{ Title, Text, At string }{title, text, at})
}

// link links a company account to the signed-in account, which must be the account that started the
// flow.
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

// signOut shows a page that also ends the provider's session. It returns false if that is not
// possible.
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
