package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/cache"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/intake"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
	"github.com/bulkfiling/bulkfiling/internal/network"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
)

// testSite is a site over a fresh ledger, with the sandbox as its service.
type testSite struct {
	*testing.T
	*Site
	Ledger  *ledger.Ledger
	config  Config
	live    atomic.Pointer[Site] // answers the requests
	url     string
	dir     string // of the ledger
	service *sandbox.Service
	client  *filingapi.Client
	people  int
}

func newSite(t *testing.T, change ...func(*Config)) *testSite {
	t.Helper()
	dir := ledgertest.Dir(t)
	// The filing service works on no request after its answer.
	l, err := ledger.Open(t.Context(), ledger.Config{Dir: dir, Gate: approval.Gate{}, Timeout: time.Millisecond})
	s := &testSite{T: t, Ledger: l, dir: dir}
	s.must(err)
	t.Cleanup(func() { s.must(l.Close()) })
	s.must(l.Organizations().Bind(t.Context(), "test"))
	s.service = sandbox.New(sandbox.Config{OpeningBalance: 1_000_000_00, AutoSeed: true})
	service := httptest.NewServer(s.service.Handler())
	t.Cleanup(service.Close)
	s.client, err = filingapi.New(filingapi.Config{
		BaseURL:     service.URL + "/v1",
		Key:         "sk_test_page",
		Timeout:     5 * time.Second,
		Concurrency: 8,
	})
	s.must(err)
	t.Cleanup(s.client.Close)
	c := Config{
		Ledger:      l,
		Service:     func() (*filingapi.Client, error) { return s.client, nil },
		Concurrency: 4,
		Address:     Address{Local: true},
		Settings:    Settings{Mode: "test", Key: true, Service: service.URL},
		Downloads:   downloads(t, service.URL),
		Log:         slog.New(slog.NewTextHandler(t.Output(), nil)),
		Version:     "test",
	}
	c.Prices = func(ctx context.Context) (pricing.Quoter, error) {
		prices, err := pricing.FetchPrices(ctx, s.client, l)
		if err != nil {
			return nil, err
		}
		book, err := pricing.NewPriceBook(prices, "")
		if err != nil {
			return nil, err
		}
		return pricing.NewRates(book, pricing.BuiltinFees()), nil
	}
	c.Scheduler = schedule.New(schedule.Config{Ledger: l, Quoter: c.Prices, By: "a schedule", Log: c.Log})
	for _, f := range change {
		f(&c)
	}
	s.config = c
	s.open()
	front := httptest.NewServer(network.WithHeaders(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.live.Load().ServeHTTP(w, r)
	}), false))
	t.Cleanup(front.Close)
	s.url = front.URL
	return s
}

// open serves the site with its present configuration.
func (s *testSite) open() {
	s.Site = New(s.config)
	every := cache.For(0) // pages show what is in the ledger, on a slow machine, too
	all := s.server.overview
	all.figures = cache.New[string](cache.Options[ledger.Figures]{TTL: every})
	all.filings = cache.New[string](cache.Options[ledger.Filings]{TTL: every})
	all.silence = cache.New[string](cache.Options[schedule.Silence]{TTL: every})
	all.shared = cache.New[string](cache.Options[actionFacts]{TTL: every})
	s.Cleanup(s.Close)
	s.live.Store(s.Site)
}

