//go:build unix

package oidc

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds everything that is waited for.
const patience = 30 * time.Second

// How the provider knows the product.
const (
	clientID     = "bulkfiling"
	clientSecret = "a-secret-of-this-test-alone"
)

// output keeps what a process says.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start starts a process that ends with the test, and waits until it has said
// what a pattern finds.
func start(t *testing.T, c *exec.Cmd, pattern string) []string {
	t.Helper()
	var said output
	c.Stdout, c.Stderr = &said, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Wait() // how it ended is in ProcessState
	}()
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM) // it may have ended
		select {
		case <-ended:
		case <-time.After(patience):
			_ = c.Process.Kill()
			<-ended
		}
		if t.Failed() {
			t.Logf("%s said:\n%s", c.Path, said.String())
		}
	})
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if found := regexp.MustCompile(pattern).FindStringSubmatch(said.String()); found != nil {
			return found
		}
		select {
		case <-ended:
			t.Fatalf("%s has ended: %v", c.Path, c.ProcessState)
		default:
		}
	}
	t.Fatalf("%s never said %s", c.Path, pattern)
	return nil
}

// firm is a serve whose people sign in by the provider.
type firm struct {
	t        *testing.T
	importer string // the command
	env      []string
	at       string // where serve is
	issuer   string
}

func newFirm(t *testing.T) *firm {
	t.Helper()
	node, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat("node_modules/oidc-provider")
	}
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("on CI this test must run: %v", err)
		}
		t.Skipf("make oidc installs what is missing: %v", err)
	}
	f := &firm{t: t, importer: filepath.Join(t.TempDir(), "importer")}
	build := exec.Command("go", "build", "-o", f.importer, "./cmd/importer")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build importer: %v\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listen := l.Addr().String()
	f.at = "http://" + listen
	provider := exec.Command(node, "provider.mjs")
	provider.Env = append(os.Environ(), "CLIENT_ID="+clientID, "CLIENT_SECRET="+clientSecret, "CLIENT_URL="+f.at)
	f.issuer = start(t, provider, `issuer (http://\S+)`)[1]
	f.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir(), "USER=morgan",
		"FILING_DATA_DIR=" + t.TempDir(),
		"OIDC_ISSUER=" + f.issuer, "OIDC_CLIENT_ID=" + clientID, "OIDC_CLIENT_SECRET=" + clientSecret,
		"OIDC_ROLES=filing-ops=operator,filing-approvers=approver",
	}
	l.Close()
	serve := exec.Command(f.importer, "serve", "--listen", listen, "--public-url", f.at)
	serve.Env, serve.Dir = f.env, t.TempDir()
	start(t, serve, `Events are received at`)
	return f
}

// account is what `importer accounts` says of somebody.
func (f *firm) account(name string) string {
	f.t.Helper()
	list := exec.CommandContext(f.t.Context(), f.importer, "accounts", "list")
	list.Env, list.Dir = f.env, f.t.TempDir()
	out, err := list.CombinedOutput()
	if err != nil {
		f.t.Fatalf("importer accounts list: %v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, name) {
			return line
		}
	}
	f.t.Fatalf("there is no account %s:\n%s", name, out)
	return ""
}

// browser goes where it is sent, with cookies, and shows the page it is at.
type browser struct {
	t      *testing.T
	client *http.Client
	status int
	at     *url.URL
	page   string
}

func newBrowser(t *testing.T) *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t: t, client: &http.Client{Jar: jar, Timeout: patience}}
}

func (b *browser) do(r *http.Request, err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	answer, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	b.status, b.at, b.page = answer.StatusCode, answer.Request.URL, string(page)
}

func (b *browser) open(at string) {
	b.t.Helper()
	b.do(http.NewRequestWithContext(b.t.Context(), http.MethodGet, at, nil))
}

// finds is the first group of a pattern on the page.
func (b *browser) finds(pattern string) string {
	b.t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(b.page)
	if found == nil {
		b.t.Fatalf("%s is %d and has no %s:\n%s", b.at, b.status, pattern, b.page)
	}
	return html.UnescapeString(found[1])
}

var hidden = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)"`)

