package web

import (
	"bytes"
	"context"
	"database/sql"
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

// A flood of one kind is a line of the audit log, and what it came to another.
func TestTracesAreFolded(t *testing.T) {
	now := time.Now()
	f := newTraces()
	denied := ledger.AuditEvent{What: "denied", By: "ana", From: "192.0.2.1", Note: "role"}
	if got := f.fold(denied, now); len(got) != 1 {
		t.Fatalf("%+v", got)
	}
	for range 1000 {
		if got := f.fold(denied, now.Add(time.Minute)); len(got) != 0 {
			t.Fatalf("%+v", got)
		}
	}
	other := denied
	other.By = "bo"
	if got := f.fold(other, now.Add(time.Minute)); len(got) != 1 || got[0].By != "bo" {
		t.Errorf("%+v", got)
	}
	got := f.fold(denied, now.Add(foldTraces))
	if len(got) != 2 || !strings.Contains(got[0].Note, "role; 1000 more times") || got[1] != denied {
		t.Errorf("%+v", got)
	}
	kept := 0
	for i := range 10_000 {
		kept += len(f.fold(ledger.AuditEvent{What: "sign-in-failed", From: fmt.Sprintf("2001:db8:%x::1", i)},
			now.Add(foldTraces)))
	}
	if kept > maxTraces || len(f.kept) > maxTraces+1 {
		t.Errorf("%d were kept, %d are remembered", kept, len(f.kept))
	}
}

// What concerns sign-in, roles, policy and data that leaves is in the log, by
// accounts' ids. No link, token or name that someone typed is in it,
// nor in the audit log.
func TestSignInsAndChangesAreTraced(t *testing.T) {
	var box outbox
	s, book := loggedSite(t, func(c *Config) { c.Mail = box.mail })
	owner := s.as(ledger.Roles...)
	a, err := s.Ledger.Accounts().Find(t.Context(), owner.name)
	s.must(err)
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
	step("account added", map[string]any{"account": a.ID},
		makesLink("/settings/accounts", "name", "Leo", "role", "preparer"))
	leo, err := s.Ledger.Accounts().Find(t.Context(), "leo")
	s.must(err)
	step("sign-in link made", map[string]any{"account": a.ID, "object": leo.ID},
		makesLink("/settings/accounts/"+leo.ID+"/link"))
	secret, err := s.Ledger.Accounts().MakeSignInLink(t.Context(), leo.ID, time.Hour)
	s.must(err)
	secrets = append(secrets, secret)
	guest := s.nobody()
	step("signed in", map[string]any{"account": leo.ID},
		func() { guest.send("/enter", url.Values{"link": {secret}}) })
	guest.send("/enter", url.Values{"link": {secret}})
	guest.get("/enter?link=" + secret)
	at, err := url.Parse(s.url)
	s.must(err)
	for _, c := range append(guest.client.Jar.Cookies(at), owner.client.Jar.Cookies(at)...) {
		secrets = append(secrets, c.Value)
	}
	step("roles changed", map[string]any{"account": a.ID, "object": leo.ID},
		post("/settings/accounts/"+leo.ID, "role", "auditor"))
	step("policy changed", map[string]any{"account": a.ID}, post("/settings/firm", "second", "1"))
	step("data exported", map[string]any{"account": a.ID}, func() { owner.get("/calendar.csv") })
	sessions, err := s.Ledger.Accounts().ListSessions(t.Context(), leo.ID)
	s.must(err)
	step("session ended", map[string]any{"account": a.ID, "object": leo.ID},
		post("/settings/accounts/"+leo.ID+"/sessions/"+sessions[0].ID+"/end"))
	if status, body := guest.get("/"); status != http.StatusOK || !strings.Contains(body, "<h1>Sign in</h1>") {
		t.Errorf("leo is still signed in: %d", status)
	}
	step("session ended", map[string]any{"account": a.ID, "object": a.ID}, post("/sessions/end"))
	step("account disabled", map[string]any{"account": a.ID, "object": leo.ID},
		post("/settings/accounts/"+leo.ID, "disabled", "1"))
	step("session ended", map[string]any{"account": a.ID, "object": a.ID}, post("/leave"))

	acts, err := s.Ledger.AuditLog().List(context.Background(), ledger.AuditQuery{})
	s.must(err)
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
	if _, body := v.get("/sessions"); !strings.Contains(body, "v1.2.3") {
		t.Error("who is signed in is not told the version")
	}
	if _, full := s.nobody().get("/sign-in"); full != empty {
		t.Error("the page tells that there are accounts")
	}
}

// Names of before that look alike are shown with the accounts' ids: in the audit
// log, and where someone approves.
func TestSimilarNamesAreShownWithTheirIDs(t *testing.T) {
	s := newSite(t)
	v := s.as(ledger.Roles...)
	a, err := s.Ledger.Accounts().Find(t.Context(), v.name)
	s.must(err)
	if html := namedPerson(map[string]string{v.name: a.ID},
		v.name); !strings.Contains(string(html), "<bdi>"+v.name+"</bdi>") || !strings.Contains(string(html), a.ID) {
		t.Errorf("%s", html)
	}
	if html := namedPerson(nil, "<script>"); html != "<bdi>&lt;script&gt;</bdi>" {
		t.Errorf("%s", html)
	}
	db, err := sql.Open("sqlite", "file:"+s.dir+"/ledger.db?_pragma=busy_timeout(10000)")
	s.must(err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(),
		// half of it is Cyrillic
		`INSERT INTO accounts (id, name, roles, created_at) VALUES ('AOLD', 'реrsоna', 'approver', 0)`)
	s.must(err)
	path, body := v.sheet("a.csv", "Company ID,Filing State,Filing Year,User Email\ncomp_1,DE,2026,ana@example.com\n")
	batch := v.submit(path, body)
	_, body = v.get("/batches/" + batch)
	v.wants(body, "submitted by <bdi>"+v.name+`</bdi> <small class="id">`+a.ID)
	_, body = v.get("/audit")
	v.wants(body, "<bdi>"+v.name+`</bdi> <small class="id">`+a.ID)
}

// A person who may not approve because a second person has to is refused like
// everyone without the role: with a line of the log.
func TestOwnApprovalIsADenial(t *testing.T) {
	s, book := loggedSite(t)
	s.must(s.Ledger.Approvals().ChangePolicy(t.Context(), ledger.Policy{Second: true}))
	asker := s.as(ledger.Preparer, ledger.Approver)
	a, err := s.Ledger.Accounts().Find(t.Context(), asker.name)
	s.must(err)
	path, body := asker.sheet("clients.csv", someClients)
	batch := asker.submit(path, body)
	asker.post("/batches/"+batch+"/approve", "plan", s.plan(batch))
	lines := book.take(t, "access denied")
	if len(lines) != 1 || lines[0]["account"] != a.ID || lines[0]["route"] != "POST /batches/{batch}/approve" ||
		!strings.Contains(fmt.Sprint(lines[0]["reason"]), "second person") {
		t.Errorf("%v", lines)
	}
}
