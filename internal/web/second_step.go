package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/signin"
)

var secondRoutes = []route{
	{pattern: "GET /sign-in/second", may: anyone, serve: (*Site).secondPage},
	{pattern: "POST /sign-in/second", may: anyone, serve: (*Site).second},
}

// Lives of what waits for its second half.
const (
	flowLife = 10 * time.Minute
	// providerLife is how long someone stays signed in whom the provider vouches
	// for: what it says of them is looked at once a working day.
	providerLife = 12 * time.Hour
)

// arrival is a person who has proved who they are by password, link, passkey or
// provider.
type arrival struct {
	Account string // its id
	To      string
	By      string            // in words, for the audit log
	Factor  ledger.FactorKind // how the second factor was checked; empty for not yet
	Token   string            // the provider's ID token; empty for a local sign-in
	Ends    time.Time         // when the session ends that this one goes on from; zero for none
	Mark    string            // of the password, while the second factor is asked for
}

// byPasskey is a sign-in whose first factor is its second, too.
const byPasskey = "by passkey"

// life is how long the session lasts.
func (a arrival) life(now time.Time) time.Duration {
	if !a.Ends.IsZero() {
		return a.Ends.Sub(now)
	}
	if a.Token != "" {
		return providerLife
	}
	return sessionLife
}

// Why a person with the right password is refused.
var (
	errDisabled = &httpError{http.StatusForbidden, "The account is disabled",
		"No one was signed in. Ask an operator to enable the account."}
	errProvider = &httpError{http.StatusForbidden, "Sign in with your company account",
		"Passwords, links and passkeys of this page sign in break-glass accounts only. Go back to the sign-in page " +
			"and choose your company account."}
	errManaged = &httpError{http.StatusForbidden, "Sign in with your company account",
		"The sign-in provider manages this account. Go back to the sign-in page and choose your company account."}
	errApp = &httpError{
		http.StatusGone, "This page expired", "Go back to Security and add the app again. Nothing was changed.",
	}
	errPasskey = &httpError{
		http.StatusGone, "This page expired", "Go back to Security and use the passkey again. Nothing was changed.",
	}
	errFlow = &httpError{http.StatusGone, "The sign-in took too long", "Nothing was changed. Sign in again."}
)

// admit signs a person in, after the second factor if the account has one.
func (s *Site) admit(v *request, a ledger.Account, by arrival) error {
	if by.Token == "" {
		if err := s.refuseLocal(a); err != nil {
			return err
		}
	}
	if a.Disabled {
		return errDisabled
	}
	by.Account = a.ID
	if by.Factor == "" && a.HasFactor {
		return s.askSecond(v, by)
	}
	return s.beginSession(v, a, by)
}

// refuseLocal says why an account cannot use this page's own passwords, links and
// passkeys; nil where it can.
func (s *Site) refuseLocal(a ledger.Account) error {
	switch {
	case a.ManagedBy != "":
		return errManaged
	case s.ProviderOnly && !a.BreakGlass:
		return errProvider
	}
	return nil
}

// askSecond remembers who it is and asks for the second factor.
func (s *Site) askSecond(v *request, by arrival) error {
	var err error
	if by.Mark, err = s.Ledger.Accounts().PasswordMark(v.ctx(), by.Account); err != nil {
		return err
	}
	data, err := json.Marshal(by)
	if err != nil {
		return err
	}
	secret, err := s.Ledger.Accounts().BeginFlow(v.ctx(), ledger.FlowSecond, string(data), v.from(), flowLife)
	if err != nil {
		return err
	}
	v.setCookie(flowCookie(ledger.FlowSecond), secret, flowLife)
	return v.redirect("/sign-in/second")
}

// flowCookie is the name of the cookie that holds a flow's secret.
func flowCookie(kind ledger.FlowKind) string { return "flow-" + string(kind) }

// flow is the secret of a flow that this browser has begun.
func (v *request) flow(kind ledger.FlowKind) string {
	cookie, err := v.r.Cookie(v.site.cookieName(flowCookie(kind)))
	if err != nil {
		return ""
	}
	return cookie.Value
}

// beginSession signs in a person who has proved all that is required.
func (s *Site) beginSession(v *request, a ledger.Account, by arrival) error {
	if v.signedIn { // someone else was, in this browser
		if err := s.Ledger.Accounts().EndSession(v.ctx(), v.secret); err != nil {
			return err
		}
	}
	act := ledger.AuditEvent{
		By:   a.Name,
		From: v.from(),
		What: "sign-in",
		Of:   a.Name,
		Note: by.By,
	}
	if by.Factor != "" && by.By != byPasskey {
		act.Note += ", second step: " + string(by.Factor)
	}
	if a.BreakGlass {
		act.What = "sign-in-break-glass"
	}
	life := by.life(s.Ledger.Now())
	proof := ledger.Proof{Factor: by.Factor, ProviderToken: by.Token, Agent: v.agent()}
	secret, err := s.Ledger.Accounts().BeginProvenSession(ledger.WithAudit(v.ctx(), act), a.ID, life, v.from(), proof)
	if errors.Is(err, ledger.ErrSession) {
		return errDisabled
	}
	if err != nil {
		return err
	}
	if a.BreakGlass {
		if err := s.notifyBreakGlass(v, a); err != nil {
			return err
		}
	}
	v.setCookie(sessionCookie, secret, life)
	if err := s.knowBrowser(v, a); err != nil {
		return err
	}
	if by.Factor == ledger.FactorRecovery {
		v.flash("warn", "You signed in with a recovery code. It does not work again. If you lost your phone or "+
			"passkey, remove the lost one here and add another one.")
		return v.redirect("/security")
	}
	if begun, err := s.Ledger.Accounts().FindSession(v.ctx(), secret); err == nil && len(begun.Lacks) > 0 {
		return v.redirect("/security")
	}
	return v.redirect(by.To)
}

