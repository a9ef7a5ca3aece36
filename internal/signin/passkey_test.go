package signin

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/descope/virtualwebauthn"

	"github.com/bulkfiling/bulkfiling/internal/signin/signintest"
)

func passkeys(t *testing.T, address string) *Passkeys {
	t.Helper()
	u := must(url.Parse(address))
	p := must(NewPasskeys(u))
	return p
}

// device is an authenticator with one key, at one site.
type device struct {
	site virtualwebauthn.RelyingParty
	auth virtualwebauthn.Authenticator
	key  virtualwebauthn.Credential
}

func newDevice(origin, id string, o virtualwebauthn.AuthenticatorOptions) *device {
	u, _ := url.Parse(origin)
	o.UserHandle = []byte(id)
	d := &device{
		site: virtualwebauthn.RelyingParty{Name: "Bulkfiling", ID: u.Hostname(), Origin: origin},
		auth: virtualwebauthn.NewAuthenticatorWithOptions(o),
		key:  signintest.NewPasskey(),
	}
	d.auth.AddCredential(d.key)
	return d
}

func (d *device) register(t *testing.T, c Challenge) string {
	t.Helper()
	o := must(virtualwebauthn.ParseAttestationOptions(string(c.Options)))
	return virtualwebauthn.CreateAttestationResponse(d.site, d.auth, d.key, *o)
}

// answer counts the use, as most hardware does.
func (d *device) answer(t *testing.T, c Challenge) string {
	t.Helper()
	o := must(virtualwebauthn.ParseAssertionOptions(string(c.Options)))
	d.key.Counter++
	return virtualwebauthn.CreateAssertionResponse(d.site, d.auth, d.key, *o)
}

func enroll(t *testing.T, p *Passkeys, d *device, o Owner) Passkey {
	t.Helper()
	c := must(p.BeginEnrollment(o))
	k := must(p.FinishEnrollment(o, c.State, d.register(t, c)))
	return k
}

const site = "https://filings.example.com"

func TestPasskeySignsIn(t *testing.T) {
	p, d, ana := passkeys(t, site), newDevice(site, "A1",
		virtualwebauthn.AuthenticatorOptions{}), Owner{ID: "A1", Name: "ana"}
	kept := enroll(t, p, d, ana)
	ana.Passkeys = []string{kept.Data}
	owner := func(credential string) (Owner, error) {
		if credential != kept.Credential {
			return Owner{}, ErrPasskey
		}
		return ana, nil
	}
	c := must(p.BeginSignIn())
	if !strings.Contains(string(c.Options), `"userVerification":"required"`) ||
		strings.Contains(string(c.Options), "allowCredentials") {
		t.Errorf("%s", c.Options)
	}
	answer := d.answer(t, c)
	used, err := p.FinishSignIn(c.State, answer, owner)
	if err != nil || used.Credential != kept.Credential || used.Data == kept.Data {
		t.Fatalf("%+v, %v", used, err)
	}

	// The same answer does not fit another challenge.
	later := must(p.BeginSignIn())
	if _, err := p.FinishSignIn(later.State, answer, owner); !errors.Is(err, ErrPasskey) {
		t.Errorf("an older answer: %v", err)
	}
	// Nor does it fit with the counter that it has raised.
	ana.Passkeys = []string{used.Data}
	if _, err := p.FinishSignIn(c.State, answer, owner); !errors.Is(err, ErrCloned) {
		t.Errorf("a counter that stands still: %v", err)
	}
	// A copy of the key lags behind.
	d.key.Counter = 0
	if _, err := p.FinishSignIn(later.State, d.answer(t, later), owner); !errors.Is(err, ErrCloned) {
		t.Errorf("a copy: %v", err)
	}
}

