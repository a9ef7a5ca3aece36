package signin

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
)

// The errors of passkeys.
var (
	// ErrPasskey means that the passkey could not be verified.
	ErrPasskey = errors.New("the passkey was not accepted")
	// ErrCloned means that the signature counter of a passkey went back, so there may be a copy of
	// it.
	ErrCloned = errors.New("the passkey may have been copied")
	// ErrNoPasskeys means that browsers have no passkeys for an address, because it has no host
	// name or is not encrypted.
	ErrNoPasskeys = errors.New("passkeys need an https address with a name, or http://localhost")
)

// Passkeys registers and verifies the passkeys of one site.
type Passkeys struct{ rp *webauthn.WebAuthn }

// Owner is the owner of passkeys.
type Owner struct {
	// ID is not shown. An authenticator stores it beside the key.
	ID   string
	Name string
	// Passkeys are the Data of the stored passkeys.
	Passkeys []string
}

// Passkey is a public key in the form in which callers store it.
type Passkey struct {
	// Credential is the ID of the passkey.
	Credential string
	Data       string
}

// Challenge is a challenge for a browser and the state to store until the browser answers.
type Challenge struct {
	Options json.RawMessage
	State   string
}

// NewPasskeys returns the passkeys of the site at an address. Passkeys belong to its host name.
// NewPasskeys returns ErrNoPasskeys.
func NewPasskeys(address *url.URL) (*Passkeys, error) {
	if address == nil {
		return nil, ErrNoPasskeys
	}
	host := address.Hostname()
	if net.ParseIP(host) != nil || host == "" || address.Scheme != "https" && host != "localhost" {
		return nil, ErrNoPasskeys
	}
	rp, err := webauthn.New(&webauthn.Config{
		RPID:          host,
		RPDisplayName: "Bulkfiling",
		RPOrigins:     []string{address.Scheme + "://" + address.Host},
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoPasskeys, err)
	}
	return &Passkeys{rp}, nil
}

// user adapts an owner to the library.
type user struct {
	Owner
	keys []webauthn.Credential
}

func (u user) WebAuthnID() []byte                         { return []byte(u.ID) }
func (u user) WebAuthnName() string                       { return u.Name }
func (u user) WebAuthnDisplayName() string                { return u.Name }
func (u user) WebAuthnCredentials() []webauthn.Credential { return u.keys }

func userOf(o Owner) (user, error) {
	u := user{Owner: o}
	for _, data := range o.Passkeys {
		var key webauthn.Credential
		if err := json.Unmarshal([]byte(data), &key); err != nil {
			return u, fmt.Errorf("read a passkey: %w", err)
		}
		u.keys = append(u.keys, key)
	}
	return u, nil
}

func challenge(options any, state *webauthn.SessionData, err error) (Challenge, error) {
	if err != nil {
		return Challenge{}, fmt.Errorf("make a challenge: %w", err)
	}
	shown, err := json.Marshal(options)
	if err != nil {
		return Challenge{}, fmt.Errorf("make a challenge: %w", err)
	}
	kept, err := json.Marshal(state)
	if err != nil {
		return Challenge{}, fmt.Errorf("make a challenge: %w", err)
	}
	return Challenge{Options: shown, State: string(kept)}, nil
}

// BeginEnrollment challenges a browser to create a passkey that signs in without a name and
// verifies its user. The challenge excludes the owner's existing passkeys.
func (p *Passkeys) BeginEnrollment(o Owner) (Challenge, error) {
	u, err := userOf(o)
	if err != nil {
		return Challenge{}, err
	}
	return challenge(p.rp.BeginRegistration(u,
		webauthn.WithExclusions(webauthn.Credentials(u.keys).CredentialDescriptors()),
		webauthn.WithAuthenticatorSelection(protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, UserVerification: protocol.VerificationRequired,
		})))
}

// FinishEnrollment verifies the browser's answer. It returns ErrPasskey if the answer is not valid.
func (p *Passkeys) FinishEnrollment(o Owner, state, answer string) (Passkey, error) {
	u, err := userOf(o)
	if err != nil {
		return Passkey{}, err
	}
	kept, err := session(state)
	if err != nil {
		return Passkey{}, err
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes([]byte(answer))
	if err != nil {
		return Passkey{}, refused(err)
	}
	key, err := p.rp.CreateCredential(u, kept, parsed)
	if err != nil {
		return Passkey{}, refused(err)
	}
	return passkeyOf(key)
}

// BeginSignIn challenges a browser to sign in with any passkey of its user. The authenticator must
// verify the user.
func (p *Passkeys) BeginSignIn() (Challenge, error) {
	return challenge(p.rp.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired)))
}

// FinishSignIn verifies the browser's answer and returns the passkey that it used. owner returns
// the owner of a credential ID, with the passkey of that ID. FinishSignIn returns ErrPasskey and
// ErrCloned.
func (p *Passkeys) FinishSignIn(state, answer string, owner func(credential string) (Owner, error)) (Passkey, error) {
	kept, err := session(state)
	if err != nil {
		return Passkey{}, err
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes([]byte(answer))
	if err != nil {
		return Passkey{}, refused(err)
	}
	var unknown error
	key, err := p.rp.ValidateDiscoverableLogin(func(id, handle []byte) (webauthn.User, error) {
		o, err := owner(credentialID(id))
		if err == nil && o.ID != string(handle) {
			err = ErrPasskey
		}
		if err != nil {
			unknown = err
			return nil, err
		}
		return userOf(o)
	}, kept, parsed)
	if unknown != nil {
		return Passkey{}, unknown
	}
	if err != nil {
		return Passkey{}, refused(err)
	}
	used, err := passkeyOf(key)
	if err == nil && key.Authenticator.CloneWarning {
		err = ErrCloned
	}
	return used, err
}

func passkeyOf(key *webauthn.Credential) (Passkey, error) {
	data, err := json.Marshal(key)
	if err != nil {
		return Passkey{}, fmt.Errorf("keep a passkey: %w", err)
	}
	return Passkey{Credential: credentialID(key.ID), Data: string(data)}, nil
}

func credentialID(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

func session(state string) (webauthn.SessionData, error) {
	var kept webauthn.SessionData
	if err := json.Unmarshal([]byte(state), &kept); err != nil {
		return kept, fmt.Errorf("read a challenge: %w", err)
	}
	return kept, nil
}

// refused wraps the library's reason for the log.
func refused(err error) error {
	var detailed *protocol.Error
	if errors.As(err, &detailed) && detailed.DevInfo != "" {
		err = fmt.Errorf("%w (%s)", err, detailed.DevInfo)
	}
	return fmt.Errorf("%w: %w", ErrPasskey, err)
}
