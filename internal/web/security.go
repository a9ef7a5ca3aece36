package web

import (
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/signin"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

var securityRoutes = []route{
	{pattern: "GET /security", may: self, serve: (*Site).security},
	{pattern: "POST /security/confirm", may: self, serve: (*Site).confirm},
	{pattern: "POST /security/app", may: self, serve: (*Site).newApp},
	{pattern: "POST /security/app/add", may: self, serve: (*Site).addApp},
	{pattern: "POST /security/passkeys", may: self, serve: (*Site).addPasskey},
	{pattern: "POST /security/factors/{factor}/remove", may: self, serve: (*Site).removeFactor},
	{pattern: "POST /security/recovery", may: self, serve: (*Site).replaceCodes},
}

// confirmLife is how long someone who has proved who they are may change their
// factors.
const confirmLife = 10 * time.Minute

var errConfirm = &httpError{http.StatusForbidden, "Confirm your identity first",
	"Go back to Security and enter a code, or your password if you have no second step. Nothing was changed."}

// confirmed reports whether the person has confirmed their identity lately,
// beyond having the session. For an account without a password or a second step, a
// fresh session is enough.
func (s *Site) confirmed(v *request) bool {
	now, a := s.Ledger.Now(), v.session.Account
	if now.Sub(v.session.ConfirmedAt) < confirmLife {
		return true
	}
	return !a.HasPassword && !a.HasFactor && now.Sub(v.session.CreatedAt) < confirmLife
}

// renew replaces the secret of the session and keeps its proofs of identity.
func (s *Site) renew(v *request, factor ledger.FactorKind) error {
	token, err := s.Ledger.Accounts().ProviderToken(v.ctx(), v.secret)
	if err != nil {
		return err
	}
	life := v.session.EndsAt.Sub(s.Ledger.Now())
	proof := ledger.Proof{Factor: factor, ProviderToken: token, Agent: v.session.Agent, Confirmed: true}
	secret, err := s.Ledger.Accounts().BeginProvenSession(v.ctx(), v.session.Account.ID, life, v.from(), proof)
	if err == nil {
		err = s.Ledger.Accounts().EndSession(v.ctx(), v.secret)
	}
	if err == nil {
		v.setCookie(sessionCookie, secret, life)
		v.secret = secret
		v.session, err = s.Ledger.Accounts().FindSession(v.ctx(), secret)
	}
	return err
}

// securityPage is how someone signs in, and what happened of late.
type securityPage struct {
	Confirmed  bool
	Stale      bool // there is nothing to confirm it by but a new sign-in
	HasApp     bool
	Factors    []ledger.Factor
	Codes      int
	Passkeys   string // why there are none here; empty where there are
	Provider   string // its host; empty for none
	Identities []ledger.Identity
	Acts       []ledger.AuditEvent
}

const actsOnSecurity = 12

func (s *Site) security(v *request) error {
	a := v.session.Account
	page := securityPage{Confirmed: s.confirmed(v)}
	page.Stale = !page.Confirmed && !a.HasPassword && !a.HasFactor
	var err error
	if page.Factors, err = s.Ledger.Accounts().ListFactors(v.ctx(), a.ID); err != nil {
		return err
	}
	for _, f := range page.Factors {
		page.HasApp = page.HasApp || f.Kind == ledger.FactorApp
	}
	if page.Codes, err = s.Ledger.Accounts().CountRecoveryCodes(v.ctx(), a.ID); err != nil {
		return err
	}
	if _, err := s.passkeys(v); err != nil {
		page.Passkeys = err.Error()
	}
	if s.Provider != nil {
		page.Provider = s.Provider.Host()
	}
	if page.Identities, err = s.Ledger.Accounts().ListIdentities(v.ctx(), a.ID); err != nil {
		return err
	}
	page.Acts, err = s.Ledger.AuditLog().List(v.ctx(), ledger.AuditQuery{Of: a.Name, Limit: actsOnSecurity})
	if err != nil {
		return err
	}
	return v.show("security.html", "Security", page)
}

// confirm accepts a second step, or the password of an account that has none: a
// password alone must not change the second steps beside it.
func (s *Site) confirm(v *request) error {
	a, factor := v.session.Account, v.session.Factor
	if password := v.r.PostForm.Get("present"); password != "" && a.HasPassword && !a.HasFactor {
		switch _, err := s.Ledger.Accounts().SignIn(v.ctx(), v.ownTry(), password); {
		case errors.Is(err, ledger.ErrSignIn):
			s.recordFailedSignIn(v, a.Name, "present password", err)
			return badRequest("The password is wrong. Nothing was changed.")
		case err != nil:
			return err
		}
	} else {
		kind, err := s.checkFactor(v, a, v.ownTry())
		switch {
		case errors.Is(err, ledger.ErrFactor):
			s.recordFailedSignIn(v, a.Name, "second factor", err)
			return badRequest("The code is not valid. Codes change every 30 seconds, and each works once.")
		case err != nil:
			return err
		}
		factor = kind
	}
	if err := s.renew(v, factor); err != nil {
		return err
	}
	return v.redirect("/security")
}

// appPage is an authenticator app that is being set up.
type appPage struct {
	Flow   string
	QR     template.URL
	Secret string
	Wrong  string
}

// newApp shows the key of an authenticator app.
func (s *Site) newApp(v *request) error {
	if !s.confirmed(v) {
		return errConfirm
	}
	app, err := signin.NewApp(v.who())
	if err != nil {
		return err
	}
	flow, err := s.Ledger.Accounts().BeginFlow(v.ctx(), ledger.FlowEnroll, v.session.Account.ID+" "+app.URL,
		v.from(), flowLife)
	if err != nil {
		return err
	}
	return v.showApp(http.StatusOK, app, flow, "")
}

func (v *request) showApp(status int, app signin.App, flow, wrong string) error {
	picture, err := app.QR()
	if err != nil {
		return err
	}
	page := appPage{
		Flow:   flow,
		Secret: app.Readable(),
		Wrong:  wrong,
		QR:     template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(picture)),
	}
	return v.showStatus(status, "authenticator-app.html", "Add an authenticator app", page)
}