// downloads lets links lead to the service alone.
func downloads(t *testing.T, service string) network.Downloads {
	t.Helper()
	d, err := network.ParseDownloads(service, "")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (s *testSite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// place places what is handed in until the test ends.
func (s *testSite) place() {
	s.Helper()
	queue := need(jobs.OpenQueue(""))(s)
	quoter, err := s.config.Prices(s.Context())
	s.must(err)
	worker, err := jobs.Start(s.Context(), jobs.Config{
		Service:      s.client,
		Ledger:       s.Ledger,
		Queue:        queue,
		Quoter:       quoter,
		Concurrency:  8,
		DrainTimeout: 10 * time.Second,
		Log:          slog.New(slog.DiscardHandler),
	})
	s.must(err)
	s.Cleanup(func() {
		worker.Stop()
		s.must(queue.Close())
	})
}

// visitor is a person with a browser.
type visitor struct {
	*testSite
	name    string
	client  http.Client
	headers map[string]string // of uploads, besides their own
	answer  *http.Response    // the last one, without its body
}

// as signs in a person with these roles.
func (s *testSite) as(roles ...account.Role) *visitor {
	s.Helper()
	s.people++
	return s.member("person"+string(rune('a'-1+s.people)), roles...)
}

// member adds an account and signs it in by a link.
func (s *testSite) member(name string, roles ...account.Role) *visitor {
	s.Helper()
	account := need(s.Ledger.Accounts().Add(s.Context(), name, roles))(s)
	v := s.nobody()
	v.name = account.Name
	v.enter()
	return v
}

// enter signs in by a link.
func (v *visitor) enter() {
	v.Helper()
	secret := need(v.Ledger.Accounts().MakeSignInLink(v.Context(), v.name, time.Hour))(v)
	v.answers(http.StatusOK, "/enter", "link", secret)
	v.wants(v.page("/"), signedIn)
}

// signedIn is on the pages of a person who is signed in.
const signedIn = `action="/leave"`

// visit returns a site and a person with these roles.
func visit(t *testing.T, roles ...account.Role) (*testSite, *visitor) {
	t.Helper()
	s := newSite(t)
	return s, s.as(roles...)
}

// need returns a function that returns what was found, and fails the test if there is an error.
func need[T any](found T, err error) func(interface{ must(error) }) T {
	return func(s interface{ must(error) }) T {
		s.must(err)
		return found
	}
}

// nobody is a visitor who is not signed in.
func (s *testSite) nobody() *visitor {
	jar := need(cookiejar.New(nil))(s)
	v := &visitor{testSite: s, headers: make(map[string]string)}
	v.client = http.Client{Jar: jar, Timeout: 20 * time.Second}
	s.Cleanup(v.client.CloseIdleConnections)
	return v
}

// hidden is the value of the first hidden field of a name.
func hidden(body, name string) string {
	found := regexp.MustCompile(`name="` + regexp.QuoteMeta(name) + `" value="([^"]*)"`).FindStringSubmatch(body)
	if found == nil {
		return ""
	}
	return found[1]
}

func (v *visitor) do(r *http.Request) (int, string) {
	v.Helper()
	answer := need(v.client.Do(r))(v)
	defer answer.Body.Close()
	v.answer = answer
	if h := answer.Header; strings.HasPrefix(v.url, "http://"+answer.Request.URL.Host) &&
		(h.Get("X-Content-Type-Options") != "nosniff" ||
			!strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none';")) {
		v.Errorf("%s %s lost its security headers: %v", r.Method, r.URL.Path, h)
	}
	body := need(io.ReadAll(answer.Body))(v)
	return answer.StatusCode, string(body)
}

func (v *visitor) get(path string) (int, string) {
	v.Helper()
	r := need(http.NewRequest(http.MethodGet, v.url+path, nil))(v)
	r.Header.Set("Accept", "text/html")
	return v.do(r)
}

// post posts a form and follows its redirects.
func (v *visitor) post(path string, fields ...string) (int, string) {
	v.Helper()
	form := make(url.Values)
	for i := 0; i < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	r := need(http.NewRequest(http.MethodPost, v.url+path, strings.NewReader(form.Encode())))(v)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Referer", v.url+path)
	return v.do(r)
}

// upload sends a file, with the fields before it, and fails where the answer has another status. It
// returns the page.
func (v *visitor) upload(status int, path, name string, content []byte, fields ...string) string {
	v.Helper()
	answer, body := v.handOver(path, name, content, fields...)
	if answer.StatusCode != status {
		v.Errorf("%s to %s: %d, want %d\n%s", name, path, answer.StatusCode, status, body)
	}
	return body
}

// handOver hands a file over and takes the answer.
func (v *visitor) handOver(path, name string, content []byte, fields ...string) (*http.Response, string) {
	v.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	for i := 0; i < len(fields); i += 2 {
		v.must(w.WriteField(fields[i], fields[i+1]))
	}
	part := need(w.CreateFormFile("file", name))(v)
	_, err := part.Write(content)
	v.must(errors.Join(err, w.Close()))
	r := need(http.NewRequest(http.MethodPost, v.url+path, &form))(v)
	r.Header.Set("Content-Type", w.FormDataContentType())
	for name, value := range v.headers {
		r.Header.Set(name, value)
	}
	_, body := v.do(r)
	return v.answer, body
}

// sheet hands a sheet over and waits until it is prepared.
func (v *visitor) sheet(name, content string) (path, body string) {
	v.Helper()
	body = v.upload(http.StatusOK, "/sheets", name, []byte(content))
	path = strings.TrimSuffix(v.answer.Request.URL.Path, "/columns") // where its columns are to be checked first
	return path, v.prepared(path, body)
}

// prepared waits until an upload is prepared, and returns its page with that of its cost.
// body is its page at first.
func (v *visitor) prepared(path, body string) string {
	v.Helper()
	if !strings.Contains(body, gridMark) {
		return body
	}
	v.until(path+" is prepared", func() bool {
		state := v.grid(path, "?limit=1").State
		return !state.Busy || state.Problem != ""
	})
	return v.page(path) + v.page(path+"/approve")
}

// page gets a page that must be there.
func (v *visitor) page(path string) string {
	v.Helper()
	status, body := v.get(path)
	if status != http.StatusOK {
		v.Fatalf("%s: %d\n%s", path, status, body)
	}
	return body
}

// submit submits a prepared upload, with its warnings reviewed, and returns its batch.
func (v *visitor) submit(path, _ string) string {
	v.Helper()
	_, form := v.get(path + "/approve")
	fields := []string{"version", hidden(form, "version"), "plan", hidden(form, "plan")}
	if strings.Contains(form, `name="warnings"`) {
		fields = append(fields, "warnings", checkbox(v.T, form, "warnings"))
	}
	_, after := v.post(path+"/submit", fields...)
	_, id, found := strings.Cut(after, "batch <code data-copy>")
	if !found {
		v.Fatalf("the spreadsheet was not submitted\n%s", after)
	}
	id, _, _ = strings.Cut(id, "<")
	return id
}

// soon looks at a page until it has a text: what takes long to sum up is not
// summed up at every look.
func (v *visitor) soon(path, text string) (body string) {
	v.Helper()
	v.until(text+" on "+path, func() bool {
		_, body = v.get(path)
		return strings.Contains(body, text)
	})
	return body
}

// answers posts a form, and fails where the answer has another status. It returns the page.
func (v *visitor) answers(status int, path string, fields ...string) string {
	v.Helper()
	got, body := v.post(path, fields...)
	if got != status {
		v.Errorf("%s %v: %d, want %d\n%s", path, fields, got, status, body)
	}
	return body
}

// gives gets a page, and fails where it has another status. It returns the page.
func (v *visitor) gives(status int, path string) string {
	v.Helper()
	got, body := v.get(path)
	if got != status {
		v.Errorf("%s: %d, want %d\n%s", path, got, status, body)
	}
	return body
}

// acts lists events of the audit log, and fails if there are not n of them. Any number is fine if n
// is negative.
func (s *testSite) acts(n int, q audit.Query) []audit.Event {
	s.Helper()
	acts := need(s.Ledger.AuditLog().List(s.Context(), q))(s)
	if n >= 0 && len(acts) != n {
		s.Fatalf("%d events of %+v, want %d: %+v", len(acts), q, n, acts)
	}
	return acts
}

// posted posts a form, and returns the page that it leads to.
func (v *visitor) posted(path string, fields ...string) string {
	v.Helper()
	_, body := v.post(path, fields...)
	return body
}

// until waits until something is done.
func (s *testSite) until(what string, done func() bool) {
	s.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.Fatal("not in time: " + what)
		}
	}
}

