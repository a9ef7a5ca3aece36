package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/outbox"
	"github.com/bulkfiling/bulkfiling/internal/signin"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// authenticator begins sessions, and keeps the state of a sign-in between two requests.
type authenticator struct {
	accounts      *account.Accounts
	notifications *outbox.Outbox
}

// admit signs in a person who has proved their identity. how is the note in the audit log.
func (a *authenticator) admit(v *request, person account.Account, how string, in account.SignIn, to string) error {
	// The new session replaces the session of this browser.
	if v.signedIn {
		if err := a.accounts.EndSession(v.ctx(), v.secret); err != nil {
			return err
		}
	}
	act := audit.Event{
		By:   person.Name,
		From: v.from(),
		What: "sign-in",
		Of:   person.Name,
		Note: how,
	}
	secret, err := a.accounts.BeginSession(audit.With(v.ctx(), act), person.ID, in)
	if errors.Is(err, account.ErrSession) {
		return errDisabled
	}
	if err != nil {
		return err
	}
	v.setCookie(sessionCookie, secret, in.Life)
	return v.redirect(to)
}

// freshLife is how long after a sign-in a person may change the ways to sign in.
const freshLife = 10 * time.Minute

var errNotFresh = &httpError{http.StatusForbidden, "Sign in again first",
	"To change how you sign in, sign out and sign in again. Nothing was changed."}

// fresh reports whether the reader signed in less than freshLife ago.
func (v *request) fresh() bool { return v.server.Ledger.Now().Sub(v.session.CreatedAt) < freshLife }

// changed leads to the security page after a change of the ways to sign in, or returns the error of
// the change. It notifies the owner of the account and the firm.
func (a *authenticator) changed(v *request, err error, what, said string) error {
	if err != nil {
		return err
	}
	n := outbox.Notification{
		Kind:    outbox.KindAccess,
		Subject: "sign-in of " + v.who() + " changed",
		Body: text.Capital(what) + " " + v.who() + ", from " + v.from() + " (" + v.device() + ").\nIf " + v.who() +
			" did not do this, disable the account now: importer accounts disable \"" + v.who() + "\"\n",
	}
	if to := v.session.Account.Email; to != "" {
		n.Recipients = []string{to}
	}
	_, err = a.notifications.Add(v.ctx(), n)
	return v.done(err, "/security", "%s", said)
}

// beginFlow stores the sealed state of a flow in a cookie.
func (a *authenticator) beginFlow(v *request, kind account.FlowKind, state any) error {
	data, err := json.Marshal(state)
	if err != nil {
		return err
	}
	sealed, err := a.accounts.SealFlow(kind, string(data), flowLife)
	if err == nil {
		v.setCookie(flowCookie(kind), sealed, flowLife)
	}
	return err
}

// endFlow reads the state of a flow from its cookie and deletes the cookie. It returns errFlow if
// there is no cookie, and ErrFlow if the state is not valid.
func (a *authenticator) endFlow(v *request, kind account.FlowKind, state any) error {
	cookie, err := v.r.Cookie(v.server.cookieName(flowCookie(kind)))
	if err != nil {
		return errFlow
	}
	v.setCookie(flowCookie(kind), "", -1)
	data, err := a.accounts.OpenFlow(kind, cookie.Value)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(data), state)
}

// flowCookie returns the name of the cookie of a flow.
func flowCookie(kind account.FlowKind) string { return "flow-" + string(kind) }

// systemFamilies are the families of systems by a mark in User-Agent. The first match wins.
var systemFamilies = []struct{ mark, name string }{
	{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"CrOS", "ChromeOS"}, {"Windows", "Windows"},
	{"Macintosh", "Mac"}, {"Linux", "Linux"},
}

// device returns the family of the visitor's system in words. The rest of User-Agent is not stored.
func (v *request) device() string {
	for _, f := range systemFamilies {
		if strings.Contains(v.r.UserAgent(), f.mark) {
			return f.name
		}
	}
	return "Unknown device"
}

// signInHandler handles the sign-in page and one-time links.
type signInHandler struct {
	*Config
	*authenticator
}

func (h *signInHandler) routes() []route {
	return []route{
		{pattern: "GET /sign-in", may: anyone, serve: h.signInPage},
		{pattern: "GET /enter", may: anyone, serve: h.enterPage},
		{pattern: "POST /enter", may: anyone, serve: h.enter},
	}
}

const (
	// sessionLife is the maximum length of a session. The ledger ends an idle session earlier.
	sessionLife = 7 * 24 * time.Hour
	// providerLife is the maximum length of a session by the sign-in provider. The person's groups
	// are thus checked again every working day.
	providerLife = 12 * time.Hour
	// flowLife is how long a browser may take for the second half of a sign-in.
	flowLife = 10 * time.Minute
	// linkLife is how long a link from an operator works.
	linkLife = 24 * time.Hour
)

var (
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
	Local    bool
}

func (h *signInHandler) signInPage(v *request) error {
	to := local(v.query("to"))
	if v.signedIn {
		return v.redirect(to)
	}
	_, err := v.passkeys()
	e := entrance{To: to, Passkeys: err == nil, Local: v.server.Local}
	if h.Provider != nil {
		e.Provider, e.Away = h.Provider.Host(), h.Provider.Away() != nil
	}
	return v.show(nil, "sign-in.html", "Sign in", e)
}

// linkTo returns the address of a one-time link.
func linkTo(address, secret string) string { return address + "/enter?link=" + url.QueryEscape(secret) }

// enterPage shows the account of a one-time link. It does not use up the link, because programs
// that scan messages open links before their readers do.
func (h *signInHandler) enterPage(v *request) error {
	secret := v.query("link")
	found, err := h.accounts.FindSignInLink(v.ctx(), secret)
	return v.show(err, "link-sign-in.html", "Sign in", struct {
		Secret, Name string
		// Auto reports whether the page may submit itself. It must not if another account is signed
		// in, which a stranger's link would replace.
		Auto bool
	}{secret, found.Name, !v.signedIn || v.session.Account.ID == found.ID})
}

func (h *signInHandler) enter(v *request) error {
	found, err := h.accounts.UseSignInLink(v.ctx(), v.form("link"))
	if errors.Is(err, account.ErrSignInLink) {
		v.server.recordFailedSignIn(v, found, "link", err)
	}
	if err != nil {
		return err
	}
	return h.admit(v, found, "by a link", account.SignIn{Life: sessionLife}, "/")
}

// passkeys returns the passkeys for the address that people use: --public-url, or localhost on this
// machine. At all other addresses it returns errNoPasskeys.
func (v *request) passkeys() (*signin.Passkeys, error) {
	at := v.server.Public
	if host := (&url.URL{Host: v.r.Host}).Hostname(); at == nil && host == "localhost" {
		at = &url.URL{Scheme: "http", Host: v.r.Host}
		if v.server.TLS {
			at.Scheme = "https"
		}
	}
	p, err := signin.NewPasskeys(at)
	if errors.Is(err, signin.ErrNoPasskeys) {
		return nil, errNoPasskeys
	}
	return p, err
}

// sentence capitalizes an error's text and ends it with a period.
func sentence(words string) string {
	if words == "" {
		return ""
	}
	return text.Capital(strings.TrimSuffix(words, ".")) + "."
}
