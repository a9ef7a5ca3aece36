// Package signin proves a person's identity by OpenID Connect and passkeys.
//
// It implements the protocols and stores nothing: state between two requests is
// returned as text, for the caller to keep.
package signin
