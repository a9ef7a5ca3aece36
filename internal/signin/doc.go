// Package signin proves a person's identity: OpenID Connect, passkeys, and the
// codes of authenticator apps.
//
// It implements the protocols and stores nothing: state between two requests is
// returned as text, for the caller to store.
package signin
