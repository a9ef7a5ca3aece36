package signin

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/bulkfiling/bulkfiling/internal/signin/signintest"
)

func client(p *signintest.Provider, change ...func(*ProviderConfig)) *Provider {
	c := ProviderConfig{
		Issuer:       p.URL,
		ClientID:     signintest.ClientID,
		ClientSecret: signintest.ClientSecret,
		Redirect:     "https://filings.example.com/sign-in/provider/callback",
		GroupsClaim:  "groups",
		Roles:        GroupRoles{{"filing-approvers", "approver"}, {"filing-ops", "operator"}},
	}
	for _, f := range change {
		f(&c)
	}
	return NewProvider(c)
}

// browse goes to the provider as a browser does, and returns what it brings back.
func browse(t *testing.T, at string) url.Values {
	t.Helper()
	browser := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r := must(http.NewRequestWithContext(t.Context(), http.MethodGet, at, nil))
	answer := must(browser.Do(r))
	answer.Body.Close()
	back, err := answer.Location()
	if err != nil {
		t.Fatalf("%d, %v", answer.StatusCode, err)
	}
	return back.Query()
}

func signIn(t *testing.T, c *Provider) (Person, error) {
	t.Helper()
	ceremony, at, err := c.Begin(t.Context())
	if err != nil {
		return Person{}, err
	}
	return c.Finish(t.Context(), ceremony, browse(t, at))
}

func TestProviderSignsIn(t *testing.T) {
	p := signintest.New(t)
	p.Person(map[string]any{"sub": "1", "email": "ana@example.com", "email_verified": true,
		"preferred_username": "ana", "groups": []string{"all", "filing-ops"}})
	c := client(p)
	got := must(signIn(t, c))
	if got.Issuer != p.URL || got.Subject != "1" || !slices.Equal(got.Names, []string{"ana@example.com", "ana"}) ||
		!slices.Equal(got.Roles, []string{"operator"}) || got.IDToken == "" {
		t.Errorf("%+v", got)
	}
	asked := p.Asked()[0]
	if asked.Get("code_challenge_method") != "S256" || len(asked.Get("code_challenge")) != 43 ||
		asked.Get("nonce") == "" || asked.Get(
		"redirect_uri") != "https://filings.example.com/sign-in/provider/callback" ||
		asked.Get("scope") != "openid profile email" || asked.Get("response_type") != "code" {
		t.Errorf("%v", asked)
	}
	if _, err := signIn(t, c); err != nil || p.Asked()[1].Get("nonce") == asked.Get("nonce") ||
		p.Asked()[1].Get("code_challenge") == asked.Get("code_challenge") {
		t.Errorf("the second time: %v, %v", p.Asked()[1], err)
	}
	out, err := url.Parse(c.SignOut(t.Context(), got.IDToken, "https://filings.example.com/sign-in"))
	if err != nil || out.Path != "/end" || out.Query().Get("id_token_hint") != got.IDToken ||
		out.Query().Get("client_id") != signintest.ClientID ||
		out.Query().Get("post_logout_redirect_uri") != "https://filings.example.com/sign-in" {
		t.Errorf("%v, %v", out, err)
	}
}

