package config

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func read(variables map[string]string) (Environment, error) {
	return Read(func(name string) string { return variables[name] })
}

func TestSignInVariables(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(file, []byte("s3cret\n"), 0o600))
	e, err := read(map[string]string{
		"OIDC_ISSUER": "https://login.example.com/tenant", "OIDC_CLIENT_ID": "bulkfiling",
		"OIDC_CLIENT_SECRET_FILE": file,
		"OIDC_ROLES":              "filing-approvers=approver,filing-ops=operator",
		"OIDC_SCOPES":             "openid groups",
	})
	must(t, err)
	s := e.SignIn
	if s.Claim != "groups" || len(s.Roles) != 2 || len(s.Scopes) != 2 || s.secret.Reveal() != "s3cret" ||
		s.Groups()[1] != "filing-ops=operator" {
		t.Errorf("%v", s.Groups())
	}
	if text := fmt.Sprintf("%v %+v %#v %v %+v", s, s, s, e, e); strings.Contains(text, "s3cret") {
		t.Error("the secret is printed")
	}
	if _, err := s.Provider(nil, "/callback"); err == nil || !strings.Contains(err.Error(), "PUBLIC_URL") {
		t.Errorf("without an address: %v", err)
	}
	if p, err := s.Provider(&url.URL{Scheme: "https", Host: "x.test"}, "/callback"); err != nil || p == nil ||
		p.Host() != "login.example.com" {
		t.Errorf("%v, %v", p, err)
	}
	if none, err := read(nil); err != nil {
		t.Error(err)
	} else if p, err := none.SignIn.Provider(nil, "/callback"); p != nil || err != nil {
		t.Errorf("%v, %v", p, err)
	}
	for name, bad := range map[string]map[string]string{
		"no client":       {"OIDC_ISSUER": "https://x.test"},
		"no issuer":       {"OIDC_CLIENT_ID": "x"},
		"in the clear":    {"OIDC_ISSUER": "http://x.test", "OIDC_CLIENT_ID": "x"},
		"no address":      {"OIDC_ISSUER": "x", "OIDC_CLIENT_ID": "x"},
		"a query":         {"OIDC_ISSUER": "https://x.test?a=b", "OIDC_CLIENT_ID": "x"},
		"an unknown role": {"OIDC_ISSUER": "https://x.test", "OIDC_CLIENT_ID": "x", "OIDC_ROLES": "a=king"},
	} {
		if _, err := read(bad); err == nil || !strings.Contains(err.Error(), "OIDC_") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := read(map[string]string{"OIDC_ISSUER": "http://localhost:9000", "OIDC_CLIENT_ID": "x"}); err != nil {
		t.Errorf("on this machine: %v", err)
	}
}
