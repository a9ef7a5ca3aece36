package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/time/rate"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// guard refuses requests for unknown hosts and requests that another site made a
// browser send. The server sets the security headers before it:
// network.WithHeaders.
//
// CrossOriginProtection refuses what Sec-Fetch-Site calls cross-site or
// same-site, so that another port of this machine is refused too, and falls back
// to comparing Origin with Host. A request that changes something and has
// neither header does not come from a current browser: all of them send Origin
// with a POST. Serving it is safe because it acts for no one unless it brings a
// session cookie, and SameSite=Lax keeps browsers from adding that cookie to a
// POST that another site starts.
func (s *Site) guard(next http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	if s.Public != nil {
		_ = origins.AddTrustedOrigin(s.Public.Scheme + "://" + s.Public.Host) // checked where the flag is read
	}
	origins.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.showError(&request{site: s, w: w, r: r}, errOrigin)
	}))
	next = origins.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.allowedHost(r.Host) {
			s.showError(&request{site: s, w: w, r: r}, errHost)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// allowedHost reports whether the site serves a host. On loopback another name means that a foreign
// page pointed its name at this machine.
func (s *Site) allowedHost(host string) bool {
	if s.Public != nil && strings.EqualFold(host, s.Public.Host) {
		return true
	}
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	name = strings.Trim(name, "[]")
	if ip := net.ParseIP(name); ip != nil && ip.IsLoopback() || strings.EqualFold(name, "localhost") {
		return true
	}
	return !s.Local && s.Public == nil
}

// maxForm bounds the body of a form that holds no file: a page of corrections.
const maxForm = 4 << 20

// answer authorizes a request and serves it.
func (s *Site) answer(rt route, w http.ResponseWriter, r *http.Request) {
	v := &request{site: s, w: w, r: r, asked: rt}
	err := v.authorize()
	if err == nil {
		err = v.allowed(rt)
	}
	if err == nil {
		err = s.serve(rt, v)
	}
	if err != nil {
		s.showError(v, err)
	}
}

// serve serves a route. It bounds how many files an account uploads at once, because an upload over
// a slow connection may take minutes.
func (s *Site) serve(rt route, v *request) error {
	if rt.upload {
		leave, ok := s.uploads.take(v.session.Account.ID)
		if !ok {
			return errUploads
		}
		defer leave()
	}
	err := rt.serve(s, v)
	if rt.upload || v.r.Method != http.MethodGet {
		// The next page shows what this one changed.
		s.actionFacts.Delete("")
		s.figures.Delete(v.r.PathValue("batch"))
		s.filings.Delete(v.r.PathValue("batch"))
	}
	return err
}

// loadSession finds the session of the request.
func (v *request) loadSession() error {
	cookie, err := v.r.Cookie(v.site.cookieName(sessionCookie))
	if err != nil || cookie.Value == "" {
		return nil
	}
	session, err := v.site.Ledger.Accounts().FindSession(v.r.Context(), cookie.Value)
	if errors.Is(err, ledger.ErrSession) {
		v.signedIn = false
		return nil
	}
	v.session, v.secret = session, cookie.Value
	v.signedIn = err == nil
	return err
}

// isFor reports whether a route is for an account that is signed in.
func (rt route) isFor(a ledger.Account) bool {
	return len(rt.may) == 0 || slices.ContainsFunc(rt.may, a.May)
}

// authorize loads the session and refuses what the reader has no role for. It runs
// again after the body: a session may end while a slow body arrives.
func (v *request) authorize() error {
	switch err := v.loadSession(); {
	case err != nil || v.asked.may == nil:
		return err
	case !v.signedIn:
		return errSignIn
	case !v.asked.isFor(v.session.Account):
		return errRole
	}
	return nil
}

// allowed reads the form of a request and refuses what is not valid.
func (v *request) allowed(rt route) error {
	changes := v.r.Method != http.MethodGet && v.r.Method != http.MethodHead
	if !clean(v.r.URL.Path) || !cleanValues(v.r.URL.Query()) {
		return errNoPage
	}
	if !changes {
		return nil
	}
	if rt.upload {
		return nil // its handler reads the fields, then the file
	}
	limit := int64(maxForm)
	if !v.signedIn {
		limit = maxFields
	}
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, limit)
	if err := v.r.ParseForm(); err != nil || !cleanValues(v.r.PostForm) {
		return errForm
	}
	if rt.may == nil {
		return nil // forms of the sign-in pages have no identifier
	}
	if err := v.authorize(); err != nil {
		return err
	}
	return v.readOnce()
}

// clean reports whether a text is one that a database keeps: no browser sends
// another.
func clean(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }

func cleanValues(all url.Values) bool {
	for name, values := range all {
		if !clean(name) || slices.ContainsFunc(values, func(value string) bool { return !clean(value) }) {
			return false
		}
	}
	return true
}

// maxOnce bounds the length of the identifier of a form.
const maxOnce = 64

// readOnce reads the identifier of a form.
func (v *request) readOnce() error {
	if v.once = v.r.PostForm.Get("once"); len(v.once) > maxOnce {
		return errForm
	}
	return nil
}

// seats bound what accounts keep going at once, each of them and all together:
// every open connection costs memory for as long as it lasts.
type seats struct {
	each, all int

	mu    sync.Mutex
	of    map[string]int // by account
	taken int
}

func newSeats(each, all int) *seats {
	return &seats{each: each, all: all, of: make(map[string]int)}
}

// take takes a seat for an account, until it is left. It fails if the account has all
// that it may have, or all are taken.
func (s *seats) take(account string) (leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[account] >= s.each || s.taken >= s.all {
		return nil, false
	}
	s.of[account]++
	s.taken++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.taken--
		if s.of[account]--; s.of[account] == 0 {
			delete(s.of, account)
		}
	}, true
}

// How many files are on their way in at once.
const uploadsEach, uploadsAll = 3, 30

var errUploads = &httpError{http.StatusTooManyRequests, "Too many uploads at once",
	"Nothing was saved. Wait until the other files have arrived, then upload this one again."}

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

// accountID returns the id of the account with a name, or empty if no account has it.
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
