package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/intake"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// Browsers leave tabs and line breaks out of an address, and take a backslash
// for a slash: what looks like a path of ours may lead away.
func TestNoPathLeadsToAnotherSite(t *testing.T) {
	for _, away := range []string{"", "https://evil.example", "//evil.example", "/\\evil.example", "\\/evil.example",
		"/\t/evil.example", "/\n/evil.example", "/\r/evil.example", "/\x00/evil.example", " //evil.example", "evil"} {
		if got := local(away); got != "/" {
			t.Errorf("%q leads to %q", away, got)
		}
	}
	for _, ours := range []string{"/", "/batches/b1?show=ready&q=a%20b", "/schedules/a%2Fb"} {
		if got := local(ours); got != ours {
			t.Errorf("%q leads to %q", ours, got)
		}
	}
}

// What no database keeps as text is refused before it is asked for.
func TestTextsThatAreNone(t *testing.T) {
	s, v := visit(t, account.Roles...)
	for _, bad := range []string{"%00", "%ff", "a%c0%80"} {
		for path, want := range map[string]int{"/batches/" + bad: 404, "/sheets/" + bad + "/live": 404,
			"/?page=" + bad: 404, "/audit?" + bad + "=1": 404, "/sign-in?to=" + bad: 404} {
			v.gives(want, path)
		}
		text, _ := url.QueryUnescape(bad)
		s.nobody().answers(http.StatusForbidden, "/sign-in", "name", text)
		v.answers(http.StatusForbidden, "/balance/entries", "kind", "deposit", "amount", "5", "note",
			text)
		v.upload(http.StatusForbidden, "/sheets", "a.csv", []byte("x"), "once", text)
	}
	v.answers(http.StatusForbidden, "/balance/entries", "kind", "deposit", "amount", "5", "once",
		strings.Repeat("o", 10_000))
	s.nobody().answers(http.StatusForbidden, "/sign-in", "name", strings.Repeat("n", 100_000))
	if b, err := s.Ledger.Balance(t.Context()); err != nil || b.HasDeposit {
		t.Errorf("%+v, %v", b, err)
	}
}

// The families of systems, and nothing else of what a browser says.
func TestDevices(t *testing.T) {
	for said, want := range map[string]string{
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)": "Windows",
		"Mozilla/5.0 (Linux; Android 16; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko)":  "Android",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15":      "iPhone",
		"<script>alert(1)</script>": "Unknown device", "": "Unknown device",
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("User-Agent", said)
		if got := (&request{r: r}).device(); got != want {
			t.Errorf("%q is %s, want %s", said, got, want)
		}
	}
}

// A file that broke off may be sent again by the same form, and is an act only
// once it is there.
func TestSentAgainAfterItBrokeOff(t *testing.T) {
	s := newSite(t, func(c *Config) { c.MaxUpload = 1 << 20 })
	v := s.as(account.Preparer)
	v.upload(http.StatusRequestEntityTooLarge, "/sheets", "a.csv", make([]byte, 2<<20), "once", "U1")
	const sheet = "Company ID,Filing State,Filing Year,User Email\ncomp_1,DE,2026,ana@example.com\n"
	v.upload(http.StatusOK, "/sheets", "b.csv", []byte(sheet), "once", "U1")
	v.wants(v.upload(http.StatusOK, "/sheets", "c.csv", []byte(sheet), "once", "U1"), "This was already done")
	if acts := s.acts(1, audit.Query{What: "upload"}); acts[0].Of != "b.csv" {
		t.Errorf("%+v", acts)
	}
	s.uploads(1)
}

