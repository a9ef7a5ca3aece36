// Package signin proves who somebody is: OpenID Connect, passkeys, and the codes
// of authenticator apps.
//
// It knows the protocols and keeps nothing. What has to be remembered between two
// requests it returns as text, and gets back.
package signin