// uploaded is the only upload.
func (s *testSite) uploaded() intake.Upload {
	s.Helper()
	return s.draftOf(s.uploads(1)[0].ID)
}

// uploads lists the uploads, and fails if there are not n of them.
func (s *testSite) uploads(n int) []intake.Upload {
	s.Helper()
	uploads := need(intake.NewUploads(s.Ledger).List(s.Context()))(s)
	if len(uploads) != n {
		s.Fatalf("%d uploads, want %d: %+v", len(uploads), n, uploads)
	}
	return uploads
}

// draftOf is an upload by its id or its path.
func (s *testSite) draftOf(path string) intake.Upload {
	s.Helper()
	u := need(intake.NewUploads(s.Ledger).Find(s.Context(), strings.TrimPrefix(path, "/sheets/")))(s)
	return u
}

// wants fails where a page does not have a text.
func (v *visitor) wants(body string, texts ...string) {
	v.Helper()
	for _, text := range texts {
		if !strings.Contains(body, text) {
			v.Errorf("%q is not on the page\n%s", text, body)
		}
	}
}

// lacks fails where a page has a text.
func (s *testSite) lacks(body string, texts ...string) {
	s.Helper()
	for _, text := range texts {
		if strings.Contains(body, text) {
			s.Errorf("%q is on the page\n%s", text, body)
		}
	}
}

