package web

import (
	"context"
	"net/http"
	"time"

	"golang.org/x/time/rate"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// Requests that are refused grow the audit log by at most so many events at once, and one
// more in a while. The log of the server has each of them.
const (
	maxTraces  = 60
	traceEvery = 10 * time.Second
)

func newTraceLimit() *rate.Limiter { return rate.NewLimiter(rate.Every(traceEvery), maxTraces) }

// keepTrace records an event in the audit log, as far as a limit allows it. The request is
// answered even if that fails.
func (s *Site) keepTrace(ctx context.Context, limit *rate.Limiter, a ledger.AuditEvent) {
	if !limit.Allow() {
		return
	}
	if err := s.Ledger.AuditLog().Record(context.WithoutCancel(ctx), a); err != nil {
		s.Log.Error("audit event lost", "what", a.What, "err", err)
	}
}

// denials are the reasons for which a request is refused before it is served.
var denials = map[*httpError]string{
	errSignIn: "no session",
	errRole:   "role",
	errForm:   "form",
	errOrigin: "origin",
	errHost:   "host",

	errNotFresh: "no fresh sign-in",
	errDisabled: "account disabled",
	errManaged:  "managed by the sign-in provider",
	errUploads:  "too many uploads",
}

// route returns the pattern that a request matches, never its path, which may be
// confidential.
func (v *request) route() string {
	pattern := v.r.Pattern
	if pattern == "" {
		_, pattern = v.site.routes.Handler(v.r)
	}
	if pattern == "/" {
		return "unknown"
	}
	return pattern
}

// recordDenied records a request that a response refuses for lack of permission. A
// page that is requested without a session is not recorded: it leads to the sign-in
// page.
func (s *Site) recordDenied(v *request, t *httpError) {
	reason, ok := denials[t]
	if !ok || (t == errSignIn && (v.r.Method == http.MethodGet || v.r.Method == http.MethodHead)) {
		return
	}
	s.recordDenial(v, reason)
}

// recordDenial logs why a request was refused, and adds an audit event of a reader
// who is signed in.
func (s *Site) recordDenial(v *request, reason string) {
	if !v.signedIn {
		_ = v.loadSession() // a request that is refused early may have a session
	}
	s.Log.Warn("access denied", "reason", reason, "route", v.route(), "account", v.session.Account.ID, "address",
		v.from())
	if v.signedIn {
		s.keepTrace(v.ctx(), s.denials, v.act("", "denied", v.route(), reason))
	}
}

// recordFailedSignIn logs a proof that did not sign in, and adds an audit event.
func (s *Site) recordFailedSignIn(v *request, a ledger.Account, proof string, err error) {
	s.Log.Warn("sign-in failed", "reason", proof, "account", a.ID, "address", v.from(), "err", err)
	s.keepTrace(v.ctx(), s.failures, ledger.AuditEvent{From: v.from(), What: "sign-in-failed", Of: a.Name, Note: proof})
}

// logAct logs an audit event: accounts by their IDs, no notes, and of the objects
// only accounts and exports. The others may contain text that people entered.
func (s *Site) logAct(a ledger.AuditEvent) {
	line := []any{"what", a.What, "account", s.accountID(a.By), "address", a.From}
	switch object := s.accountID(a.Of); {
	case a.What == "denied", a.What == "sign-in-failed":
		return // they have a line of their own already
	case object != "":
		line = append(line, "object", object)
	case a.What == "download", a.What == "dashboard":
		line = append(line, "object", a.Of)
	}
	s.Log.Info("audit event", line...)
}

// accountID is the id of an account by its name; empty where there is none.
func (s *Site) accountID(name string) string {
	if name == "" {
		return ""
	}
	a, err := s.Ledger.Accounts().Find(context.Background(), name)
	if err != nil {
		return ""
	}
	return a.ID
}
