package signin

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/bulkfiling/bulkfiling/internal/network"
)

// The errors of a sign-in with a provider. Their details are only for the log, because they may
// contain text from the provider.
var (
	// ErrProviderAway means that the provider cannot be reached, or that its answer is not OpenID
	// Connect.
	ErrProviderAway = errors.New("the sign-in provider cannot be reached")
	// ErrProviderRefused means that the provider did not sign the person in, or that the person
	// canceled.
	ErrProviderRefused = errors.New("the sign-in provider did not sign the person in")
	// ErrUntrusted means that an answer proves nothing. Its token has another issuer, another
	// recipient or another sign-in, or is not valid now.
	ErrUntrusted = errors.New("the answer of the sign-in provider is not valid")
)

// ProviderConfig has our registration with a provider and the roles of its groups.
type ProviderConfig struct {
	Issuer   string
	ClientID string
	// ClientSecret is empty if the client is public.
	ClientSecret string
	// Redirect is the exact address to which the provider redirects.
	Redirect string
	Scopes   []string
	// GroupsClaim is a name, or a path of names with dots such as realm_access.roles.
	GroupsClaim string
	Roles       GroupRoles
	// Client is optional. The default has a timeout.
	Client *http.Client
	// Now is the clock. The default is time.Now.
	Now func() time.Time
}

// Provider signs people in with OpenID Connect, using the authorization code flow with PKCE. It
// loads the provider's configuration on demand and repeats that regularly. The site can therefore
// start without the provider, and a key that the provider has retired is soon rejected.
type Provider struct {
	c      ProviderConfig
	client *http.Client

	// mu guards the fields below. It is also held during the request of the configuration.
	mu     sync.Mutex
	known  *discovery
	failed error
	// next is when to load the configuration again.
	next time.Time
}

// The intervals of requests for the provider's configuration. retryAfter applies after a failure.
const (
	askEvery   = 10 * time.Minute
	retryAfter = 5 * time.Second
	// leeway is the allowed difference of the provider's clock.
	leeway = 2 * time.Minute
	// maxAnswer limits the size of the provider's answers, in bytes.
	maxAnswer = 1 << 20
)

// discovery is a provider's configuration.
type discovery struct {
	provider *oidc.Provider
	config   oauth2.Config

	EndSession  string   `json:"end_session_endpoint"`
	UserInfo    string   `json:"userinfo_endpoint"`
	Keys        string   `json:"jwks_uri"`
	Methods     []string `json:"token_endpoint_auth_methods_supported"`
	NamesItself bool     `json:"authorization_response_iss_parameter_supported"`
}

// NewProvider returns a provider. It sends no request.
func NewProvider(c ProviderConfig) *Provider {
	if c.Now == nil {
		c.Now = time.Now
	}
	if len(c.Scopes) == 0 {
		c.Scopes = []string{oidc.ScopeOpenID, "profile", "email"}
	}
	if !slices.Contains(c.Scopes, oidc.ScopeOpenID) {
		c.Scopes = append([]string{oidc.ScopeOpenID}, c.Scopes...)
	}
	client := &http.Client{}
	if c.Client != nil {
		*client = *c.Client
	}
	client.Timeout = cmp.Or(client.Timeout, 10*time.Second)
	client.Transport = bounded{cmp.Or(client.Transport, http.DefaultTransport)}
	// Codes and secrets are sent only to the addresses that the provider has named.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Provider{c: c, client: client}
}

// Issuer returns the issuer of the provider.
func (p *Provider) Issuer() string { return p.c.Issuer }

// Host returns the name of the provider for display.
func (p *Provider) Host() string {
	u, err := url.Parse(p.c.Issuer)
	if err != nil || u.Host == "" {
		return p.c.Issuer
	}
	return u.Host
}

// bounded cuts off answers that are too long.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, maxAnswer), answer.Body}
	}
	return answer, err
}

// Reach loads the provider's configuration unless it is known. It returns ErrProviderAway.
func (p *Provider) Reach(ctx context.Context) error {
	_, err := p.discover(ctx)
	return err
}