// times fails where a page does not have a text n times.
func (s *testSite) times(n int, body, text string) {
	s.Helper()
	if got := strings.Count(body, text); got != n {
		s.Errorf("%q is %d times on the page, want %d\n%s", text, got, n, body)
	}
}

// path fills a route's pattern in.
func (r route) path() string {
	_, path, _ := strings.Cut(r.pattern, " ")
	return regexp.MustCompile(`\{[^}]*\}`).ReplaceAllStringFunc(strings.ReplaceAll(path, "{$}", ""),
		func(string) string { return "1" })
}

func (r route) method() string {
	method, _, _ := strings.Cut(r.pattern, " ")
	return method
}

// Requests without a session, from another site or host, or without the role are refused
// by every route, and change nothing. Each refusal is one line of the log with what an
// operator has to know, and never what stood in the request.
func TestEveryRouteRefuses(t *testing.T) {
	s, book := loggedSite(t)
	stranger := s.nobody()
	people := map[account.Role]*visitor{"": s.as()}
	for _, role := range account.Roles {
		people[role] = s.as(role)
	}
	owner := s.as(account.Roles...)
	elsewhere := [][]string{
		{"Origin", "https://evil.example"},
		{"Origin", "http://127.0.0.1:1"},
		{"Origin", strings.Replace(s.url, "http:", "https:", 1) + "1"},
		{"Origin", "null"}, // a sandboxed frame
		{"Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "same-site"},
		{"Sec-Fetch-Site", "cross-site", "Origin", s.url},
	}
	for _, r := range s.server.table {
		stranger.refused(book, r, http.StatusMisdirectedRequest, "host", "Host", "evil.example")
		if r.may == nil {
			continue
		}
		if r.method() == http.MethodGet {
			stranger.refused(book, r, http.StatusUnauthorized, "")
			stranger.refused(book, r, http.StatusSeeOther, "", "Accept", "text/html")
		} else {
			stranger.refused(book, r, http.StatusUnauthorized, "no session")
			for _, header := range elsewhere {
				owner.refused(book, r, http.StatusForbidden, "origin", header...)
			}
		}
		for role, v := range people {
			if len(r.may) > 0 && !slices.Contains(r.may, role) {
				v.refused(book, r, http.StatusForbidden, "role")
			}
		}
	}
	s.checkDenials()
}

// private is what requests say that no log may repeat.
const private = "private-text"

// refused checks that a route refuses a visitor with a status, and that the log has the
// reason in one line, or nothing if there is no reason.
func (v *visitor) refused(book *logbook, r route, status int, reason string, header ...string) {
	v.Helper()
	book.take(v.T, "")
	if got := v.requests(r, private, header...); got != status {
		v.Errorf("%s as %q with %v: %d, want %d", r.pattern, v.name, header, got, status)
	}
	account := ""
	if v.name != "" {
		account = mustAccount(v.testSite, v.name).ID
	}
	var want []map[string]any
	if reason != "" {
		want = []map[string]any{{"level": "WARN", "msg": "access denied", "reason": reason, "route": r.pattern,
			"account": account, "address": "127.0.0.1"}}
	}
	lines := book.take(v.T, "access denied")
	for _, one := range lines {
		delete(one, "time")
	}
	if fmt.Sprint(lines) != fmt.Sprint(want) {
		v.Errorf("%s as %q with %v: %v, want %v", r.pattern, v.name, header, lines, want)
	}
}

// checkDenials checks that nothing but sign-ins and some denials is in the audit log.
func (s *testSite) checkDenials() {
	s.Helper()
	acts := need(s.Ledger.AuditLog().List(s.Context(), audit.Query{Limit: 10_000}))(s)
	denied := 0
	for _, a := range acts {
		switch {
		case a.What != "denied":
			if a.What != "sign-in" && a.What != "account-link" {
				s.Errorf("%+v", a)
			}
		case a.By == "", a.From == "", strings.Contains(a.Of+a.Note, private):
			s.Errorf("%+v", a)
		default:
			denied++
		}
	}
	if denied == 0 || denied > maxTraces+10 {
		s.Errorf("%d denials are in the audit log", denied)
	}
}

// requests asks for a route, with a form or a file that has a note, and returns the
// status of the first response. The header Host is for the request's host.
func (v *visitor) requests(r route, note string, header ...string) int {
	v.Helper()
	v.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	defer func() { v.client.CheckRedirect = nil }()
	body := bytes.NewBufferString(url.Values{"note": {note}}.Encode())
	kind := "application/x-www-form-urlencoded"
	if r.upload {
		body.Reset()
		w := multipart.NewWriter(body)
		v.must(w.WriteField("note", note))
		part := need(w.CreateFormFile("file", "a.csv"))(v)
		_, err := part.Write([]byte("Company ID\n1\n"))
		v.must(errors.Join(err, w.Close()))
		kind = w.FormDataContentType()
	}
	req := need(http.NewRequest(r.method(), v.url+r.path()+"?q="+note, body))(v)
	req.Header.Set("Content-Type", kind)
	for i := 0; i < len(header); i += 2 {
		if req.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			req.Host = header[i+1]
		}
	}
	status, _ := v.do(req)
	return status
}

