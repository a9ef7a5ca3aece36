package filingapi

import (
	"net/url"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/network"
)

// CompleteAddress completes the address of a filing service that a person copied. It adds the
// version, which is part of the address. A filing service on this machine is a sandbox, which has
// no certificate.
func CompleteAddress(text string) string {
	text = strings.TrimRight(strings.TrimSpace(text), "/")
	if text != "" && !strings.Contains(text, "://") {
		scheme := "https://"
		if u, err := url.Parse(scheme + text); err == nil && network.IsLoopback(u.Hostname()) {
			scheme = "http://"
		}
		text = scheme + text
	}
	if u, err := url.Parse(text); err == nil && u.Host != "" && u.Path == "" {
		text += "/v1"
	}
	return text
}