// Away returns why the last request of the provider's configuration failed. It is nil if the
// request succeeded or none was sent. Away does not wait. It starts a new request if one is due.
func (p *Provider) Away() error {
	if !p.mu.TryLock() {
		return nil // a request is in flight
	}
	defer p.mu.Unlock()
	if !p.c.Now().Before(p.next) {
		go p.discover(context.Background()) //nolint:errcheck // the next call tells
	}
	return p.failed
}

// discover loads the provider's configuration unless it was loaded recently. It finishes even if
// the caller leaves, because others wait for the answer.
func (p *Provider) discover(ctx context.Context) (*discovery, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.c.Now().Before(p.next) {
		return p.known, p.failed
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.client.Timeout)
	defer cancel()
	known, err := p.ask(ctx)
	p.known, p.failed, p.next = known, nil, p.c.Now().Add(askEvery)
	if err != nil {
		p.failed, p.next = fmt.Errorf("%w: %w", ErrProviderAway, err), p.c.Now().Add(retryAfter)
	}
	return p.known, p.failed
}

func (p *Provider) ask(ctx context.Context) (*discovery, error) {
	provider, err := oidc.NewProvider(p.context(ctx), p.c.Issuer)
	if err != nil {
		return nil, err
	}
	d := &discovery{provider: provider}
	if err := provider.Claims(d); err != nil {
		return nil, err
	}
	end := provider.Endpoint()
	for _, address := range []string{end.AuthURL, end.TokenURL, d.Keys} {
		if err := p.permits(address); err != nil {
			return nil, err
		}
	}
	for _, address := range []string{d.EndSession, d.UserInfo} {
		if address != "" {
			if err := p.permits(address); err != nil {
				return nil, err
			}
		}
	}
	// A code works only once, so the authentication method for the secret cannot be found by
	// trying.
	end.AuthStyle = oauth2.AuthStyleInHeader
	if p.c.ClientSecret == "" || len(d.Methods) > 0 && !slices.Contains(d.Methods, "client_secret_basic") {
		end.AuthStyle = oauth2.AuthStyleInParams
	}
	d.config = oauth2.Config{
		ClientID:     p.c.ClientID,
		ClientSecret: p.c.ClientSecret,
		Endpoint:     end,
		RedirectURL:  p.c.Redirect,
		Scopes:       p.c.Scopes,
	}
	return d, nil
}

// permits rejects addresses that are not encrypted, except for a provider on this machine.
func (p *Provider) permits(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return fmt.Errorf("the provider names an invalid address: %q", address)
	}
	local := u.Scheme == "http" && network.IsLoopback(u.Hostname()) && strings.HasPrefix(p.c.Issuer, "http://")
	if u.Scheme != "https" && !local {
		return fmt.Errorf("the provider names an address that is not https: %q", address)
	}
	return nil
}

func (p *Provider) context(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, p.client)
}

// Ceremony holds the secrets of a sign-in until the provider answers.
type Ceremony struct {
	State, Nonce, Verifier string
}

