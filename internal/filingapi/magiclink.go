package filingapi

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"bulkfiling/internal/filing"
)

// MagicLink returns a URL that signs the user into the company's dashboard for
// seven days. Whoever has it is that user: it is shown to the operator and
// written nowhere. Source: spec section 5, rule 4.
func (c *Client) MagicLink(ctx context.Context, userID, companyID string) (string, error) {
	body := struct {
		UserID    string `json:"userId"`
		CompanyID string `json:"companyId"`
	}{userID, companyID}
	var answer any
	var link string
	o := c.do(ctx, http.MethodPost, "/auth/magic-link", body)
	err := c.read("make a magic link for", companyID, o, &answer, func() bool {
		link = linkIn(answer)
		return link != ""
	})
	return link, err
}

// linkNames are the fields that the link is looked for in first, folded.
// Assumption: the field is not shown.
var linkNames = []string{"url", "magiclink", "magiclinkurl", "link", "href"}

// linkIn finds the first web address in an answer.
func linkIn(v any) string {
	switch v := v.(type) {
	case string:
		if u, err := url.Parse(v); err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" {
			return v
		}
	case []any:
		for _, e := range v {
			if link := linkIn(e); link != "" {
				return link
			}
		}
	case map[string]any:
		keys := slices.Sorted(maps.Keys(v))
		rank := func(key string) int {
			if i := slices.Index(linkNames, filing.FoldName(key)); i >= 0 {
				return i
			}
			return len(linkNames)
		}
		slices.SortStableFunc(keys, func(a, b string) int { return rank(a) - rank(b) })
		for _, key := range keys {
			if link := linkIn(v[key]); link != "" {
				return link
			}
		}
	}
	return ""
}