// A file's name is one line, and no path.
func TestFileNames(t *testing.T) {
	for given, want := range map[string]string{
		"clients.csv": "clients.csv", `C:\Users\ana\clients.csv`: "clients.csv", "../../etc/passwd": "passwd",
		"..": "..", "": ".",
		"a\n2026-11-21 root deposit.csv": "a 2026-11-21 root deposit.csv",
		"a\u2028b\u0085c\x9b31m.csv":     "a b c\uFFFD31m.csv", "a\u009b31m\x00\x1b.csv": "a31m.csv",
		"\u202egnp.csv": "gnp.csv", "a\xff.csv": "a\uFFFD.csv",
	} {
		if got := fileName(given); got != want {
			t.Errorf("%q is %q, want %q", given, got, want)
		}
	}
}

// An upload while too many wait is refused with the time to come back, and nothing
// of the file is kept.
func TestBusyServerSaysWhenToComeBack(t *testing.T) {
	s, v := visit(t, account.Preparer, account.Operator)
	sheet.LimitReaders(1, 0)
	defer sheet.LimitReaders(0, 0)
	leave := need(sheet.AcquireReader(t.Context()))(s)
	defer leave()
	content := []byte("Company ID,Filing State,Filing Year,User Email\ncomp_1,DE,2026,ana@example.com\n")
	for path, fields := range map[string][]string{
		"/sheets": nil,
		"/schedules": {"name", "fl", "when", "date", "month", "1", "day", "15", "time", "06:00", "zone",
			"UTC", "approval", "yes"},
	} {
		answer, body := v.handOver(path, "a.csv", content, fields...)
		if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") != "30" ||
			!strings.Contains(body, "The server is busy") {
			t.Errorf("%s: %d, %v, %s", path, answer.StatusCode, answer.Header, body)
		}
	}
	uploads, size, err := intake.NewUploads(s.Ledger).Count(t.Context(), v.name)
	s.must(err)
	schedules, err := schedule.NewRecords(s.Ledger).List(t.Context())
	if err != nil || len(schedules) != 0 || uploads != 0 || size != 0 {
		t.Errorf("kept: %d uploads, %v, %v", uploads, schedules, err)
	}
}

// A person who is added gets a link, once however often the form arrives. An operator sees for whom an
// account stands that signed in by a link.
func TestWhoMadeALink(t *testing.T) {
	s := newSite(t)
	ana := s.member("ana", account.Operator)
	body := ana.posted("/settings/accounts", "once", "O1", "name", "Leo", "role", "approver")
	ana.wants(ana.posted("/settings/accounts", "once", "O1", "name", "Eve"), "This was already done")
	if acts := s.acts(1, audit.Query{Of: "leo"}); acts[0].What != "account-link" {
		t.Errorf("%+v", acts)
	}
	_, rest, _ := strings.Cut(html.UnescapeString(body), "/enter?link=")
	secret, _, _ := strings.Cut(rest, "<")
	leo := s.nobody()
	leo.wants(leo.posted("/enter", "link", secret), signedIn)
	const note = "signed in with a link from <bdi>ana</bdi>"
	ana.wants(ana.page("/settings"), note)
	leo.wants(leo.page("/security"), "You signed in with a link from <bdi>ana</bdi>")
	need(s.Ledger.Accounts().BeginSession(t.Context(), "leo", account.SignIn{Life: time.Hour, OwnWay: true}))(s)
	ana.lacks(ana.page("/settings"), note)
}