// Begin returns the address to which to send the browser. It returns ErrProviderAway.
func (p *Provider) Begin(ctx context.Context) (Ceremony, string, error) {
	d, err := p.discover(ctx)
	if err != nil {
		return Ceremony{}, "", err
	}
	c := Ceremony{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
	return c, d.config.AuthCodeURL(c.State, oidc.Nonce(c.Nonce), oauth2.S256ChallengeOption(c.Verifier)), nil
}

// Person is the person that a provider has identified.
type Person struct {
	Issuer, Subject string
	// Names has the best name first. It includes the email address only if it is verified.
	Names  []string
	Groups []string
	// Roles are the roles of the groups on this site.
	Roles   []string
	IDToken string
}

// claims are the claims about a person in a token.
type claims struct {
	Subject           string `json:"sub"`
	AuthorizedParty   string `json:"azp"`
	Email             string `json:"email"`
	EmailVerified     verity `json:"email_verified"`
	PreferredUsername string `json:"preferred_username"`
	Name              string `json:"name"`
}

// verity is true as a JSON boolean or, as some providers write it, as text.
type verity bool

func (v *verity) UnmarshalJSON(b []byte) error {
	*v = string(b) == "true" || string(b) == `"true"`
	return nil
}

// Finish completes a sign-in with the parameters of the provider's redirect. It returns
// ErrProviderAway, ErrProviderRefused and ErrUntrusted.
func (p *Provider) Finish(ctx context.Context, c Ceremony, answer url.Values) (Person, error) {
	d, err := p.discover(ctx)
	if err != nil {
		return Person{}, err
	}
	if err := p.checkAnswer(d, c, answer); err != nil {
		return Person{}, err
	}
	ctx = p.context(ctx)
	tokens, err := d.config.Exchange(ctx, answer.Get("code"), oauth2.VerifierOption(c.Verifier))
	if err != nil {
		if refusal := new(oauth2.RetrieveError); errors.As(err, &refusal) && refusal.Response.StatusCode < 500 {
			return Person{}, fmt.Errorf("%w: the code was refused: %q", ErrUntrusted,
				cmp.Or(refusal.ErrorCode, refusal.Response.Status))
		}
		return Person{}, fmt.Errorf("%w: %w", ErrProviderAway, err)
	}
	raw, _ := tokens.Extra("id_token").(string)
	if raw == "" {
		return Person{}, fmt.Errorf("%w: there is no ID token", ErrUntrusted)
	}
	token, said, err := p.verify(ctx, d, c, raw, tokens.AccessToken)
	if err != nil {
		return Person{}, fmt.Errorf("%w: %w", ErrUntrusted, err)
	}
	var all map[string]any
	if err := token.Claims(&all); err != nil {
		return Person{}, fmt.Errorf("%w: %w", ErrUntrusted, err)
	}
	groups, found := p.groups(all)
	if d.UserInfo != "" && (!found || len(names(said)) == 0) {
		extra, all, err := loadUserInfo(ctx, d, tokens, token.Subject)
		if err != nil {
			return Person{}, err
		}
		if !found {
			groups, _ = p.groups(all)
		}
		if len(names(said)) == 0 {
			said.Email, said.EmailVerified = extra.Email, extra.EmailVerified
			said.PreferredUsername, said.Name = extra.PreferredUsername, extra.Name
		}
	}
	return Person{
		Issuer:  p.c.Issuer,
		Subject: token.Subject,
		Names:   names(said),
		Groups:  groups,
		Roles:   p.c.Roles.Of(groups),
		IDToken: raw,
	}, nil
}

// checkAnswer checks the parameters of the redirect before their code is used.
func (p *Provider) checkAnswer(d *discovery, c Ceremony, answer url.Values) error {
	for name, values := range answer {
		if len(values) > 1 {
			return fmt.Errorf("%w: the parameter %s is there twice", ErrUntrusted, name)
		}
	}
	if c.State == "" || subtle.ConstantTimeCompare([]byte(answer.Get("state")), []byte(c.State)) != 1 {
		return fmt.Errorf("%w: the state belongs to another sign-in", ErrUntrusted)
	}
	// The code of another provider must not be sent to this one (RFC 9207).
	if issuer := answer.Get("iss"); issuer != p.c.Issuer && (issuer != "" || d.NamesItself) {
		return fmt.Errorf("%w: it comes from the issuer %q", ErrUntrusted, issuer)
	}
	if code := answer.Get("error"); code != "" {
		return fmt.Errorf("%w: %q", ErrProviderRefused, code)
	}
	if answer.Get("code") == "" {
		return fmt.Errorf("%w: there is no code", ErrUntrusted)
	}
	return nil
}

// loadUserInfo requests the claims of a subject that are not in the ID token.
func loadUserInfo(ctx context.Context, d *discovery, tokens *oauth2.Token,
	subject string) (extra claims, all map[string]any, err error) {
	info, err := d.provider.UserInfo(ctx, oauth2.StaticTokenSource(tokens))
	if err != nil {
		return extra, nil, fmt.Errorf("%w: %w", ErrProviderAway, err)
	}
	if info.Subject != subject {
		return extra, nil, fmt.Errorf("%w: the user info belongs to another subject", ErrUntrusted)
	}
	if err := errors.Join(info.Claims(&extra), info.Claims(&all)); err != nil {
		return extra, nil, fmt.Errorf("%w: %w", ErrUntrusted, err)
	}
	return extra, all, nil
}

// algorithms are the accepted signatures of ID tokens. All of them use a public key, so that only
// the provider can have made a token.
var algorithms = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256,
	oidc.ES384, oidc.ES512, oidc.EdDSA}

