// Package signintest has an OpenID provider for tests. Its answers are correct unless Lie changes
// them.
package signintest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// The credentials of the client.
const (
	ClientID     = "bulkfiling"
	ClientSecret = "a secret of the client"
)

// Provider signs in the person that Person sets, without a prompt.
type Provider struct {
	*httptest.Server

	mu     sync.Mutex
	lies   Lies
	keys   []jose.JSONWebKey
	codes  map[string]grant
	person map[string]any
	// asked are the requests of the authorization endpoint.
	asked []url.Values
	// ended are the requests of the end-session endpoint.
	ended []url.Values
}

// Lies changes the answers of the provider. A nil field changes nothing.
type Lies struct {
	Discovery func(map[string]any)
	// Answer changes the answer of the authorization endpoint.
	Answer func(url.Values)
	// Claims changes the ID token.
	Claims func(map[string]any)
	Sign   func(payload []byte, key jose.JSONWebKey) string
	// Tokens changes the answer of the token endpoint.
	Tokens   func(map[string]any)
	UserInfo func(map[string]any)
	Keys     func([]jose.JSONWebKey) []jose.JSONWebKey
	// NoPKCE ignores the verifier.
	NoPKCE bool
}

type grant struct {
	query   url.Values
	claims  map[string]any
	expires time.Time
}

// New starts a provider.
func New(t *testing.T) *Provider {
	t.Helper()
	p := &Provider{
		codes:  make(map[string]grant),
		person: map[string]any{"sub": "1"},
		keys:   []jose.JSONWebKey{firstKey()},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET /keys", p.published)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("GET /userinfo", p.userInfo)
	mux.HandleFunc("GET /end", p.end)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

// Lie changes the later answers of the provider. It replaces earlier lies.
func (p *Provider) Lie(l Lies) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lies = l
}

// Person sets the claims of the person who signs in.
func (p *Provider) Person(claims map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.person = maps.Clone(claims)
}

// firstKey is the key of all providers until they rotate it, because creating a key takes long.
var firstKey = sync.OnceValue(newKey)

func newKey() jose.JSONWebKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return jose.JSONWebKey{Key: key, KeyID: rand.Text(), Algorithm: string(jose.RS256), Use: "sig"}
}

// Rotate replaces the key.
func (p *Provider) Rotate() {
	key := newKey()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = []jose.JSONWebKey{key}
}

// Asked returns the sign-in requests, the latest last.
func (p *Provider) Asked() []url.Values {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

// Ended returns the requests to end a session.
func (p *Provider) Ended() []url.Values {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (p *Provider) discovery(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	offers := map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token",
		"jwks_uri":          p.URL + "/keys",
		"userinfo_endpoint": p.URL + "/userinfo", "end_session_endpoint": p.URL + "/end",
		"response_types_supported": []string{"code"},
		"subject_types_supported":  []string{"public"}, "id_token_signing_alg_values_supported": []string{"RS256"},
		"token_endpoint_auth_methods_supported":          []string{"client_secret_basic"},
		"authorization_response_iss_parameter_supported": true,
	}
	if p.lies.Discovery != nil {
		p.lies.Discovery(offers)
	}
	reply(w, offers)
}

func (p *Provider) published(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.keys
	if p.lies.Keys != nil {
		all = p.lies.Keys(all)
	}
	set := jose.JSONWebKeySet{}
	for _, k := range all {
		set.Keys = append(set.Keys, k.Public())
	}
	reply(w, set)
}

func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := r.URL.Query()
	p.asked = append(p.asked, q)
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || q.Get("client_id") != ClientID || q.Get("response_type") != "code" ||
		!strings.Contains(q.Get("scope"), "openid") {
		http.Error(w, "no such client", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	p.codes[code] = grant{q, maps.Clone(p.person), time.Now().Add(time.Minute)}
	answer := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {p.URL}}
	if p.lies.Answer != nil {
		p.lies.Answer(answer)
	}
	back.RawQuery = answer.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id, secret, _ := r.BasicAuth()
	secret, _ = url.QueryUnescape(secret)
	g, ok := p.codes[r.PostFormValue("code")]
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	refused := ""
	switch {
	case id != ClientID || secret != ClientSecret:
		refused = "invalid_client"
	case !ok || time.Now().After(g.expires) || r.PostFormValue("redirect_uri") != g.query.Get("redirect_uri"):
		refused = "invalid_grant"
	case !p.lies.NoPKCE && (g.query.Get("code_challenge_method") != "S256" ||
		g.query.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:])):
		refused = "invalid_grant"
	}
	if refused != "" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": refused})
		return
	}
	delete(p.codes, r.PostFormValue("code"))
	now := time.Now().Unix()
	access := rand.Text()
	half := sha256.Sum256([]byte(access))
	claims := map[string]any{
		"iss": p.URL, "aud": ClientID, "iat": now, "exp": now + 300, "nonce": g.query.Get("nonce"),
		"at_hash": base64.RawURLEncoding.EncodeToString(half[:16]),
	}
	maps.Copy(claims, g.claims)
	if p.lies.Claims != nil {
		p.lies.Claims(claims)
	}
	payload, _ := json.Marshal(claims)
	sign := Sign
	if p.lies.Sign != nil {
		sign = p.lies.Sign
	}
	tokens := map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": 300,
		"id_token": sign(payload, p.keys[0])}
	if p.lies.Tokens != nil {
		p.lies.Tokens(tokens)
	}
	reply(w, tokens)
}

// Sign signs a token correctly.
func Sign(payload []byte, key jose.JSONWebKey) string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: key},
		(&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		panic(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		panic(err)
	}
	compact, err := signed.CompactSerialize()
	if err != nil {
		panic(err)
	}
	return compact
}

func (p *Provider) userInfo(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	claims := maps.Clone(p.person)
	if p.lies.UserInfo != nil {
		p.lies.UserInfo(claims)
	}
	reply(w, claims)
}

func (p *Provider) end(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = append(p.ended, r.URL.Query())
	http.Redirect(w, r, r.URL.Query().Get("post_logout_redirect_uri"), http.StatusFound)
}
