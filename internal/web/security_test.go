package web

import (
	"database/sql"
	"errors"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/descope/virtualwebauthn"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/signin"
	"github.com/bulkfiling/bulkfiling/internal/signin/signintest"
)

func mustAccount(s *testSite, name string) account.Account {
	s.Helper()
	return need(s.Ledger.Accounts().Find(s.Context(), name))(s)
}

// A link signs in once, and replaces the account that is signed in only after a click.
func TestLinkOfAnotherAccount(t *testing.T) {
	s := newSite(t)
	ana, ben := s.as(), s.as()
	secret := need(s.Ledger.Accounts().MakeSignInLink(t.Context(), ben.name, time.Hour))(s)
	for v, want := range map[*visitor]bool{ana: false, ben: true, s.nobody(): true} {
		if got := strings.Contains(v.page("/enter?link="+secret), "data-autosubmit"); got != want {
			t.Errorf("sent at once as %q: %v", v.name, got)
		}
	}
	v := s.nobody()
	v.wants(v.page("/enter?link="+secret), "Sign in as <bdi>"+ben.name+"</bdi>")
	for _, want := range []int{http.StatusOK, http.StatusGone} {
		v.answers(want, "/enter", "link", secret)
	}
	v.wants(v.page("/"), signedIn)
}

// The sign-in page says where links come from.
func TestSignInPage_Links(t *testing.T) {
	for local, want := range map[bool]string{true: "<code>importer serve</code> again", false: "ask an operator"} {
		s := newSite(t, func(c *Config) { c.Local = local })
		v := s.nobody()
		_, body := v.get("/sign-in")
		v.wants(body, want)
	}
}

// How an account signs in changes only soon after a sign-in.
func TestChangesNeedAFreshSignIn(t *testing.T) {
	s := newSite(t)
	s.url = strings.Replace(s.url, "127.0.0.1", "localhost", 1)
	v := s.member("ana", account.Operator)
	v.wants(v.page("/security"), "Add a passkey")
	db := need(sql.Open("sqlite", "file:"+s.dir+"/ledger.db?_pragma=busy_timeout(10000)"))(s)
	defer db.Close()
	need(db.ExecContext(t.Context(), `UPDATE sessions SET created_at = created_at - 600000`))(s)
	for _, path := range []string{"/security/passkeys/challenge", "/security/passkeys",
		"/security/passkeys/K1/remove", "/security/provider", "/security/provider/unlink"} {
		v.wants(v.answers(http.StatusForbidden, path), "Sign in again first")
	}
	body := v.page("/security")
	v.wants(body, "Sign in again</button>")
	v.lacks(body, "Add a passkey")
	v.wants(v.posted("/leave", "to", "/security"), "<h1>Sign in</h1>", `value="/security"`)
}

// device is an authenticator at this site.
type device struct {
	*visitor
	site virtualwebauthn.RelyingParty
	auth virtualwebauthn.Authenticator
	key  virtualwebauthn.Credential
}

func (v *visitor) device(account string, o virtualwebauthn.AuthenticatorOptions) *device {
	o.UserHandle = []byte(account)
	d := &device{
		visitor: v,
		site:    virtualwebauthn.RelyingParty{Name: "Bulkfiling", ID: "localhost", Origin: v.url},
		auth:    virtualwebauthn.NewAuthenticatorWithOptions(o),
		key:     signintest.NewPasskey(),
	}
	d.auth.AddCredential(d.key)
	return d
}

func (d *device) register() (int, string) {
	d.Helper()
	o := need(virtualwebauthn.ParseAttestationOptions(d.answers(http.StatusOK, "/security/passkeys/challenge")))(d)
	return d.post("/security/passkeys", "credential",
		virtualwebauthn.CreateAttestationResponse(d.site, d.auth, d.key, *o))
}

func (d *device) answer(v *visitor, path string) string {
	d.Helper()
	o := need(virtualwebauthn.ParseAssertionOptions(v.answers(http.StatusOK, path)))(d)
	d.key.Counter++
	return virtualwebauthn.CreateAssertionResponse(d.site, d.auth, d.key, *o)
}

