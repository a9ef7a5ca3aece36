package main

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/bulkfiling/bulkfiling/internal/config"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
)

// deliver posts a file as the filing service does, signed if a secret is given, and
// wants it answered with a status. Variables in it stand for their values. It
// waits for a server that is about to start.
//
//	deliver 200 http://$ADDR/webhooks/filing event.json whsec_1
func deliver(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 || len(args) > 4 {
		ts.Fatalf("usage: deliver STATUS URL FILE [SECRET]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	body := os.Expand(ts.ReadFile(args[2]), ts.Getenv)
	client := http.Client{Timeout: testTimeout}
	defer client.CloseIdleConnections()
	for deadline := time.Now().Add(testTimeout); ; time.Sleep(5 * time.Millisecond) {
		r, err := http.NewRequest(http.MethodPost, args[1], strings.NewReader(body))
		ts.Check(err)
		r.Header.Set("Content-Type", "application/json")
		if len(args) == 4 {
			mac := hmac.New(sha256.New, []byte(args[3]))
			mac.Write([]byte(body))
			r.Header.Set("Service-Signature", hex.EncodeToString(mac.Sum(nil)))
		}
		answer, err := client.Do(r)
		if err != nil && time.Now().Before(deadline) {
			continue
		}
		ts.Check(err)
		answer.Body.Close()
		if answer.StatusCode != want {
			ts.Fatalf("%s is answered with %d, want %d", args[2], answer.StatusCode, want)
		}
		return
	}
}

func TestGreeting(t *testing.T) {
	here, everywhere := &net.TCPAddr{
		IP:   net.IPv4(127, 0, 0, 1),
		Port: 8080,
	}, &net.TCPAddr{IP: net.IPv6unspecified, Port: 8080}
	for _, c := range []struct {
		scheme  string
		addr    net.Addr
		secrets []string
		err     error
		want    string
	}{
		{"http", here, []string{"a"}, nil,
			"Events are received at http://127.0.0.1:8080/webhooks/filing with 1 signing secret."},
		{"http", here, nil, nil, "Events are received at http://127.0.0.1:8080/webhooks/filing; no signing secret " +
			"yet. To register an endpoint: " +
			"importer webhooks create --url https://HOST/webhooks/filing"},
		{"http", everywhere, []string{"a", "b"}, nil,
			"Events are received at http://127.0.0.1:8080/webhooks/filing (not encrypted; put it behind a proxy with " +
				"a certificate) with 2 signing secrets."},
		{"http", here, []string{"a"}, errors.New("no key"),
			"Events are received at http://127.0.0.1:8080/webhooks/filing; signing secrets cannot be read: no key."},
	} {
		secrets := func(context.Context) ([]string, error) { return c.secrets, c.err }
		if got := greeting(t.Context(), c.scheme, c.addr, secrets); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}

// Over TLS it serves under its own certificate, and when it is told to end, what
// has begun comes to its end.
func TestServesUnderItsCertificate(t *testing.T) {
	l := ledgertest.Open(t, ledger.Config{})
	out, in := io.Pipe()
	g := newGlobal(strings.NewReader(""), in, io.Discard, func(string) string { return "" })
	env, err := config.Read(func(name string) string {
		return map[string]string{"FILING_WEBHOOK_SECRET": "whsec_1"}[name]
	})
	must(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	o := serveOptions{maxUpload: 1}
	var roots *x509.CertPool
	o.tlsCert, o.tlsKey, roots = certificate(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	log := slog.New(slog.DiscardHandler)
	f, err := openFront(o, listener, log)
	must(t, err)
	go func() {
		_, err := f.serve(ctx, o, g, openLedger{l, env}, log)
		ended <- err
	}()
	said, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	address := regexp.MustCompile(`https://[0-9.:]+`).FindString(said)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	client := http.Client{Transport: transport, Timeout: testTimeout}
	defer client.CloseIdleConnections()
	answer, err := client.Get(address + "/healthz")
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v, %v", said, answer, err)
	}
	answer.Body.Close()

	// A delivery whose last byte comes after the end was asked for.
	const body = `{"id":"evt_1","type":"filing.status_changed","data":{"orderId":"order_1"}}`
	mac := hmac.New(sha256.New, []byte("whsec_1"))
	mac.Write([]byte(body))
	conn, err := tls.Dial("tcp", strings.TrimPrefix(address, "https://"), &tls.Config{RootCAs: roots})
	must(t, err)
	defer conn.Close()
	head := "POST /webhooks/filing HTTP/1.1\r\nHost: here\r\nExpect: 100-continue\r\nContent-Length: " +
		strconv.Itoa(len(body)) + "\r\nService-Signature: " + hex.EncodeToString(mac.Sum(nil)) + "\r\n\r\n"
	if _, err := io.WriteString(conn, head); err != nil {
		t.Fatal(err)
	}
	replies := bufio.NewReader(conn)
	if line, err := replies.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("%q, %v", line, err)
	}
	stop()
	if _, err := io.WriteString(conn, body); err != nil {
		t.Fatal(err)
	}
	if _, err := replies.ReadString('\n'); err != nil { // of the 100
		t.Fatal(err)
	}
	if line, err := replies.ReadString('\n'); err != nil || !strings.Contains(line, "200 OK") {
		t.Errorf("%q, %v", line, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if events, err := l.Events().List(t.Context(), "", 10); err != nil || len(events) != 1 {
		t.Errorf("%d events, %v", len(events), err)
	}
}

// Every answer has the security headers: pages, files, events, probes, and what
// is refused before any of them.
func TestEveryAnswerHasSecurityHeaders(t *testing.T) {
	p := openedPage(t)
	p.tls = true
	handler := p.handler(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusUnauthorized) }))
	for _, c := range []struct {
		method, target string
		status         int
	}{
		{"GET", "/sign-in", 200}, {"GET", "/", 401}, {"POST", "/enter", 410}, {"GET", "/static/page.js", 200},
		{"GET", "/static/nothing", 404},
		{"GET", "/batches/none/live", 401}, {"GET", "/nowhere", 404}, {"DELETE", "/", 404},
		{"GET", "/healthz", 200}, {"POST", "/healthz", 404}, {"POST", "/webhooks/filing", 401},
		{"PUT", "/webhooks/filing", 401},
		{"GET", "http://evil.example/", 421},
	} {
		target := c.target
		if strings.HasPrefix(target, "/") {
			target = "http://127.0.0.1:8080" + target
		}
		r, answer := httptest.NewRequest(c.method, target, nil), httptest.NewRecorder()
		handler.ServeHTTP(answer, r)
		if answer.Code != c.status {
			t.Errorf("%s %s: %d, want %d", c.method, c.target, answer.Code, c.status)
		}
		for name, want := range map[string]string{
			"Strict-Transport-Security": "max-age=31536000; includeSubDomains", "X-Content-Type-Options": "nosniff",
			"Content-Security-Policy": "default-src 'none'", "Referrer-Policy": "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := answer.Header().Get(name); !strings.HasPrefix(got, want) {
				t.Errorf("%s %s: %s is %q", c.method, c.target, name, got)
			}
		}
	}
}

// certificate writes that of httptest, which is for the loopback, and returns a pool that
// trusts it.
func certificate(t *testing.T) (cert, key string, roots *x509.CertPool) {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	raw, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	must(t, err)
	write := func(kind string, content []byte) string {
		path := filepath.Join(t.TempDir(), "file.pem")
		must(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600))
		return path
	}
	roots = x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return write("CERTIFICATE", server.Certificate().Raw), write("PRIVATE KEY", raw), roots
}
