package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

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
		s.keepTrace(t.Context(), s.failures, ledger.AuditEvent{What: "sign-in-failed", From: "192.0.2.1"})
	}
	s.keepTrace(t.Context(), s.denials, ledger.AuditEvent{What: "denied", By: "ana"})
	acts := s.acts(ledger.AuditQuery{})
	if n := len(acts); n < maxTraces || n > 2*maxTraces-10 || acts[0].What != "denied" {
		t.Errorf("%d are in the audit log, the newest %+v", n, acts[0])
	}
}

// What concerns sign-in, roles, policy and data that leaves is in the log, by
// accounts' ids. No link, token or name that someone typed is in it,
// nor in the audit log.
func TestSignInsAndChangesAreTraced(t *testing.T) {
	var box outbox
	s, book := loggedSite(t, func(c *Config) { c.Mail = box.mail })
	owner := s.as(ledger.Roles...)
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
		func() { stranger.send("/enter", url.Values{"link": {typed}}) })
	step("no sign-in link to mail", map[string]any{"address": "127.0.0.1"}, func() {
		stranger.send("/sign-in", url.Values{"name": {typed}})
		s.mailing.Wait()
	})
	step("audit event", map[string]any{"what": "account-add", "account": a.ID},
		makesLink("/settings/accounts", "name", "Leo", "role", "preparer"))
	leo := need(s.Ledger.Accounts().Find(t.Context(), "leo"))(s)
	step("audit event", map[string]any{"what": "account-link", "account": a.ID, "object": leo.ID},
		makesLink("/settings/accounts/"+leo.ID+"/link"))
	secret := need(s.Ledger.Accounts().MakeSignInLink(t.Context(), leo.ID, time.Hour))(s)
	secrets = append(secrets, secret)
	guest := s.nobody()
	step("audit event", map[string]any{"what": "sign-in", "account": leo.ID},
		func() { guest.send("/enter", url.Values{"link": {secret}}) })
	guest.send("/enter", url.Values{"link": {secret}})
	guest.get("/enter?link=" + secret)
	at := need(url.Parse(s.url))(s)
	for _, c := range append(guest.client.Jar.Cookies(at), owner.client.Jar.Cookies(at)...) {
		secrets = append(secrets, c.Value)
	}
	step("audit event", map[string]any{"what": "account-roles", "account": a.ID, "object": leo.ID},
		post("/settings/accounts/"+leo.ID, "role", "auditor"))
	step("audit event", map[string]any{"what": "policy", "account": a.ID}, post("/settings/firm", "second", "1"))
	step("audit event", map[string]any{"what": "download", "account": a.ID}, func() { owner.get("/calendar.csv") })
	sessions := need(s.Ledger.Accounts().ListSessions(t.Context(), leo.ID))(s)
	step("audit event", map[string]any{"what": "session-end", "account": a.ID, "object": leo.ID},
		post("/settings/accounts/"+leo.ID+"/sessions/"+sessions[0].ID+"/end"))
	if status, body := guest.get("/"); status != http.StatusOK || !strings.Contains(body, "<h1>Sign in</h1>") {
		t.Errorf("leo is still signed in: %d", status)
	}
	step("audit event", map[string]any{"what": "session-end", "object": a.ID}, post("/sessions/end"))
	step("audit event", map[string]any{"what": "account-disable", "account": a.ID, "object": leo.ID},
		post("/settings/accounts/"+leo.ID, "disabled", "1"))
	step("audit event", map[string]any{"what": "sign-out", "object": a.ID}, post("/leave"))

	acts := s.acts(ledger.AuditQuery{})
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
	if strings.Contains(empty+missing, "v1.2.3") {
		t.Error("strangers are told the version")
	}
	v := s.as()
	v.wants(v.page("/sessions"), "v1.2.3")
	if _, full := s.nobody().get("/sign-in"); full != empty {
		t.Error("the page tells that there are accounts")
	}
}

// A person who may not approve because a second person has to is refused like
// everyone without the role: with a line of the log.
func TestOwnApprovalIsADenial(t *testing.T) {
	s, book := loggedSite(t)
	s.must(s.Ledger.Approvals().ChangePolicy(t.Context(), ledger.Policy{Second: true}))
	asker := s.as(ledger.Preparer, ledger.Approver)
	a := need(s.Ledger.Accounts().Find(t.Context(), asker.name))(s)
	batch := asker.submit(asker.sheet("clients.csv", someClients))
	asker.post("/batches/"+batch+"/approve", "plan", s.plan(batch))
	lines := book.take(t, "access denied")
	if len(lines) != 1 || lines[0]["account"] != a.ID || lines[0]["route"] != "POST /batches/{batch}/approve" ||
		!strings.Contains(fmt.Sprint(lines[0]["reason"]), "second person") {
		t.Errorf("%v", lines)
	}
}