// submit sends the form of the page that goes to where a pattern says, with what
// is hidden in it and these fields.
func (b *browser) submit(action string, fields ...string) {
	b.t.Helper()
	form := regexp.MustCompile(`(?s)<form[^>]*action="` + action + `".*?</form>`).FindString(b.page)
	if form == "" {
		b.t.Fatalf("%s is %d and has no form to %s:\n%s", b.at, b.status, action, b.page)
	}
	to := regexp.MustCompile(`action="([^"]*)"`).FindStringSubmatch(form)[1]
	at, err := b.at.Parse(html.UnescapeString(to))
	if err != nil {
		b.t.Fatal(err)
	}
	values := make(url.Values)
	for _, input := range hidden.FindAllStringSubmatch(form, -1) {
		values.Set(html.UnescapeString(input[1]), html.UnescapeString(input[2]))
	}
	for i := 0; i < len(fields); i += 2 {
		values.Set(fields[i], fields[i+1])
	}
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, at.String(),
		strings.NewReader(values.Encode()))
	if err == nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", at.Scheme+"://"+at.Host)
	}
	b.do(r, err)
}

// isAt checks which page of which site the browser is at.
func (b *browser) isAt(site, path string, status int) {
	b.t.Helper()
	at := b.at.Scheme + "://" + b.at.Host
	if at != site || !regexp.MustCompile("^"+path+"$").MatchString(b.at.Path) || b.status != status {
		b.t.Fatalf("at %s (%d), want %s%s (%d):\n%s", b.at, b.status, site, path, status, b.page)
	}
}

const interaction = `/interaction/[\w-]+`

// signIn signs somebody in at the provider, who asks for the name and, the first
// time, for consent.
func (b *browser) signIn(f *firm, name string) {
	b.t.Helper()
	b.open(f.at + "/sign-in")
	b.open(f.at + b.finds(`href="(/sign-in/provider[^"]*)"`))
	b.isAt(f.issuer, interaction, http.StatusOK)
	b.submit(`[^"]*/interaction/[^"]*`, "login", name, "password", "any")
	b.isAt(f.issuer, interaction, http.StatusOK)
	b.submit(`[^"]*/interaction/[^"]*`)
}

// A certified provider signs people in with the roles of their groups, and signing
// out here signs them out there.
func TestSignInWithACertifiedProvider(t *testing.T) {
	f := newFirm(t)

	t.Run("a group with a role", func(t *testing.T) {
		b := newBrowser(t)
		b.signIn(f, "ana")
		b.isAt(f.at, "/", http.StatusOK)
		if account := f.account("ana@example.com"); !strings.Contains(account, "operator") ||
			strings.Contains(account, "approver") {
			t.Error(account)
		}
		b.open(f.at + "/audit")
		b.isAt(f.at, "/audit", http.StatusOK)

		// The provider knows the browser still: it asks nothing.
		b.open(f.at + "/sign-in/provider")
		b.isAt(f.at, "/", http.StatusOK)

		b.submit("/leave")
		b.isAt(f.at, "/leave", http.StatusOK)
		b.open(b.finds(`href="(` + f.issuer + `/[^"]+)"`))
		b.isAt(f.issuer, "/session/end", http.StatusOK)
		b.submit(`[^"]*/session/end/confirm[^"]*`, "logout", "yes")
		b.isAt(f.at, "/sign-in", http.StatusOK)

		b.open(f.at + "/audit")
		b.isAt(f.at, "/sign-in", http.StatusOK)
		b.open(f.at + "/sign-in/provider")
		b.isAt(f.issuer, interaction, http.StatusOK)
		b.finds(`(name="login")`)
	})

	t.Run("no group with a role", func(t *testing.T) {
		b := newBrowser(t)
		b.signIn(f, "ben")
		if account := f.account("ben@example.com"); strings.Contains(account, "operator") ||
			strings.Contains(account, "approver") {
			t.Error(account)
		}
		b.open(f.at + "/audit")
		b.isAt(f.at, "/audit", http.StatusForbidden)
	})

	t.Run("somebody who declines", func(t *testing.T) {
		b := newBrowser(t)
		b.open(f.at + "/sign-in/provider")
		b.isAt(f.issuer, interaction, http.StatusOK)
		b.open(fmt.Sprint(f.issuer, b.finds(`href="(?:http://[^/"]+)?(/interaction/[\w-]+/abort)"`)))
		b.isAt(f.at, "/sign-in/provider/callback", http.StatusForbidden)
		b.finds(`(did not sign you in)`)
	})
}