// notifyBreakGlass sends a notification: a break-glass account signs
// in on the worst of days, or should not.
func (s *Site) notifyBreakGlass(v *request, a ledger.Account) error {
	_, err := s.Ledger.Notifications().Add(v.ctx(), ledger.Notification{
		Kind: ledger.NotifyAccess, Subject: "the break-glass account " + a.Name + " signed in",
		Body: "The break-glass account " + a.Name + " signed in from " + v.from() + " (" + v.agent() +
			").\nIf no one in your firm expects this, disable the account now: importer accounts disable \"" + a.Name +
			"\"\n",
	})
	return err
}

// secondView is the page that asks for the second factor.
type secondView struct {
	Name    string
	Apps    bool
	Passkey bool
	Codes   bool // recovery codes are left
	Wrong   string
}

// waiting finds who waits for the second factor in this browser. A password that was
// changed since begins again.
func (s *Site) waiting(v *request) (ledger.Account, arrival, error) {
	var by arrival
	data, err := s.Ledger.Accounts().FindFlow(v.ctx(), ledger.FlowSecond, v.flow(ledger.FlowSecond))
	if errors.Is(err, ledger.ErrFlow) {
		return ledger.Account{}, by, errFlow
	}
	if err == nil {
		err = json.Unmarshal([]byte(data), &by)
	}
	if err != nil {
		return ledger.Account{}, by, err
	}
	a, err := s.Ledger.Accounts().Find(v.ctx(), by.Account)
	if err != nil {
		return a, by, err
	}
	if a.Disabled {
		return a, by, errDisabled
	}
	mark, err := s.Ledger.Accounts().PasswordMark(v.ctx(), a.ID)
	if err == nil && mark != by.Mark {
		err = errFlow
	}
	return a, by, err
}

func (s *Site) secondPage(v *request) error {
	a, _, err := s.waiting(v)
	if err != nil {
		return err
	}
	return s.showSecond(v, http.StatusOK, a, "")
}

func (s *Site) showSecond(v *request, status int, a ledger.Account, wrong string) error {
	page := secondView{Name: a.Name, Wrong: wrong}
	factors, err := s.Ledger.Accounts().ListFactors(v.ctx(), a.ID)
	if err != nil {
		return err
	}
	for _, f := range factors {
		page.Apps = page.Apps || f.Kind == ledger.FactorApp
		page.Passkey = page.Passkey || f.Kind == ledger.FactorPasskey
	}
	left, err := s.Ledger.Accounts().CountRecoveryCodes(v.ctx(), a.ID)
	if err != nil {
		return err
	}
	page.Codes = left > 0
	if _, err := s.passkeys(v); err != nil {
		page.Passkey = false
	}
	return v.showStatus(status, "second-step.html", "Second step", page)
}

// second checks the second factor and signs the person in.
func (s *Site) second(v *request) error {
	a, by, err := s.waiting(v)
	if err != nil {
		return err
	}
	kind, err := s.checkFactor(v, a, v.try(a.Name))
	if errors.Is(err, ledger.ErrFactor) {
		s.recordFailedSignIn(v, a.Name, "second factor", err)
		return s.showSecond(v, http.StatusUnauthorized, a,
			"That code is not valid. Codes change every 30 seconds, and each works once.")
	}
	if err != nil {
		return err
	}
	if _, err := s.Ledger.Accounts().TakeFlow(v.ctx(), ledger.FlowSecond, v.flow(ledger.FlowSecond)); err != nil {
		return errFlow
	}
	v.setCookie(flowCookie(ledger.FlowSecond), "", -1)
	by.Factor = kind
	return s.beginSession(v, a, by)
}

// checkFactor checks what a form brings: a passkey's answer, or a code. It
// returns ErrFactor.
func (s *Site) checkFactor(v *request, a ledger.Account, t ledger.Try) (ledger.FactorKind, error) {
	if answer := v.r.PostForm.Get("credential"); answer != "" {
		return ledger.FactorPasskey, s.checkPasskey(v, a, answer)
	}
	return s.Ledger.Accounts().CheckCode(v.ctx(), a, v.r.PostForm.Get("code"), t, signin.MatchCode(s.Ledger.Now()))
}
