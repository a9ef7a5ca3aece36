package signintest

import (
	"testing"

	"github.com/go-webauthn/webauthn/protocol/webauthncose"
)

func TestNewPasskeyIsAlwaysReadable(t *testing.T) {
	for range 1000 {
		if _, err := webauthncose.ParsePublicKey(NewPasskey().Key.AttestationData()); err != nil {
			t.Fatal(err)
		}
	}
}
