package network

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// A proxy adds what it knows behind what the browser claims: in the same line,
// or in one of its own.
func TestClientAddress(t *testing.T) {
	const proxy, farther = "192.0.2.1", "192.0.2.1, 10.9.0.0/16"
	for _, c := range []struct {
		name, trusted, from string
		lines               []string
		want                string
	}{
		{"nobody is trusted", "", "192.0.2.1:5", []string{"198.51.100.9"}, "192.0.2.1"},
		{"a stranger writes the header", proxy, "192.0.2.2:5", []string{"198.51.100.9"}, "192.0.2.2"},
		{"the proxy says nothing", proxy, "192.0.2.1:5", nil, "192.0.2.1"},
		{"the proxy tells", proxy, "192.0.2.1:5", []string{"198.51.100.9"}, "198.51.100.9"},
		{"the browser claims", proxy, "192.0.2.1:5", []string{"198.51.100.1, 198.51.100.9"}, "198.51.100.9"},
		{"in a line of its own", proxy, "192.0.2.1:5", []string{"198.51.100.1", "198.51.100.9"}, "198.51.100.9"},
		{"a browser claims to be the proxy", proxy, "192.0.2.1:5", []string{"203.0.113.1, 192.0.2.1, 198.51.100.9"},
			"198.51.100.9"},
		{"two proxies", farther, "192.0.2.1:5", []string{"203.0.113.1, 198.51.100.9, 10.9.0.3"}, "198.51.100.9"},
		{"proxies alone", farther, "192.0.2.1:5", []string{"10.9.0.4, 10.9.0.3"}, "10.9.0.4"},
		{"no address", proxy, "192.0.2.1:5", []string{"198.51.100.9, unknown"}, "192.0.2.1"},
		{"an empty hop", proxy, "192.0.2.1:5", []string{"198.51.100.9,"}, "192.0.2.1"},
		{"IPv6", "fd00::/8", "[fd00::1]:5", []string{"2001:db8::1"}, "2001:db8::1"},
		{"with a port", proxy, "192.0.2.1:5", []string{"198.51.100.9:4711"}, "198.51.100.9"},
		{"IPv6 with a port", proxy, "192.0.2.1:5", []string{"[2001:db8::1]:4711"}, "2001:db8::1"},
		{"IPv4 as IPv6", proxy, "[::ffff:192.0.2.1]:5", []string{"::ffff:198.51.100.9"}, "198.51.100.9"},
		{"a socket without an address", proxy, "@", []string{"198.51.100.9"}, "@"},
	} {
		p, err := ParseProxies(c.trusted)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr, r.Header["X-Forwarded-For"] = c.from, c.lines
		// No other header is anybody's word.
		r.Header.Set("Forwarded", "for=203.0.113.77")
		r.Header.Set("X-Real-Ip", "203.0.113.77")
		r.Header.Set("True-Client-Ip", "203.0.113.77")
		if got := p.ClientAddress(r); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestParseProxies(t *testing.T) {
	for _, bad := range []string{"true", "proxy.example.com", "10.0.0.0/33", "10.0.0", "0.0.0.0/0", "::/0",
		"10.0.0.1 10.0.0.2"} {
		if _, err := ParseProxies(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if p, err := ParseProxies(" , "); err != nil || p.Any() {
		t.Errorf("%v, %v", p, err)
	}
	if p, err := ParseProxies("127.0.0.1, ::1 ,10.42.1.7/16"); err != nil || !p.Any() {
		t.Errorf("%v, %v", p, err)
	}
}
