//go:build unix

package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/webauthn"
)

// The owner adds a passkey and signs in by it, with a browser's own authenticator.
func TestPasskeySignsIn(t *testing.T) {
	d := newDeployment(t, nil)
	_, port, _ := strings.Cut(d.address, ":")
	p := newPerson(newBrowser(t), t, "owner", "localhost:"+port)
	call(p, webauthn.Enable, webauthn.EnableParams{})
	call(p, webauthn.AddVirtualAuthenticator,
		webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
			Protocol:                    webauthn.AuthenticatorProtocolCtap2,
			Transport:                   webauthn.AuthenticatorTransportInternal,
			HasResidentKey:              true,
			HasUserVerification:         true,
			IsUserVerified:              true,
			AutomaticPresenceSimulation: true,
		}})
	p.signIn(d.link, "/")
	p.open("/security")
	p.wantText("none yet")
	p.send("Add a passkey")
	p.arrive()
	p.wantText("The passkey is added")
	p.press(".menu.who > summary")
	p.send("Sign out")
	p.arrive()
	p.wantText("Sign in")
	p.send("Sign in with a passkey")
	p.arrive()
	p.until(`location.pathname === "/" && document.readyState === "complete"`)
}
