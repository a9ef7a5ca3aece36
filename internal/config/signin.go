package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"bulkfiling/internal/ledger"
	"bulkfiling/internal/secret"
	"bulkfiling/internal/signin"
)

// SignIn is what the variables say of the sign-in provider.
type SignIn struct {
	Issuer string // empty for no provider
	Client string
	Claim  string // names the groups
	Roles  signin.GroupRoles
	Scopes []string
	Only   bool   // passwords sign in break-glass accounts only
	Public string // PUBLIC_URL

	secret secret.Value
}

// String names the provider and not the secret.
func (s SignIn) String() string { return "sign-in by " + s.Issuer }

// GoString keeps the secret out of %#v.
func (s SignIn) GoString() string { return s.String() }

// readSignIn reads the variables of the sign-in provider.
func readSignIn(value func(string) string) (SignIn, error) {
	s := SignIn{
		Issuer: value("OIDC_ISSUER"),
		Client: value("OIDC_CLIENT_ID"),
		Claim:  value("OIDC_GROUPS_CLAIM"),
		Scopes: strings.Fields(value("OIDC_SCOPES")),
		Public: value("PUBLIC_URL"),
	}
	var err error
	if s.secret, err = readSecret("OIDC_CLIENT_SECRET", value); err != nil {
		return s, err
	}
	names := make([]string, len(ledger.Roles))
	for i, r := range ledger.Roles {
		names[i] = string(r)
	}
	if s.Roles, err = signin.ParseGroupRoles(value("OIDC_ROLES"), names); err != nil {
		return s, fmt.Errorf("OIDC_ROLES: %w", err)
	}
	if v := value("OIDC_ONLY"); v != "" {
		if s.Only, err = strconv.ParseBool(v); err != nil {
			return s, errors.New("OIDC_ONLY must be 1 or 0")
		}
	}
	if s.Issuer == "" {
		if s.Only || s.Client != "" {
			return s, errors.New(
				"OIDC_ISSUER is not set: give the address of the sign-in provider, or leave OIDC_CLIENT_ID and " +
					"OIDC_ONLY out")
		}
		return s, nil
	}
	issuer, err := url.Parse(s.Issuer)
	ip := net.IP(nil)
	if err == nil {
		ip = net.ParseIP(issuer.Hostname())
	}
	here := err == nil && (issuer.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
	if err != nil || issuer.Host == "" || issuer.RawQuery != "" || issuer.User != nil ||
		issuer.Scheme != "https" && !(issuer.Scheme == "http" && here) {
		return s, errors.New(
			"OIDC_ISSUER is the address of the sign-in provider, such as https://login.example.com, as its own " +
				"documents write it")
	}
	if s.Client == "" {
		return s, errors.New(
			"OIDC_CLIENT_ID is not set: register this application at the sign-in provider, and give the ID that it got")
	}
	return s, nil
}

// Provider makes the sign-in provider that the variables name; nil for none. callback
// is the path that it sends people back to, below the address that they type.
func (s SignIn) Provider(public *url.URL, callback string) (*signin.Provider, error) {
	if s.Issuer == "" {
		return nil, nil
	}
	base := s.Public
	if public != nil {
		base = public.String()
	}
	if base == "" {
		return nil, errors.New(
			"PUBLIC_URL is not set: the sign-in provider sends people back to the address that they type, such as " +
				"https://filings.example.com")
	}
	return signin.NewProvider(signin.ProviderConfig{
		Issuer:       s.Issuer,
		ClientID:     s.Client,
		ClientSecret: s.secret.Reveal(),
		Redirect:     strings.TrimSuffix(base, "/") + callback,
		Scopes:       s.Scopes,
		GroupsClaim:  s.Claim,
		Roles:        s.Roles,
	}), nil
}

// Groups lists which groups have which roles, as they were written.
func (s SignIn) Groups() []string {
	var all []string
	for _, g := range s.Roles {
		all = append(all, g.Group+"="+g.Role)
	}
	return all
}