// verify performs all checks of OpenID Connect Core 3.1.3.7.
func (p *Provider) verify(ctx context.Context, d *discovery, c Ceremony,
	raw, access string) (*oidc.IDToken, claims, error) {
	var said claims
	token, err := d.provider.Verifier(&oidc.Config{
		ClientID:             p.c.ClientID,
		SupportedSigningAlgs: algorithms,
		Now:                  p.c.Now,
	}).Verify(ctx, raw)
	if err != nil {
		return nil, said, err
	}
	if err := token.Claims(&said); err != nil {
		return nil, said, err
	}
	now := p.c.Now()
	switch {
	case token.Subject == "" || len(token.Subject) > 255:
		return nil, said, errors.New("the subject is empty or too long")
	case token.IssuedAt.IsZero() || token.IssuedAt.After(now.Add(leeway)):
		return nil, said, errors.New("it was issued in the future")
	case c.Nonce == "" || subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(c.Nonce)) != 1:
		return nil, said, errors.New("the nonce belongs to another sign-in")
	case said.AuthorizedParty != "" && said.AuthorizedParty != p.c.ClientID:
		return nil, said, fmt.Errorf("it was made for the client %q", said.AuthorizedParty)
	case len(token.Audience) > 1 && said.AuthorizedParty == "":
		return nil, said, errors.New("it has several audiences and no authorized party")
	}
	if token.AccessTokenHash != "" {
		if err := token.VerifyAccessToken(access); err != nil {
			return nil, said, err
		}
	}
	return token, said, nil
}

// names lists the names of a person. It includes an email address only if the provider has verified
// it, because anyone could claim another one.
func names(c claims) []string {
	var all []string
	if c.EmailVerified {
		all = append(all, c.Email)
	}
	all = append(all, c.PreferredUsername, c.Name)
	return slices.DeleteFunc(all, func(name string) bool { return strings.TrimSpace(name) == "" })
}

// groups returns the groups of the configured claim and whether the claim exists.
func (p *Provider) groups(said map[string]any) ([]string, bool) {
	value, there := said[p.c.GroupsClaim]
	if !there {
		value = said
		for name := range strings.SplitSeq(p.c.GroupsClaim, ".") {
			level, _ := value.(map[string]any)
			if value, there = level[name]; !there {
				return nil, false
			}
		}
	}
	switch value := value.(type) {
	case string:
		return []string{value}, true
	case []any:
		var all []string
		for _, v := range value {
			if text, ok := v.(string); ok {
				all = append(all, text)
			}
		}
		return all, true
	}
	return nil, false
}

// SignOut returns the address at which the provider ends its own session and redirects the browser
// back. It is empty if the provider has no such address or cannot be reached.
func (p *Provider) SignOut(ctx context.Context, idToken, back string) string {
	d, err := p.discover(ctx)
	if err != nil || d.EndSession == "" {
		return ""
	}
	at, err := url.Parse(d.EndSession)
	if err != nil {
		return ""
	}
	q := at.Query()
	q.Set("client_id", p.c.ClientID)
	q.Set("post_logout_redirect_uri", back)
	if idToken != "" {
		q.Set("id_token_hint", idToken)
	}
	at.RawQuery = q.Encode()
	return at.String()
}
