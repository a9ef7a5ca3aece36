package config

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/network"
	"github.com/bulkfiling/bulkfiling/internal/secret"
	"github.com/bulkfiling/bulkfiling/internal/signin"
)

// SignIn configures the sign-in provider.
type SignIn struct {
	// Issuer is empty if there is no provider.
	Issuer string
	Client string
	// Claim is the name of the claim with the groups.
	Claim  string
	Roles  signin.GroupRoles
	Scopes []string
	// Public is PUBLIC_URL.
	Public string

	secret secret.Value
}

// String returns the name of the provider without the secret.
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
	names := make([]string, len(account.Roles))
	for i, r := range account.Roles {
		names[i] = string(r)
	}
	if s.Roles, err = signin.ParseGroupRoles(value("OIDC_ROLES"), names); err != nil {
		return s, fmt.Errorf("OIDC_ROLES: %w", err)
	}
	if s.Issuer == "" {
		if s.Client != "" {
			return s, errors.New("OIDC_ISSUER is not set: set it to the address of the sign-in provider, or remove " +
				"OIDC_CLIENT_ID")
		}
		return s, nil
	}
	if !isIssuer(s.Issuer) {
		return s, errors.New("OIDC_ISSUER must be the address of the sign-in provider, such as " +
			"https://login.example.com, exactly as the provider documents it")
	}
	if s.Client == "" {
		return s, errors.New("OIDC_CLIENT_ID is not set: register this application at the sign-in provider, and set " +
			"the ID that it assigns")
	}
	return s, nil
}

// isIssuer reports whether a provider's address is valid. It must have https, or http for a
// provider on this machine.
func isIssuer(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.User != nil {
		return false
	}
	return u.Scheme == "https" || (u.Scheme == "http" && network.IsLoopback(u.Hostname()))
}

// Provider returns the sign-in provider, nil if none is configured. callback is the path, relative
// to the page's address, to which the provider redirects.
func (s SignIn) Provider(public *url.URL, callback string) (*signin.Provider, error) {
	if s.Issuer == "" {
		return nil, nil
	}
	base := s.Public
	if public != nil {
		base = public.String()
	}
	if base == "" {
		return nil, errors.New("PUBLIC_URL is not set: set it to the address of the page, to which the sign-in " +
			"provider sends people back, such as https://filings.example.com")
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

// Groups lists the roles of the groups in the format of OIDC_ROLES.
func (s SignIn) Groups() []string {
	var all []string
	for _, g := range s.Roles {
		all = append(all, g.Group+"="+g.Role)
	}
	return all
}
