package filingapi

import (
	"net/url"
	"strings"
)

// CompleteAddress completes the address of a filing service as people copy it. The
// version is part of the address.
func CompleteAddress(text string) string {
	text = strings.TrimRight(strings.TrimSpace(text), "/")
	if text != "" && !strings.Contains(text, "://") {
		text = "https://" + text
	}
	if u, err := url.Parse(text); err == nil && u.Host != "" && u.Path == "" {
		text += "/v1"
	}
	return text
}