// addApp adds the app after its first code.
func (s *Site) addApp(v *request) error {
	if !s.confirmed(v) {
		return errConfirm
	}
	secret := v.r.PostForm.Get("flow")
	data, err := s.Ledger.Accounts().FindFlow(v.ctx(), ledger.FlowEnroll, secret)
	if errors.Is(err, ledger.ErrFlow) {
		return errApp
	}
	if err != nil {
		return err
	}
	account, address, _ := strings.Cut(data, " ")
	if account != v.session.Account.ID {
		return errApp
	}
	app := signin.AppOf(address)
	step, ok := signin.MatchCode(s.Ledger.Now())(app.Secret, v.r.PostForm.Get("code"), 0)
	if !ok {
		return v.showApp(http.StatusUnprocessableEntity, app, secret,
			"The code does not match. Check the clock of your phone, and enter the code that the app "+
				"shows now.")
	}
	if _, err := s.Ledger.Accounts().TakeFlow(v.ctx(), ledger.FlowEnroll, secret); err != nil {
		return errApp
	}
	return s.addFactor(v, ledger.Factor{
		Account: account,
		Kind:    ledger.FactorApp,
		Name:    factorName(v, "Authenticator app"),
		Data:    app.Secret,
		Last:    step,
	})
}

// factorName is the owner's name for a factor.
func factorName(v *request, otherwise string) string {
	if name := strings.Join(strings.Fields(legible(v.r.PostForm.Get("name"))), " "); name != "" {
		return shortened(name, 60)
	}
	return otherwise
}

// addPasskey adds a passkey that the browser has made.
func (s *Site) addPasskey(v *request) error {
	if !s.confirmed(v) {
		return errConfirm
	}
	p, err := s.passkeys(v)
	if err != nil {
		return badRequest("%s.", err)
	}
	account := v.session.Account
	state, err := s.answered(v, ledger.FlowEnroll, account.ID)
	if err != nil {
		return err
	}
	o, err := s.owner(v, account)
	if err != nil {
		return err
	}
	key, err := p.FinishEnrollment(o, state, v.r.PostForm.Get("credential"))
	if errors.Is(err, signin.ErrPasskey) {
		s.Log.Warn("passkey refused", "account", v.session.Account.ID, "err", err)
		return badRequest("The browser did not make a passkey that works here. Try again, or use an authenticator app.")
	}
	if err != nil {
		return err
	}
	return s.addFactor(v, ledger.Factor{
		Account:    account.ID,
		Kind:       ledger.FactorPasskey,
		Name:       factorName(v, v.agent()),
		Credential: key.Credential,
		Data:       key.Data,
	})
}

