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

// Errors of a sign-in by a provider. Their details are for the log: they may
// repeat what the provider said.
var (
	// ErrProviderAway is returned where the provider cannot be reached, or answers
	// with something else than OpenID Connect.
	ErrProviderAway = errors.New("the sign-in provider cannot be reached")
	// ErrProviderRefused is returned where the provider did not let the person
	// in, or the person gave up.
	ErrProviderRefused = errors.New("the sign-in provider did not sign the person in")
	// ErrUntrusted is returned for an answer that proves nothing: a token that is
	// not the provider's, not for us, not of this sign-in, or not of now.
	ErrUntrusted = errors.New("the answer of the sign-in provider is not valid")
)

// ProviderConfig is how a provider knows us, and what its groups may do here.
type ProviderConfig struct {
	Issuer       string
	ClientID     string
	ClientSecret string // empty for a public client
	Redirect     string // where the provider sends people back to, exactly
	Scopes       []string
	GroupsClaim  string // a name, or names with dots between them: realm_access.roles
	Roles        GroupRoles
	Client       *http.Client     // nil for one with bounds
	Now          func() time.Time // nil for the wall's clock
}

// Provider signs people in by OpenID Connect: the authorization code flow with
// PKCE. What the provider offers is asked when it is needed, and again now and
// then: this site starts without it, and a key that the provider has retired
// counts no longer than that.
type Provider struct {
	c      ProviderConfig
	client *http.Client

	mu     sync.Mutex // guards what follows, also while the provider is asked
	known  *discovery
	failed error
	next   time.Time // when to ask again
}

// How often the provider is asked what it offers, and how long after it could
// not be reached.
const (
	askEvery   = 10 * time.Minute
	retryAfter = 5 * time.Second
	// leeway is how far the provider's clock may be off.
	leeway = 2 * time.Minute
	// maxAnswer bounds what the provider may send.
	maxAnswer = 1 << 20
)

// discovery is what a provider offers.
type discovery struct {
	provider *oidc.Provider
	config   oauth2.Config

	EndSession  string   `json:"end_session_endpoint"`
	UserInfo    string   `json:"userinfo_endpoint"`
	Keys        string   `json:"jwks_uri"`
	Methods     []string `json:"token_endpoint_auth_methods_supported"`
	NamesItself bool     `json:"authorization_response_iss_parameter_supported"`
}

// NewProvider makes one. It asks nothing.
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
	// Codes and secrets go to the addresses that the provider has named, and no further.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Provider{c: c, client: client}
}

// Issuer is the provider's name.
func (p *Provider) Issuer() string { return p.c.Issuer }

// Host is the provider's name for people.
func (p *Provider) Host() string {
	u, err := url.Parse(p.c.Issuer)
	if err != nil || u.Host == "" {
		return p.c.Issuer
	}
	return u.Host
}

// bounded ends answers that are too long.
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

// Reach asks the provider what it offers, unless that is known. It returns
// ErrProviderAway.
func (p *Provider) Reach(ctx context.Context) error {
	_, err := p.discover(ctx)
	return err
}

// Away is why the provider could not be reached when it was asked last; nil where
// it was, or was never asked. It waits for nothing, and has the provider asked
// again when it is time.
func (p *Provider) Away() error {
	if !p.mu.TryLock() {
		return nil // it is being asked
	}
	defer p.mu.Unlock()
	if !p.c.Now().Before(p.next) {
		go p.discover(context.Background()) //nolint:errcheck // the next call tells
	}
	return p.failed
}

// discover asks the provider, unless that was done lately. It finishes even if the
// caller leaves, because others wait for the answer.
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
	// A code works once, so the way in which the provider wants the secret cannot
	// be found by trying.
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

// permits refuses addresses that are not encrypted, except for a provider on
// this machine.
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

// Begin makes the address to send the browser to. It returns ErrProviderAway.
func (p *Provider) Begin(ctx context.Context) (Ceremony, string, error) {
	d, err := p.discover(ctx)
	if err != nil {
		return Ceremony{}, "", err
	}
	c := Ceremony{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
	return c, d.config.AuthCodeURL(c.State, oidc.Nonce(c.Nonce), oauth2.S256ChallengeOption(c.Verifier)), nil
}

// Person is whom a provider vouches for.
type Person struct {
	Issuer, Subject string
	Names           []string // the best first; the address only where it is verified
	Groups          []string
	Roles           []string // what the groups may do here
	IDToken         string
}

// claims are what a token says of a person.
type claims struct {
	Subject           string `json:"sub"`
	AuthorizedParty   string `json:"azp"`
	Email             string `json:"email"`
	EmailVerified     verity `json:"email_verified"`
	PreferredUsername string `json:"preferred_username"`
	Name              string `json:"name"`
}

// verity is true as JSON or, as some providers write it, as text.
type verity bool

func (v *verity) UnmarshalJSON(b []byte) error {
	*v = string(b) == "true" || string(b) == `"true"`
	return nil
}

// Finish completes a sign-in with the parameters that the browser brought from
// the provider. It returns ErrProviderAway, ErrProviderRefused and ErrUntrusted.
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

// checkAnswer checks the parameters that the browser brought, before the code
// among them is used.
func (p *Provider) checkAnswer(d *discovery, c Ceremony, answer url.Values) error {
	for name, values := range answer {
		if len(values) > 1 {
			return fmt.Errorf("%w: the parameter %s is there twice", ErrUntrusted, name)
		}
	}
	if c.State == "" || subtle.ConstantTimeCompare([]byte(answer.Get("state")), []byte(c.State)) != 1 {
		return fmt.Errorf("%w: the state belongs to another sign-in", ErrUntrusted)
	}
	// RFC 9207: an answer of another provider is not sent to this one.
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

// loadUserInfo asks the provider for the claims of a subject that are not in the
// ID token.
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

// algorithms are the accepted signatures of ID tokens: all use a public key, so
// that only the provider can have made a token.
var algorithms = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256,
	oidc.ES384, oidc.ES512, oidc.EdDSA}

// verify checks all that OpenID Connect Core 3.1.3.7 asks for.
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

// names lists the names of a person. An email address counts only if the provider
// has verified it: others could be claimed by anyone.
func names(c claims) []string {
	var all []string
	if c.EmailVerified {
		all = append(all, c.Email)
	}
	all = append(all, c.PreferredUsername, c.Name)
	return slices.DeleteFunc(all, func(name string) bool { return strings.TrimSpace(name) == "" })
}

// groups are those of the claim that names them, and whether it is there.
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

// SignOut makes the address at which the provider ends its own session, and sends
// the browser back; it is empty where the provider has none, or is away.
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