// Every role reads the pages, but for those that are named here. Everything that changes
// something is a POST that no auditor may send. Only the pages of the own account are for
// people without a role, and only those that sign in for strangers.
func TestRightsOfRoutes(t *testing.T) {
	rights := make(map[string][]account.Role)
	for _, c := range []struct {
		may      []account.Role
		patterns []string
	}{
		{anyone, []string{
			"GET /sign-in", "GET /enter", "POST /enter", "POST /sign-in/passkey",
			"POST /sign-in/passkey/challenge", "GET /sign-in/provider", "GET /sign-in/provider/callback",
		}},
		{self, []string{
			"GET /{$}", "POST /leave", "POST /sessions/end", "GET /security", "POST /security/passkeys",
			"POST /security/passkeys/challenge", "POST /security/passkeys/{passkey}/remove", "POST /security/provider",
			"POST /security/provider/unlink",
		}},
		{operator, []string{"GET /setup", "GET /schedules/new", "GET /schedules/{schedule}/run"}},
		{auditor, []string{"GET /audit"}},
	} {
		for _, pattern := range c.patterns {
			rights[pattern] = c.may
		}
	}
	for _, r := range newSite(t).server.table {
		want, named := rights[r.pattern]
		switch {
		case named:
			if (r.may == nil) != (want == nil) || !slices.Equal(r.may, want) {
				t.Errorf("%s is for %v, want %v", r.pattern, r.may, want)
			}
		case r.method() == http.MethodGet:
			if !slices.Equal(r.may, account.Roles) {
				t.Errorf("%s is for %v", r.pattern, r.may)
			}
		case r.method() != http.MethodPost, len(r.may) == 0, slices.Contains(r.may, account.Auditor):
			t.Errorf("%s is for %v", r.pattern, r.may)
		}
	}
}