// A passkey signs in, once with each answer, and a copy of it is refused.
func TestPasskeys(t *testing.T) {
	s := newSite(t)
	s.lacks(s.nobody().page("/sign-in"), "passkey\"")
	plain := s.member("leo", account.Operator)
	plain.wants(plain.page("/security"), "You cannot add a passkey at this address", "http://localhost")
	plain.answers(http.StatusUnprocessableEntity, "/security/passkeys/challenge")
	s.url = strings.Replace(s.url, "127.0.0.1", "localhost", 1)
	v, elsewhere := s.member("ana", account.Operator), s.nobody()
	elsewhere.name = "ana"
	elsewhere.enter()
	d := v.device(mustAccount(s, "ana").ID, virtualwebauthn.AuthenticatorOptions{})
	_, body := d.register()
	v.wants(body, "The passkey is added", "Passkey add")
	v.wants(v.page("/audit?what=passkey+Add"), `data-label="Event">Passkey add<`)
	elsewhere.lacks(elsewhere.page("/security"), signedIn)

	alone := s.nobody()
	answer := d.answer(alone, "/sign-in/passkey/challenge")
	alone.wants(alone.answers(http.StatusOK, "/sign-in/passkey", "credential", answer, "to", "/workers"), "Sign out")
	s.nobody().answers(http.StatusGone, "/sign-in/passkey", "credential", answer)
	// A challenge of one kind is none of the other.
	v.answers(http.StatusGone, "/security/passkeys", "credential",
		d.answer(v, "/sign-in/passkey/challenge"))

	// A copy lags behind.
	d.key.Counter = 0
	copied := s.nobody()
	copied.wants(copied.answers(http.StatusForbidden, "/sign-in/passkey", "credential",
		d.answer(copied, "/sign-in/passkey/challenge")), "a copy may exist")
	s.acts(1, audit.Query{What: "passkey-copied", Of: "ana"})
	d.key.Counter = 100

	// A passkey that was removed signs in no more.
	late := s.nobody()
	a := mustAccount(s, "ana")
	all := need(s.Ledger.Accounts().ListPasskeys(t.Context(), a.ID))(s)
	v.wants(v.answers(http.StatusOK, "/security/passkeys/"+all[0].ID+"/remove"), "The passkey is removed")
	late.answers(http.StatusUnauthorized, "/sign-in/passkey", "credential",
		d.answer(late, "/sign-in/passkey/challenge"))
}

// provided is a site whose people sign in by a provider.
func provided(t *testing.T, change ...func(*Config)) (*testSite, *signintest.Provider) {
	t.Helper()
	p := signintest.New(t)
	s := newSite(t, change...)
	s.config.Provider = signin.NewProvider(signin.ProviderConfig{
		Issuer:       p.URL,
		ClientID:     signintest.ClientID,
		ClientSecret: signintest.ClientSecret,
		Redirect:     s.url + ProviderCallback,
		GroupsClaim:  "groups",
		Roles:        signin.GroupRoles{{Group: "ops", Role: "operator"}, {Group: "appr", Role: "approver"}},
	})
	s.open()
	return s, p
}

// arrival is the address that signs in by the provider.
const arrival = "/sign-in/provider?to=/security"

// onward follows the link of the page that leads to the provider, and fails where the answer has
// another status. It returns the page.
func (v *visitor) onward(status int, body string) string {
	v.Helper()
	found := regexp.MustCompile(`<a class="button primary" href="(http[^"]+)">Continue`).FindStringSubmatch(body)
	if found == nil {
		v.Fatalf("no way on\n%s", body)
	}
	r := need(http.NewRequest(http.MethodGet, html.UnescapeString(found[1]), nil))(v)
	got, body := v.do(r)
	if got != status {
		v.Errorf("%s: %d, want %d\n%s", found[1], got, status, body)
	}
	return body
}

