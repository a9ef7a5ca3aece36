package network

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

func downloads(t *testing.T, service, hosts string) Downloads {
	t.Helper()
	d, err := ParseDownloads(service, hosts)
	if err != nil {
		t.Fatal(err)
	}
	d.proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
	return d
}

func TestLinksThatMayBeFollowed(t *testing.T) {
	const service = "http://127.0.0.1:4010/v1"
	const hosts = "files.internal,*.store.example,[fd00::7]:8443"
	for _, c := range []struct {
		hosts, link string
		want        bool
	}{
		{"", "http://127.0.0.1:4010/doc", true}, // the service's own
		{"", "https://files.example/doc", true},
		{"", "https://files.example:443/doc", true},
		{"", "https://93.184.216.34/doc", true},
		{"", "http://files.example/doc", false},
		{"", "https://files.example:8443/doc", false},
		{"", "http://127.0.0.1:4331/doc", false},
		{"", "https://127.0.0.1/doc", false},
		{"", "https://[::1]/doc", false},
		{"", "https://[::ffff:10.0.0.1]/doc", false},
		{"", "https://169.254.169.254/latest/meta-data", false},
		{"", "https://name@files.example/doc", false},
		{"", "ftp://files.example/doc", false},
		{"", "file:///etc/passwd", false},
		{"", "gopher://127.0.0.1:4010/x", false},
		{"", "//files.example/doc", false},
		{"", "https:///doc", false},
		{hosts, "http://127.0.0.1:4010/doc", true},
		{hosts, "https://FILES.internal/doc", true},
		{hosts, "http://files.internal/doc", true},
		{hosts, "https://files.internal:9443/doc", false},
		{hosts, "https://a.store.example/doc", true},
		{hosts, "http://a.store.example/doc", false},
		{hosts, "https://store.example/doc", false},
		{hosts, "https://badstore.example/doc", false},
		{hosts, "https://[fd00::7]:8443/doc", true},
		{hosts, "https://[fd00::7]/doc", false},
		{hosts, "https://elsewhere.example/doc", false},
	} {
		u, err := url.Parse(c.link)
		if err != nil {
			t.Fatal(err)
		}
		if err := downloads(t, service, c.hosts).Check(u); (err == nil) != c.want ||
			(err != nil && !errors.Is(err, ErrForbidden)) {
			t.Errorf("%q, %s: %v", c.hosts, c.link, err)
		}
	}
	for _, bad := range []string{"https://files.example", "a/b", "*.*.example", "a@b", "a:b:c"} {
		if _, err := ParseDownloads(service, bad); err == nil {
			t.Errorf("the host %q is taken", bad)
		}
	}
}

// A service that is deceived, or deceives, gives links that lead into the network
// behind. None of them is connected to, whatever name it has.
func TestNothingPrivateIsConnectedTo(t *testing.T) {
	var asked int
	inside := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { asked++; io.WriteString(w, "SECRET") }))
	defer inside.Close()
	to := inside.URL
	service := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }))
	defer service.Close()
	client := downloads(t, service.URL, "").NewClient(time.Second, 1)
	defer client.CloseIdleConnections()
	port := inside.URL[strings.LastIndexByte(inside.URL, ':'):]
	for _, link := range []string{inside.URL, "http://localhost" + port, "https://127.0.0.1", "https://0x7f000001/",
		"https://2130706433/", "https://127.1/", "https://localhost/", "https://[::ffff:127.0.0.1]/"} {
		for _, target := range []string{link, service.URL} {
			to = link
			res, err := client.Get(target)
			if err == nil {
				res.Body.Close()
				t.Errorf("%s by way of %s: %s", link, target, res.Status)
			}
		}
	}
	if asked > 0 {
		t.Errorf("the server inside was asked %d times", asked)
	}
}

// The address counts that a name has when the connection is made, not the one
// that it had a moment before.
func TestNameThatLeadsInside(t *testing.T) {
	d := downloads(t, "https://service.example/v1", "")
	for _, hostPort := range []string{"127.0.0.1:443", "[::1]:443", "localhost:443", "169.254.169.254:443",
		"10.255.255.1:443"} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		conn, err := d.dial(ctx, "tcp", hostPort)
		cancel()
		if !errors.Is(err, ErrForbidden) {
			t.Errorf("%s: %v", hostPort, err)
		}
		if conn != nil {
			conn.Close()
		}
	}
	// Named, a private address is the operator's choice. A cloud's metadata is not.
	named := downloads(t, "http://169.254.169.254/v1", "127.0.0.1:9")
	if _, err := named.dial(t.Context(), "tcp", "169.254.169.254:80"); !errors.Is(err, ErrForbidden) {
		t.Error(err)
	}
	if _, err := named.dial(t.Context(), "tcp", "127.0.0.1:9"); err == nil || errors.Is(err, ErrForbidden) {
		t.Error(err)
	}
}

func TestRedirects(t *testing.T) {
	var referers []string
	var service *httptest.Server
	service = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		referers = append(referers, r.Referer())
		var left int
		fmt.Sscanf(r.URL.Path, "/%d", &left)
		if left == 0 {
			io.WriteString(w, "a document")
			return
		}
		http.Redirect(w, r, fmt.Sprintf("%s/%d?token=secret", service.URL, left-1), http.StatusFound)
	}))
	defer service.Close()
	client := downloads(t, service.URL, "").NewClient(time.Second, 1)
	defer client.CloseIdleConnections()
	for hops, want := range map[int]bool{0: true, 1: true, maxRedirects: true, maxRedirects + 1: false} {
		res, err := client.Get(fmt.Sprintf("%s/%d?token=secret", service.URL, hops))
		if (err == nil) != want {
			t.Errorf("%d redirects: %v", hops, err)
		}
		if err == nil {
			res.Body.Close()
		}
	}
	for _, referer := range referers {
		if referer != "" {
			t.Errorf("a hop is told the link before: %s", referer)
		}
	}
	from := &http.Request{URL: &url.URL{Scheme: "https", Host: "files.example"}}
	if err := client.CheckRedirect(&http.Request{
		URL:    &url.URL{Scheme: "http", Host: "127.0.0.1"},
		Header: http.Header{},
	}, []*http.Request{
		from,
	}); !errors.Is(err, ErrForbidden) {
		t.Errorf("from https to http: %v", err)
	}
}

// A proxy of the environment may be private; it is the way to all else.
func TestProxyOfTheEnvironment(t *testing.T) {
	d := downloads(t, "https://service.example", "")
	d.proxy = func(*http.Request) (*url.URL, error) { return url.Parse("http://10.0.0.9:3128") }
	if !d.isProxy("10.0.0.9:3128") || d.isProxy("10.0.0.9:443") || d.isProxy("10.0.0.8:3128") {
		t.Error("the proxy is taken for another")
	}
}
