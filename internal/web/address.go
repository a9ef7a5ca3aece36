package web

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/network"
)

// Address describes where browsers reach the site.
type Address struct {
	// Public is the address of the site for browsers. If it is nil, the site is reached at the
	// address that it listens on.
	Public *url.URL
	// Local reports whether the site listens on loopback without a proxy. It then rejects requests
	// whose host is not loopback.
	Local bool
	// Port is the port if the site listens on loopback, and zero otherwise.
	Port int
	// TLS reports whether browsers reach the site over HTTPS.
	TLS bool
	// Proxies are the proxies whose forwarded client addresses are trusted.
	Proxies network.Proxies
}

// of returns the address of the site. Without a public address it derives the address from the
// request.
func (a *Address) of(r *http.Request) string {
	if a.Public != nil {
		return strings.TrimSuffix(a.Public.String(), "/")
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// allows reports whether the site serves a host. On loopback any other name means that a foreign
// page pointed its name at this machine.
func (a *Address) allows(host string) bool {
	if a.Public != nil && strings.EqualFold(host, a.Public.Host) {
		return true
	}
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	name = strings.Trim(name, "[]")
	if ip := net.ParseIP(name); ip != nil && ip.IsLoopback() || strings.EqualFold(name, "localhost") {
		return true
	}
	return !a.Local && a.Public == nil
}

// cookieName returns the full name of a cookie. The prefix __Host- keeps other sites from setting
// cookies of an encrypted site. Cookies ignore ports, so on loopback the port is in the name, and
// two servers on one machine do not sign each other out.
func (a *Address) cookieName(name string) string {
	switch {
	case a.TLS:
		return "__Host-bulkfiling-" + name
	case a.Port > 0:
		return fmt.Sprintf("bulkfiling-%d-%s", a.Port, name)
	}
	return "bulkfiling-" + name
}
