// Signing in with a certified OpenID provider, apart from the product's own
// dependencies.
module github.com/bulkfiling/bulkfiling/tools/oidc

go 1.26.0
