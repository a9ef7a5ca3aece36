package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/time/rate"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/audit"
)

// guard rejects requests for unknown hosts and requests that another site made a browser send. The
// server sets the security headers before it, see network.WithHeaders.
//
// CrossOriginProtection rejects requests that Sec-Fetch-Site calls cross-site or same-site. This
// includes requests from another port of this machine. Without that header it compares Origin with
// Host. All current browsers send Origin with a POST, so a changing request with neither header
// does not come from one. Serving it is safe: it has no account unless it brings a session cookie,
// and SameSite=Lax keeps browsers from adding the cookie to a POST that another site starts.
func (s *server) guard(next http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	if s.Public != nil {
		// The flag's parser has already checked the URL.
		_ = origins.AddTrustedOrigin(s.Public.Scheme + "://" + s.Public.Host)
	}
	origins.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.showError(&request{server: s, w: w, r: r}, errOrigin)
	}))
	next = origins.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.allows(r.Host) {
			s.showError(&request{server: s, w: w, r: r}, errHost)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// maxForm is the maximum size, in bytes, of a form without a file, such as a page of corrections.
const maxForm = 4 << 20

// answer authorizes a request and serves it.
func (s *server) answer(rt route, w http.ResponseWriter, r *http.Request) {
	v := &request{server: s, w: w, r: r, asked: rt}
	err := v.authorize()
	if err == nil {
		err = v.readForm()
	}
	if err == nil {
		err = s.serve(v)
	}
	if err != nil {
		s.showError(v, err)
	}
}

// serve serves a request. It limits the concurrent uploads of an account, because an upload over a
// slow connection may take minutes.
func (s *server) serve(v *request) error {
	if v.asked.upload {
		leave, ok := s.uploads.take(v.session.Account.ID)
		if !ok {
			return errUploads
		}
		defer leave()
	}
	err := v.asked.serve(v)
	if v.r.Method != http.MethodGet {
		// The next page must show this change, so its cached data is dropped.
		s.overview.forget(v.r.PathValue("batch"))
	}
	return err
}

// loadSession finds the session of the request.
func (v *request) loadSession() error {
	cookie, err := v.r.Cookie(v.server.cookieName(sessionCookie))
	if err != nil || cookie.Value == "" {
		return nil
	}
	session, err := v.server.accounts.FindSession(v.r.Context(), cookie.Value)
	if errors.Is(err, account.ErrSession) {
		v.signedIn = false
		return nil
	}
	v.session, v.secret = session, cookie.Value
	v.signedIn = err == nil
	return err
}

// authorize loads the session and rejects readers without a role for the route. It returns
// errSignIn, errRole or errNotFresh. It runs again after the body was read, because a session may
// end while a slow body arrives.
func (v *request) authorize() error {
	switch err := v.loadSession(); {
	case err != nil || v.asked.may == nil:
		return err
	case !v.signedIn:
		return errSignIn
	case len(v.asked.may) > 0 && !slices.ContainsFunc(v.asked.may, v.session.Account.May):
		return errRole
	case v.asked.fresh && !v.fresh():
		return errNotFresh
	}
	return nil
}

// readForm parses the form of a request and rejects invalid input. A handler of an upload reads the
// fields itself, then the file.
func (v *request) readForm() error {
	if !clean(v.r.URL.Path) || !cleanValues(v.r.URL.Query()) {
		return errNoPage
	}
	if v.r.Method == http.MethodGet || v.r.Method == http.MethodHead || v.asked.upload {
		return nil
	}
	limit := int64(maxForm)
	if !v.signedIn {
		limit = maxFields
	}
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, limit)
	if err := v.r.ParseForm(); err != nil || !cleanValues(v.r.PostForm) {
		return errForm
	}
	if v.asked.may == nil {
		// The forms of the sign-in pages have no identifier.
		return nil
	}
	if err := v.authorize(); err != nil {
		return err
	}
	return v.readOnce()
}

// clean reports whether the database can store a text. Browsers send no other texts.
func clean(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }

func cleanValues(all url.Values) bool {
	for name, values := range all {
		if !clean(name) || slices.ContainsFunc(values, func(value string) bool { return !clean(value) }) {
			return false
		}
	}
	return true
}

// maxOnce is the maximum length of a form's identifier in bytes.
const maxOnce = 64

