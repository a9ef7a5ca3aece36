package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// writeSettingsFile writes a settings file with the service of the environment.
//
//	settings config.toml
func writeSettingsFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: settings FILE")
	}
	text := fmt.Sprintf("base_url = %q\napi_key = %q\n", ts.Getenv("FILING_BASE_URL"), ts.Getenv("FILING_API_KEY"))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// desktop is a person at the computer that serve runs on, with a browser.
type desktop struct {
	*testing.T
	client http.Client
	base   string
	home   string
	stop   func() error
}

// newDesktop starts serve as for someone who has never used it. log gets its log lines.
func newDesktop(t *testing.T, log io.Writer, vars ...string) *desktop {
	t.Helper()
	home := t.TempDir()
	env := map[string]string{"HOME": home}
	for i := 0; i < len(vars); i += 2 {
		env[vars[i]] = vars[i+1]
	}
	out, in := io.Pipe()
	g := newGlobal(strings.NewReader(""), in, io.Discard, func(name string) string { return env[name] })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		o := serveOptions{listen: "127.0.0.1:0", maxUpload: 1}
		ended <- runServe(ctx, o, g, slog.New(slog.NewTextHandler(log, nil)))
	}()
	d := &desktop{T: t, home: home, stop: func() error { cancel(); return <-ended }}
	t.Cleanup(func() { cancel() })
	said := bufio.NewScanner(out)
	for said.Scan() {
		who := regexp.MustCompile(`importer accounts link "(.+)" --url (\S+)$`).FindStringSubmatch(said.Text())
		if who != nil {
			var link bytes.Buffer
			root := newRootCommand(newGlobal(nil, &link, io.Discard, func(name string) string { return env[name] }))
			root.SetArgs([]string{"accounts", "link", who[1], "--url", who[2]})
			must(t, root.ExecuteContext(ctx))
			at, err := url.Parse(strings.TrimSpace(link.String()))
			must(t, err)
			d.base = at.Scheme + "://" + at.Host
			go func() { _, _ = io.Copy(io.Discard, out) }()
			jar, err := cookiejar.New(nil)
			must(t, err)
			d.client = http.Client{Jar: jar, Timeout: testTimeout}
			t.Cleanup(d.client.CloseIdleConnections)
			d.post("/enter", "link", at.Query().Get("link"))
			return d
		}
	}
	t.Fatalf("serve has ended: %v", <-ended)
	return nil
}

// answer reads an answer. A link that signs in is a form, which a browser sends.
func (d *desktop) answer(r *http.Response, err error) (body, at string) {
	d.Helper()
	must(d, err)
	defer r.Body.Close()
	content, err := io.ReadAll(r.Body)
	must(d, err)
	if r.Request.URL.Path == "/enter" && r.Request.Method == http.MethodGet {
		return d.post("/enter", "link", r.Request.URL.Query().Get("link"))
	}
	return string(content), r.Request.URL.Path
}

func (d *desktop) get(path string) (body, at string) {
	d.Helper()
	return d.answer(d.client.Get(d.base + path))
}

func (d *desktop) post(path string, fields ...string) (body, at string) {
	d.Helper()
	form := make(url.Values)
	for i := 0; i < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	return d.answer(d.client.PostForm(d.base+path, form))
}

func (d *desktop) wants(body string, texts ...string) {
	d.Helper()
	for _, text := range texts {
		if !strings.Contains(body, text) {
			d.Fatalf("%q is not in\n%s", text, body)
		}
	}
}

// On the first run, the page asks for the filing service, checks it, stores it, and
// goes on with it at the same address, for the same person. The next start has it.
func TestFirstRun(t *testing.T) {
	service := sandbox.New(sandbox.Config{OpeningBalance: 1000_00, AutoSeed: true, Keys: []string{"sk_test_right"}})
	defer service.Close()
	server := httptest.NewServer(service.Handler())
	defer server.Close()
	d := newDesktop(t, t.Output())
	body, at := d.get("/")
	if at != "/setup" {
		t.Errorf("the first page is %s", at)
	}
	d.wants(body, "Set up Bulkfiling")
	body, _ = d.post("/setup", "address", server.URL, "key", "sk_test_wrong")
	d.wants(body, "rejects this API key")
	body, _ = d.post("/setup", "address", "127.0.0.1:1", "key", "sk_test_right")
	d.wants(body, "could not check the key")
	file := filepath.Join(d.home, ".config", "bulkfiling", "config.toml")
	if _, err := os.Stat(file); err == nil {
		t.Error("the file was written before the key was checked")
	}
	body, at = d.post("/setup", "address", server.URL, "key", "sk_test_right")
	if at != "/" {
		t.Errorf("after saving, the page is %s", at)
	}
	d.wants(body, "Harbor Accounting", "orders here are not real", "Drop spreadsheets here")
	if strings.Contains(body, "No filing service") {
		t.Error("the new settings are not in use")
	}
	body, _ = d.get("/settings")
	d.wants(body, server.URL+"/v1", "present")
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := d.stop(); err != nil {
		t.Error(err)
	}
}

// The page does not set up what the environment sets.
func TestEnvironmentSetsUp(t *testing.T) {
	d := newDesktop(t, t.Output(), "FILING_BASE_URL", "http://127.0.0.1:1/v1", "FILING_API_KEY", "sk_test_a")
	body, at := d.get("/")
	if at != "/" || strings.Contains(body, "/setup") {
		t.Errorf("%s\n%s", at, body)
	}
	body, _ = d.post("/setup", "address", "http://127.0.0.1:2/v1", "key", "sk_test_b")
	d.wants(body, "The environment sets up the filing service")
	if err := d.stop(); err != nil {
		t.Error(err)
	}
}
