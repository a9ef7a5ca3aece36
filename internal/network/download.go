package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Downloads limits the hosts of the filing service's links, because the author of a link chooses a
// server to which this machine connects. A link may lead to one of these hosts:
//
//   - the filing service itself at any address
//   - a host that the operator names, which may have a private address
//   - any public address over https at port 443, if the operator names no host
//
// The same limits apply to every redirect.
type Downloads struct {
	// service is the host:port of the filing service.
	service string
	// hosts has entries of the form host, host:port or *.domain.
	hosts []string
	proxy func(*http.Request) (*url.URL, error)
}

// ErrForbidden means that a link may not be followed. Its text contains addresses and is only for
// the log.
var ErrForbidden = errors.New("the link may not be followed")

// ParseDownloads parses the address of the filing service and the hosts that the operator names,
// separated by commas.
func ParseDownloads(service, hosts string) (Downloads, error) {
	d := Downloads{proxy: http.ProxyFromEnvironment}
	if u, err := url.Parse(service); err == nil && u.Host != "" {
		d.service = address(u)
	}
	for _, host := range strings.FieldsFunc(hosts, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' }) {
		host = strings.ToLower(host)
		u, err := url.Parse("https://" + host)
		if err != nil || u.Host != host || u.Hostname() == "" || strings.Contains(strings.TrimPrefix(host, "*."), "*") {
			return Downloads{}, fmt.Errorf(
				"%q is not a host: write files.example.com, files.example.com:8443 or *.example.com", host)
		}
		d.hosts = append(d.hosts, host)
	}
	return d, nil
}

// address returns the host:port of a URL.
func address(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// named reports whether the settings name the host and port as the filing service or as a host of
// documents. It ignores wildcards.
func (d Downloads) named(hostPort string) bool {
	host, port, _ := net.SplitHostPort(hostPort)
	return hostPort == d.service || slices.ContainsFunc(d.hosts, func(h string) bool {
		return h == hostPort || (strings.Trim(h, "[]") == host && (port == "443" || port == "80"))
	})
}

// matched reports whether a wildcard in the settings matches the host.
func (d Downloads) matched(host string) bool {
	return slices.ContainsFunc(d.hosts, func(h string) bool {
		domain, wild := strings.CutPrefix(h, "*")
		return wild && strings.HasSuffix(host, domain)
	})
}

// Check returns ErrForbidden if the text of a link shows that it may not be followed.
func (d Downloads) Check(u *url.URL) error {
	to := address(u)
	switch {
	case (u.Scheme != "https" && u.Scheme != "http") || u.Hostname() == "" || u.User != nil:
		return fmt.Errorf("%w: it is not a plain web address", ErrForbidden)
	case d.named(to):
		return nil
	case len(d.hosts) > 0 && !d.matched(strings.ToLower(u.Hostname())):
		return fmt.Errorf("%w: %s is not among the hosts of DOCUMENT_HOSTS", ErrForbidden, to)
	case u.Scheme != "https":
		return fmt.Errorf("%w: http://%s is not encrypted; DOCUMENT_HOSTS may name it", ErrForbidden, to)
	case !strings.HasSuffix(to, ":443"):
		return fmt.Errorf("%w: %s is not at port 443; DOCUMENT_HOSTS may name it", ErrForbidden, to)
	}
	if a, err := netip.ParseAddr(strings.Trim(u.Hostname(), "[]")); err == nil && !Public(a) {
		return fmt.Errorf("%w: %s is not a public address; DOCUMENT_HOSTS may name it", ErrForbidden, a)
	}
	return nil
}

// maxRedirects limits the redirects of a link.
const maxRedirects = 3

// NewClient returns a client that follows only allowed links. It checks the address after the name
// is resolved and just before the connection is made, so that the name cannot resolve to another
// address in between.
func (d Downloads) NewClient(answerWithin time.Duration, perHost int) *http.Client {
	transport := &http.Transport{
		Proxy:                  d.proxy,
		DialContext:            d.dial,
		TLSClientConfig:        NewTLS(),
		TLSHandshakeTimeout:    10 * time.Second,
		ForceAttemptHTTP2:      true,
		ResponseHeaderTimeout:  answerWithin,
		IdleConnTimeout:        30 * time.Second,
		MaxIdleConnsPerHost:    perHost,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true, // so that limits count the received bytes
	}
	return &http.Client{
		Transport: checked{d, transport},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return fmt.Errorf("%w: it is redirected more than %d times", ErrForbidden, maxRedirects)
			}
			if r.URL.Scheme != "https" && via[len(via)-1].URL.Scheme == "https" {
				return fmt.Errorf("%w: it is redirected from https to %s", ErrForbidden, r.URL.Scheme)
			}
			// The header would give the next host the previous link, and with it the document.
			r.Header.Del("Referer")
			return nil
		},
	}
}

// checked rejects links and redirects before their names are resolved.
type checked struct {
	downloads Downloads
	*http.Transport
}

func (c checked) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := c.downloads.Check(r.URL); err != nil {
		return nil, err
	}
	return c.Transport.RoundTrip(r)
}

// dial connects to an allowed address. A proxy of the environment is the operator's choice and
// limits its own destinations.
func (d Downloads) dial(ctx context.Context, network, hostPort string) (net.Conn, error) {
	allowed := Public
	if d.named(strings.ToLower(hostPort)) || d.isProxy(hostPort) {
		allowed = Reachable
	}
	dialer := net.Dialer{Timeout: 10 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil || !allowed(to.Addr()) {
			return fmt.Errorf("%w: %s is at %s, which is not a public address; DOCUMENT_HOSTS may name it",
				ErrForbidden, hostPort, address)
		}
		return nil
	}}
	return dialer.DialContext(ctx, network, hostPort)
}

// isProxy reports whether the environment names the address as a proxy.
func (d Downloads) isProxy(hostPort string) bool {
	for _, scheme := range []string{"https", "http"} {
		// Any host name shows the proxy, because the environment uses it for all of them.
		through, err := d.proxy(&http.Request{URL: &url.URL{Scheme: scheme, Host: "documents.invalid"}})
		if err == nil && through != nil && address(through) == strings.ToLower(hostPort) {
			return true
		}
	}
	return false
}
