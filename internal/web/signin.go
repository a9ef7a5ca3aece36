package web

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

var signInRoutes = []route{
	{pattern: "GET /sign-in", may: anyone, serve: (*Site).signInPage},
	{pattern: "POST /sign-in", may: anyone, serve: (*Site).signIn},
	{pattern: "GET /enter", may: anyone, serve: (*Site).enterPage},
	{pattern: "POST /enter", may: anyone, serve: (*Site).enter},
	{pattern: "POST /leave", may: self, serve: (*Site).leave},
	{pattern: "GET /password", may: self, serve: (*Site).passwordPage},
	{pattern: "POST /password", may: self, serve: (*Site).password},
}

// sessionLife is how long someone stays signed in; the ledger ends a session
// earlier where nothing is done in it.
const sessionLife = 7 * 24 * time.Hour

// entrance is what the sign-in page shows.
type entrance struct {
	To, Name string
	Wrong    string
	Empty    bool   // no account has a password yet, and the browser runs on the server's computer
	Provider string // the host of the sign-in provider; "" for none
	Away     bool   // the provider could not be reached when it was asked last
	Only     bool   // passwords sign in break-glass accounts only
	Passkeys bool
}

// entrance is the sign-in page as it stands.
func (s *Site) entrance(v *request, e entrance) entrance {
	if s.Provider != nil {
		e.Provider, e.Away, e.Only = s.Provider.Host(), s.Provider.Away() != nil, s.ProviderOnly
	}
	_, err := s.passkeys(v)
	e.Passkeys = err == nil
	return e
}

func (s *Site) signInPage(v *request) error {
	to := local(v.r.URL.Query().Get("to"))
	if v.signedIn {
		return v.redirect(to)
	}
	empty := false
	if s.Local { // elsewhere it would tell strangers
		accounts, err := s.Ledger.Accounts().List(v.ctx())
		if err != nil {
			return err
		}
		empty = !slices.ContainsFunc(accounts, func(a ledger.Account) bool { return a.HasPassword })
	}
	return v.show("sign-in.html", "Sign in", s.entrance(v, entrance{To: to, Empty: empty}))
}

func (s *Site) signIn(v *request) error {
	name, to := strings.TrimSpace(v.r.PostForm.Get("name")), local(v.r.PostForm.Get("to"))
	account, err := s.Ledger.Accounts().SignIn(v.ctx(), v.try(name), v.r.PostForm.Get("password"))
	switch {
	case errors.Is(err, ledger.ErrSignIn):
		s.recordFailedSignIn(v, name, "password", err)
		return v.showStatus(http.StatusUnauthorized, "sign-in.html", "Sign in",
			s.entrance(v, entrance{To: to, Name: name, Wrong: "The name or password is wrong."}))
	case err != nil:
		return err
	}
	return s.admit(v, account, arrival{To: to, By: "by password"})
}

// enterPage shows whom a one-time link is for. It does not use it up: programs
// that look at links before their reader does would.
func (s *Site) enterPage(v *request) error {
	ask := v.r.URL.Query()
	secret := cmp.Or(ask.Get("link"), ask.Get("ticket")) // links of earlier versions say ticket
	account, err := s.Ledger.Accounts().FindSignInLink(v.ctx(), secret)
	if errors.Is(err, ledger.ErrSignInLink) {
		return errSignInLink
	}
	if err == nil {
		err = s.refuseLocal(account)
	}
	if err != nil {
		return err
	}
	return v.showEntry(http.StatusOK, entry{Secret: secret, Name: account.Name, Resets: account.HasPassword})
}

// entry is what a one-time link shows.
type entry struct {
	Secret, Name string
	Resets       bool // it sets a new password, and signs no one in
	Wrong        string
}

func (v *request) showEntry(status int, e entry) error {
	title := "Sign in"
	if e.Resets {
		title = "Set a new password"
	}
	return v.showStatus(status, "link-sign-in.html", title, e)
}

var errSignInLink = &httpError{http.StatusGone, "This link no longer works",
	"A link works once and expires. Sign in with your password, or ask an operator for a new link. On your own " +
		"computer, start importer serve again to get a new link."}

