package signintest

import "github.com/descope/virtualwebauthn"

// sizeOfKey is the length in bytes of an encoded P-256 public key, its two
// coordinates 32 bytes each.
//
// Source: RFC 8152 section 13.1.1, "leading zero octets MUST be preserved".
const sizeOfKey = 77

// NewPasskey returns the key of a new passkey. In one of 128 keys, virtualwebauthn drops the
// leading zeros of a coordinate, which no real authenticator does. NewPasskey replaces such a key.
func NewPasskey() virtualwebauthn.Credential {
	for {
		c := virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeEC2)
		if len(c.Key.AttestationData()) == sizeOfKey {
			return c
		}
	}
}
