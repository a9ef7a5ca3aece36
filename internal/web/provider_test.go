package web

import (
	"errors"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/signin"
	"github.com/bulkfiling/bulkfiling/internal/signin/signintest"
)

// provided is a site whose people sign in by a provider.
func provided(t *testing.T, change ...func(*Config)) (*testSite, *signintest.Provider) {
	t.Helper()
	p := signintest.New(t)
	s := newSite(t, change...)
	s.Provider = signin.NewProvider(signin.ProviderConfig{
		Issuer:       p.URL,
		ClientID:     signintest.ClientID,
		ClientSecret: signintest.ClientSecret,
		Redirect:     s.url + ProviderCallback,
		GroupsClaim:  "groups",
		Roles:        signin.GroupRoles{{Group: "ops", Role: "operator"}, {Group: "appr", Role: "approver"}},
	})
	return s, p
}

// arrive signs in by the provider.
func (v *visitor) arrive() (int, string) {
	v.Helper()
	return v.get("/sign-in/provider?to=/sessions")
}

// onward follows the link of the page that leads to the provider.
func (v *visitor) onward(body string) (int, string) {
	v.Helper()
	found := regexp.MustCompile(`<a class="button primary" href="(http[^"]+)">Continue`).FindStringSubmatch(body)
	if found == nil {
		v.Fatalf("no way on\n%s", body)
	}
	r := need(http.NewRequest(http.MethodGet, html.UnescapeString(found[1]), nil))(v)
	return v.do(r)
}

// A person of the provider gets an account at the first sign-in, the roles of the
// groups at each, and signs out there, too.
func TestSignInByTheProvider(t *testing.T) {
	s, p := provided(t)
	p.Person(map[string]any{"sub": "7", "email": "ana@example.com", "email_verified": true, "groups": []string{"ops"}})
	v := s.nobody()
	v.wants(v.page("/sign-in?to=/sessions"), `href="/sign-in/provider?to=%2fsessions"`)
	status, body := v.arrive()
	if v.wants(body, "ana@example.com", "operator"); status != http.StatusOK {
		t.Fatalf("%d\n%s", status, body)
	}
	if asked := p.Asked()[0]; asked.Get("redirect_uri") != s.url+ProviderCallback ||
		asked.Get("code_challenge_method") != "S256" || asked.Get("state") == "" {
		t.Errorf("%v", asked)
	}
	session, err := s.Ledger.Accounts().ListSessions(t.Context(), mustAccount(s, "ana@example.com").ID)
	if err != nil || len(session) != 1 || session[0].EndsAt.Sub(session[0].CreatedAt) != providerLife {
		t.Errorf("%+v, %v", session, err)
	}
	a := mustAccount(s, "ana@example.com")

	// The provider says what the account may do: no one here does.
	v.wants(v.page("/settings"), "from the groups at "+p.URL)
	v.answers(http.StatusConflict, "/settings/accounts/"+a.ID, "role", "operator", "role",
		"approver")
	v.answers(http.StatusForbidden, "/security/passkeys/challenge")
	if _, err := s.Ledger.Accounts().MakeSignInLink(t.Context(), a.ID, flowLife); !errors.Is(err, ledger.ErrManaged) {
		t.Errorf("a link to it: %v", err)
	}

	if status, body := v.post("/leave"); status != http.StatusOK || !strings.Contains(body, "You are signed out here") {
		t.Errorf("%d\n%s", status, body)
	} else if status, body := v.onward(body); status != http.StatusOK || !strings.Contains(body, "<h1>Sign in</h1>") {
		t.Errorf("%d\n%s", status, body)
	}
	if ended := p.Ended(); len(ended) != 1 || ended[0].Get("id_token_hint") == "" ||
		ended[0].Get("post_logout_redirect_uri") != s.url+"/sign-in" {
		t.Errorf("%v", ended)
	}

	p.Person(map[string]any{"sub": "7", "email": "ana@example.com", "email_verified": true,
		"groups": []string{"everybody"}})
	if _, body := v.arrive(); strings.Contains(body, "<small>operator") {
		t.Error("a group that is gone goes on")
	}
	if got := mustAccount(s, "ana@example.com"); got.ID != a.ID || len(got.Roles) != 0 {
		t.Errorf("%+v", got)
	}
	s.must(s.Ledger.Accounts().Change(t.Context(), a.ID, nil, true))
	if status, body := s.nobody().arrive(); status != http.StatusForbidden || !strings.Contains(body, "disabled") {
		t.Errorf("a disabled account: %d", status)
	}
}

