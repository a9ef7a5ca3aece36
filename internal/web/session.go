package web

import (
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

var sessionRoutes = []route{
	{pattern: "GET /sessions", may: self, serve: (*Site).sessions},
	{pattern: "POST /sessions/others", may: self, serve: (*Site).endOthers},
	{pattern: "POST /sessions/{session}/end", may: self, serve: (*Site).endSession},
	{pattern: "GET /settings/accounts/{account}/sessions", may: auditor, serve: (*Site).sessionsOf},
	{pattern: "POST /settings/accounts/{account}/sessions/{session}/end", may: operator, serve: (*Site).endSessionOf},
	{pattern: "POST /settings/accounts/{account}/sessions/end", may: operator, serve: (*Site).endSessionsOf},
}

// sessionsPage shows where an account is signed in.
type sessionsPage struct {
	Account  ledger.Account
	Sessions []ledger.Session
	Own      bool   // it is the visitor's own account
	Current  string // the visitor's session
	Path     string // below which sessions are ended
	MayEnd   bool
}

func (s *Site) sessions(v *request) error {
	p := sessionsPage{
		Account: v.session.Account,
		Own:     true,
		Current: v.session.ID,
		Path:    "/sessions",
		MayEnd:  true,
	}
	return s.showSessions(v, p, "Sessions")
}

func (s *Site) sessionsOf(v *request) error {
	account, err := s.Ledger.Accounts().Find(v.ctx(), v.r.PathValue("account"))
	if err != nil {
		return err
	}
	p := sessionsPage{
		Account: account,
		Current: v.session.ID,
		Path:    "/settings/accounts/" + account.ID + "/sessions",
		MayEnd:  v.may(ledger.Operator),
	}
	return s.showSessions(v, p, "Sessions of "+account.Name)
}

func (s *Site) showSessions(v *request, p sessionsPage, title string) error {
	var err error
	if p.Sessions, err = s.Ledger.Accounts().ListSessions(v.ctx(), p.Account.ID); err != nil {
		return err
	}
	return v.show("sessions.html", title, p)
}

func (s *Site) endSession(v *request) error {
	return s.endOne(v, v.session.Account, "/sessions")
}

func (s *Site) endSessionOf(v *request) error {
	account, err := s.Ledger.Accounts().Find(v.ctx(), v.r.PathValue("account"))
	if err != nil {
		return err
	}
	return s.endOne(v, account, "/settings/accounts/"+account.ID+"/sessions")
}

func (s *Site) endOne(v *request, a ledger.Account, to string) error {
	if err := s.Ledger.Accounts().EndSessionOf(v.withAudit("session-end", a.Name, "one session"), a.ID,
		v.r.PathValue("session")); err != nil {
		return err
	}
	v.flash("ok", "The session has ended. That browser must sign in again.")
	return v.redirect(to)
}

func (s *Site) endOthers(v *request) error {
	a := v.session.Account
	ctx := v.withAudit("session-end", a.Name, "all sessions but this one")
	n, err := s.Ledger.Accounts().EndOtherSessions(ctx, a.ID, v.secret)
	if err != nil {
		return err
	}
	v.flash("ok", "%s ended.", text.Capital(count(n, "other session")))
	return v.redirect("/sessions")
}

func (s *Site) endSessionsOf(v *request) error {
	a, err := s.Ledger.Accounts().Find(v.ctx(), v.r.PathValue("account"))
	if err != nil {
		return err
	}
	keep := ""
	if a.ID == v.session.Account.ID {
		keep = v.secret
	}
	ctx := v.withAudit("session-end", a.Name, "all sessions")
	n, err := s.Ledger.Accounts().EndOtherSessions(ctx, a.ID, keep)
	if err != nil {
		return err
	}
	v.flash("ok", "%s of %s ended.", text.Capital(count(n, "session")), a.Name)
	return v.redirect("/settings/accounts/" + a.ID + "/sessions")
}