// A passkey whose authenticator does not verify the user is neither added nor accepted.
func TestUnverifiedPasskeyIsRefused(t *testing.T) {
	p, ana := passkeys(t, site), Owner{ID: "A1", Name: "ana"}
	unverified := virtualwebauthn.AuthenticatorOptions{UserNotVerified: true}
	begun := must(p.BeginEnrollment(ana))
	if _, err := p.FinishEnrollment(ana, begun.State,
		newDevice(site, "A1", unverified).register(t, begun)); !errors.Is(err, ErrPasskey) {
		t.Errorf("an enrollment: %v", err)
	}
	d := newDevice(site, "A1", virtualwebauthn.AuthenticatorOptions{})
	ana.Passkeys = []string{enroll(t, p, d, ana).Data}
	c := must(p.BeginSignIn())
	unverified.UserHandle = []byte("A1")
	d.auth = virtualwebauthn.NewAuthenticatorWithOptions(unverified)
	if _, err := p.FinishSignIn(c.State, d.answer(t, c),
		func(string) (Owner, error) { return ana, nil }); !errors.Is(err, ErrPasskey) {
		t.Errorf("a sign-in: %v", err)
	}
}

// What another site, another challenge, another key or somebody else answers is
// refused.
func TestPasskeysThatProveNothing(t *testing.T) {
	p, ana := passkeys(t, site), Owner{ID: "A1", Name: "ana"}
	d := newDevice(site, "A1", virtualwebauthn.AuthenticatorOptions{})
	kept := enroll(t, p, d, ana)
	ana.Passkeys = []string{kept.Data}
	find := func(string) (Owner, error) { return ana, nil }
	c := must(p.BeginSignIn())
	phish := *d
	phish.site.Origin = "https://filings.example.com.evil.example"
	other := newDevice(site, "A1", virtualwebauthn.AuthenticatorOptions{})
	forged := *other
	forged.key.ID = d.key.ID
	elsewhere := *d
	elsewhere.site.ID = "evil.example"
	absent := *d
	absent.auth = virtualwebauthn.NewAuthenticatorWithOptions(virtualwebauthn.AuthenticatorOptions{
		UserHandle:     []byte("A1"),
		UserNotPresent: true,
	})
	for name, device := range map[string]*device{"another origin": &phish, "another key": other,
		"a forged key": &forged, "another site": &elsewhere, "nobody there": &absent} {
		if _, err := p.FinishSignIn(c.State, device.answer(t, c), find); !errors.Is(err, ErrPasskey) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, bad := range []string{"", "{}", "null", "[]", `{"id":"x","type":"public-key"}`} {
		if _, err := p.FinishEnrollment(ana, c.State, bad); !errors.Is(err, ErrPasskey) {
			t.Errorf("enroll %q: %v", bad, err)
		}
		if _, err := p.FinishSignIn(c.State, bad, find); !errors.Is(err, ErrPasskey) {
			t.Errorf("sign in by %q: %v", bad, err)
		}
	}
	// The handle in the key is the owner's, or it is not theirs.
	whole := must(p.BeginSignIn())
	if _, err := p.FinishSignIn(whole.State, d.answer(t, whole),
		func(string) (Owner, error) { return Owner{ID: "A2", Passkeys: ana.Passkeys}, nil }); !errors.Is(err,
		ErrPasskey) {
		t.Errorf("somebody else's: %v", err)
	}
	// A challenge for an enrollment is none for another owner.
	begun := must(p.BeginEnrollment(ana))
	if _, err := p.FinishEnrollment(Owner{ID: "A2", Name: "leo"}, begun.State,
		other.register(t, begun)); !errors.Is(err, ErrPasskey) {
		t.Errorf("an enrollment of somebody else: %v", err)
	}
	var options struct {
		PublicKey struct{ ExcludeCredentials []any }
	}
	if err := json.Unmarshal(begun.Options, &options); err != nil || len(options.PublicKey.ExcludeCredentials) != 1 {
		t.Errorf("%s", begun.Options)
	}
}

// Passkeys belong to a name, and to a site that is encrypted or on this machine.
func TestWherePasskeysAre(t *testing.T) {
	for address, want := range map[string]bool{
		"https://filings.example.com": true, "http://localhost:8080": true, "https://localhost": true,
		"http://127.0.0.1:8080": false, "https://192.0.2.1": false, "http://filings.example.com": false,
		"https://[::1]:8080": false, "": false,
	} {
		u := must(url.Parse(address))
		if _, err := NewPasskeys(u); (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		}
	}
	if _, err := NewPasskeys(nil); !errors.Is(err, ErrNoPasskeys) {
		t.Error(err)
	}
}

// must returns a value that a test needs.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
