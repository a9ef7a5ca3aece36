package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/audit"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// authenticator begins sessions, and keeps the state of a sign-in between two requests.
type authenticator struct {
	accounts      ledger.Accounts
	notifications ledger.Notifications
	now           func() time.Time
}

// admit signs in a person who has proved their identity. how is the note in the audit log.
func (a *authenticator) admit(v *request, person ledger.Account, how string, in ledger.SignIn, to string) error {
	// The new session replaces the session of this browser.
	if v.signedIn {
		if err := a.accounts.EndSession(v.ctx(), v.secret); err != nil {
			return err
		}
	}
	in.From, in.Agent = v.from(), v.agent()
	act := audit.Event{
		By:   person.Name,
		From: v.from(),
		What: "sign-in",
		Of:   person.Name,
		Note: how,
	}
	secret, err := a.accounts.BeginSession(audit.With(v.ctx(), act), person.ID, in)
	if errors.Is(err, ledger.ErrSession) {
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

// fresh reports whether the person signed in less than freshLife ago.
func (a *authenticator) fresh(v *request) bool {
	return a.now().Sub(v.session.CreatedAt) < freshLife
}

// notifyOwner notifies the owner of an account and the firm that the ways to sign in have changed.
func (a *authenticator) notifyOwner(v *request, what string) error {
	n := ledger.Notification{
		Kind:    ledger.NotifyAccess,
		Subject: "sign-in of " + v.who() + " changed",
		Body: text.Capital(what) + " " + v.who() + ", from " + v.from() + " (" + v.agent() + ").\nIf " + v.who() +
			" did not do this, disable the account now: importer accounts disable \"" + v.who() + "\"\n",
	}
	if to := v.session.Account.Email; to != "" {
		n.Recipients = []string{to}
	}
	_, err := a.notifications.Add(v.ctx(), n)
	return err
}

// beginFlow stores the sealed state of a flow in a cookie.
func (a *authenticator) beginFlow(v *request, kind ledger.FlowKind, state any) error {
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
func (a *authenticator) endFlow(v *request, kind ledger.FlowKind, state any) error {
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
func flowCookie(kind ledger.FlowKind) string { return "flow-" + string(kind) }

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
