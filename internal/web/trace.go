package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// Bounds of what strangers can make the audit log grow by: traces of one kind,
// about one account and from one network, are folded for a while, and so are all
// others once there are many.
const (
	foldTraces = 10 * time.Minute
	maxTraces  = 60 // kinds of traces that are kept apart for that while
)

// traces merges repeated audit events, so that a flood of denials does not fill
// the ledger. The log has each of them.
type traces struct {
	mu   sync.Mutex
	kept map[string]*trace
}

// trace is the last of its kind, and how many came since it was kept.
type trace struct {
	act   ledger.AuditEvent
	at    time.Time
	again int
}

func newTraces() *traces { return &traces{kept: make(map[string]*trace)} }

// fold returns the events to record now: the given one, unless one of its kind
// was recorded a short while ago, and the counts of repetitions that are over.
func (t *traces) fold(a ledger.AuditEvent, now time.Time) []ledger.AuditEvent {
	t.mu.Lock()
	defer t.mu.Unlock()
	due := t.ended(now)
	key := strings.Join([]string{a.What, a.By, a.Of, a.Note, networkOf(a.From)}, "\x00")
	if t.kept[key] == nil && len(t.kept) >= maxTraces {
		key = "the rest"
		a.Note = "and more from many addresses; the log of the server has each"
	}
	if known := t.kept[key]; known != nil {
		known.again++
		return due
	}
	t.kept[key] = &trace{act: a, at: now}
	return append(due, a)
}

// networkOf is the part of an address that one person controls: all of an IPv4
// address, and the /64 of an IPv6 address.
func networkOf(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	network, err := ip.Prefix(64)
	if err != nil {
		return address
	}
	return network.String()
}

// ended deletes old traces and returns the events that count their repetitions.
func (t *traces) ended(now time.Time) []ledger.AuditEvent {
	var due []ledger.AuditEvent
	for key, one := range t.kept {
		if now.Sub(one.at) < foldTraces {
			continue
		}
		delete(t.kept, key)
		if one.again > 0 {
			a := one.act
			a.ID, a.Note = "", strings.TrimPrefix(a.Note+fmt.Sprintf("; %d more times within %s", one.again,
				foldTraces), "; ")
			due = append(due, a)
		}
	}
	return due
}

// keepTrace records an event in the audit log, or merges it into an earlier one.
// The request is answered even if that fails.
func (s *Site) keepTrace(ctx context.Context, a ledger.AuditEvent) {
	for _, act := range s.traces.fold(a, time.Now()) {
		if err := s.Ledger.AuditLog().Record(context.WithoutCancel(ctx), act); err != nil {
			s.Log.Error("audit event lost", "what", act.What, "err", err)
		}
	}
}

// flushTraces records the counts of repetitions when the server stops.
func (s *Site) flushTraces() {
	s.traces.mu.Lock()
	due := s.traces.ended(time.Now().Add(foldTraces))
	s.traces.mu.Unlock()
	for _, act := range due {
		if err := s.Ledger.AuditLog().Record(context.Background(), act); err != nil {
			s.Log.Error("audit event lost", "what", act.What, "err", err)
		}
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
		s.keepTrace(v.ctx(), v.act("", "denied", v.route(), reason))
	}
}

// recordFailedSignIn logs a proof that did not sign in, and adds an audit event.
func (s *Site) recordFailedSignIn(v *request, a ledger.Account, proof string, err error) {
	s.Log.Warn("sign-in failed", "reason", proof, "account", a.ID, "address", v.from(), "err", err)
	s.keepTrace(v.ctx(), ledger.AuditEvent{From: v.from(), What: "sign-in-failed", Of: a.Name, Note: proof})
}

// events are audit events by what the log calls them. about says that their object
// is an account.
var events = map[string]struct {
	message string
	about   bool
}{
	"account-add":         {"account added", true},
	"account-email":       {"email address changed", true},
	"account-disable":     {"account disabled", true},
	"account-enable":      {"account enabled", true},
	"account-link":        {"sign-in link made", true},
	"account-link-revoke": {"sign-in link revoked", false},
	"account-roles":       {"roles changed", true},
	"dashboard":           {"data exported", false},
	"download":            {"data exported", false},
	"policy":              {"policy changed", false},
	"session-end":         {"session ended", true},
	"passkey-add":         {"passkey added", true},
	"passkey-remove":      {"passkey removed", true},
	"passkey-copied":      {"passkey may have been copied", true},
	"provider-link":       {"company account linked", true},
	"provider-unlink":     {"company account unlinked", true},
	"sign-in":             {"signed in", true},
	"sign-out":            {"session ended", true},
}

// traced are the events that have a line of their own already.
var traced = map[string]bool{"denied": true, "sign-in-failed": true}

// logAct logs an audit event: accounts by their IDs, no notes, and of the objects
// only accounts and exports. The others may contain text that people entered.
func (s *Site) logAct(a ledger.AuditEvent) {
	if traced[a.What] {
		return
	}
	event := events[a.What]
	line := []any{"what", a.What, "account", s.accountID(a.By), "address", a.From}
	switch {
	case event.about:
		line = append(line, "object", s.accountID(a.Of))
	case event.message == "data exported":
		line = append(line, "object", a.Of)
	}
	s.Log.Info(cmp.Or(event.message, "audit event"), line...) //nolint:sloglint // constants, from the table above
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
