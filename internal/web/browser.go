package web

import (
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// browserCookie tells that an account signed in from this browser before.
const browserCookie = "browser"

// browser is what the cookie of a known browser says.
func (v *request) browser() string {
	cookie, err := v.r.Cookie(v.site.cookieName(browserCookie))
	if err != nil {
		return ""
	}
	return cookie.Value
}

// try is an attempt of this visitor to sign in under a name.
func (v *request) try(name string) ledger.Try {
	return ledger.Try{Name: name, From: v.from(), Browser: v.browser()}
}

// ownTry is an attempt of someone who is signed in to prove it once more. Only
// their own failures count.
func (v *request) ownTry() ledger.Try {
	t := v.try(v.who())
	t.Session = v.secret
	return t
}

// knowBrowser remembers that an account signed in from this browser.
func (s *Site) knowBrowser(v *request, a ledger.Account) error {
	cookie, err := s.Ledger.Accounts().RememberBrowser(v.ctx(), a.ID, v.browser(), v.from(), v.agent())
	if err != nil {
		return err
	}
	v.setCookie(browserCookie, cookie, ledger.BrowserLife)
	return nil
}

// Families of browsers and systems by what stands in User-Agent, the first that
// does: most browsers name others behind their own name.
var (
	browserFamilies = []struct{ mark, name string }{
		{"Edg", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"}, {"Chrome/", "Chrome"},
		{"CriOS/", "Chrome"}, {"Safari/", "Safari"},
	}
	systemFamilies = []struct{ mark, name string }{
		{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"CrOS", "ChromeOS"}, {"Windows", "Windows"},
		{"Macintosh", "Mac"}, {"Linux", "Linux"},
	}
)

// agent is the family of the visitor's browser, in words. Nothing else of what
// the browser says of itself is kept.
func (v *request) agent() string {
	said := v.r.UserAgent()
	name := "Unknown browser"
	for _, f := range browserFamilies {
		if strings.Contains(said, f.mark) {
			name = f.name
			break
		}
	}
	for _, f := range systemFamilies {
		if strings.Contains(said, f.mark) {
			return name + " on " + f.name
		}
	}
	return name
}