// A session that ends while a body arrives does nothing with it.
func TestSessionEndsDuringBody(t *testing.T) {
	s := newSite(t)
	s.as(account.Operator)
	for _, c := range []struct{ path, kind, start, end string }{
		{"/settings/accounts", "application/x-www-form-urlencoded", "name=evil&", "role=operator"},
		{"/sheets", "multipart/form-data; boundary=b",
			"--b\r\nContent-Disposition: form-data; name=file; filename=a.csv\r\n\r\n" +
				strings.Repeat("Company ID,Filing State\n", 1000), "c1,DE\r\n--b--\r\n"},
	} {
		v := s.as(account.Operator, account.Preparer)
		body, client := io.Pipe()
		r := need(http.NewRequest(http.MethodPost, s.url+c.path, body))(s)
		r.Header.Set("Content-Type", c.kind)
		r.Header.Set("Expect", "100-continue") // the site asks for the body after its first check
		v.client.Transport = &http.Transport{ExpectContinueTimeout: time.Minute}
		go func() {
			_, _ = io.WriteString(client, c.start)
			_ = s.Ledger.Accounts().Change(t.Context(), mustAccount(s, v.name).ID, nil, true)
			_, _ = io.WriteString(client, c.end)
			client.Close()
		}()
		v.do(r)
		if n, _, err := intake.NewUploads(s.Ledger).Count(t.Context(), v.name); err != nil || n != 0 {
			t.Errorf("%s: %d uploads, %v", c.path, n, err)
		}
		if _, err := s.Ledger.Accounts().Find(t.Context(), "evil"); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("%s: the account was added, %v", c.path, err)
		}
	}
}

// logbook is a log that a test reads.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer // since the last look
	all  bytes.Buffer
}

func (b *logbook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all.Write(p)
	return b.text.Write(p)
}

// take returns the lines with a message since the last look, and forgets all.
func (b *logbook) take(t *testing.T, message string) []map[string]any {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	var found []map[string]any
	for line := range strings.Lines(b.text.String()) {
		var one map[string]any
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if one["msg"] == message {
			found = append(found, one)
		}
	}
	b.text.Reset()
	return found
}

func loggedSite(t *testing.T, change ...func(*Config)) (*testSite, *logbook) {
	t.Helper()
	book := new(logbook)
	return newSite(t, append(change, func(c *Config) { c.Log = slog.New(slog.NewJSONHandler(book, nil)) })...), book
}

// A flood of refusals is in the log, and only its beginning in the audit log.
func TestTracesAreBounded(t *testing.T) {
	s := newSite(t)
	for range 2 * maxTraces {
		s.server.keepTrace(t.Context(), s.server.failures, audit.Event{What: "sign-in-failed", From: "192.0.2.1"})
	}
	s.server.keepTrace(t.Context(), s.server.denials, audit.Event{What: "denied", By: "ana"})
	acts := s.acts(-1, audit.Query{})
	if n := len(acts); n < maxTraces || n > 2*maxTraces-10 || acts[0].What != "denied" {
		t.Errorf("%d are in the audit log, the newest %+v", n, acts[0])
	}
}

