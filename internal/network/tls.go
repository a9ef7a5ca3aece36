package network

import "crypto/tls"

// suites are those of TLS 1.2 that authenticate what they encrypt and keep past
// connections secret when a key is lost. Go's own choice has CBC suites, too.
// TLS 1.3 has no others.
var suites = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
	tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}

// NewTLS makes the configuration that every server and client of ours begins with.
func NewTLS() *tls.Config { return HardenTLS(new(tls.Config)) }

// HardenTLS raises a configuration that was made elsewhere to ours.
func HardenTLS(c *tls.Config) *tls.Config {
	c.MinVersion, c.CipherSuites = max(c.MinVersion, tls.VersionTLS12), suites
	return c
}
