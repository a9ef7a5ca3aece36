package network

import "crypto/tls"

// suites are the suites of TLS 1.2 with authenticated encryption and forward secrecy. Go's default
// also has CBC suites. All suites of TLS 1.3 have both properties.
var suites = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
	tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}

// NewTLS returns the base configuration of all servers and clients.
func NewTLS() *tls.Config { return HardenTLS(new(tls.Config)) }

// HardenTLS applies the rules of this package to an existing configuration.
func HardenTLS(c *tls.Config) *tls.Config {
	c.MinVersion, c.CipherSuites = max(c.MinVersion, tls.VersionTLS12), suites
	return c
}
