// Package signin verifies a person's identity with OpenID Connect and passkeys.
//
// It implements the protocols and stores nothing. It returns the state between two requests as text
// that the caller stores.
package signin
