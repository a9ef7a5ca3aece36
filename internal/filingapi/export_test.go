package filingapi

import (
	"crypto/tls"
	"net/http"
)

// Trust makes the client's own transport trust a test's certificate.
func Trust(c *Client, cfg *tls.Config) { c.transport.(*http.Transport).TLSClientConfig = cfg }