// addFactor adds a factor that its owner has just used, and shows recovery codes
// with the first one.
func (s *Site) addFactor(v *request, f ledger.Factor) error {
	_, err := s.Ledger.Accounts().AddFactor(v.withAudit("factor-add", v.who(), string(f.Kind)+": "+f.Name), f, v.secret)
	if errors.Is(err, ledger.ErrFactors) || errors.Is(err, ledger.ErrFactorTaken) {
		return badRequest("%s Nothing was changed.", sentence(err.Error()))
	}
	if err != nil {
		return err
	}
	if err := s.notifyOwner(v, fmt.Sprintf("%s was added to the account", f.Name)); err != nil {
		return err
	}
	if err := s.renew(v, f.Kind); err != nil {
		return err
	}
	left, err := s.Ledger.Accounts().CountRecoveryCodes(v.ctx(), f.Account)
	if err != nil {
		return err
	}
	if left == 0 {
		codes, err := s.Ledger.Accounts().ReplaceRecoveryCodes(v.ctx(), f.Account)
		if err != nil {
			return err
		}
		return v.showCodes(codes, f.Name+" is added. Your other sessions have ended.")
	}
	v.flash("ok", "%s is added. Your other sessions have ended.", f.Name)
	return v.redirect("/security")
}

func (v *request) showCodes(codes []string, said string) error {
	return v.show("recovery.html", "Recovery codes", struct {
		Codes []string
		Said  string
	}{codes, said})
}

func (s *Site) removeFactor(v *request) error {
	if !s.confirmed(v) {
		return errConfirm
	}
	account, id := v.session.Account, v.r.PathValue("factor")
	factors, err := s.Ledger.Accounts().ListFactors(v.ctx(), account.ID)
	if err != nil {
		return err
	}
	name := ""
	for _, f := range factors {
		if f.ID == id {
			name = f.Name
		}
	}
	if name == "" {
		return ledger.ErrNotFound
	}
	ctx := v.withAudit("factor-remove", v.who(), name)
	if err := s.Ledger.Accounts().RemoveFactor(ctx, account.ID, id, v.secret); err != nil {
		return err
	}
	if err := s.notifyOwner(v, fmt.Sprintf("%s was removed from the account", name)); err != nil {
		return err
	}
	v.flash("ok", "%s is removed. Your other sessions have ended.", name)
	return v.redirect("/security")
}

func (s *Site) replaceCodes(v *request) error {
	switch {
	case !s.confirmed(v):
		return errConfirm
	case !v.session.Account.HasFactor:
		return badRequest(
			"Recovery codes replace an authenticator app or a passkey. Add one of these first. No codes were made.")
	}
	ctx := v.withAudit("recovery-codes", v.who(), "")
	codes, err := s.Ledger.Accounts().ReplaceRecoveryCodes(ctx, v.session.Account.ID)
	if err != nil {
		return err
	}
	if err := s.notifyOwner(v, "new recovery codes were made for"); err != nil {
		return err
	}
	return v.showCodes(codes, "Earlier codes no longer work.")
}

// notifyOwner notifies of a change in how an account signs in.
func (s *Site) notifyOwner(v *request, what string) error {
	_, err := s.Ledger.Notifications().Add(v.ctx(), ledger.Notification{
		Kind: ledger.NotifyAccess, Subject: "sign-in of " + v.who() + " changed",
		Body: text.Capital(what) + " " + v.who() + ", from " + v.from() + " (" + v.agent() + ").\nIf " + v.who() +
			" did not do this, disable the account now: importer accounts disable \"" + v.who() + "\"\n",
	})
	return err
}
