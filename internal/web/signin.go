package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

var signInRoutes = []route{
	{pattern: "GET /sign-in", may: anyone, serve: (*Site).signInPage},
	{pattern: "POST /sign-in", may: anyone, serve: (*Site).mailLink},
	{pattern: "GET /enter", may: anyone, serve: (*Site).enterPage},
	{pattern: "POST /enter", may: anyone, serve: (*Site).enter},
	{pattern: "POST /leave", may: self, serve: (*Site).leave},
}

const (
	// sessionLife is how long someone stays signed in; the ledger ends a session
	// earlier if nothing is done in it.
	sessionLife = 7 * 24 * time.Hour
	// providerLife is the same for a session by the sign-in provider: what it says of
	// a person is looked at once a working day.
	providerLife = 12 * time.Hour
	// flowLife is how long a browser has for the second half of a sign-in.
	flowLife = 10 * time.Minute
	// linkLife is how long a link works that an operator makes, and mailedLife one that
	// is mailed.
	linkLife   = 24 * time.Hour
	mailedLife = 30 * time.Minute
	// mailAtOnce is how many links are mailed at once. Requests beyond it are dropped.
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

// entrance is what the sign-in page shows.
type entrance struct {
	To       string
	Provider string // the host of the sign-in provider; "" for none
	Away     bool   // the provider could not be reached when it was asked last
	Passkeys bool
	Mails    bool // a link can be mailed
	Local    bool
	Sent     string // whom a link was asked for
}

func (s *Site) showEntrance(v *request, e entrance) error {
	if s.Provider != nil {
		e.Provider, e.Away = s.Provider.Host(), s.Provider.Away() != nil
	}
	_, err := s.passkeys(v)
	e.Passkeys, e.Mails, e.Local = err == nil, s.mails(), s.Local
	return v.show("sign-in.html", "Sign in", e)
}

// mails reports whether links can be mailed. The host in a link must not be one that
// a stranger chose.
func (s *Site) mails() bool { return s.Mail != nil && (s.Public != nil || s.Local) }

func (s *Site) signInPage(v *request) error {
	to := local(v.r.URL.Query().Get("to"))
	if v.signedIn {
		return v.redirect(to)
	}
	return s.showEntrance(v, entrance{To: to})
}

// mailLink mails a link to the account with a name or an address. The response and
// its time do not tell whether there is one.
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

// linkTo is the address of a one-time link.
func linkTo(address, secret string) string { return address + "/enter?link=" + url.QueryEscape(secret) }

// enterPage shows whom a one-time link is for. It does not use it up: programs
// that look at links before their reader does would.
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
		Auto         bool // no other account is signed in, which a link of a stranger would replace
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

// admit signs in a person who has proved who they are: how is for the audit log.
func (s *Site) admit(v *request, a ledger.Account, how string, in ledger.SignIn, to string) error {
	if v.signedIn { // someone else was, in this browser
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

// sentence makes a sentence of an error's words.
func sentence(words string) string {
	if words == "" {
		return ""
	}
	return text.Capital(strings.TrimSuffix(words, ".")) + "."
}
