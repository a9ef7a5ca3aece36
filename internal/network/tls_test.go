package network

import (
	"crypto/tls"
	"slices"
	"strings"
	"testing"
)

// Old versions, and suites without authenticated encryption or forward secrecy, find no
// common ground with us.
func TestTLS(t *testing.T) {
	c := NewTLS()
	if c.MinVersion < tls.VersionTLS12 || len(c.CipherSuites) == 0 || c.InsecureSkipVerify {
		t.Errorf("%+v", c)
	}
	for _, id := range c.CipherSuites {
		name := tls.CipherSuiteName(id)
		if !strings.HasPrefix(name, "TLS_ECDHE") || strings.Contains(name, "CBC") ||
			slices.ContainsFunc(tls.InsecureCipherSuites(), func(s *tls.CipherSuite) bool { return s.ID == id }) {
			t.Error(name)
		}
	}
}
