package network

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Old versions and suites without authenticated encryption find no common
// ground with a server of ours.
func TestTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = nil
	server.TLS = NewTLS()
	server.StartTLS()
	defer server.Close()
	for name, c := range map[string]struct {
		config *tls.Config
		want   bool
	}{
		"TLS 1.3": {&tls.Config{MinVersion: tls.VersionTLS13}, true},
		"TLS 1.2": {&tls.Config{MaxVersion: tls.VersionTLS12}, true},
		"TLS 1.1": {&tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, false},
		"CBC": {&tls.Config{
			MaxVersion:   tls.VersionTLS12,
			CipherSuites: []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, tls.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA},
		}, false},
		"RSA": {&tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_128_GCM_SHA256}},
			false},
	} {
		c.config.InsecureSkipVerify = true
		conn, err := tls.Dial("tcp", server.Listener.Addr().String(), c.config)
		if (err == nil) != c.want {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			conn.Close()
		}
	}
	for _, id := range suites {
		if name := tls.CipherSuiteName(id); len(name) == 0 || name[:9] != "TLS_ECDHE" {
			t.Errorf("%s", name)
		}
	}
}
