// Package oidc proves signing in by OpenID Connect with a provider that others
// have written and certified: the real serve, and node-oidc-provider on Node.js.
// It knows nothing of the product's packages.
package oidc