// Where groups and names are not in the token they are in the user info, of the
// same subject.
func TestGroupsAndNames(t *testing.T) {
	p := signintest.New(t)
	for name, c := range map[string]struct {
		claims map[string]any
		path   string
		roles  []string
		names  []string
	}{
		"none": {map[string]any{"sub": "1"}, "groups", nil, nil},
		"one":  {map[string]any{"sub": "1", "groups": "filing-ops"}, "groups", []string{"operator"}, nil},
		"deep": {map[string]any{
			"sub": "1", "realm_access": map[string]any{"roles": []any{"filing-ops", 7}},
		}, "realm_access.roles", []string{"operator"}, nil},
		"a name with dots": {map[string]any{"sub": "1", "https://x.y/groups": []string{"filing-ops"}},
			"https://x.y/groups", []string{"operator"}, nil},
		"odd": {map[string]any{"sub": "1", "groups": map[string]any{"filing-ops": true}}, "groups",
			nil, nil},
		"another case": {map[string]any{"sub": "1", "groups": []string{"Filing-Ops"}}, "groups", nil, nil},
		"not verified": {map[string]any{"sub": "1", "email": "boss@example.com", "email_verified": false,
			"name": "Ana"}, "groups", nil, []string{"Ana"}},
		"said by nobody": {map[string]any{"sub": "1", "email": "boss@example.com", "name": "Ana"}, "groups", nil,
			[]string{"Ana"}},
		"verified, in words": {map[string]any{"sub": "1", "email": "ana@example.com", "email_verified": "true"},
			"groups", nil, []string{"ana@example.com"}},
	} {
		t.Run(name, func(t *testing.T) {
			onlySubject := func(token map[string]any) {
				maps.DeleteFunc(token, func(name string, _ any) bool { return c.claims[name] != nil && name != "sub" })
			}
			for _, inToken := range []bool{true, false} {
				p.Person(c.claims)
				if p.Lie(signintest.Lies{}); !inToken {
					p.Lie(signintest.Lies{Claims: onlySubject})
				}
				got, err := signIn(t, client(p, func(x *ProviderConfig) { x.GroupsClaim = c.path }))
				if err != nil || !slices.Equal(got.Roles, c.roles) || !slices.Equal(got.Names, c.names) {
					t.Errorf("in the token %v: %+v, %v", inToken, got, err)
				}
			}
		})
	}
}