// What concerns sign-in, roles, policy and data that leaves is in the log, by
// accounts' ids. No link, token or name that someone typed is in it,
// nor in the audit log.
func TestSignInsAndChangesAreTraced(t *testing.T) {
	s, book := loggedSite(t)
	owner := s.as(account.Roles...)
	a := need(s.Ledger.Accounts().Find(t.Context(), owner.name))(s)
	const typed = "a secret in the wrong field"
	secrets := []string{typed}
	step := func(message string, want map[string]any, do func()) {
		t.Helper()
		book.take(t, "")
		do()
		if !slices.ContainsFunc(book.take(t, message), func(line map[string]any) bool {
			for k, v := range want {
				if line[k] != v {
					return false
				}
			}
			return true
		}) {
			t.Errorf("no line %q with %v", message, want)
		}
	}
	makesLink := func(path string, fields ...string) func() {
		return func() {
			_, body := owner.post(path, fields...)
			_, link, _ := strings.Cut(body, "/enter?link=")
			link, _, _ = strings.Cut(link, "<")
			secrets = append(secrets, link)
		}
	}
	stranger := s.nobody()
	post := func(path string, fields ...string) func() {
		return func() { owner.post(path, fields...) }
	}
	step("sign-in failed", map[string]any{"reason": "link", "account": "", "address": "127.0.0.1"},
		func() { stranger.post("/enter", "link", typed) })
	step("audit event", map[string]any{"what": "account-add", "account": a.ID},
		makesLink("/settings/accounts", "name", "Leo", "role", "preparer"))
	leo := need(s.Ledger.Accounts().Find(t.Context(), "leo"))(s)
	step("audit event", map[string]any{"what": "account-link", "account": a.ID, "object": leo.ID},
		makesLink("/settings/accounts/"+leo.ID+"/link"))
	secret := need(s.Ledger.Accounts().MakeSignInLink(t.Context(), leo.ID, time.Hour))(s)
	secrets = append(secrets, secret)
	guest := s.nobody()
	step("audit event", map[string]any{"what": "sign-in", "account": leo.ID},
		func() { guest.post("/enter", "link", secret) })
	guest.post("/enter", "link", secret)
	guest.get("/enter?link=" + secret)
	at := need(url.Parse(s.url))(s)
	for _, c := range append(guest.client.Jar.Cookies(at), owner.client.Jar.Cookies(at)...) {
		secrets = append(secrets, c.Value)
	}
	step("audit event", map[string]any{"what": "account-roles", "account": a.ID, "object": leo.ID},
		post("/settings/accounts/"+leo.ID, "role", "auditor"))
	step("audit event", map[string]any{"what": "policy", "account": a.ID}, post("/settings/firm", "second", "1"))
	step("audit event", map[string]any{"what": "download", "account": a.ID}, func() { owner.get("/balance.csv") })
	step("audit event", map[string]any{"what": "session-end", "object": a.ID}, post("/sessions/end"))
	step("audit event", map[string]any{"what": "account-disable", "account": a.ID, "object": leo.ID},
		post("/settings/accounts/"+leo.ID, "disabled", "1"))
	guest.wants(guest.gives(http.StatusOK, "/"), "<h1>Sign in</h1>")
	step("audit event", map[string]any{"what": "sign-out", "object": a.ID}, post("/leave"))

	acts := s.acts(-1, audit.Query{})
	kinds := make(map[string]int)
	for _, act := range acts {
		kinds[act.What]++
		fmt.Fprintf(book, "%+v\n", act)
	}
	for _, want := range []string{"sign-in-failed", "session-end", "sign-out", "account-roles", "policy", "download"} {
		if kinds[want] == 0 {
			t.Errorf("%s is not in the audit log: %v", want, kinds)
		}
	}
	for _, secret := range secrets {
		if len(secret) < 10 || strings.Contains(book.all.String(), secret) {
			t.Errorf("a log has the secret %q", secret)
		}
	}
}

// Strangers learn neither which version this is nor whether accounts exist.
func TestWhatStrangersLearn(t *testing.T) {
	s := newSite(t, func(c *Config) { c.Version = "v1.2.3-secret" })
	_, empty := s.nobody().get("/sign-in")
	_, missing := s.nobody().get("/nothing")
	s.lacks(empty+missing, "v1.2.3")
	v := s.as()
	v.wants(v.page("/security"), "v1.2.3")
	if _, full := s.nobody().get("/sign-in"); full != empty {
		t.Error("the page tells that there are accounts")
	}
}

// A person who may not approve because a second person has to is refused like
// everyone without the role: with a line of the log.
func TestOwnApprovalIsADenial(t *testing.T) {
	s, book := loggedSite(t)
	s.must(approval.New(s.Ledger).ChangePolicy(t.Context(), approval.Policy{Second: true}))
	asker := s.as(account.Preparer, account.Approver)
	a := need(s.Ledger.Accounts().Find(t.Context(), asker.name))(s)
	batch := asker.submit(asker.sheet("clients.csv", someClients))
	asker.post("/batches/"+batch+"/approve", "plan", s.plan(batch))
	lines := book.take(t, "access denied")
	if len(lines) != 1 || lines[0]["account"] != a.ID || lines[0]["route"] != "POST /batches/{batch}/approve" ||
		!strings.Contains(fmt.Sprint(lines[0]["reason"]), "second person") {
		t.Errorf("%v", lines)
	}
}
