package web

import (
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

var sessionRoutes = []route{
	{pattern: "GET /sessions", may: self, serve: ofReader((*Site).sessions)},
	{pattern: "POST /sessions/end", may: self, serve: ofReader((*Site).endSessions)},
	{pattern: "POST /sessions/{session}/end", may: self, serve: ofReader((*Site).endSession)},
	{pattern: "GET /settings/accounts/{account}/sessions", may: auditor, serve: ofAccount((*Site).sessions)},
	{pattern: "POST /settings/accounts/{account}/sessions/end", may: operator, serve: ofAccount((*Site).endSessions)},
	{
		pattern: "POST /settings/accounts/{account}/sessions/{session}/end",
		may:     operator,
		serve:   ofAccount((*Site).endSession),
	},
}

// sessionsPage shows where an account is signed in.
type sessionsPage struct {
	Account  ledger.Account
	Sessions []ledger.Session
	Own      bool   // it is the reader's page of the own account
	Current  string // the reader's session
	Path     string // below which sessions are ended
	MayEnd   bool
}

// sessionsPath is the page of an account's sessions that the request is about.
func sessionsPath(v *request, a ledger.Account) string {
	if v.r.PathValue("account") == "" {
		return "/sessions"
	}
	return "/settings/accounts/" + a.ID + "/sessions"
}

func (s *Site) sessions(v *request, a ledger.Account) error {
	all, err := s.Ledger.Accounts().ListSessions(v.ctx(), a.ID)
	if err != nil {
		return err
	}
	p := sessionsPage{
		Account:  a,
		Sessions: all,
		Own:      v.r.PathValue("account") == "",
		Current:  v.session.ID,
		Path:     sessionsPath(v, a),
	}
	title := "Sessions of " + a.Name
	if p.Own {
		title = "Sessions"
	}
	p.MayEnd = p.Own || v.may(ledger.Operator)
	return v.show("sessions.html", title, p)
}

func (s *Site) endSession(v *request, a ledger.Account) error {
	err := s.Ledger.Accounts().EndSessionOf(v.withAudit("session-end", a.Name, "one session"), a.ID,
		v.r.PathValue("session"))
	return v.done(err, sessionsPath(v, a), "The session has ended. That browser must sign in again.")
}

// endSessions ends all sessions of an account but the reader's.
func (s *Site) endSessions(v *request, a ledger.Account) error {
	keep, note := "", "all sessions"
	if a.ID == v.session.Account.ID {
		keep, note = v.secret, "all sessions but this one"
	}
	n, err := s.Ledger.Accounts().EndOtherSessions(v.withAudit("session-end", a.Name, note), a.ID, keep)
	return v.done(err, sessionsPath(v, a), "%s of %s ended.", text.Capital(count(n, "session")), a.Name)
}