// A person of the provider gets an account at the first sign-in, the roles of the
// groups at each, and signs out there, too.
func TestSignInByTheProvider(t *testing.T) {
	s, p := provided(t)
	p.Person(map[string]any{"sub": "7", "email": "ana@example.com", "email_verified": true, "groups": []string{"ops"}})
	v := s.nobody()
	v.wants(v.page("/sign-in?to=/security"), `href="/sign-in/provider?to=%2fsecurity"`)
	v.wants(v.page(arrival), "ana@example.com", "operator")
	if asked := p.Asked()[0]; asked.Get("redirect_uri") != s.url+ProviderCallback ||
		asked.Get("code_challenge_method") != "S256" || asked.Get("state") == "" {
		t.Errorf("%v", asked)
	}
	at := need(url.Parse(s.url))(s)
	session := need(s.Ledger.Accounts().FindSession(t.Context(), v.client.Jar.Cookies(at)[0].Value))(s)
	if session.EndsAt.Sub(session.CreatedAt) != providerLife {
		t.Errorf("%+v", session)
	}
	a := mustAccount(s, "ana@example.com")

	// The provider says what the account may do: no one here does.
	v.wants(v.page("/settings"), "from the groups at "+p.URL)
	v.answers(http.StatusConflict, "/settings/accounts/"+a.ID, "role", "operator", "role",
		"approver")
	v.answers(http.StatusForbidden, "/security/passkeys/challenge")
	if _, err := s.Ledger.Accounts().MakeSignInLink(t.Context(), a.ID, flowLife); !errors.Is(err, account.ErrManaged) {
		t.Errorf("a link to it: %v", err)
	}

	body := v.answers(http.StatusOK, "/leave")
	v.wants(body, "You are signed out here")
	v.wants(v.onward(http.StatusOK, body), "<h1>Sign in</h1>")
	if ended := p.Ended(); len(ended) != 1 || ended[0].Get("id_token_hint") == "" ||
		ended[0].Get("post_logout_redirect_uri") != s.url+"/sign-in" {
		t.Errorf("%v", ended)
	}

	p.Person(map[string]any{"sub": "7", "email": "ana@example.com", "email_verified": true,
		"groups": []string{"everybody"}})
	v.lacks(v.page(arrival), "<small>operator")
	if got := mustAccount(s, "ana@example.com"); got.ID != a.ID || len(got.Roles) != 0 {
		t.Errorf("%+v", got)
	}
	s.must(s.Ledger.Accounts().Change(t.Context(), a.ID, nil, true))
	v.wants(s.nobody().gives(http.StatusForbidden, arrival), "disabled")
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
	s.nobody().gives(http.StatusGone, back)
	v.wants(v.page(back), signedIn)
	v.gives(http.StatusGone, back)
	s.nobody().gives(http.StatusGone, ProviderCallback+"?code=x&state=x")
	fresh, _ := begin()
	fresh.gives(http.StatusForbidden, ProviderCallback+"?error=access_denied")
	p.Lie(signintest.Lies{Claims: func(c map[string]any) { c["iss"] = "https://evil.example" }})
	s.lacks(s.nobody().gives(http.StatusForbidden, arrival), "evil.example")
}

// Local accounts have their ways in while the provider cannot be reached.
func TestProviderAway(t *testing.T) {
	s, p := provided(t)
	p.Close()
	v := s.nobody()
	v.wants(v.gives(http.StatusBadGateway, arrival), "cannot be reached")
	v.wants(v.page("/sign-in"), "cannot be reached")
	s.member("vault", account.Operator)
}

// The owner of a local account links it soon after a sign-in; no one is linked by someone
// else's form, browser or session.
func TestLinkToTheProvider(t *testing.T) {
	s, p := provided(t)
	p.Person(map[string]any{"sub": "9", "email": "leo@example.com", "email_verified": true, "groups": []string{"appr"}})
	v := s.member("leo", account.Operator)
	_, onward := v.post("/security/provider")
	stranger := s.member("eve", account.Preparer)
	stranger.onward(http.StatusGone, onward)
	v.wants(v.onward(http.StatusOK, v.posted("/security/provider")), "Your company account is linked",
		"leo@example.com")
	v.wants(s.nobody().page(arrival), `<bdi>leo</bdi></summary>`)
	v.wants(stranger.onward(http.StatusConflict, stranger.posted("/security/provider")), "another account")
	v.answers(http.StatusOK, "/security/provider/unlink", "issuer", p.URL, "subject", "9")
	v.wants(s.nobody().gives(http.StatusConflict, arrival), "An account with this name exists",
		"then link your company account under Security")
	if all, err := s.Ledger.Accounts().List(t.Context()); err != nil ||
		slices.ContainsFunc(all, func(a account.Account) bool { return a.ManagedBy != "" }) {
		t.Errorf("%+v, %v", all, err)
	}
}