func (s *Site) enter(v *request) error {
	secret := v.r.PostForm.Get("link")
	account, err := s.Ledger.Accounts().FindSignInLink(v.ctx(), secret)
	if err == nil {
		// A link that is refused stays as it is.
		if err := s.refuseLocal(account); err != nil {
			return err
		}
		account, err = s.Ledger.Accounts().UseSignInLink(v.ctx(), secret)
	}
	switch {
	case errors.Is(err, ledger.ErrReset):
		return s.resetPassword(v, secret)
	case errors.Is(err, ledger.ErrSignInLink):
		return errSignInLink
	case err != nil:
		return err
	}
	to := "/password"
	if s.Local {
		own, err := s.madeOwnLink(v, account)
		if err != nil {
			return err
		}
		if own {
			to = "/"
		}
	}
	return s.admit(v, account, arrival{To: to, By: "by a link"})
}

// madeOwnLink reports whether the link that someone has just used is their own: on
// their own computer serve makes one at each start, and they need no password.
func (s *Site) madeOwnLink(v *request, a ledger.Account) (bool, error) {
	makers, err := s.Ledger.Accounts().ListCredentials(v.ctx(), a.ID)
	return !slices.ContainsFunc(makers, func(name string) bool { return name != a.Name }), err
}

// resetPassword sets the password that came with a link. It begins no session: its
// owner signs in with all that their account asks for.
func (s *Site) resetPassword(v *request, secret string) error {
	account, err := s.Ledger.Accounts().FindSignInLink(v.ctx(), secret)
	if errors.Is(err, ledger.ErrSignInLink) {
		return errSignInLink
	}
	if err != nil {
		return err
	}
	e := entry{Secret: secret, Name: account.Name, Resets: true}
	fresh := v.r.PostForm.Get("password")
	if fresh != v.r.PostForm.Get("again") {
		e.Wrong = "The passwords do not match."
		return v.showEntry(http.StatusUnprocessableEntity, e)
	}
	act := ledger.AuditEvent{
		By:   account.Name,
		From: v.from(),
		What: "account-password",
		Of:   account.Name,
		Note: "with a sign-in link",
	}
	_, err = s.Ledger.Accounts().ResetPassword(ledger.WithAudit(v.ctx(), act), secret, fresh)
	switch {
	case errors.Is(err, ledger.ErrWeak):
		e.Wrong = sentence(err.Error())
		return v.showEntry(http.StatusUnprocessableEntity, e)
	case errors.Is(err, ledger.ErrSignInLink):
		return errSignInLink
	case err != nil:
		return err
	}
	if err := s.Ledger.Accounts().ForgetFailures(v.ctx(), v.try(account.Name)); err != nil {
		return err
	}
	v.flash("ok", "Your password is set. Sign in with it.")
	return v.redirect("/sign-in")
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
	if done, err := s.signOut(v, token); done {
		return err
	}
	return v.redirect("/sign-in")
}

func (s *Site) passwordPage(v *request) error {
	switch a := v.session.Account; {
	case a.ManagedBy != "":
		return errManaged
	case s.ProviderOnly && !a.BreakGlass:
		return errProvider
	}
	return v.show("password.html", "Password", struct{ Has bool }{v.session.Account.HasPassword})
}

func (s *Site) password(v *request) error {
	account, fresh := v.session.Account, v.r.PostForm.Get("password")
	switch {
	case account.ManagedBy != "":
		return errManaged
	case s.ProviderOnly && !account.BreakGlass:
		return errProvider
	}
	if account.HasPassword {
		switch _, err := s.Ledger.Accounts().SignIn(v.ctx(), v.ownTry(), v.r.PostForm.Get("present")); {
		case errors.Is(err, ledger.ErrSignIn):
			s.recordFailedSignIn(v, account.Name, "present password", err)
			return badRequest("Your current password is wrong. The password was not changed.")
		case err != nil:
			return err
		}
	}
	if fresh != v.r.PostForm.Get("again") {
		return badRequest("The new passwords do not match. The password was not changed.")
	}
	token, err := s.Ledger.Accounts().ProviderToken(v.ctx(), v.secret)
	if err != nil {
		return err
	}
	err = s.Ledger.Accounts().SetPassword(v.withAudit("account-password", account.Name, ""), account.ID, fresh)
	if errors.Is(err, ledger.ErrWeak) {
		return badRequest("%s Nothing was changed.", sentence(err.Error()))
	}
	if err != nil {
		return err
	}
	v.flash("ok", "Your password is set. Your other sessions have ended.")
	account.HasPassword = true
	// The sessions before it have ended, this one too.
	return s.beginSession(v, account, arrival{
		To:     "/",
		By:     "by a new password",
		Factor: v.session.Factor,
		Token:  token,
		Ends:   v.session.EndsAt,
	})
}

// sentence makes a sentence of an error's words.
func sentence(words string) string {
	if words == "" {
		return ""
	}
	return text.Capital(strings.TrimSuffix(words, ".")) + "."
}