// A provider that lies signs nobody in, whatever it lies about.
func TestLyingProvider(t *testing.T) {
	claim := func(name string, value any) signintest.Lies {
		return signintest.Lies{Claims: func(c map[string]any) {
			if c[name] = value; value == nil {
				delete(c, name)
			}
		}}
	}
	now := time.Now().Unix()
	b64 := base64.RawURLEncoding.EncodeToString
	stranger := must(rsa.GenerateKey(rand.Reader, 2048))
	for name, lies := range map[string]signintest.Lies{
		"another issuer":           claim("iss", "https://evil.example"),
		"no issuer":                claim("iss", nil),
		"another audience":         claim("aud", "another client"),
		"no audience":              claim("aud", nil),
		"audiences, no azp":        claim("aud", []string{signintest.ClientID, "another client"}),
		"another azp":              claim("azp", "another client"),
		"another nonce":            claim("nonce", "n"),
		"no nonce":                 claim("nonce", nil),
		"expired":                  claim("exp", now-1),
		"no expiry":                claim("exp", nil),
		"not yet valid":            claim("nbf", now+3600),
		"issued in the future":     claim("iat", now+3600),
		"not issued":               claim("iat", nil),
		"no subject":               claim("sub", nil),
		"an empty subject":         claim("sub", ""),
		"a number as subject":      claim("sub", 1),
		"an endless subject":       claim("sub", strings.Repeat("s", 256)),
		"another access token":     {Tokens: func(t map[string]any) { t["access_token"] = "other" }},
		"no ID token":              {Tokens: func(t map[string]any) { delete(t, "id_token") }},
		"an ID token that is none": {Tokens: func(t map[string]any) { t["id_token"] = "a.b.c" }},
		"a user info of another subject": {
			Claims: func(c map[string]any) { delete(c, "groups") }, UserInfo: func(c map[string]any) { c["sub"] = "2" },
		},
		"a user info of nobody": {
			Claims:   func(c map[string]any) { delete(c, "groups") },
			UserInfo: func(c map[string]any) { delete(c, "sub") },
		},
		"HS256 with the client's secret": {Sign: func(payload []byte, _ jose.JSONWebKey) string {
			text := b64([]byte(`{"alg":"HS256"}`)) + "." + b64(payload)
			mac := hmac.New(sha256.New, []byte(signintest.ClientSecret))
			mac.Write([]byte(text))
			return text + "." + b64(mac.Sum(nil))
		}},
		"a stranger's key": {Sign: func(payload []byte, key jose.JSONWebKey) string {
			return signintest.Sign(payload, jose.JSONWebKey{Key: stranger, KeyID: "stranger"})
		}},
		"no keys":                     {Keys: func([]jose.JSONWebKey) []jose.JSONWebKey { return nil }},
		"another state":               {Answer: func(q url.Values) { q.Set("state", "s") }},
		"no state":                    {Answer: func(q url.Values) { q.Del("state") }},
		"two states":                  {Answer: func(q url.Values) { q.Add("state", "s") }},
		"an answer of another issuer": {Answer: func(q url.Values) { q.Set("iss", "https://evil.example") }},
		"an answer of nobody":         {Answer: func(q url.Values) { q.Del("iss") }},
		"no code":                     {Answer: func(q url.Values) { q.Del("code") }},
		"an unknown code":             {Answer: func(q url.Values) { q.Set("code", "c") }},
	} {
		t.Run(name, func(t *testing.T) {
			p := signintest.New(t)
			p.Person(map[string]any{"sub": "1", "groups": []string{"filing-ops"}, "name": "Ana"})
			p.Lie(lies)
			if got, err := signIn(t, client(p)); !errors.Is(err, ErrUntrusted) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// The answer of one sign-in does not do for another, and neither answer nor code
// does twice.
func TestAnswersAreOfOneSignIn(t *testing.T) {
	p := signintest.New(t)
	c := client(p)
	begin := func() (Ceremony, url.Values) {
		ceremony, at, err := c.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return ceremony, browse(t, at)
	}
	mine, answer := begin()
	_, stolen := begin()
	crossed := url.Values{"state": answer["state"], "iss": answer["iss"], "code": stolen["code"]}
	if _, err := c.Finish(t.Context(), mine, crossed); !errors.Is(err, ErrUntrusted) {
		t.Errorf("somebody else's code: %v", err)
	}
	if _, err := c.Finish(t.Context(), mine, stolen); !errors.Is(err, ErrUntrusted) {
		t.Errorf("somebody else's answer: %v", err)
	}
	p.Lie(signintest.Lies{NoPKCE: true}) // the nonce holds alone
	_, stolen = begin()
	crossed["code"] = stolen["code"]
	if _, err := c.Finish(t.Context(), mine, crossed); !errors.Is(err, ErrUntrusted) {
		t.Errorf("somebody else's code without PKCE: %v", err)
	}
	p.Lie(signintest.Lies{})
	if _, err := c.Finish(t.Context(), mine, answer); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Finish(t.Context(), mine, answer); !errors.Is(err, ErrUntrusted) {
		t.Errorf("the same code again: %v", err)
	}
	if _, err := c.Finish(t.Context(), Ceremony{}, url.Values{"code": {"x"}, "iss": {p.URL}}); !errors.Is(err,
		ErrUntrusted) {
		t.Errorf("without a ceremony: %v", err)
	}
	if _, err := c.Finish(t.Context(), mine, url.Values{"error": {"access_denied"}, "state": {mine.State},
		"iss": {p.URL}}); !errors.Is(err, ErrProviderRefused) {
		t.Errorf("a refusal: %v", err)
	}
	if _, err := c.Finish(t.Context(), mine, url.Values{"error": {"access_denied"}}); !errors.Is(err, ErrUntrusted) {
		t.Errorf("somebody else's refusal: %v", err)
	}
}

// A new key is found at once, and one that the provider has retired does not
// outlive the next look at it.
func TestRotatedKeys(t *testing.T) {
	p := signintest.New(t)
	now := time.Now()
	c := client(p, func(x *ProviderConfig) { x.Now = func() time.Time { return now } })
	var retired jose.JSONWebKey
	p.Lie(signintest.Lies{Keys: func(all []jose.JSONWebKey) []jose.JSONWebKey { retired = all[0]; return all }})
	if _, err := signIn(t, c); err != nil {
		t.Fatal(err)
	}
	p.Rotate()
	p.Lie(signintest.Lies{})
	if _, err := signIn(t, c); err != nil {
		t.Errorf("by a new key: %v", err)
	}
	p.Lie(signintest.Lies{
		Sign:   func(payload []byte, _ jose.JSONWebKey) string { return signintest.Sign(payload, retired) },
		Claims: func(c map[string]any) { c["iat"], c["exp"] = now.Unix(), now.Add(time.Hour).Unix() },
	})
	now = now.Add(askEvery)
	if _, err := signIn(t, c); !errors.Is(err, ErrUntrusted) {
		t.Errorf("by a retired key: %v", err)
	}
}

// The provider may be away at the start and later: it is asked again when it is
// needed, and not by everybody at once.
func TestProviderThatIsAway(t *testing.T) {
	p := signintest.New(t)
	now, asked, away := time.Now(), 0, true
	c := client(p, func(x *ProviderConfig) {
		x.Now = func() time.Time { return now }
		x.Client = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if asked++; away {
				return nil, errors.New("connection refused")
			}
			return http.DefaultTransport.RoundTrip(r)
		})}
	})
	for range 3 {
		if _, err := signIn(t, c); !errors.Is(err, ErrProviderAway) {
			t.Errorf("%v", err)
		}
	}
	if asked != 1 || c.Away() == nil || c.SignOut(t.Context(), "", "") != "" {
		t.Errorf("asked %d times, %v", asked, c.Away())
	}
	away, now = false, now.Add(retryAfter)
	if _, err := signIn(t, c); err != nil || c.Away() != nil {
		t.Errorf("when it is back: %v, %v", err, c.Away())
	}
	ceremony, at, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	answer := browse(t, at)
	away = true
	if _, err := c.Finish(context.Background(), ceremony, answer); !errors.Is(err, ErrProviderAway) {
		t.Errorf("away before the code: %v", err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// What the provider says of itself is not trusted further than its name.
func TestDiscoveryThatLies(t *testing.T) {
	for name, lie := range map[string]func(map[string]any){
		"another issuer":          func(d map[string]any) { d["issuer"] = "https://evil.example" },
		"keys in the clear":       func(d map[string]any) { d["jwks_uri"] = "http://evil.example/keys" },
		"codes in the clear":      func(d map[string]any) { d["token_endpoint"] = "http://evil.example/token" },
		"no authorization":        func(d map[string]any) { delete(d, "authorization_endpoint") },
		"a script":                func(d map[string]any) { d["authorization_endpoint"] = "javascript:alert(1)" },
		"a sign-out in the clear": func(d map[string]any) { d["end_session_endpoint"] = "http://evil.example/end" },
		"user info in the clear":  func(d map[string]any) { d["userinfo_endpoint"] = "http://evil.example/me" },
		"an endless document": func(d map[string]any) {
			d["issuer"], d["z"] = "x", strings.Repeat("z", 2*maxAnswer)
		},
		"an address that is none":  func(d map[string]any) { d["token_endpoint"] = "%%%" },
		"numbers instead of texts": func(d map[string]any) { d["token_endpoint"] = 5 },
	} {
		t.Run(name, func(t *testing.T) {
			p := signintest.New(t)
			p.Lie(signintest.Lies{Discovery: lie})
			if err := client(p).Reach(t.Context()); !errors.Is(err, ErrProviderAway) {
				t.Errorf("%v", err)
			}
		})
	}
}

// A secret goes the one way that the provider wants it, and a code is sent once.
func TestSecretOfTheClient(t *testing.T) {
	p := signintest.New(t)
	sent := 0
	count := func(x *ProviderConfig) {
		x.Client = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPost {
				sent++
			}
			return http.DefaultTransport.RoundTrip(r)
		})}
	}
	if _, err := signIn(t, client(p, count, func(x *ProviderConfig) { x.ClientSecret = "wrong" })); !errors.Is(err,
		ErrUntrusted) || sent != 1 {
		t.Errorf("sent %d times, %v", sent, err)
	}
	p.Lie(signintest.Lies{Tokens: func(t map[string]any) { clear(t); t["error"] = "invalid_request" }})
	if _, err := signIn(t, client(p)); err == nil || errors.Is(err, ErrProviderRefused) {
		t.Errorf("%v", err)
	}
	if text, err := json.Marshal(p.Asked()); err != nil || strings.Contains(string(text), "secret") {
		t.Errorf("%s", text)
	}
}