// An account without a role is told so, and an auditor is shown no forms.
func TestPagesLeaveOutWhatIsNotAllowed(t *testing.T) {
	s := newSite(t)
	nobody := s.as()
	body := nobody.page("/")
	nobody.wants(body, "You have no role yet")
	nobody.lacks(body, `href="/settings"`)
	auditor := s.as(account.Auditor)
	body = auditor.page("/settings")
	auditor.wants(body, nobody.name, "auditor", `href="/audit"`)
	s.lacks(body, `method="post" action="/settings`)
}

// A page has nothing of its own that a browser would run or load from elsewhere, and
// each column of a table has a name.
func TestHeadersAndMarkup(t *testing.T) {
	s, v := visit(t, account.Roles...)
	v.page("/")
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
			"font-src 'self'; " +
			"connect-src 'self'; object-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cache-Control": "no-store",
	} {
		if got := v.answer.Header.Get(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	entries := need(files.ReadDir("templates"))(s)
	bad := regexp.MustCompile(`(?i)\sstyle\s*=|\son[a-z]+\s*=|<script>|<style|javascript:|` +
		`(src|href)="(https?:)?//|<th[^>]*></th>`)
	for _, e := range entries {
		content := need(files.ReadFile("templates/" + e.Name()))(s)
		if found := bad.Find(content); found != nil {
			t.Errorf("%s has %q", e.Name(), found)
		}
		for _, form := range regexp.MustCompile(`(?s)<form[^>]*method="post".*?</form>`).FindAllString(string(content),
			-1) {
			if !strings.Contains(form, "{{once}}") && !strings.Contains(form, `action="/sign-in`) &&
				!strings.Contains(form, `action="/enter"`) {
				t.Errorf("%s has a form without an identifier: %s", e.Name(), form)
			}
		}
	}
}

// On loopback a page of another name, which that name's owner has had point
// here, is refused.
func TestForeignNames(t *testing.T) {
	s := newSite(t)
	for host, want := range map[string]int{"evil.example": 421, "127.0.0.1:1": 200, "localhost": 200, "[::1]:80": 200,
		"127.0.0.1.evil.example": 421} {
		r := need(http.NewRequest(http.MethodGet, s.url+"/sign-in", nil))(s)
		r.Host = host
		if status, _ := s.nobody().do(r); status != want {
			t.Errorf("%s: %d, want %d", host, status, want)
		}
	}
}

// A sheet of what was ordered before has nothing to order, and its rows say so.
func TestSheetOrderedBefore(t *testing.T) {
	s, v := visit(t, account.Preparer)
	s.place()
	path, body := v.sheet("clients <b>.csv", someClients)
	v.wants(body, "clients &lt;b&gt;.csv", "1 row with errors")
	v.lacks(body, "<script>alert")
	s.answered(v.submit(path, body))
	again, body := v.sheet("clients.csv",
		"Company ID,Legal Name,Filing State,Filing Year,User Email\ncomp_1,x,DE,2026,ana@example.com\n")
	v.wants(body, "1 ordered before", "Nothing to order")
	if g := v.grid(again, "?show=bought"); g.Counts.Ready != 0 || g.Counts.Bought != 1 || len(g.Rows) != 1 ||
		g.Rows[0].Result != filing.Exists || v.grid(again, "?show=ready").Total != 0 {
		t.Errorf("%+v", g)
	}
	v.answers(http.StatusOK, again+"/drop")
}

// What is prepared of an upload that was changed in the meantime is deleted: no one
// comes back to it.
func TestNothingIsLeftOfAnEarlierVersion(t *testing.T) {
	s := newSite(t)
	ctx := t.Context()
	const content = "Company ID,Filing State,Filing Year,User Email\ncomp_1,DE,2026,ana@example.com\n"
	u := need(intake.NewUploads(s.Ledger).Add(ctx, intake.Upload{File: "a.csv", CreatedBy: "ana"},
		strings.NewReader(content)))(s)
	changed := u
	changed.Options = need(encodeStored(readOptions{User: "bob@example.com"}))(s)
	s.must(intake.NewUploads(s.Ledger).Change(ctx, changed))
	now := newPreparation(ctx, u.Version)
	s.must(s.queue.do(ctx, u, now))
	if all, err := s.Ledger.Batches(ctx); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	u = need(intake.NewUploads(s.Ledger).Find(ctx, u.ID))(s)
	s.must(s.queue.do(ctx, u, now))
	if all, err := s.Ledger.Batches(ctx); err != nil || len(all) != 1 || !all[0].Prepared {
		t.Errorf("%+v, %v", all, err)
	}
}

// vendored are the files of SlickGrid 5.20.2, with their hashes as its package
// has them: its code is not changed here.
var vendored = map[string]string{
	"slickgrid/LICENSE":                     "bfce12a8ee2abffdc3784453b1866112c31705ddc55ebf586faf24f75069737c",
	"slickgrid/slick.cellrangedecorator.js": "522e00f18d9a125c5e08b7338d0379772157a19c31aa1a218a211c3afa607b7e",
	"slickgrid/slick.cellrangeselector.js":  "e1821121184f044232dc398be9cf6f39562f3700d23ce0f08c26a18de68e09a8",
	"slickgrid/slick.cellselectionmodel.js": "bdeb0cacc4ffcdebfa6cd2301e2f5307be317e723b3a6ef490718555087fd188",
	"slickgrid/slick.core.js":               "34fdd20ddbed9b988195cca89c7e234ca7f306ea272824080ad22aba18a63a96",
	"slickgrid/slick.grid.css":              "0e7cff2da3f989c945cc0fb739cc224768d207d388184dcfb10b57a58e535f4e",
	"slickgrid/slick.grid.js":               "30179ba19697311a8ff536aec4cfbb2cd0bbe4437482b097f065207fed4933f7",
	"slickgrid/slick.interactions.js":       "09f105b193ce300e9c3325df54a34960611bb8c10077da877bbad53a1a886df8",
}

// The foreign code that the pages load is what was reviewed, and its license is
// beside it.
func TestVendoredFiles(t *testing.T) {
	found := 0
	err := fs.WalkDir(files, "static/vendor", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := files.ReadFile(path)
		if err != nil {
			return err
		}
		found++
		sum := sha256.Sum256(content)
		name := strings.TrimPrefix(path, "static/vendor/")
		if got := hex.EncodeToString(sum[:]); got != vendored[name] {
			t.Errorf("%s has the hash %s, want %q", name, got, vendored[name])
		}
		if folder, _, _ := strings.Cut(name, "/"); strings.HasSuffix(name, ".js") {
			license, err := files.ReadFile("static/vendor/" + folder + "/LICENSE")
			if err != nil || !strings.Contains(string(license), "without restriction") {
				t.Errorf("%s has no license that allows it: %v", name, err)
			}
		}
		for _, never := range []string{"eval(", "new Function(", "document.write("} {
			if strings.HasSuffix(name, ".js") && strings.Contains(string(content), never) {
				t.Errorf("%s has %s, which the policy of the pages refuses", name, never)
			}
		}
		return nil
	})
	if err != nil || found != len(vendored) {
		t.Errorf("%d files, want %d: %v", found, len(vendored), err)
	}
}
