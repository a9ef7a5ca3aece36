package web

import (
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// sessionHandler handles the sessions of accounts.
type sessionHandler struct{ accounts ledger.Accounts }

func (h *sessionHandler) routes() []route {
	own := func(serve func(*request, ledger.Account) error) func(*request) error {
		return func(v *request) error { return serve(v, v.session.Account) }
	}
	const of = "/settings/accounts/{account}/sessions"
	return []route{
		{pattern: "GET /sessions", may: self, serve: own(h.sessions)},
		{pattern: "POST /sessions/end", may: self, serve: own(h.endSessions)},
		{pattern: "POST /sessions/{session}/end", may: self, serve: own(h.endSession)},
		{pattern: "GET " + of, may: auditor, serve: ofAccount(h.sessions)},
		{pattern: "POST " + of + "/end", may: operator, serve: ofAccount(h.endSessions)},
		{pattern: "POST " + of + "/{session}/end", may: operator, serve: ofAccount(h.endSession)},
	}
}

// sessionsPage lists the sessions of an account.
type sessionsPage struct {
	Account  ledger.Account
	Sessions []ledger.Session
	// Own reports whether the account is the reader's.
	Own bool
	// Current is the ID of the reader's session.
	Current string
	// Path is the address of the page, and the prefix of the addresses that end sessions.
	Path   string
	MayEnd bool
}

// sessionsPath returns the address of the sessions page that the request belongs to. It is the
// reader's own page unless the path names an account.
func sessionsPath(v *request, a ledger.Account) string {
	if v.r.PathValue("account") == "" {
		return "/sessions"
	}
	return "/settings/accounts/" + a.ID + "/sessions"
}

func (h *sessionHandler) sessions(v *request, a ledger.Account) error {
	all, err := h.accounts.ListSessions(v.ctx(), a.ID)
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
	return v.show(nil, "sessions.html", title, p)
}

func (h *sessionHandler) endSession(v *request, a ledger.Account) error {
	err := h.accounts.EndSessionOf(v.withAudit("session-end", a.Name, "one session"), a.ID,
		v.r.PathValue("session"))
	return v.done(err, sessionsPath(v, a), "The session has ended. That browser must sign in again.")
}

// endSessions ends all sessions of an account except the reader's current session.
func (h *sessionHandler) endSessions(v *request, a ledger.Account) error {
	keep, note := "", "all sessions"
	if a.ID == v.session.Account.ID {
		keep, note = v.secret, "all sessions but this one"
	}
	n, err := h.accounts.EndOtherSessions(v.withAudit("session-end", a.Name, note), a.ID, keep)
	return v.done(err, sessionsPath(v, a), "%s of %s ended.", text.Capital(count(n, "session")), a.Name)
}
