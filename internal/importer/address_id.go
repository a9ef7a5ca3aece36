package importer

import (
	"slices"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// idInAddress returns the company ID or slug at the end of a web address.
func idInAddress(text string) (id string, ok bool) {
	rest, isAddress := text, strings.HasPrefix(strings.ToLower(text), "www.")
	if _, after, found := strings.Cut(text, "://"); found {
		rest, isAddress = after, true
	}
	if !isAddress {
		return "", false
	}
	rest, _, _ = strings.Cut(rest, "?")
	rest, _, _ = strings.Cut(rest, "#")
	parts := strings.Split(strings.TrimRight(rest, "/"), "/")
	for _, part := range slices.Backward(parts[1:]) {
		if filing.IsCompanyID(part) {
			return part, true
		}
	}
	id = parts[len(parts)-1]
	return id, len(parts) > 1 && filing.IsSlug(id)
}