// readOnce reads the identifier of a form. It makes the change of a form happen once.
func (v *request) readOnce() error {
	if v.once = v.r.PostForm.Get("once"); len(v.once) > maxOnce {
		return errForm
	}
	return nil
}

// seats limits concurrent operations, per account and in total, because every open connection takes
// memory.
type seats struct {
	mu sync.Mutex
	// of counts the seats taken by each account.
	of    map[string]int
	taken int
}

// take takes a seat for an account until leave is called. It fails if the account or the site has
// reached its limit.
func (s *seats) take(account string) (leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[account] >= uploadsEach || s.taken >= uploadsAll {
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

// These limit the concurrent uploads per account and in total.
const uploadsEach, uploadsAll = 3, 30

var errUploads = &httpError{http.StatusTooManyRequests, "Too many uploads at once",
	"Nothing was saved. Wait until the other files have arrived, then upload this one again."}

// Rejected requests add at most maxTraces events to the audit log at once, and one more per
// traceEvery. The server's log has all of them.
const (
	maxTraces  = 60
	traceEvery = 10 * time.Second
)

func newTraceLimit() *rate.Limiter { return rate.NewLimiter(rate.Every(traceEvery), maxTraces) }

// keepTrace records an event in the audit log if the limit allows it. A failure is only logged, so
// that the request is still answered.
func (s *server) keepTrace(ctx context.Context, limit *rate.Limiter, a audit.Event) {
	if !limit.Allow() {
		return
	}
	if err := s.audit.Record(context.WithoutCancel(ctx), a); err != nil {
		s.Log.Error("audit event lost", "what", a.What, "err", err)
	}
}

// denials are the reasons for rejecting a request before it is served.
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

// route returns the pattern that a request matches. It never returns the path, which may be
// confidential.
func (v *request) route() string {
	pattern := v.r.Pattern
	if pattern == "" {
		_, pattern = v.server.mux.Handler(v.r)
	}
	if pattern == "/" {
		return "unknown"
	}
	return pattern
}

// recordDenied records a request that was rejected for lack of permission. It ignores pages
// requested without a session, because they lead to the sign-in page.
func (s *server) recordDenied(v *request, t *httpError) {
	reason, ok := denials[t]
	if !ok || (t == errSignIn && (v.r.Method == http.MethodGet || v.r.Method == http.MethodHead)) {
		return
	}
	s.recordDenial(v, reason)
}

// recordDenial logs why a request was rejected. If the reader is signed in, it also adds an audit
// event.
func (s *server) recordDenial(v *request, reason string) {
	if !v.signedIn {
		// A request that is rejected early may still have a session.
		_ = v.loadSession()
	}
	s.Log.Warn("access denied", "reason", reason, "route", v.route(), "account", v.session.Account.ID, "address",
		v.from())
	if v.signedIn {
		s.keepTrace(v.ctx(), s.denials, v.act("", "denied", v.route(), reason))
	}
}

// recordFailedSignIn logs a failed sign-in and adds an audit event.
func (s *server) recordFailedSignIn(v *request, a account.Account, proof string, err error) {
	s.Log.Warn("sign-in failed", "reason", proof, "account", a.ID, "address", v.from(), "err", err)
	s.keepTrace(v.ctx(), s.failures, audit.Event{From: v.from(), What: "sign-in-failed", Of: a.Name, Note: proof})
}

// logAct logs an audit event. It logs accounts by their IDs, omits notes, and names objects only
// for accounts and exports. Other texts may contain text that people entered.
func (s *server) logAct(a audit.Event) {
	line := []any{"what", a.What, "account", s.accountID(a.By), "address", a.From}
	switch object := s.accountID(a.Of); {
	case a.What == "denied", a.What == "sign-in-failed":
		// These events are logged elsewhere.
		return
	case object != "":
		line = append(line, "object", object)
	case a.What == "download", a.What == "dashboard":
		line = append(line, "object", a.Of)
	}
	s.Log.Info("audit event", line...)
}

// accountID returns the ID of the account with a name, or "" if no account has it.
func (s *server) accountID(name string) string {
	if name == "" {
		return ""
	}
	a, err := s.accounts.Find(context.Background(), name)
	if err != nil {
		return ""
	}
	return a.ID
}