// An answer counts once, in the browser that asked, and not long after.
func TestProvidersAnswerIsOfOneBrowser(t *testing.T) {
	s, p := provided(t)
	begin := func() (*visitor, string) {
		v := s.nobody()
		v.client.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
			if strings.HasPrefix(r.URL.Path, ProviderCallback) {
				return http.ErrUseLastResponse
			}
			return nil
		}
		r := need(http.NewRequest(http.MethodGet, s.url+"/sign-in/provider", nil))(s)
		answer, err := v.client.Do(r)
		s.must(err)
		answer.Body.Close()
		back := need(answer.Location())(s)
		v.client.CheckRedirect = nil
		return v, back.RequestURI()
	}
	v, back := begin()
	if status, _ := s.nobody().get(back); status != http.StatusGone {
		t.Errorf("in another browser: %d", status)
	}
	if status, body := v.get(back); status != http.StatusOK || !isSignedIn(body) {
		t.Errorf("%d\n%s", status, body)
	}
	v.gives(http.StatusGone, back)
	if status, _ := s.nobody().get(ProviderCallback + "?code=x&state=x"); status != http.StatusGone {
		t.Errorf("of nobody: %d", status)
	}
	fresh, _ := begin()
	fresh.gives(http.StatusForbidden, ProviderCallback+"?error=access_denied")
	p.Lie(signintest.Lies{Claims: func(c map[string]any) { c["iss"] = "https://evil.example" }})
	if status, body := s.nobody().arrive(); status != http.StatusForbidden || strings.Contains(body, "evil.example") {
		t.Errorf("a lying provider: %d\n%s", status, body)
	}
}

// Local accounts have their ways in while the provider cannot be reached.
func TestProviderAway(t *testing.T) {
	s, p := provided(t)
	p.Close()
	v := s.nobody()
	if status, body := s.nobody().arrive(); status != http.StatusBadGateway ||
		!strings.Contains(body, "cannot be reached") {
		t.Errorf("%d\n%s", status, body)
	}
	_, body := s.nobody().get("/sign-in")
	v.wants(body, "cannot be reached")
	s.member("vault", ledger.Operator)
}

// The owner of a local account links it soon after a sign-in; no one is linked by someone
// else's form, browser or session.
func TestLinkToTheProvider(t *testing.T) {
	s, p := provided(t)
	p.Person(map[string]any{"sub": "9", "email": "leo@example.com", "email_verified": true, "groups": []string{"appr"}})
	v := s.member("leo", ledger.Operator)
	_, onward := v.post("/security/provider")
	stranger := s.member("eve", ledger.Preparer)
	if status, _ := stranger.onward(onward); status != http.StatusGone {
		t.Errorf("in another browser: %d", status)
	}
	_, onward = v.post("/security/provider")
	status, body := v.onward(onward)
	if v.wants(body, "Your company account is linked", "leo@example.com"); status != http.StatusOK {
		t.Errorf("%d", status)
	}
	w := s.nobody()
	if _, body := w.arrive(); !strings.Contains(body, `<bdi>leo</bdi></summary>`) {
		t.Errorf("%s", body)
	}
	eve := stranger
	_, onward = eve.post("/security/provider")
	if status, body := eve.onward(onward); status != http.StatusConflict || !strings.Contains(body, "another account") {
		t.Errorf("linked twice: %d", status)
	}
	v.answers(http.StatusOK, "/security/provider/unlink", "issuer", p.URL, "subject", "9")
	status, body = s.nobody().arrive()
	if v.wants(body, "An account with this name exists",
		"then link your company account under Security"); status != http.StatusConflict {
		t.Errorf("unlinked: %d", status)
	}
	if all, err := s.Ledger.Accounts().List(t.Context()); err != nil ||
		slices.ContainsFunc(all, func(a ledger.Account) bool { return a.ManagedBy != "" }) {
		t.Errorf("%+v, %v", all, err)
	}
}
